//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/basemodel/inspect"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
)

// Shapes that the model has no place for are refused before anything is loaded, with the nearest name.
func TestAdapterShapeFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base/toy.gguf", "adapter")
	for name, text := range map[string]string{"hone.yaml": "engine: {backend: go}\n",
		"say.jsonl": `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}` + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := []string{"sft", "--data", "say.jsonl", "--output-dir", "out"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--target-modules", "q_prj"}, 2, `did you mean "q_proj"?`},
		{[]string{"--target-modules", "regex:.*q_prj"}, 2, "fits no linear map"},
		{[]string{"--target-modules", "all-linear,q_proj"}, 2, "stands alone"},
		{[]string{"--rank-pattern", "q_proj=x"}, 2, "does not end in a number"},
		{[]string{"--rank-pattern", "q_proj=0.5"}, 2, "a rank is a whole number"},
		{[]string{"--alpha-pattern", "9"}, 2, "is not PATTERN=NUMBER"},
		{[]string{"--rank-pattern", "up_porj=4"}, 2, `did you mean "up_proj"?`},
		{[]string{"--lora-dropout", "1"}, 2, "lora.dropout"},
		{[]string{"--adapter", "adapter", "--rslora"}, 2, "keeps its shape"},
	} {
		args := append(slices.Clone(command), c.args...)
		if !slices.Contains(c.args, "--adapter") {
			args = append(args, "--base-model", "base/toy.gguf")
		}
		code, _, said := hone(t, "", args...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, code, said)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Fatalf("%q: a run was begun", c.args)
		}
	}
	code, _, said := hone(t, "", append(command, "--base-model", "base/toy.gguf", "--target-modules",
		"regex:.*(q|up)_proj", "--rank-pattern", "q_proj=3", "--alpha-pattern", "up_proj=5", "--lora-rank", "2",
		"--rslora", "--lora-dropout", "0.25")...)
	text, err := os.ReadFile("out/final/adapter_config.json")
	if code != 0 || err != nil {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	for _, want := range []string{
		`"target_modules": ".*(q|up)_proj"`, `"q_proj": 3`, `"up_proj": 5`, `"r": 2`, `"use_rslora": true`,
		`"lora_dropout": 0.25`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("adapter_config.json has no %s: %s", want, text)
		}
	}
	if resolved, err := os.ReadFile("out/config.resolved.yaml"); err != nil ||
		!strings.Contains(string(resolved), "dropout: 0.25") {
		t.Errorf("the run does not keep its flags: %v, %s", err, fmt.Sprintf("%.2000s", resolved))
	}
}

// A run that stops for the device's memory says which key helps, and how it goes on; one that stops for the disk's,
// does not.
func TestRunStoppedForMemorySaysWhatHelps(t *testing.T) {
	run := &job.Job{Env: job.Env{Host: &host.Host{}}, Path: "out"}
	for next, want := range map[string]string{
		"set engine.micro_batch below 2": "set engine.micro_batch below 2 in out/config.resolved.yaml; then hone runs resume",
		"free space there":               "make room there; then hone runs resume",
	} {
		err := records.Conclude(context.Background(), run, "sft",
			&fault.Error{Code: fault.CodeExhausted, What: "full", Next: next})
		if fault.CodeOf(err) != fault.CodeExhausted || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", next, err)
		}
	}
}

// More rows at once than a step has would be padding, planned for and computed: engine.micro_batch is lowered to them,
// said and kept. What a step fills stays as it is.
func TestMicroBatchIsWithinAStep(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	write(t, "row.jsonl", oneRow+oneRow+oneRow)
	conf := "engine: {backend: go, slots: 1, micro_batch: %d}\nsft: {batch_size: 2}\nlora: {rank: 2}\n" +
		"grpo: {group_size: 3, scenarios_per_step: 2}\n"
	const lowered = "engine.micro_batch: %d is more than the %d rows"
	for given, want := range map[int]int{1000: 2, 2: 2, 1: 1} {
		out := fmt.Sprint("out", given)
		code, _, said := invoked(t, fmt.Sprintf(conf, given), "", "sft", "--data", "row.jsonl", "--base-model",
			"toy.gguf", "--output-dir", out)
		kept, err := os.ReadFile(filepath.Join(out, "config.resolved.yaml"))
		if code != 0 || err != nil || !strings.Contains(string(kept), fmt.Sprintf("micro_batch: %d\n", want)) ||
			strings.Contains(said, fmt.Sprintf(lowered, given, want)) != (given != want) {
			t.Errorf("%d: exit code %d, %v, %s\n%s", given, code, err, said, kept)
		}
	}
	for given, want := range map[int]int{1000: 6, 6: 6, 5: 5} { // GRPO's step is the larger one
		code, stdout, said := invoked(t, fmt.Sprintf(conf, given), "", "inspect", "memory", "--json", "--model",
			"toy.gguf", "--private", "64")
		var r inspect.MemoryReport
		if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil || r.MicroBatch != want ||
			strings.Contains(said, fmt.Sprintf(lowered, given, want)) != (given != want) {
			t.Errorf("%d: exit code %d, %v, %d rows, %s", given, code, err, r.MicroBatch, said)
		}
	}
}

// Evaluated episodes are kept as those of other verbs are, each system's as a stage, scored; without a folder nothing
// is left.
func TestEvalKeepsTrajectories(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "tasks.json": hats})
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base", "adapter")
	eval := []string{"eval", "--mcp", url, "--base-model", "base", "--model", "adapter", "--compare-base", "--dataset",
		"tasks.json", "--split", "validation"}
	if code, _, said := hone(t, "", eval...); code != 0 || strings.Contains(said, "trajectories:") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	entries, err := os.ReadDir(".")
	// of the user: how servers did, and which runs there are
	left := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == ".state" })
	if err != nil || len(left) != 4 {
		t.Errorf("something is left: %v, %v", left, err)
	}
	if runs, err := os.ReadDir(".state/hone/runs"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run is kept: %v, %v", runs, err)
	}
	eval = append(eval, "--output-dir", "out")
	if code, _, said := hone(t, "", append(eval, "--dry-run")...); code != 0 {
		t.Fatalf("a dry run: exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", eval...); code != 0 ||
		!strings.Contains(said, "trajectories: out/trajectories.jsonl") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	text, err := os.ReadFile("out/trajectories.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		var x trajectory.Trajectory
		if err := json.Unmarshal([]byte(line), &x); err != nil || x.ScenarioID != "cap" || len(x.Messages) < 2 ||
			len(x.Turns) == 0 || len(x.Terms) == 0 {
			t.Errorf("%v: %s", err, line)
		}
	}
	s, err := run.Summarize("out")
	if err != nil || len(lines) != 2 || len(s.Stages) != 2 || s.Stages[0].Name != "eval_base" ||
		s.Stages[1].Name != "eval_model" || s.Stages[1].NumTrajectories != 1 {
		t.Errorf("%d lines, %+v, %v", len(lines), s.Stages, err)
	}
	if _, err := os.Stat("out/catalog.json"); err != nil {
		t.Error(err)
	}
	if code, _, said := hone(t, "", eval...); code != 2 ||
		!strings.Contains(said, "it already holds a run of hone eval") {
		t.Errorf("a second time: exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", "runs", "resume", "./out", "--mcp", url); code != 0 {
		t.Errorf("resumed: exit code %d, %s", code, said)
	}
	if again, err := os.ReadFile("out/trajectories.jsonl"); err != nil || string(again) != string(text) {
		t.Errorf("an evaluation that had ended was run again: %v\n%s", err, again)
	}
	if code, _, said := hone(t, "", "runs", "show", "./out"); code != 0 {
		t.Errorf("shown: exit code %d, %s", code, said)
	}
}

// What a server that crashed said last is in the error that ends an evaluation, and in the one that ends a training.
func TestEvalAndTrainTellOfACrash(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "server.py": crashing,
		"tasks.json": `[{"id": "a", "task": "Poll.", "split": "train", "setup": [{"name": "poll", "arguments": {}}], "checks": [{"type": "answer", "equals": "42"}]},
			{"id": "b", "task": "Poll on.", "split": "validation", "setup": [{"name": "poll", "arguments": {}}], "checks": [{"type": "answer", "equals": "42"}]}]`})
	toyModel(t, "base/toy.gguf")
	for _, verb := range [][]string{{"eval", "--split", "validation"}, {"train", "--output-dir", "out"}} {
		code, _, said := hone(t, "", append(verb, "--sandbox", "off", "--mcp", "python3 server.py", "--base-model",
			"base", "--dataset", "tasks.json")...)
		_, end, _ := strings.Cut(said, "\nhone: ")
		if code != 5 || !strings.Contains(end, "exit status 3") || !strings.Contains(end, "the disk is on fire") {
			t.Errorf("%s: exit code %d, the end is %s\nof %s", verb[0], code, end, said)
		}
	}
}

// An evaluation that is stopped leaves no stage that claims to be finished.
func TestStoppedEvalIsNotFinished(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "tasks.json": hats})
	toyModel(t, "base/toy.gguf")
	ctx, stop := context.WithCancel(t.Context())
	said := &once{line: "are compiled", do: stop}
	code := toyApp(said, nil).main(ctx, []string{"eval", "--mcp", url, "--base-model", "base", "--dataset",
		"tasks.json", "--split", "validation", "--output-dir", "out"})
	s, err := run.Summarize("out")
	if code == 0 || err != nil {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	for _, stage := range s.Stages {
		t.Errorf("%+v", stage)
	}
}

// train measures itself on the validation split, says which step was best, and keeps that step's checkpoint beside the
// last two. Here the last step of four is one of them, and the first measured is made the best.
func TestTrainKeepsTheBestCheckpoint(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{
		"hone.yaml": strings.NewReplacer("every: 3", "every: 1", "checkpoint_every: 3",
			"checkpoint_every: 1, patience: 0").Replace(toyConfig),
		"tasks.json": hats,
	})
	toyModel(t, "base/toy.gguf")
	code, _, said := hone(t, "", "train", "--mcp", url, "--base-model", "base", "--dataset", "tasks.json",
		"--output-dir", "out")
	if code != 0 && code != 3 { // a toy may earn the same in all episodes
		t.Fatalf("exit code %d, %s", code, said)
	}
	dir, err := run.Open("out", run.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	rows, err := dir.Ledger.Metrics(recipe.ValidationStage)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v: %d evaluations: %s", err, len(rows), said)
	}
	for step := range 5 {
		ts, err := dir.Ledger.Trajectories(recipe.ValidationStage, step)
		if err != nil || len(ts) != 1 {
			t.Errorf("%v: %d episodes were kept of the evaluation after step %d", err, len(ts), step)
		}
	}
	log := records.Journal{Dir: dir, Say: func(string, ...any) {}}
	best, _, err := log.Best("grpo", 5)
	if err != nil || best == 0 || !strings.Contains(said, "on validation") {
		t.Errorf("%v: best is %d: %s", err, best, said)
	}
	for _, step := range []int{best, 3, 4} {
		if _, err := os.Stat(fmt.Sprintf("out/checkpoints/grpo_step_%d/adapter", step)); err != nil {
			t.Error(err)
		}
	}
	// of the last two, the third is as good as the fourth; the others are better, and gone
	for step := 1; step <= 4; step++ {
		success := "0.75"
		if step < 3 {
			success = "0.9"
			if err := os.RemoveAll(fmt.Sprintf("out/checkpoints/grpo_step_%d", step)); err != nil {
				t.Fatal(err)
			}
		}
		if err := dir.PutMetric(recipe.ValidationStage, step,
			[]byte(`{"success":`+success+`,"reward":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	for before, want := range map[int]int{3: 0, 4: 3, 5: 3} {
		if best, m, err := log.Best("grpo", before); err != nil || best != want || want > 0 && m["success"] != 0.75 {
			t.Errorf("%v: before %d, %d is best, want %d: %v", err, before, best, want, m)
		}
	}
}

// What a program scores needs no checks to be trained on; a program tells no success, so an evaluation wants them.
func TestTrainingByAProgramNeedsNoChecks(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig + "rewards: {program: {command: [./judge.sh]}}\n",
		"tasks.jsonl": `{"task": "Buy a hat.", "split": "train"}` + "\n"})
	toyModel(t, "base/toy.gguf")
	if err := os.WriteFile("judge.sh", []byte("#!/bin/sh\necho '[0, 1]'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	code, _, said := hone(t, "", "train", "--mcp", url, "--dataset", "tasks.jsonl", "--output-dir", "out",
		"--base-model", "base")
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	for _, x := range trajectoriesOf(t, "out") {
		if last := x.Terms[len(x.Terms)-1]; last.Name != "program" || last.Score != float64(x.Rollout) {
			t.Errorf("%s: %+v", x.ID, x.Terms)
		}
	}
	if code, _, said := hone(t, "", "eval", "--mcp", url, "--dataset", "tasks.jsonl", "--split", "train", "--model",
		"out/final"); code != 2 || !strings.Contains(said, "nothing can score them") {
		t.Errorf("eval: exit code %d, %s", code, said)
	}
}
