//go:build !race

// Left out of -race: these tests compute in pure Go, as those in resume_test.go do.

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/data/overlap"
)

// reportOf are the numbers of a run's report, and its page, which a binary that was built without one says that it does
// not write.
func reportOf(t *testing.T, dir, said string) (numbers, page string) {
	t.Helper()
	numbers = contents(t, dir+"/results.json")
	if strings.Contains(said, "no report.html, since this binary was built without the page") {
		if _, err := os.Stat(dir + "/report.html"); err == nil {
			t.Errorf("%s has a page, and it is said that there is none", dir)
		}
		return numbers, ""
	}
	if !strings.Contains(said, "report: ") {
		t.Errorf("the report is not named: %s", said)
	}
	return numbers, contents(t, dir+"/report.html")
}

// Training and evaluation end with a page that needs nothing else, and an evaluation shows the episodes that failed and
// says which of its scenarios were trained on.
func TestReports(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": strings.Replace(toyConfig, "steps: 4", "steps: 1", 1),
		"rows.jsonl": splitRows})
	toyModel(t, "base/toy.gguf")
	var said, stdout bytes.Buffer
	a := toyApp(&said, nil)
	a.Data = sanitize.New(&stdout)
	// 3: nothing was learnt
	if code := a.main(t.Context(), []string{"train", "--mcp", url, "--dataset", "rows.jsonl", "--base-model", "base",
		"--output-dir", "out"}); code != 0 && code != 3 {
		t.Fatalf("train: exit code %d, %s", code, &said)
	}
	numbers, page := reportOf(t, "out", said.String())
	if !strings.Contains(numbers, `"hone train"`) || !strings.Contains(numbers, `"worst_groups"`) {
		t.Errorf("the numbers of train: %s", numbers)
	}
	for _, want := range []string{"grpo/a/0/0", "Buy a hat.", "overview?run=out"} {
		if page != "" && !strings.Contains(page, want) {
			t.Errorf("the page of train lacks %q", want)
		}
	}
	for _, split := range []string{"validation", "train"} {
		said.Reset()
		stdout.Reset()
		if code := a.main(t.Context(), []string{"eval", "--model", "out/final", "--mcp", url, "--dataset", "rows.jsonl",
			"--split", split, "--compare-base", "--show", "failed", "--output-dir", "eval-" + split}); code != 0 {
			t.Fatalf("eval: exit code %d, %s", code, &said)
		}
		if warned := strings.Contains(said.String(),
			"warning: the model was trained on 1 of 1 scenario (a)"); warned != (split == "train") {
			t.Errorf("%s: warned %v: %s", split, warned, &said)
		}
		id := map[string]string{"validation": "b", "train": "a"}[split] + "/0/0"
		for _, want := range []string{
			"episode base: " + id + "\n", "episode model: " + id + "\n",
			"\nchecks\n  failed  checks[0] {\"type\":\"call\"", "SYSTEM",
		} {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("%s: no %q in\n%s", split, want, &stdout)
			}
		}
		_, page := reportOf(t, "eval-"+split, said.String())
		for _, want := range []string{"eval_model/" + id, "eval_base/" + id, "evaluation?run=eval-" + split,
			`"state":"finished"`} {
			if page != "" && !strings.Contains(page, want) {
				t.Errorf("the page of eval lacks %q", want)
			}
		}
		var results struct {
			Systems   map[string]any
			TrainedOn []string `json:"trained_on"`
		}
		if err := json.Unmarshal([]byte(contents(t, "eval-"+split+"/results.json")), &results); err != nil ||
			len(results.Systems) != 2 || (len(results.TrainedOn) == 1) != (split == "train") {
			t.Errorf("%v: %+v", err, results)
		}
	}
	// A near copy of what was trained on is told, in the words of the page and of the JSON.
	if err := os.WriteFile("near.jsonl", []byte(`{"id": "n", "task": "Now buy a hat!", "split": "validation", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}
{"id": "m", "task": "What may a tie cost?", "split": "validation", "gold": [{"name": "buy", "arguments": {"name": "tie"}}], "checks": [{"type": "no_call"}]}
{"id": "o", "task": "Are there ties?", "split": "validation", "gold": [{"name": "buy", "arguments": {"name": "tie"}}], "checks": [{"type": "no_call"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	if code := a.main(t.Context(), []string{"eval", "--model", "out/final", "--mcp", url, "--dataset", "near.jsonl",
		"--split", "validation", "--output-dir", "eval-near"}); code != 0 {
		t.Fatalf("eval: exit code %d, %s", code, &said)
	}
	var near struct {
		Near []overlap.Near `json:"near_trained"`
	}
	if err := json.Unmarshal([]byte(contents(t, "eval-near/results.json")), &near); err != nil || len(near.Near) != 1 ||
		near.Near[0].ScenarioID != "n" || near.Near[0].Source.Name != "a" || !near.Near[0].SameValues {
		t.Errorf("near copies: %+v, %v", near, err)
	}
	for _, want := range []string{
		"warning: 1 scenario of 3 near to what the model was trained on: n is near to a of ",
		`the first call says little here: the gold calls of 2 of 2 scenarios begin with buy {"name":"tie"}; look at `,
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in %s", want, &said)
		}
	}
	// The report is made again from the run alone, with what only the process knew that made it.
	said.Reset()
	if code := a.main(t.Context(), []string{"runs", "report", "./eval-train"}); code != 0 {
		t.Fatalf("runs report: exit code %d, %s", code, &said)
	}
	if numbers, _ := reportOf(t, "eval-train", said.String()+"report: "); !strings.Contains(numbers, `"trained_on"`) ||
		!strings.Contains(numbers, `"hone eval"`) {
		t.Errorf("made again: %s", numbers)
	}
	stdout.Reset()
	if code := a.main(t.Context(),
		[]string{"runs", "report", "./eval-train", "--inspect", "logs", "--json"}); code != 0 {
		t.Fatalf("runs report --inspect: exit code %d, %s", code, &said)
	}
	var made struct {
		Report, Results string
		Logs            []string
	}
	if err := json.Unmarshal(stdout.Bytes(), &made); err != nil || len(made.Logs) != 2 || made.Report == "" ||
		made.Results == "" {
		t.Fatalf("%v: %s", err, &stdout)
	}
	for i, model := range []string{"hone/base", "hone/model"} {
		var log struct {
			Version int
			Status  string
			Eval    struct {
				Model   string
				Dataset struct{ Location string }
			}
			Samples []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(contents(t, made.Logs[i])), &log); err != nil || log.Version != 2 ||
			log.Status != "success" || log.Eval.Model != model || len(log.Samples) != 1 || log.Samples[0].ID != "a" ||
			log.Eval.Dataset.Location != "rows.jsonl" {
			t.Errorf("%v: %+v", err, log)
		}
	}
	if numbers := contents(t, "eval-train/results.json"); strings.Count(numbers, `"name": "device"`) != 1 ||
		strings.Count(numbers, `"name": "split"`) != 1 {
		t.Error("what only the process knew that measured is lost, or there twice")
	}
	if code := a.main(t.Context(), []string{"runs", "report", "out", "--inspect", "logs"}); code != 2 ||
		!strings.Contains(said.String(), "no evaluation to write as a log") {
		t.Errorf("a log of no evaluation: exit code %d, %s", code, &said)
	}
	if code := a.main(t.Context(), []string{"runs", "report", "nowhere"}); code != 2 {
		t.Errorf("of no run: exit code %d", code)
	}
	stdout.Reset()
	if code := a.main(t.Context(), []string{"runs", "ls", "--plain"}); code != 0 ||
		strings.Count(stdout.String(), "\tfinished\n") != 4 {
		t.Errorf("runs ls: %s", &stdout)
	}
	// What one attempt saw of the world is in its record.
	text := contents(t, "out/trajectories.jsonl")
	if !strings.Contains(text, `"split":"train"`) || !strings.Contains(text, `"attempt":1,"adapter":"`) {
		t.Errorf("trajectories: %s", text)
	}
	if _, err := os.Stat("eval-train/scenarios.json"); err != nil {
		t.Error(err)
	}
}
