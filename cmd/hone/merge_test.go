//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
)

// A merged model is the base and its adapter: its files hold the sums, to the bit where nothing is added, rounded once
// to bfloat16; its logprobs and ids are those of the two apart.
func TestMerge(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "base/toy.gguf")
	s, l, flat := toyAdapter(t, "base/toy.gguf", "adapter")
	if err := os.WriteFile("hone.yaml", []byte("engine: {backend: go}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dtype := range []string{"f32", "bf16"} {
		code, stdout, said := hone(t, "", "merge", "--adapter", "adapter", "--output-dir", "merged/"+dtype, "--dtype",
			dtype, "--json")
		var out basemodel.Merged
		if err := json.Unmarshal([]byte(stdout), &out); code != 0 || err != nil || out.Bytes == 0 ||
			!strings.Contains(said, "are free") {
			t.Fatalf("exit code %d, %s%s", code, stdout, said)
		}
		checkKept(t, dtype, out, said)
	}
	if left, _ := filepath.Glob("merged/.*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	compareMerged(t, s, l, flat)

	ids := `{"ids": [1, 20, 33, 100, 256, 258, 7]}` + "\n"
	_, want, _ := hone(t, ids, "inspect", "logprobs", "--model", "base/toy.gguf", "--adapter", "adapter")
	_, got, said := hone(t, ids, "inspect", "logprobs", "--model", "merged/f32")
	_, base, _ := hone(t, ids, "inspect", "logprobs", "--model", "base/toy.gguf")
	if d := logprobsApart(t, got, want); d > 1e-5 {
		t.Errorf("logprobs differ by %g; %s", d, said)
	}
	if d := logprobsApart(t, base, want); d < 0.01 {
		t.Errorf("the adapter changes logprobs by %g only", d)
	}
	text := `{"text": "the <|im_start|>thth 1234  Grüße\n\n x2<|im_end|>"}` + "\n"
	_, want, _ = hone(t, text, "inspect", "tokens", "--model", "base/toy.gguf")
	if _, got, said := hone(t, text, "inspect", "tokens", "--model", "merged/bf16"); got != want ||
		!strings.Contains(want, "258") {
		t.Errorf("ids %swant %s%s", got, want, said)
	}
	if text, err := os.ReadFile("merged/f32/" + render.TemplateFile); err != nil ||
		!strings.Contains(string(text), "trained under this") {
		t.Errorf("the chat template is %q, %v", text, err)
	}
}

// checkKept looks at what merge says that its type keeps of the adapter, which is large in this test.
func checkKept(t *testing.T, dtype string, out basemodel.Merged, said string) {
	t.Helper()
	all := dtype == "f32"
	if out.Kept == nil || all != (*out.Kept == 1) || math.Abs(*out.Kept-1) > 0.05 {
		t.Errorf("%s keeps %v", dtype, out.Kept)
	}
	if want := map[string]string{"f32": "float32 keeps 100% of what the adapter changes",
		"bf16": "bfloat16 keeps "}[dtype]; !strings.Contains(said, want) ||
		strings.Contains(said, "--dtype f32 keeps all") == all {
		t.Errorf("%s: said %s", dtype, said)
	}
}

func logprobsApart(t *testing.T, a, b string) float64 {
	t.Helper()
	var x, y struct{ Logprobs []float64 }
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil ||
		len(x.Logprobs) != len(y.Logprobs) || len(x.Logprobs) < 2 {
		t.Fatalf("no logprobs: %s%s", a, b)
	}
	worst := 0.0
	for i := range x.Logprobs {
		worst = max(worst, math.Abs(x.Logprobs[i]-y.Logprobs[i]))
	}
	return worst
}

func compareMerged(t *testing.T, s model.Spec, l model.LoRA, flat []float32) {
	t.Helper()
	open := func(path string) *modelfile.Model {
		m, err := modelfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	base, f32, bf16 := open("base/toy.gguf"), open("merged/f32"), open("merged/bf16")
	read := func(m *modelfile.Model, name string) []float32 {
		x, _, err := m.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	terms := map[string][]float64{}
	pieces, _ := l.Pieces(s)
	for i := 0; i < len(pieces); i += 2 {
		a, b := pieces[i], pieces[i+1]
		term := make([]float64, b.Rows*a.Cols)
		for row := range b.Rows {
			for col := range a.Cols {
				for r := range a.Rows {
					term[row*a.Cols+col] += a.Scale * float64(flat[b.Offset+row*b.Cols+r]) *
						float64(flat[a.Offset+r*a.Cols+col])
				}
			}
		}
		terms[s.Path(a.Layer, a.Target)+".weight"] = term
	}
	if len(terms) != 4 || len(base.Names()) != len(f32.Names()) {
		t.Fatalf("%d maps are adapted; %d tensors, %d merged", len(terms), len(base.Names()), len(f32.Names()))
	}
	for _, name := range base.Names() {
		w, merged, rounded := read(base, name), read(f32, name), read(bf16, name)
		if bf16.DType(name) != "BF16" || f32.DType(name) != "F32" {
			t.Errorf("%s is stored as %s and %s", name, bf16.DType(name), f32.DType(name))
		}
		if terms[name] == nil && !slices.Equal(w, merged) {
			t.Errorf("%s has no adapter and differs", name)
		}
		for i := range terms[name] {
			if want := float64(w[i]) + terms[name][i]; math.Abs(float64(merged[i])-want) > 1e-6 {
				t.Fatalf("%s: number %d is %g, want %g", name, i, merged[i], want)
			}
		}
		for i, x := range merged {
			bits := math.Float32bits(x)
			if want := math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff); rounded[i] != want {
				t.Fatalf("%s: number %d is %g in bfloat16, want %g", name, i, rounded[i], want)
			}
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base/toy.gguf", "adapter")
	if err := os.WriteFile("hone.yaml", []byte("engine: {backend: go}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("there", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--adapter adapter", "--output-dir is missing", 2},
		{"--output-dir out", "--adapter is missing", 2},
		{"--adapter adapter --output-dir out --dtype f16", "--dtype f16 is not known", 2},
		{"--adapter adapter --output-dir there", "will not write over", 2},
		{"--adapter nowhere --output-dir out", "cannot read the adapter", 2},
		{"--adapter adapter --output-dir out --base-model nowhere", "cannot open the base model", 2},
		{"--adapter adapter --output-dir hone.yaml/out", "cannot write the merged model", 1},
		{"--adapter adapter --output-dir out --dry-run", "of disk", 0},
	} {
		code, _, said := hone(t, "", append([]string{"merge"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, said)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%s: something was written", c.args)
		}
	}
}

// A merge that is stopped, or finds no room, leaves nothing and says so.
func TestMergeIsWholeOrNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base/toy.gguf", "adapter")
	if err := os.WriteFile("hone.yaml", []byte("engine: {backend: go}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	code := toyApp(&said, nil).main(ctx, []string{"merge", "--adapter", "adapter", "--output-dir", "out/merged"})
	if left, _ := os.ReadDir("out"); code != 7 || !strings.Contains(said.String(), "nothing was written") ||
		len(left) > 0 {
		t.Errorf("exit code %d, left %v, %s", code, left, &said)
	}
}
