//go:build !race

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/engine"
	"hone/internal/learn/sample"
	away "hone/internal/policy/remote"
)

// evaluatedAway is hone eval of an adapter and the base model, by the sampler that conf names where there is one; what rooms were handed is in handed.
func evaluatedAway(t *testing.T, conf, out, mcp string) (code int, said string, handed []any) {
	t.Helper()
	var talk bytes.Buffer
	a := toyApp(&talk, map[string]string{"SERVE_KEY": "sesame"})
	a.Opening = func(x any) { handed = append(handed, x) }
	write(t, "hone.yaml", strings.Replace(toyConfig, "eval: {every: 3}", "eval: {temperature: 0}", 1)+conf)
	code = a.main(t.Context(), []string{"eval", "--dataset", "tasks.jsonl", "--split", "test", "--base-model", "toy.gguf", "--model", "adapter", "--compare", "base", "--output-dir", out, "--mcp", mcp})
	return code, talk.String(), handed
}

// measuredFolder is a folder with a base model, an adapter and tasks to measure them on.
func measuredFolder(t *testing.T) (mcp string) {
	t.Helper()
	mcp, _ = shop(t)
	row := `{"id": %q, "task": "Buy a %s.", "split": "test", "checks": [{"type": "answer", "contains": %q}]}` + "\n"
	workFolder(t, map[string]string{"tasks.jsonl": fmt.Sprintf(row+row, "a", "hat", "hat", "b", "coat", "coat")})
	toyModel(t, "toy.gguf")
	toyAdapter(t, "toy.gguf", "adapter")
	return mcp
}

// hone eval measures by the sampler of training: the base model under its own name, an adapter under one that it is loaded by and that is
// unloaded in the end. No device is opened, and the episodes are those of a sampler in this process.
func TestEvaluateByARemoteSampler(t *testing.T) {
	mcp := measuredFolder(t)
	if code, said, _ := evaluatedAway(t, "", "here", mcp); code != 0 {
		t.Fatalf("in this process: exit code %d, %s", code, said)
	}
	s := sampler(t, "toy.gguf")
	code, said, handed := evaluatedAway(t, "sampler: {url: \""+s.url+"\", key_env: SERVE_KEY, slots: 3}\n", "there", mcp)
	if code != 0 || !strings.Contains(said, "episodes are sampled from toy.gguf at "+s.url) {
		t.Fatalf("exit code %d, %s", code, said)
	}
	asked := false
	for _, x := range handed {
		switch x := x.(type) {
		case engine.Options, sample.Options:
			t.Errorf("a device is opened: %+v", x)
		case away.Options:
			asked = x.Slots == 3 && x.Temperature == 0
		}
	}
	loads, unloads := s.to("/load_lora_adapter"), s.to("/unload_lora_adapter")
	if !asked || len(loads) == 0 || len(unloads) != len(loads) || slices.ContainsFunc(slices.Concat(loads, unloads), func(x map[string]any) bool { return x["lora_name"] != loads[0]["lora_name"] }) {
		t.Fatalf("handed %t, loaded %v, unloaded %v", asked, loads, unloads)
	}
	if _, err := os.Stat(filepath.Dir(loads[0]["lora_path"].(string))); !os.IsNotExist(err) {
		t.Errorf("the folder of adapters is left: %v", err)
	}
	models := map[any]int{}
	for _, q := range s.to("/completions")[1:] {
		models[q["model"]]++
	}
	if len(models) != 2 || models["toy.gguf"] == 0 || models[loads[0]["lora_name"]] == 0 {
		t.Errorf("asked of %v", models)
	}
	here, there := trajectoriesOf(t, "here"), trajectoriesOf(t, "there")
	if len(here) != 4 || len(there) != len(here) {
		t.Fatalf("%d and %d episodes", len(here), len(there))
	}
	for i := range here {
		k := slices.IndexFunc(there, func(x trajectory.Trajectory) bool { return x.ID == here[i].ID && x.Adapter == here[i].Adapter })
		if k < 0 {
			t.Fatalf("%s of the adapter %q is not there", here[i].ID, here[i].Adapter)
		}
		for n, turn := range here[i].Turns {
			other := there[k].Turns[n]
			if !slices.Equal(turn.CompletionIDs, other.CompletionIDs) {
				t.Fatalf("%s, turn %d: %v and %v", here[i].ID, n, turn.CompletionIDs, other.CompletionIDs)
			}
			for j, p := range turn.SamplerLogprobs {
				if math.Abs(float64(p-other.SamplerLogprobs[j])) > 1e-4 {
					t.Errorf("%s, turn %d, token %d: %g and %g", here[i].ID, n, j, p, other.SamplerLogprobs[j])
				}
			}
		}
		if here[i].ContentKey == there[k].ContentKey {
			t.Errorf("%s has one key here and there", here[i].ID)
		}
	}
	if page := contents(t, "there/report.html"); !strings.Contains(page, "toy.gguf at "+s.url) {
		t.Error("the report does not say where the episodes were sampled")
	}
}

// otherModel is a base model of the same shape with other weights.
func otherModel(t *testing.T, of, path string) {
	t.Helper()
	data := []byte(contents(t, of))
	for at := len(data) - 1; at > len(data)*2/3; at -= 12 {
		data[at] ^= 0x80 // the sign of a float32
	}
	write(t, path, string(data))
}

// What hone train leaves remembers what its policy says behind a text, and an evaluation asks the server for the same: of another base model nothing is measured.
func TestAnEvaluationByAnotherBaseModelIsRefused(t *testing.T) {
	mcp := awayFolder(t)
	s := sampler(t, "toy.gguf")
	if code, said, _ := trained(t, s, ", max_mismatch: 1.0e-6", "--mcp", mcp); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	row := `{"id": "a", "task": "Buy a hat.", "split": "test", "checks": [{"type": "answer", "contains": "hat"}]}` + "\n"
	write(t, "tasks.jsonl", row)
	otherModel(t, "toy.gguf", "other.gguf")
	toyAdapter(t, "toy.gguf", "adapter")
	evaluated := func(s *sampling, model string) (code int, said string, asked int) {
		t.Helper()
		before := len(s.to("/completions"))
		write(t, "hone.yaml", strings.Replace(toyConfig, "eval: {every: 3}", "eval: {temperature: 0}", 1)+"sampler: {url: \""+s.url+"\", key_env: SERVE_KEY}\n")
		var talk bytes.Buffer
		code = toyApp(&talk, map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(), []string{"eval", "--dataset", "tasks.jsonl", "--split", "test", "--base-model", "toy.gguf", "--model", model, "--mcp", mcp})
		return code, talk.String(), len(s.to("/completions")) - before
	}
	if code, said, asked := evaluated(s, "out/final"); code != 0 || strings.Contains(said, "is not compared") || asked < 18 {
		t.Errorf("its own base model: exit code %d, %d completions, %s", code, asked, said)
	}
	if code, said, _ := evaluated(s, "adapter"); code != 0 || !strings.Contains(said, "adapter has no fingerprint.json: whether "+s.url+" holds the base model that it was trained on is not compared") {
		t.Errorf("without a fingerprint: exit code %d, %s", code, said)
	}
	other := sampler(t, "other.gguf")
	code, said, asked := evaluated(other, "out/final")
	if code != int(fault.CodeError) || !strings.Contains(said, "the server does not hold the policy that was trained") || asked != 17 { // Open's, and sixteen
		t.Errorf("another base model: exit code %d, %d completions, %s", code, asked, said)
	}
	for text, want := range map[string]string{`{"text": [1], "at": [1], "likeliest": [1], "logprobs": [-1]}`: "1 places", "{": "unexpected end",
		strings.Replace(contents(t, "out/final/fingerprint.json"), `"at":[8,`, `"at":[800,`, 1): "800 of"} {
		write(t, "out/final/fingerprint.json", text)
		if code, said, _ := evaluated(s, "out/final"); code != int(fault.CodeUsage) || !strings.Contains(said, want) {
			t.Errorf("%.40s: exit code %d, %s", text, code, said)
		}
	}
}

// A server that is gone stops an evaluation, which goes on when it is back, and runs no episode again.
func TestAnEvaluationGoesOnWithItsSampler(t *testing.T) {
	mcp := measuredFolder(t)
	s := sampler(t, "toy.gguf")
	s.refuse = func(completion, _ int) bool { return completion > 2 } // after Open's and an episode's first
	conf := "sampler: {url: \"" + s.url + "\", key_env: SERVE_KEY, slots: 1, retries: 0}\n"
	code, said, _ := evaluatedAway(t, conf, "out", mcp)
	if code != int(fault.CodeUnavailable) || !strings.Contains(said, "the sampler is gone") || !strings.Contains(said, "hone runs resume") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	s.mu.Lock()
	s.refuse = nil
	s.mu.Unlock()
	var talk bytes.Buffer
	if code := toyApp(&talk, map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(), []string{"runs", "resume", "./out", "--mcp", mcp}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &talk)
	}
	if n := len(trajectoriesOf(t, "out")); n != 4 {
		t.Errorf("%d episodes", n)
	}
}
