//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"hone/internal/learn/modelfile"
)

// talks are two conversations of three user turns, which begin alike nowhere but in the template.
func talks() string {
	var b strings.Builder
	for _, words := range []string{"a plain talk of hats", "other words about rain"} {
		var m []string
		for turn := range 3 {
			m = append(
				m, fmt.Sprintf(`{"role":"user","content":"%s, part %d of it"},{"role":"assistant","content":"%s: %d"}`,
					words, turn, words, turn),
			)
		}
		fmt.Fprintf(&b, "{\"messages\":[%s]}\n", strings.Join(m, ","))
	}
	return b.String()
}

// Rows of one conversation are neighbours and computed as trees, where that saves much or is asked for: losses and
// adapter are those of rows apart but for the order of sums, and the metrics tell what was computed of what there was.
func TestPackedRowsLearnTheSame(t *testing.T) {
	workFolder(t, map[string]string{"talks.jsonl": talks(), "say.jsonl": sayings, "pairs.jsonl": `{"prompt":[{"role":"user","content":"Say what a hat is, in one word or in two."}],"chosen":[{"role":"assistant","content":"a"}],"rejected":[{"role":"assistant","content":"z"}]}
{"prompt":[{"role":"user","content":"Now tell me of rain, and be as short as you can."}],"chosen":[{"role":"assistant","content":"b"}],"rejected":[{"role":"assistant","content":"y"}]}
`})
	toyModel(t, "base/toy.gguf")
	said := map[string]string{}
	ran := func(verb, data, packing, dir string) {
		t.Helper()
		write(t, "hone.yaml", "lora: {rank: 2}\n"+
			"sft: {batch_size: 3, epochs: 2, unroll: turns, checkpoint_every: 1, optimizer: {learning_rate: 0.01}}\n"+
			"dpo: {batch_size: 2, epochs: 3, optimizer: {learning_rate: 0.01}}\n"+
			"engine: {backend: go, dtype: f32, row_multiple: 16, packing: "+packing+"}\n")
		var talk bytes.Buffer
		if code := toyApp(&talk, nil).main(t.Context(),
			[]string{verb, "--verbose", "--data", data, "--base-model", "base", "--output-dir", dir}); code != 0 {
			t.Fatalf("exit code %d, %s", code, &talk)
		}
		said[dir] = talk.String()
	}
	for _, c := range []struct{ verb, data string }{{"sft", "talks.jsonl"}, {"dpo", "pairs.jsonl"}} {
		apart, packed := c.verb+"-apart", c.verb+"-packed"
		ran(c.verb, c.data, "off", apart)
		ran(c.verb, c.data, "auto", packed)
		want, got := stepsOf(t, apart), stepsOf(t, packed)
		if len(got) != len(want) || len(want) < 3 {
			t.Fatalf("%d steps, apart %d", len(got), len(want))
		}
		for i := range want {
			if math.Abs(got[i]["loss"]-want[i]["loss"]) > 1e-5 ||
				math.Abs(got[i]["grad_norm"]-want[i]["grad_norm"]) > 1e-4 {
				t.Errorf("%s step %d: loss %v and norm %v, apart %v and %v",
					c.verb, i, got[i]["loss"], got[i]["grad_norm"], want[i]["loss"], want[i]["grad_norm"])
			}
			if got[i]["step_tokens_apart"] != want[i]["step_tokens"] ||
				got[i]["step_tokens"] > 0.7*want[i]["step_tokens"] {
				t.Errorf("%s step %d: %v tokens computed of %v, apart %v",
					c.verb, i, got[i]["step_tokens"], got[i]["step_tokens_apart"], want[i]["step_tokens"])
			}
			if _, ok := want[i]["step_tokens_apart"]; ok {
				t.Errorf("%s step %d tells of packing, and does not pack", c.verb, i)
			}
		}
		a, b := adapterOf(t, apart), adapterOf(t, packed)
		for name, tensor := range a {
			for i, x := range tensor {
				if math.Abs(float64(x-b[name][i])) > 1e-4 {
					t.Fatalf("%s: %s differs: %v, packed %v", c.verb, name, x, b[name][i])
				}
			}
		}
		if len(a) == 0 || len(a) != len(b) {
			t.Errorf("%d tensors, packed %d", len(a), len(b))
		}
		if !strings.Contains(said[packed], "what rows of a step begin with is computed once (engine.packing)") ||
			strings.Contains(said[apart], "engine.packing") {
			t.Errorf("%s says %s\napart %s", c.verb, said[packed], said[apart])
		}
	}
	// What saves little is left alone.
	ran("sft", "say.jsonl", "auto", "short")
	if strings.Contains(said["short"], "engine.packing") {
		t.Errorf("it says %s", said["short"])
	}
}

// stepsOf are the metrics of a run's steps.
func stepsOf(t *testing.T, dir string) (list []map[string]float64) {
	t.Helper()
	for line := range strings.Lines(contents(t, dir+"/metrics.jsonl")) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		numbers := map[string]float64{}
		for name, x := range m {
			if f, ok := x.(float64); ok {
				numbers[name] = f
			}
		}
		list = append(list, numbers)
	}
	return list
}

// adapterOf are the tensors of a run's adapter.
func adapterOf(t *testing.T, dir string) map[string][]float32 {
	t.Helper()
	_, tensors, err := modelfile.LoadAdapter(dir + "/final")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]float32{}
	for name, x := range tensors {
		out[name] = x.Data
	}
	return out
}
