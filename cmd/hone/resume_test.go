//go:build !race

// Left out of -race: these tests compute in pure Go, whose vector code (gomlx/compute v0.1.0) reads past its slices in
// a way that the race detector's pointer checks end the process for.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/run"
)

const sayings = `{"messages":[{"role":"user","content":"Say a."},{"role":"assistant","content":"a"}]}
{"messages":[{"role":"user","content":"Say b."},{"role":"assistant","content":"b"}]}
{"messages":[{"role":"user","content":"Say c."},{"role":"assistant","content":"c"}]}
{"messages":[{"role":"user","content":"Say d."},{"role":"assistant","content":"d"}]}
`

// toyRun is a folder with a toy model, and the commands of a run that --output-dir ends.
func toyRun(t *testing.T, verb string) (command []string, env map[string]string, server *remote) {
	if verb == "sft" {
		workFolder(t, map[string]string{"hone.yaml": toyConfig, "say.jsonl": sayings})
		toyModel(t, "base/toy.gguf")
		return []string{"sft", "--data", "say.jsonl", "--base-model", "base", "--output-dir"}, nil, nil
	}
	if verb == "sidecar" {
		workFolder(t, map[string]string{"hone.yaml": toyConfig})
		toyModel(t, "base/toy.gguf")
		revisions(t)
		return []string{"sidecar", "train", "--data", "revisions", "--probe-every", "3", "--base-model", "base",
			"--output-dir"}, nil, nil
	}
	server = calculator(t, "t")
	workFolder(t, map[string]string{"hone.yaml": toyConfig + fewTools, "scenarios.json": sums})
	toyModel(t, "base/toy.gguf")
	return []string{"train", "--dataset", "scenarios.json", "--base-model", "base", "--output-dir"},
		map[string]string{"MCP_URL": server.url, "MCP_BEARER_TOKEN": "t"}, server
}

// clockMetrics are what no two runs share.
var clockMetrics = regexp.MustCompile(`,"(time/[a-z_]+|step_time)":[-+.0-9e]+`)

// result is all that a run learnt: its adapter, and its metrics but for what depends on the clock.
func result(t *testing.T, dir string) string {
	t.Helper()
	weights, err := os.ReadFile(filepath.Join(dir, "final/adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(weights) + clockMetrics.ReplaceAllString(string(metrics), "")
}

// A run stopped by Ctrl-C after its first step, and one killed later on, go on by name alone to the result of an
// unbroken one; the user's files may be gone by then.
func TestResume(t *testing.T) {
	for _, verb := range []string{"sft", "train", "sidecar"} {
		t.Run(verb, func(t *testing.T) {
			command, env, _ := toyRun(t, verb)
			steps := 4
			switch verb { // as few as it takes: one before it is stopped, one before it is killed, and those after
			case "train":
				steps = 3
				write(t, "hone.yaml", strings.Replace(contents(t, "hone.yaml"), "steps: 4", "steps: 3", 1))
			case "sidecar": // of SFT, and as many of GRPO
				steps = 2
				command = slices.Insert(command, 2, "--steps", "2")
			}
			var said bytes.Buffer
			if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
				t.Fatalf("exit code %d, %s", code, &said)
			}

			ctx, stop := context.WithCancel(t.Context())
			broken := &once{line: fmt.Sprintf(" 1/%d", steps), do: stop}
			if code := toyApp(broken, env).main(ctx, append(command, "broken")); code != 7 ||
				!strings.Contains(broken.String(), "next:  hone runs resume ./broken") {
				t.Fatalf("stopped: exit code %d, %s", code, broken)
			}
			if _, err := os.Stat("broken/checkpoints/" + stageOf(verb) + "_step_1/manifest.json"); err != nil {
				t.Errorf("the step at hand was not kept: %v", err)
			}
			said.Reset()
			if code := toyApp(&said, env).main(t.Context(), append(command, "broken")); code != 2 ||
				!strings.Contains(said.String(), "already holds a run") {
				t.Errorf("a second run in the same directory: exit code %d, %s", code, &said)
			}
			for _, file := range []string{"say.jsonl", "scenarios.json", "hone.yaml"} {
				_ = os.Remove(file) // one of them is not there
			}
			_ = os.RemoveAll("revisions")
			resume := []string{"runs", "resume", "./broken"}
			killed(t, env, resume...)
			if url := env["MCP_URL"]; url != "" { // the run directory keeps neither it nor the token
				delete(env, "MCP_URL")
				said.Reset()
				if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./broken"}); code != 2 ||
					!strings.Contains(said.String(), "name the run's MCP server again") ||
					strings.Contains(said.String(), url) {
					t.Errorf("without its server: exit code %d, %s", code, &said)
				}
				resume = append(resume, "--mcp", url)
			}
			said.Reset()
			if code := toyApp(&said, env).main(t.Context(), resume); code != 0 {
				t.Fatalf("resumed: exit code %d, %s", code, &said)
			}
			if verb == "train" {
				adaptersOfSteps(t, "broken")
			}
			main := stageOf(verb)
			if verb == "sidecar" {
				main = "grpo" // what it ends with
			}
			sameEvents(t, "broken", main)
			if got, want := result(t, "broken"), result(t, "whole"); got != want {
				t.Errorf("the resumed run learnt something else; metrics\n%s\nwant\n%s",
					metricsOf(got), metricsOf(want))
			}
		})
	}
}

// adaptersOfSteps wants all episodes of a step to be of one adapter, and steps of different ones.
func adaptersOfSteps(t *testing.T, dir string) {
	t.Helper()
	adapters, attempts := map[int]string{}, map[int]bool{}
	for line := range strings.Lines(contents(t, dir+"/trajectories.jsonl")) {
		var row struct {
			Step, Attempt int
			Adapter       string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if was, seen := adapters[row.Step]; seen && was != row.Adapter || len(row.Adapter) != 16 {
			t.Errorf("step %d is of the adapters %q and %q", row.Step, was, row.Adapter)
		}
		adapters[row.Step], attempts[row.Attempt] = row.Adapter, true
	}
	if distinct := slices.Compact(slices.Sorted(maps.Values(adapters))); len(distinct) < 2 || len(attempts) < 2 ||
		attempts[0] {
		t.Errorf("adapters %q, attempts %v", distinct, attempts)
	}
}

func metricsOf(result string) string { return result[strings.Index(result, `{"stage"`):] }

func stageOf(verb string) string {
	switch verb {
	case "train":
		return "grpo"
	case "sidecar": // it begins with it
		return "sft"
	}
	return verb
}

// A server that is lost ends training and evaluation as an upstream that cannot be reached; training goes on once it is
// back, and no lost episode stays in the record.
func TestLostServer(t *testing.T) {
	command, env, server := toyRun(t, "train")
	lose := func() { server.lost.Store(true) }
	said := &once{line: " 1/4", do: lose}
	if code := toyApp(said, env).main(t.Context(), append(command, "run")); code != 5 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	for _, want := range []string{"the MCP server does not answer any more", "then hone runs resume ./run"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("stderr lacks %q: %s", want, said)
		}
	}
	server.lost.Store(false)
	said = &once{line: "no such line"}
	if code := toyApp(said, env).main(t.Context(), []string{"runs", "resume", "./run"}); code != 0 {
		t.Fatalf("resumed: exit code %d, %s", code, said)
	}
	text, err := os.ReadFile("run/trajectories.jsonl")
	if err != nil || bytes.Count(text, []byte("\n")) != 19 || bytes.Contains(text, []byte("environment_error")) {
		t.Errorf("%v, want 16 whole episodes of training and three of validation: %s", err, text)
	}

	said = &once{line: "are compiled", do: lose}
	if code := toyApp(said, env).main(t.Context(),
		[]string{"eval", "--model", "run/final", "--dataset", "scenarios.json", "--split", "validation"}); code != 5 ||
		!strings.Contains(said.String(), "no episode was answered by its MCP server") {
		t.Errorf("eval: exit code %d, %s", code, said)
	}
}

// A file-size limit stands for a full disk: the run stops with what it has, and goes on where there is room.
func TestFullDisk(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": strings.Replace(toyConfig, "epochs: 2", "epochs: 30", 1),
		"say.jsonl": sayings})
	toyModel(t, "base/toy.gguf")
	limited := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 200 && exec "$@"`, "sh", honeCommand(t), "sft",
		"--data", "say.jsonl", "--base-model", "base", "--output-dir", "run")
	out, err := limited.CombinedOutput()
	if err == nil || limited.ProcessState.ExitCode() != 6 ||
		!strings.Contains(string(out), "then hone runs resume ./run") {
		t.Fatalf("%v: %s", err, out)
	}
	var said bytes.Buffer
	if code := toyApp(&said, nil).main(t.Context(), []string{"runs", "resume", "./run"}); code != 0 {
		t.Fatalf("resumed: exit code %d, %s", code, &said)
	}
	if n := strings.Count(metricsOf(result(t, "run")), "\n"); n != 60 {
		t.Errorf("%d steps, want 60", n)
	}
}

func TestUnknownFamily(t *testing.T) {
	workFolder(t, map[string]string{"say.jsonl": sayings})
	toyModel(t, "base/toy.gguf")
	text, err := os.ReadFile("base/toy.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("base/toy.gguf", bytes.ReplaceAll(text, []byte("llama"), []byte("gnu00")),
		0o644); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	code := toyApp(&said, nil).main(t.Context(),
		[]string{"sft", "--data", "say.jsonl", "--base-model", "base", "--output-dir", "run"})
	if code != 2 || !strings.Contains(said.String(), `"gnu00"`) ||
		!strings.Contains(said.String(), "where: "+filepath.Join("base", "toy.gguf")) {
		t.Errorf("exit code %d, %s", code, &said)
	}
	if _, err := os.Stat("run"); err == nil {
		t.Error("a run directory was left behind")
	}
}

// killed runs hone in a process of its own and kills it a moment after it has written to the run's ledger.
func killed(t *testing.T, env map[string]string, args ...string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), honeCommand(t), args...)
	child.Env = os.Environ()
	for key, value := range env {
		child.Env = append(child.Env, key+"="+value)
	}
	var said bytes.Buffer
	child.Stderr = &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait() // "signal: killed" is the point
	}()
	for before := numMetrics(t); numMetrics(t) == before; time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("it ended before it could be killed: %s", &said)
		default:
		}
	}
	_ = child.Process.Kill()
	<-ended
}

// A killed run whose ledger was damaged does not go on with less than was paid for: it stops and says what is missing,
// leaves the files beside the ledger as they are, and goes on to the same result once the ledger is made again from
// them.
func TestDamagedLedger(t *testing.T) {
	// whose tools are few, so steps take no time
	url, _ := shop(t)
	// each case goes on to the end
	conf := strings.NewReplacer("steps: 4, scenarios_per_step: 2", "steps: 3, scenarios_per_step: 1").Replace(toyConfig)
	workFolder(t, map[string]string{"hone.yaml": conf, "rows.jsonl": splitRows})
	toyModel(t, "base/toy.gguf")
	command, env := []string{"train", "--dataset", "rows.jsonl", "--base-model", "base", "--output-dir"},
		map[string]string{"MCP_URL": url}
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	ctx, stop := context.WithCancel(t.Context())
	first := &once{line: " 1/3", do: stop}
	if code := toyApp(first, env).main(ctx, append(command, "broken")); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, first)
	}
	killed(t, env, "runs", "resume", "./broken")
	for name, c := range map[string]struct {
		damage func(t *testing.T)
		says   string
	}{
		"nothing": {func(t *testing.T) {}, ""},
		"no log":  {func(t *testing.T) { removed(t, "broken/ledger.db-wal") }, "has less than the files beside it"},
		"a flipped log": {func(t *testing.T) {
			text := contents(t, "broken/ledger.db-wal")
			flipped(t, "broken/ledger.db-wal", len(text)/2)
		}, "has less than the files beside it"},
		"an empty ledger": {func(t *testing.T) {
			if err := os.Truncate("broken/ledger.db", 0); err != nil {
				t.Fatal(err)
			}
		}, "it is empty"},
		"no ledger": {func(t *testing.T) { removed(t, "broken/ledger.db") }, "it is not there"},
		"a flipped ledger": {func(t *testing.T) {
			// which moves the log into it: what the log holds would mend it
			l, err := run.OpenLedger("broken/ledger.db")
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			flipped(t, "broken/ledger.db", 20)
		}, "the run's ledger is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			kept, err := filepath.Abs("broken")
			if err != nil {
				t.Fatal(err)
			}
			here := t.TempDir()
			if err := os.CopyFS(filepath.Join(here, "broken"), os.DirFS(kept)); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(filepath.Join(here, "base"),
				os.DirFS(filepath.Join(filepath.Dir(kept), "base"))); err != nil {
				t.Fatal(err)
			}
			whole := result(t, filepath.Join(filepath.Dir(kept), "whole"))
			t.Chdir(here)
			c.damage(t)
			metrics, trajectories := contents(t, "broken/metrics.jsonl"), contents(t, "broken/trajectories.jsonl")
			var said bytes.Buffer
			code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./broken"})
			if c.says == "" {
				if code != 0 || result(t, "broken") != whole {
					t.Errorf("a killed run: exit code %d, %s", code, &said)
				}
				adaptersOfSteps(t, "broken")
				return
			}
			if code != 1 || !strings.Contains(said.String(), c.says) ||
				!strings.Contains(said.String(), "hone runs resume ./broken --rebuild-ledger") {
				t.Fatalf("exit code %d, %s", code, &said)
			}
			t.Logf("%s", &said)
			if contents(t, "broken/metrics.jsonl") != metrics ||
				contents(t, "broken/trajectories.jsonl") != trajectories {
				t.Error("the exports were touched")
			}
			said.Reset()
			if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./broken",
				"--rebuild-ledger"}); code != 0 || !strings.Contains(said.String(), "the ledger was made again") {
				t.Fatalf("made again: exit code %d, %s", code, &said)
			}
			adaptersOfSteps(t, "broken")
			if got := result(t, "broken"); got != whole {
				t.Errorf("it learnt something else; metrics\n%s\nwant\n%s", metricsOf(got), metricsOf(whole))
			}
			if _, err := os.Stat("broken/quarantine/ledger.db"); err != nil && name != "no ledger" {
				t.Error(err)
			}
		})
	}
}

// Scenarios or settings that were edited in a stopped run are noticed, and taken where that is said.
func TestEditedRun(t *testing.T) {
	command, env, _ := toyRun(t, "sft")
	ctx, stop := context.WithCancel(t.Context())
	first := &once{line: " 1/4", do: stop}
	if code := toyApp(first, env).main(ctx, append(command, "run")); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, first)
	}
	settings, err := new(config.Config).YAML()
	if err != nil {
		t.Fatal(err)
	}
	grpo, err := run.Create("grpo", settings, job.Begun{Verb: "train"},
		run.Input{Name: job.ScenariosFile, Data: []byte(sums)})
	if err != nil {
		t.Fatal(err)
	}
	if err := grpo.Close(); err != nil {
		t.Fatal(err)
	}
	edit := strings.NewReplacer("Add 2 and 3.", "Add up 2 and 3.", "epochs: 2", "epochs: 1")
	for _, file := range []string{"grpo/scenarios.json", "run/config.resolved.yaml"} {
		before := contents(t, file)
		edited := edit.Replace(before)
		if edited == before {
			t.Fatalf("nothing to edit in %s", before)
		}
		if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		dir, name := filepath.Split(file)
		if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./" + dir}); code != 2 ||
			!strings.Contains(said.String(), name+" had SHA-256") {
			t.Errorf("an edited %s: exit code %d, %s", file, code, &said)
		}
	}
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./run", "--accept-edits"}); code != 0 ||
		!strings.Contains(said.String(), "config.resolved.yaml was edited since the run began") {
		t.Fatalf("accepted: exit code %d, %s", code, &said)
	}
	if n := strings.Count(contents(t, "run/metrics.jsonl"), "\n"); n != 2 {
		t.Errorf("%d steps, want the edited 2", n)
	}
}

func removed(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func flipped(t *testing.T, name string, at int) {
	t.Helper()
	text := []byte(contents(t, name))
	text[at] ^= 1
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func numMetrics(t *testing.T) int {
	text, err := os.ReadFile("broken/metrics.jsonl")
	if err != nil {
		return 0 // being made again
	}
	n := 0
	for line := range bytes.Lines(text) {
		if json.Valid(line) {
			n++
		}
	}
	return n
}

// Episodes so nearly greedy that a group's are all alike teach nothing, and the run says so.
func TestRunWithoutSpread(t *testing.T) {
	command, env, _ := toyRun(t, "train")
	text := strings.NewReplacer("max_turns", "temperature: 0.00001, max_turns", "steps: 4",
		"steps: 2").Replace(toyConfig)
	if err := os.WriteFile("hone.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), append(command, "run")); code != 3 ||
		!strings.Contains(said.String(), "nothing was learnt") {
		t.Errorf("exit code %d, %s", code, &said)
	}
	if metrics, err := os.ReadFile("run/metrics.jsonl"); err != nil ||
		bytes.Count(metrics, []byte(`"step_tokens":0`)) != 2 {
		t.Errorf("%v: %s", err, metrics)
	}
}

// --num-gpus is engine.backend: cuda, whose plug-in comes from a virtual environment.
func TestNumGPUs(t *testing.T) {
	server := calculator(t, "t")
	for flag, want := range map[string]bool{"0": false, "1": true, "2": true} {
		workFolder(t, map[string]string{"hone.yaml": toyConfig + fewTools, "scenarios.json": sums})
		toyModel(t, "base/toy.gguf")
		var said bytes.Buffer
		code := toyApp(&said, map[string]string{"MCP_URL": server.url, "MCP_BEARER_TOKEN": "t", "VIRTUAL_ENV": "",
			"PJRT_PLUGIN_LIBRARY_PATH": ""}).main(t.Context(),
			[]string{"train", "--base-model", "base", "--output-dir", "out", "--num-gpus", flag})
		if missing := strings.Contains(said.String(), "no CUDA plug-in found"); missing != want ||
			missing != (code == 6) {
			t.Errorf("--num-gpus %s: exit code %d, %s", flag, code, &said)
		}
	}
}

// A run stopped while it measures itself goes on to the result of an unbroken one, its evaluations included. Its
// prompts are short, so it takes a second where TestResume takes minutes.
func TestResumeWithinAnEvaluation(t *testing.T) {
	url, _ := shop(t)
	conf := strings.NewReplacer("every: 3", "every: 1", "max_tokens: 8", "max_tokens: 20", "steps: 4", "steps: 3",
		"group_size: 2", "group_size: 4").Replace(toyConfig)
	tasks := `[{"user": {"says": ["Say a.", "More.", "And more."]}, "split": "train", "checks": [{"type": "answer", "regex": "[a-m]", "any_turn": true}]}, {"task": "Say b.", "split": "train", "checks": [{"type": "answer", "regex": "[a-m]"}]},
 {"task": "Say c.", "split": "validation", "checks": [{"type": "no_call"}]}, {"user": {"says": ["Say d.", "More."]}, "split": "validation", "checks": [{"type": "no_call"}]}]`
	workFolder(t, map[string]string{"hone.yaml": conf, "tasks.json": tasks})
	toyModel(t, "base/toy.gguf")
	command := []string{"train", "--mcp", url, "--base-model", "base", "--dataset", "tasks.json", "--output-dir"}
	if code, _, said := hone(t, "", append(command, "whole")...); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	ctx, stop := context.WithCancel(t.Context())
	broken := &once{line: " 1/3", do: stop}
	if code := toyApp(broken, nil).main(ctx, append(command, "broken")); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, broken)
	}
	if code, _, said := hone(t, "", "runs", "resume", "./broken", "--mcp", url); code != 0 {
		t.Fatalf("resumed: exit code %d, %s", code, said)
	}
	for _, dir := range []string{"broken", "whole"} { // a user spoke, and its words are where a resume finds them
		if text := contents(t, dir+"/trajectories.jsonl"); !strings.Contains(text, `"content":"More."`) {
			t.Errorf("%s: no user spoke again", dir)
		}
	}
	got, want := result(t, "broken"), result(t, "whole")
	if got != want || strings.Count(want, `"stage":"validation"`) != 4 || strings.Count(want, `"grad_norm":0,`) == 3 {
		t.Errorf("the resumed run learnt something else; metrics\n%s\nwant\n%s", metricsOf(got), metricsOf(want))
	}
}

// An evaluation stopped after its first episodes goes on to the episodes and the numbers of an unbroken one; those that
// it had are not run again.
func TestResumeEvaluation(t *testing.T) {
	url, _ := shop(t)
	var tasks []string
	for _, letter := range "abcdefgh" {
		opening := fmt.Sprintf(`"task": "Say %c."`, letter)
		if letter%2 == 0 {
			opening = fmt.Sprintf(`"user": {"says": ["Say %c.", "More.", "Bye. ###STOP###"]}`, letter)
		}
		tasks = append(tasks,
			fmt.Sprintf(`{"id": "%c", %s, "split": "test", "checks": [{"type": "answer", "regex": "[a-m]"}]}`,
				letter, opening))
	}
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "tasks.json": "[" + strings.Join(tasks, ",") + "]"})
	toyModel(t, "base/toy.gguf")
	command := []string{"eval", "--mcp", url, "--base-model", "base", "--dataset", "tasks.json", "--split", "test",
		"--json", "--output-dir"}
	code, want, said := hone(t, "", append(command, "whole")...)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	ctx, stop := context.WithCancel(t.Context())
	broken := &once{line: " 1/8", do: stop}
	if code := toyApp(broken, nil).main(ctx, append(command, "broken")); code != 7 ||
		!strings.Contains(broken.String(), "next:  hone runs resume ./broken") {
		t.Fatalf("stopped: exit code %d, %s", code, broken)
	}
	if code, state, _ := hone(t, "", "runs", "show", "./broken"); code != 0 || !strings.Contains(state, "stopped; ") {
		t.Errorf("while it is stopped: %s", state)
	}
	_ = os.Remove("tasks.json")
	code, got, said := hone(t, "", "runs", "resume", "./broken", "--mcp", url, "--json")
	if got, want = secondsIn.ReplaceAllString(got, ""), secondsIn.ReplaceAllString(want, ""); code != 0 || got != want {
		t.Fatalf("resumed: exit code %d, %s\n%s\nwant\n%s", code, said, got, want)
	}
	attempts := map[string]map[int]int{}
	episodes := func(dir string) map[string]string {
		of := map[string]string{}
		attempts[dir] = map[int]int{}
		for line := range strings.Lines(contents(t, dir+"/trajectories.jsonl")) {
			var row struct {
				ID      string
				Attempt int
				User    json.RawMessage
				Turns   []struct {
					CompletionIDs   json.RawMessage `json:"completion_ids"`
					SamplerLogprobs json.RawMessage `json:"sampler_logprobs"`
				}
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			of[row.ID] = fmt.Sprintf("%s %s", row.Turns, secondsIn.ReplaceAll(row.User, nil))
			attempts[dir][row.Attempt]++
		}
		return of
	}
	if got, want := episodes("broken"), episodes("whole"); !maps.Equal(got, want) || len(want) != 8 ||
		strings.Contains(want["a/0/0"], "[]") {
		t.Errorf("episodes\n%v\nwant\n%v", got, want)
	}
	if n := attempts["broken"]; n[1] == 0 || n[1]+n[2] != 8 || n[2] == 0 {
		t.Errorf("episodes of each attempt: %v", n)
	}
	if code, state, _ := hone(t, "", "runs", "show", "./broken"); code != 0 || !strings.Contains(state, "finished") {
		t.Errorf("in the end: %s", state)
	}
}
