//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/sample"
)

// evaluatedAway is hone eval of an adapter and the base model, by the sampler that conf names where there is one; what
// rooms were handed is in handed.
func evaluatedAway(t *testing.T, conf, out, mcp string) (code int, said string, handed []any) {
	t.Helper()
	var talk bytes.Buffer
	a := toyApp(&talk, map[string]string{"SERVE_KEY": "sesame"})
	a.Opening = func(x any) { handed = append(handed, x) }
	write(t, "hone.yaml", strings.Replace(toyConfig, "eval: {every: 3}", "eval: {temperature: 0}", 1)+conf)
	code = a.main(t.Context(), []string{"eval", "--dataset", "tasks.jsonl", "--split", "test", "--base-model",
		"toy.gguf", "--model", "adapter", "--compare", "base", "--output-dir", out, "--mcp", mcp})
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

// hone eval measures by the sampler of training: the base model under its own name, an adapter under one that it is
// loaded by and that is unloaded in the end. No device is opened, and the episodes are those of a sampler in this
// process.
func TestEvaluateByARemoteSampler(t *testing.T) {
	mcp := measuredFolder(t)
	if code, said, _ := evaluatedAway(t, "", "here", mcp); code != 0 {
		t.Fatalf("in this process: exit code %d, %s", code, said)
	}
	s := sampler(t, "toy.gguf")
	code, said, handed := evaluatedAway(t, "sampler: {url: \""+s.url+"\", key_env: SERVE_KEY, slots: 3}\n",
		"there", mcp)
	if code != 0 || !strings.Contains(said, "episodes are sampled from toy.gguf at "+s.url) {
		t.Fatalf("exit code %d, %s", code, said)
	}
	asked := false
	for _, x := range handed {
		switch x := x.(type) {
		case engine.Options, sample.Options:
			t.Errorf("a device is opened: %+v", x)
		case policy.RemoteOptions:
			asked = x.Slots == 3 && x.Temperature == 0
		}
	}
	loads, unloads := s.to("/load_lora_adapter"), s.to("/unload_lora_adapter")
	if !asked || len(loads) == 0 || len(unloads) != len(loads) || slices.ContainsFunc(slices.Concat(loads, unloads),
		func(x map[string]any) bool { return x["lora_name"] != loads[0]["lora_name"] }) {
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
		k := slices.IndexFunc(there, func(x trajectory.Trajectory) bool {
			return x.ID == here[i].ID && x.Adapter == here[i].Adapter
		})
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
	if !strings.Contains(contents(t, "there/results.json"), "toy.gguf at "+s.url) {
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

// telling is a server before a sampler's that tells the logprobs of prompts as vLLM does: those of hone inspect
// logprobs, of a base model with the adapter that was loaded, or with what other makes of its folder.
func telling(t *testing.T, s *sampling, base string, other func(folder string) string) *httptest.Server {
	t.Helper()
	folders := map[string]string{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var q struct {
			Name   string  `json:"lora_name"`
			Path   string  `json:"lora_path"`
			Model  string  `json:"model"`
			Prompt []int32 `json:"prompt"`
			Given  *int    `json:"prompt_logprobs"`
		}
		_ = json.Unmarshal(text, &q) // a GET has none
		if strings.HasSuffix(r.URL.Path, "/load_lora_adapter") {
			folders[q.Name] = q.Path
		}
		if q.Given == nil {
			p := must(http.NewRequest(r.Method, strings.TrimSuffix(s.url, "/v1")+r.URL.Path, bytes.NewReader(text)))
			p.Header = r.Header
			answer := must(http.DefaultClient.Do(p))
			defer answer.Body.Close()
			w.WriteHeader(answer.StatusCode)
			_, _ = io.Copy(w, answer.Body)
			return
		}
		places := []any{nil}
		for i, p := range logprobsOf(t, base, other(folders[q.Model]), q.Prompt)[1:] {
			places = append(places, map[string]any{fmt.Sprint(q.Prompt[i+1]): map[string]any{"logprob": p, "rank": 1},
				"-7": map[string]any{"logprob": -0.5}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": q.Model, "choices": []any{
			map[string]any{"prompt_logprobs": places},
		}})
	}))
	t.Cleanup(front.Close)
	return front
}

// logprobsOf is hone inspect logprobs; the first is 0.
func logprobsOf(t *testing.T, base, adapter string, ids []int32) []float64 {
	t.Helper()
	var out, said bytes.Buffer
	a := toyApp(&said, nil)
	a.Stdin, a.Data = bytes.NewReader(must(json.Marshal(map[string]any{"ids": ids}))), sanitize.New(&out)
	var told struct{ Logprobs []float64 }
	if code := a.main(t.Context(), []string{"inspect", "logprobs", "--model", base, "--adapter", adapter}); code != 0 ||
		json.Unmarshal(out.Bytes(), &told) != nil {
		t.Errorf("exit code %d, %s, %s", code, &out, &said)
	}
	return told.Logprobs
}

// as is an evaluation of a run's adapter by a server that holds another policy: a folder in the place of the one it was
// given.
func as(folder string) func(string) string { return func(string) string { return folder } }

// What hone train leaves remembers what its policy gives to a text and says behind it, and an evaluation asks the
// server for the same: of another base model, half an adapter or the policy of a step before nothing is measured. A
// server that scores no text is asked for likeliest tokens, and that is said.
func TestAnEvaluationByAnotherPolicyIsRefused(t *testing.T) {
	mcp := awayFolder(t)
	s := sampler(t, "toy.gguf")
	write(
		t, "hone.yaml", strings.NewReplacer("steps: 4", "steps: 2, optimizer: {learning_rate: 1.0e-2}",
			"checkpoint_every: 3}\nlora", "checkpoint_every: 1}\nlora").Replace(toyConfig)+"rewards: {program: "+
			"{command: [./judge.sh]}}\nsampler: {url: \""+s.url+"\", key_env: SERVE_KEY, max_mismatch: 1.0e-6}\n",
	)
	var learnt bytes.Buffer
	if code := toyApp(&learnt, map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(), []string{"train",
		"--dataset", "tasks.jsonl", "--output-dir", "out", "--base-model", "toy.gguf", "--mcp", mcp}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &learnt)
	}
	row := `{"id": "a", "task": "Buy a hat.", "split": "test", "checks": [{"type": "answer", "contains": "hat"}]}` +
		"\n"
	write(t, "tasks.jsonl", row)
	otherModel(t, "toy.gguf", "other.gguf")
	toyAdapter(t, "toy.gguf", "adapter")
	evaluated := func(url, model string) (code int, said string) {
		t.Helper()
		write(t, "hone.yaml", strings.Replace(toyConfig, "eval: {every: 3}", "eval: {temperature: 0}", 1)+
			"sampler: {url: \""+url+"\", key_env: SERVE_KEY, max_mismatch: 1.0e-6}\n")
		var talk bytes.Buffer
		code = toyApp(&talk, map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(), []string{"eval", "--dataset",
			"tasks.jsonl", "--split", "test", "--base-model", "toy.gguf", "--model", model, "--mcp", mcp})
		return code, talk.String()
	}
	const weak, refused = "a weak check that sees a model of much difference",
		"the server does not hold the policy that was trained"
	if code, said := evaluated(s.url, "out/final"); code != 0 || strings.Contains(said, "is not compared") ||
		!strings.Contains(said, s.url+" was compared with out/final by 16 likeliest tokens alone, "+weak) {
		t.Errorf("its own base model: exit code %d, %s", code, said)
	}
	if code, said := evaluated(s.url,
		"adapter"); code != 0 || !strings.Contains(said, "adapter has no fingerprint.json: whether "+s.url+
		" holds the base model that it was trained on is not compared") {
		t.Errorf("without a fingerprint: exit code %d, %s", code, said)
	}
	other := sampler(t, "other.gguf")
	code, said := evaluated(other.url, "out/final")
	// Open's, its text, and sixteen
	if asked := len(other.to("/completions")); code != int(fault.CodeError) || !strings.Contains(said, refused) ||
		!strings.Contains(said, "behind 16 beginnings") || asked != 18 {
		t.Errorf("another base model: exit code %d, %d completions, %s", code, asked, said)
	}

	config := contents(t, "out/final/adapter_config.json")
	halved := strings.Replace(config, `"lora_alpha": 32`, `"lora_alpha": 16`, 1)
	if err := os.Mkdir("halved", 0o755); err != nil || halved == config {
		t.Fatal(err, config)
	}
	write(t, "halved/adapter_config.json", halved)
	write(t, "halved/adapter_model.safetensors", contents(t, "out/final/adapter_model.safetensors"))
	for name, c := range map[string]struct {
		base    string
		other   func(string) string
		refused bool
	}{
		"the policy itself": {"toy.gguf", func(folder string) string { return folder }, false},
		"another base":      {"other.gguf", func(folder string) string { return folder }, true},
		"no adapter":        {"toy.gguf", as(""), true},
		"a weaker adapter":  {"toy.gguf", as("halved"), true},
		"a step before":     {"toy.gguf", as("out/checkpoints/grpo_step_1/adapter"), true},
	} {
		before := len(s.to("/completions"))
		code, said := evaluated(telling(t, s, c.base, c.other).URL+"/v1", "out/final")
		if asked := len(s.to("/completions")) - before; strings.Contains(said, weak) ||
			(code != 0) != c.refused || c.refused &&
			(asked != 1 || !strings.Contains(said, refused) || !strings.Contains(said, "tokens of a given text")) {
			t.Errorf("%s: exit code %d, %d completions beside the text's, %s", name, code, asked, said)
		}
	}

	var f struct {
		Text, At, Likeliest []int32
		Logprobs            []float64
	}
	if err := json.Unmarshal([]byte(contents(t, "out/final/fingerprint.json")), &f); err != nil || len(f.At) != 16 {
		t.Fatal(err, f)
	}
	for i, n := range f.At { // both sides would agree on another temperature
		if p := logprobsOf(t, "toy.gguf",
			"out/final", append(slices.Clone(f.Text[:n]), f.Likeliest[i]))[n]; math.Abs(p-f.Logprobs[i]) > 1e-4 {
			t.Errorf("behind %d tokens the likeliest has %g, not %g", n, f.Logprobs[i], p)
		}
	}

	sound := contents(t, "out/final/fingerprint.json")
	for text, want := range map[string]string{
		`{"text": [1], "at": [1], "likeliest": [1], "logprobs": [-1]}`: "1 places", "{": "unexpected end",
		strings.Replace(sound, `"at":[8,`, `"at":[800,`, 1): "800 of",
		strings.Replace(sound, `"text":[`, `"text":[259,`,
			1): "the id 259, and the vocabulary has 259",
		strings.Replace(sound, `"given":[`, `"given":[`+strings.Repeat("-1,", len(f.Text)), 1): "logprobs of",
	} {
		write(t, "out/final/fingerprint.json", text)
		if code, said := evaluated(s.url, "out/final"); code != int(fault.CodeUsage) || !strings.Contains(said, want) {
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
	if code != int(fault.CodeUnavailable) || !strings.Contains(said, "the sampler is gone") ||
		!strings.Contains(said, "hone runs resume") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	s.mu.Lock()
	s.refuse = nil
	s.mu.Unlock()
	var talk bytes.Buffer
	if code := toyApp(&talk, map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(),
		[]string{"runs", "resume", "./out", "--mcp", mcp}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &talk)
	}
	if n := len(trajectoriesOf(t, "out")); n != 4 {
		t.Errorf("%d episodes", n)
	}
}
