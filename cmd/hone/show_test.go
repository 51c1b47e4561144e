package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/synth"
	"hone/internal/toolset"
)

// Where a server does not answer as a row wants, what it wrote to stderr is shown beneath what is wrong.
func TestValidateShowsStderr(t *testing.T) {
	workFolder(t, map[string]string{
		"mcp.json": files(t), "template/notes.txt": "n", "tasks.jsonl": `{"id": "gone", "task": "Read it.", "gold": [` +
			`{"name": "read_text_file", "arguments": {"path": "gone.txt"}}], "checks": [{"type": "answer", "contains": "4711"}], "gold_answer": "4711"}`,
	})
	code, out, said := hone(t, "", "scenarios", "validate", "tasks.jsonl", "--mcp-config", "mcp.json")
	if code != 2 || !strings.Contains(out, "read_text_file") ||
		!strings.Contains(said, "tasks.jsonl:1: server files wrote to stderr:\n  ") ||
		!strings.Contains(said, "running on stdio") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	var findings []synth.Finding
	_, out, _ = hone(t, "", "scenarios", "validate", "tasks.jsonl", "--mcp-config", "mcp.json", "--json")
	if err := json.Unmarshal([]byte(out), &findings); err != nil || len(findings) != 1 ||
		!strings.Contains(findings[0].Stderr["files"], "running on stdio") {
		t.Errorf("%v: %s", err, out)
	}
}

// An episode of a real server is read with all that belongs to it: chat, calls, results, checks, and the server's
// stderr.
func TestShowEpisode(t *testing.T) {
	workFolder(t, map[string]string{"mcp.json": files(t), "template/notes.txt": "the code is 4711",
		"notes.jsonl": strings.ReplaceAll(strings.NewReplacer("\n  ", " ").Replace(notes), `"contains": "4711"`,
			`"contains": "4712"`)})
	if code, _, said := hone(t, "", "collect", "--mcp-config", "mcp.json", "--endpoint", clerk(t), "--model", "clerk",
		"--dataset", "notes.jsonl", "--output-dir", "traces", "--yes"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	code, list, said := hone(t, "", "runs", "rollouts", "./traces", "--plain")
	if code != 0 || !strings.Contains(list, "collect/write\tok\t") ||
		!strings.Contains(list, `checks[0] {"type":"answer","contains":"4712"}`) {
		t.Errorf("exit code %d, %s%s", code, list, said)
	}
	for _, name := range []string{"read", "collect/read"} {
		// by its name alone: it is in the list of runs
		code, text, said := hone(t, "", "runs", "show", "traces", "--episode", name)
		if code != 0 {
			t.Fatalf("%s: exit code %d, %s", name, code, said)
		}
		for _, want := range []string{
			"episode collect/read\n", "outcome ok (completed)", "split train, attempt 1\n",
			"\nuser\n  What does notes.txt say?", "calls read_text_file {\"path\"", "\ntool read_text_file: ok, ",
			"\n  the code is 4711\n",
			`failed  checks[0] {"type":"answer","contains":"4712"}: "the code is 4711" does not meet "contains"`,
			"\nstderr of ", "running on stdio",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
	var shown struct {
		Row    string
		Checks []stats.Verdict
		Stderr map[string]string
	}
	if _, text, _ := hone(t, "", "runs", "show", "./traces", "--episode", "read",
		"--json"); json.Unmarshal([]byte(text), &shown) != nil || shown.Row != "collect/read" ||
		len(shown.Checks) != 1 || shown.Checks[0].Passed || len(shown.Stderr) != 1 {
		t.Errorf("JSON: %s", text)
	}
	if code, _, said := hone(t, "", "runs", "show", "./traces", "--episode", "nothing"); code != 2 ||
		!strings.Contains(said, `no episode "nothing"`) ||
		!strings.Contains(said, "hone runs rollouts ./traces lists them") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if _, text, _ := hone(t, "", "runs", "ls", "--plain"); !strings.Contains(text, "/traces\t") ||
		!strings.Contains(text, "\tfinished\n") {
		t.Errorf("runs ls: %s", text)
	}
}

// Metrics are a table of some steps, and text of servers reaches the terminal as text.
func TestShowRun(t *testing.T) {
	workFolder(t, nil)
	var said, stdout bytes.Buffer
	a := toyApp(&said, nil)
	a.Data = sanitize.New(&stdout)
	dir, err := a.jobs(config.Config{}).Create("out", config.Default(), job.Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	log := records.Journal{Dir: dir, Say: t.Logf,
		Episodes: &episodes.Episodes{Set: &toolset.Set{Catalog: &mcp.Catalog{}}}}
	for step := range 30 {
		metrics := map[string]float64{"loss": 1 / float64(step+1), "reward": float64(step)}
		if step == 29 {
			metrics["late"] = 1e-9
		}
		if err := log.Metrics("grpo", step, metrics); err != nil {
			t.Fatal(err)
		}
	}
	for _, stage := range []string{"eval_base", "eval_model"} {
		if err := log.Trajectory(stage, 0, &trajectory.Trajectory{ID: "s/0/0", Outcome: trajectory.OK,
			Messages: []chat.Message{{Role: chat.ToolRole, Name: "x", Content: "\x1b[2Jhone: all fine"}},
			Stderr:   map[string]string{"calc": "\x1b]0;title\a"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if code := a.main(t.Context(), []string{"runs", "show", "./out", "--plain"}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	for _, want := range []string{
		"stage grpo\t", "30 steps, 0 trajectories", "\ngrpo step\t0\t4\t9\t14\t19\t24\t29\n",
		"\n  late\t-\t-\t-\t-\t-\t-\t1e-09\n", "\n  reward\t0\t4\t9\t14\t19\t24\t29\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
	stdout.Reset()
	if code := a.main(t.Context(), []string{"runs", "show", "./out", "--episode", "eval_model/s/0/0"}); code != 0 ||
		strings.ContainsAny(stdout.String(), "\x1b\a") || !strings.Contains(stdout.String(),
		`\u001b[2Jhone: all fine`) || !strings.Contains(stdout.String(),
		`\u001b]0;title`) {
		t.Errorf("exit code %d, %q", code, stdout.String())
	}
	if code := a.main(t.Context(), []string{"runs", "show", "./out", "--episode", "s/0/0"}); code != 2 ||
		!strings.Contains(said.String(), "eval_base/s/0/0, eval_model/s/0/0") {
		t.Errorf("two episodes: exit code %d, %s", code, &said)
	}
}

// A run that cannot be listed for later is told so, and begins all the same.
func TestNoStateFolder(t *testing.T) {
	workFolder(t, map[string]string{"file": ""})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	a := toyApp(&said, map[string]string{"XDG_STATE_HOME": here + "/file"})
	dir, err := a.jobs(config.Config{}).Create("out", config.Default(), job.Begun{Verb: "train"})
	if err != nil || !strings.Contains(said.String(), "hone runs ls will not list this run") {
		t.Fatalf("%v, %s", err, &said)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}
