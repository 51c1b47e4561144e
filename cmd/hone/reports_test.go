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
	page := contents(t, "out/report.html")
	for _, want := range []string{
		"hone train", "<h1>out</h1>", "mean of the episodes", "Groups of training", "grpo/a/0/0", "Buy a hat.",
		"checks[0]",
	} {
		if !strings.Contains(page, want) {
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
		page := contents(t, "eval-"+split+"/report.html")
		for _, want := range []string{
			"<h1>eval-" + split, "eval_model/" + id, "eval_base/" + id, "Regressions", "model against base",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of eval lacks %q", want)
			}
		}
		if strings.Contains(page, "was trained on") != (split == "train") || strings.Contains(page, "<link") ||
			strings.Contains(page, "src=") {
			t.Errorf("the page of %s:\n%s", split, page)
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
	if err := os.WriteFile("near.jsonl", []byte(`{"id": "n", "task": "Now buy a hat!", "split": "validation", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}`), 0o600); err != nil {
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
	if !strings.Contains(said.String(), "warning: 1 scenario of 1 near to what the model was trained on: "+
		"n is near to a of ") || !strings.Contains(contents(t, "eval-near/report.html"), `<a href="#case-n">`) ||
		!strings.Contains(contents(t, "eval-near/report.html"), "</a>, of a (a near copy, similarity 0.64)") {
		t.Errorf("near copies are not told: %s", &said)
	}
	// The page is made again from the run alone, as it was but for what only the process knew that made it.
	if err := os.Remove("eval-train/report.html"); err != nil {
		t.Fatal(err)
	}
	if code := a.main(t.Context(), []string{"runs", "report", "./eval-train"}); code != 0 {
		t.Fatalf("runs report: exit code %d, %s", code, &said)
	}
	if page := contents(t, "eval-train/report.html"); !strings.Contains(page, "model against base") ||
		!strings.Contains(page, "was trained on") || !strings.Contains(page, "hone eval") {
		t.Errorf("made again: %s", page)
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
	if page := contents(t, "eval-train/report.html"); strings.Count(page, "<dt>device</dt>") != 1 ||
		strings.Count(page, "<dt>split</dt>") != 1 {
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
