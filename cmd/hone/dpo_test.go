//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hone/internal/fault"
)

const preferences = `{"prompt":[{"role":"user","content":"Say a."}],"chosen":[{"role":"assistant","content":"a"}],"rejected":[{"role":"assistant","content":"z"}]}
{"prompt":[{"role":"user","content":"Say b."}],"chosen":[{"role":"assistant","content":"b"}],"rejected":[{"role":"assistant","content":"y"}]}
{"prompt":[{"role":"user","content":"Say c."}],"chosen":[{"role":"assistant","content":"c"}],"rejected":[{"role":"assistant","content":"x"}]}
{"prompt":[{"role":"user","content":"Say d."}],"chosen":[{"role":"assistant","content":"d"}],"rejected":[{"role":"assistant","content":"w"}]}
{"prompt":"Say f.","chosen":"f","rejected":"<tool_call>{"}
{"prompt":"Say e.","chosen":"e","rejected":"v","split":"test"}
`

// examined is a pair of the split validation.
const examined = `{"prompt":"Say g.","chosen":"g","rejected":"u","split":"validation"}` + "\n"

// Margins grow from 0, since the reference is the policy at the start, also where that is an adapter; and a run that is
// killed at several points, without its pairs being there any more, ends the same.
func TestDPO(t *testing.T) {
	workFolder(t, map[string]string{
		"hone.yaml": "lora: {rank: 2}\ndpo: {batch_size: 2, epochs: 4, checkpoint_every: 3, validation: 0.5, " +
			"optimizer: {learning_rate: 0.02, warmup: 0}}\nsft: {batch_size: 2}\nengine: {backend: go}\n",
		"pairs.jsonl": preferences + examined, "say.jsonl": sayings,
	})
	toyModel(t, "base/toy.gguf")
	var said bytes.Buffer
	ran := func(args ...string) {
		t.Helper()
		if code := toyApp(&said, nil).main(t.Context(), args); code != 0 {
			t.Fatalf("%v: exit code %d, %s", args, code, &said)
		}
	}
	ran("sft", "--data", "say.jsonl", "--base-model", "base", "--output-dir", "first")
	command := []string{"dpo", "--data", "pairs.jsonl", "--base-model", "base", "--adapter", "first/final",
		"--output-dir"}
	ran(append(command, "whole")...)
	margins := marginsOf(t, "whole")
	if len(margins) != 8 || margins[0] != 0 || margins[7] < 0.01 {
		t.Errorf("margins %v", margins)
	}
	if n := strings.Count(contents(t, "whole/metrics.jsonl"), `"eval_rewards/margins"`); n != 4 {
		t.Errorf("what is held out was measured %d times in 4 epochs", n)
	}
	for _, want := range []string{
		"left out 1 pair of the split test", "left out the pair pairs.jsonl:5: a side cannot be rendered: ",
		"the loss is measured on 1 pair of the split validation", "best on validation: loss ",
		"in the last step the preferred side was preferred in ",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, &said)
		}
	}
	ctx, stop := context.WithCancel(t.Context()) // so that those which go on begin from a checkpoint
	broken := &once{line: " 1/8", do: stop}
	if code := toyApp(broken, nil).main(ctx, append(command, "broken")); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, broken)
	}
	if err := os.Remove("pairs.jsonl"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		killed(t, nil, "runs", "resume", "./broken")
	}
	ran("runs", "resume", "./broken")
	sameEvents(t, "broken", "dpo")
	if got, want := result(t, "broken"), result(t, "whole"); got != want {
		t.Errorf("the run that was killed learnt something else; metrics\n%s\nwant\n%s",
			metricsOf(got), metricsOf(want))
	}
}

// marginsOf are the margins of a run's steps.
func marginsOf(t *testing.T, dir string) (list []float64) {
	t.Helper()
	for line := range strings.Lines(contents(t, dir+"/metrics.jsonl")) {
		m := map[string]any{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if inner, ok := m["metrics"].(map[string]any); ok {
			m = inner
		}
		if margin, ok := m["rewards/margins"].(float64); ok {
			list = append(list, margin)
		}
	}
	return list
}

// A pair of the split validation is measured on and not learnt from, whatever share of the others is held out.
func TestDPOMeasuresTheSplitValidation(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "pairs.jsonl": preferences + examined})
	toyModel(t, "base/toy.gguf")
	var said bytes.Buffer
	code := toyApp(&said, nil).main(t.Context(),
		[]string{"dpo", "--data", "pairs.jsonl", "--base-model", "base", "--output-dir", "out", "--dry-run"})
	if code != 0 || !strings.Contains(said.String(), "the loss is measured on 1 pair of the split validation") ||
		!strings.Contains(said.String(), "over 4 pairs") {
		t.Errorf("exit code %d, %s", code, &said)
	}
}

// Pairs that are measured on and not learnt from are in the plan of the memory: a long one may be all that does not
// fit.
func TestDPOPlansForHeldPairs(t *testing.T) {
	long := `{"prompt":"Say h.","chosen":"` + strings.Repeat("hi ho ", 150) +
		`","rejected":"u","split":"validation"}` + "\n"
	for held, want := range map[string]fault.Code{examined: 0, long: fault.CodeExhausted} {
		workFolder(t, map[string]string{
			"hone.yaml":   "model: {context: 1000}\nlora: {rank: 2}\ndpo: {batch_size: 2}\nengine: {backend: go, memory: 0.01}\n",
			"pairs.jsonl": preferences + held,
		})
		toyModel(t, "base/toy.gguf")
		var said bytes.Buffer
		code := toyApp(&said, nil).main(t.Context(),
			[]string{"dpo", "--data", "pairs.jsonl", "--base-model", "base", "--output-dir", "out", "--dry-run"})
		if code != int(want) || strings.Contains(said.String(), "the memory does not hold this run") != (want != 0) {
			t.Errorf("%.40s: exit code %d, %s", held, code, &said)
		}
	}
}

func TestDPORefuses(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "say.jsonl": sayings,
		"test.jsonl": `{"prompt":"a","chosen":"b","rejected":"c","split":"test"}` + "\n"})
	toyModel(t, "base/toy.gguf")
	for _, c := range []struct{ data, want string }{
		{"say.jsonl", `a pair has "chosen" and "rejected"`},
		{"test.jsonl", "no pair may be learnt from"},
		{"none.jsonl", "none.jsonl"},
		{"", "no pairs to learn from"},
	} {
		var said bytes.Buffer
		if code := toyApp(&said, nil).main(t.Context(), []string{"dpo", "--data", c.data, "--base-model", "base",
			"--output-dir", "out"}); code != 2 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: exit code %d, %s", c.data, code, &said)
		}
	}
}
