//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/job/records"
	"hone/internal/run"
)

// heldConfig learns so fast that the loss of what is held out soon rises.
const heldConfig = `lora: {rank: 2}
sft: {batch_size: 2, epochs: 12, checkpoint_every: 5, validation: 0.25, eval_every: 1, patience: 3, optimizer: {learning_rate: 0.3, warmup: 0}}
dpo: {batch_size: 2, epochs: 12, checkpoint_every: 5, validation: 0.25, eval_every: 1, patience: 3, beta: 0.5, optimizer: {learning_rate: 0.3, warmup: 0}}
engine: {backend: go}
`

// What is held out ends training, and the adapter that was best on it is the one that is left. A run that is killed at
// several points ends the same.
func TestSFTEndsWhereItWasBest(t *testing.T) { endsWhereItWasBest(t, "sft", sayings, "1 row") }

func TestDPOEndsWhereItWasBest(t *testing.T) { endsWhereItWasBest(t, "dpo", preferences, "1 pair") }

// Rows of the split validation are measured on where no share is held out, and are not learnt from.
func TestSFTMeasuresTheSplitValidation(t *testing.T) {
	workFolder(t, map[string]string{
		"hone.yaml":  strings.ReplaceAll(heldConfig, "validation: 0.25, ", "") + "model: {base: base}\n",
		"data.jsonl": sayings + `{"id": "v", "split": "validation", "messages": [{"role": "user", "content": "Say what a cap is."}, {"role": "assistant", "content": "it"}]}` + "\n",
	})
	toyModel(t, "base/toy.gguf")
	var said bytes.Buffer
	if code := toyApp(&said, nil).main(t.Context(),
		[]string{"sft", "--data", "data.jsonl", "--output-dir", "out"}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	if !strings.Contains(said.String(), "the loss is measured on 1 row of the split validation") ||
		strings.Contains(said.String(), "left out") ||
		!strings.Contains(contents(t, "out/metrics.jsonl"), "eval_loss") {
		t.Error(&said)
	}
}

// Where none of them fits, that is told, and training goes on; patience would then wait for ever, and is an error.
func TestSFTWithAValidationSplitThatIsTooLong(t *testing.T) {
	for patience, want := range map[string]int{"patience: 0": 0, "patience: 3": 2} {
		workFolder(t, map[string]string{
			"hone.yaml": strings.NewReplacer("validation: 0.25, ", "", "patience: 3", patience).Replace(heldConfig) + "model: {base: base}\n",
			"data.jsonl": sayings + `{"id": "v", "split": "validation", "messages": [{"role": "user", "content": "` +
				strings.Repeat("Say it. ", 2000) + `"}, {"role": "assistant", "content": "it"}]}` + "\n",
		})
		toyModel(t, "base/toy.gguf")
		var said bytes.Buffer
		if code := toyApp(&said, nil).main(t.Context(),
			[]string{"sft", "--data", "data.jsonl", "--output-dir", "out", "--dry-run"}); code != want ||
			want == 0 && !strings.Contains(said.String(), "the loss is measured on nothing") {
			t.Errorf("%s: exit code %d, %s", patience, code, &said)
		}
	}
}

// Who says nothing of epochs gets three passes over few rows, and the last step, whatever was measured on the split
// validation where there is one that fits.
func TestSFTSettlesItsEpochs(t *testing.T) {
	row := func(said string) string {
		return `{"id": "v", "split": "validation", "messages": [{"role": "user", "content": "` + said +
			`"}, {"role": "assistant", "content": "it"}]}` + "\n"
	}
	for name, c := range map[string]struct {
		more string
		want []string
	}{
		"few tasks": {"", []string{"sft.epochs: 3,", "epochs: 3\n"}},
		"a split":   {row("Say what a cap is."), []string{"epochs: 3\n", "patience: 0\n", "final is step 3, the last: loss "}},
		"a split that is too long": {row(strings.Repeat("Say it. ", 2000)),
			[]string{"the loss is measured on nothing", "sft.epochs: 3,", "epochs: 3\n"}},
	} {
		workFolder(t, map[string]string{"hone.yaml": `lora: {rank: 2}
sft: {batch_size: 8, optimizer: {learning_rate: 0.001}}
engine: {backend: go}
model: {base: base}
`, "data.jsonl": sayings + c.more})
		toyModel(t, "base/toy.gguf")
		var said bytes.Buffer
		if code := toyApp(&said, nil).main(t.Context(),
			[]string{"sft", "--data", "data.jsonl", "--output-dir", "out"}); code != 0 {
			t.Fatalf("%s: exit code %d, %s", name, code, &said)
		}
		_, settings, _ := strings.Cut(contents(t, "out/config.resolved.yaml"), "\nsft:")
		settings, _, _ = strings.Cut(settings, "\ndpo:")
		for _, want := range c.want {
			if !strings.Contains(said.String()+settings, want) {
				t.Errorf("%s: nothing says %q: %s%s", name, want, &said, settings)
			}
		}
	}
}

func endsWhereItWasBest(t *testing.T, verb, data, one string) {
	config := heldConfig
	if verb == "dpo" { // how SFT ends is of no account to it
		config = strings.Replace(config, "patience: 3", "patience: 0", 1)
	}
	workFolder(t, map[string]string{"hone.yaml": config, "data.jsonl": data})
	toyModel(t, "base/toy.gguf")
	command := []string{verb, "--data", "data.jsonl", "--base-model", "base", "--output-dir"}
	var said bytes.Buffer
	if code := toyApp(&said, nil).main(t.Context(), append(command, "whole")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	if before, _, begun := strings.Cut(said.String(), verb+"   "); !begun ||
		!strings.Contains(before, "programs that are not kept yet are compiled") {
		t.Errorf("nothing is said before the silence of compiling: %s", &said)
	}
	losses := map[int]float64{}
	last, best := 0, 0
	for line := range strings.Lines(contents(t, "whole/metrics.jsonl")) {
		var m struct {
			Stage    string
			Step     int
			EvalLoss float64 `json:"eval_loss"`
			Metrics  struct {
				EvalLoss float64 `json:"eval_loss"`
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Stage == "validation" {
			losses[m.Step], last = m.EvalLoss+m.Metrics.EvalLoss, max(last, m.Step)
		}
	}
	for step := 1; step <= last; step++ {
		if best == 0 || losses[step] < losses[best] {
			best = step
		}
	}
	if last != best+3 || last >= 24 || len(losses) != last {
		t.Fatalf("it ended after step %d, and was best at %d: %v\n%s", last, best, losses, &said)
	}
	for _, want := range []string{"held out 1 task of 4, with " + one,
		fmt.Sprintf("final is step %d, the best on validation: loss ", best)} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, &said)
		}
	}
	finalIsOfStep(t, verb, best)

	killed(t, nil, append(command, "broken")...)
	for range 4 {
		killed(t, nil, "runs", "resume", "./broken")
	}
	if code := toyApp(&said, nil).main(t.Context(), []string{"runs", "resume", "./broken"}); code != 0 {
		t.Fatalf("resumed: exit code %d, %s", code, &said)
	}
	if got, want := result(t, "broken"), result(t, "whole"); got != want {
		t.Errorf("the run that was killed learnt something else; metrics\n%s\nwant\n%s",
			metricsOf(got), metricsOf(want))
	}
}

// finalIsOfStep wants the run "whole" to end with the adapter of a step of a stage, and to have recorded that.
func finalIsOfStep(t *testing.T, stage string, step int) {
	t.Helper()
	const weights = "adapter_model.safetensors"
	left := contents(t, "whole/final/"+weights)
	kept, err := filepath.Glob("whole/checkpoints/" + stage + "_step_*/adapter/" + weights)
	if err != nil {
		t.Fatal(err)
	}
	same := ""
	for _, file := range kept {
		if contents(t, file) == left {
			same += file
		}
	}
	if want := filepath.Join("whole/checkpoints", stage+"_step_"+jsonText(t, step), "adapter", weights); same != want {
		t.Errorf("the adapter is that of %q, not of %q", same, want)
	}
	if code, shown, said := hone(t, "", "runs", "show", "./whole"); code != 0 ||
		!strings.Contains(shown, "; final is step "+jsonText(t, step)+"\n") {
		t.Errorf("runs show: exit code %d, %s%s", code, shown, said)
	}
}

// Training that ends early leaves the adapter of the step that was best on validation, and what it remembers of it
// beside it, as a run of no more steps does. A run that is killed on the way, and once more where nothing but final was
// left to do, ends the same.
func TestTrainEndsWhereItWasBest(t *testing.T) {
	command, env, _ := toyRun(t, "train")
	write(t, "hone.yaml", strings.NewReplacer("steps: 4", "steps: 9, patience: 2", "every: 3}", "every: 1}").
		Replace(contents(t, "hone.yaml")))
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	log := records.Journal{Dir: openRun(t, "whole")}
	_, last, err := log.Latest("grpo")
	if err != nil {
		t.Fatal(err)
	}
	best, _, err := log.Best("grpo", last+1)
	_ = log.Dir.Close()
	if err != nil || best == 0 || best == last || last == 9 {
		t.Fatalf("%v: it ended after step %d, and was best at %d\n%s", err, last, best, &said)
	}
	for _, want := range []string{
		"training ends after step ", fmt.Sprintf("final is step %d, the best on validation: success ", best),
		fmt.Sprintf("; step %d, the last, has ", last),
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, &said)
		}
	}
	finalIsOfStep(t, "grpo", best)
	if !strings.Contains(contents(t, "whole/results.json"), fmt.Sprintf(`"step %d of grpo"`, best)) {
		t.Error("the results do not say which step final is")
	}

	conf := contents(t, "hone.yaml")
	write(t, "hone.yaml", strings.Replace(conf, "steps: 9", fmt.Sprint("steps: ", best), 1))
	_ = toyApp(&said, env).main(t.Context(), append(command, "short")) // by then it may have learnt nothing
	if f := "/final/fingerprint.json"; contents(t, "short"+f) != contents(t, "whole"+f) {
		t.Error("those who sample are left with another step than the best")
	}
	write(t, "hone.yaml", conf)

	killed(t, env, append(command, "broken")...)
	resume := []string{"runs", "resume", "./broken"}
	killed(t, env, resume...)
	for range 2 {
		if code := toyApp(&said, env).main(t.Context(), resume); code != 0 {
			t.Fatalf("resumed: exit code %d, %s", code, &said)
		}
		if f := "/final/fingerprint.json"; contents(t, "broken"+f) != contents(t, "whole"+f) {
			t.Error("another policy is remembered")
		}
		if got, want := result(t, "broken"), result(t, "whole"); got != want {
			t.Errorf("the run that was killed learnt something else; metrics\n%s\nwant\n%s",
				metricsOf(got), metricsOf(want))
		}
		for _, file := range []string{"broken/final", "broken/results.json"} {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func openRun(t *testing.T, path string) *run.Dir {
	t.Helper()
	dir, err := run.Open(path, run.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func jsonText(t *testing.T, x any) string {
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
