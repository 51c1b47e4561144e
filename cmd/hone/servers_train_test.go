//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/testing/fakes"
)

// toyed is an app over a toy model at toy.gguf, with a configuration whose backend is pure Go.
func toyed(t *testing.T) (a *app, stdout, stderr *bytes.Buffer, base string) {
	t.Helper()
	workFolder(t, map[string]string{
		"hone.yaml": strings.Replace(tiny, "{slots: 4}", "{slots: 4, backend: go}", 1) + fewTools,
	})
	toyModel(t, "base/toy.gguf")
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a = toyApp(stderr, nil)
	a.Data = sanitize.New(stdout)
	return a, stdout, stderr, "base"
}

func TestTrainAndEvalOverHTTP(t *testing.T) {
	server := everything(t, "t")
	a, stdout, stderr, base := toyed(t)
	trainAndEvalOverHTTP(t, server, a, stdout, stderr, base)
}

// A GRPO step and an evaluation against a streamable-HTTP server that wants a token, by the commands of other trainers.
func trainAndEvalOverHTTP(t *testing.T, server *remote, a *app, stdout, stderr *bytes.Buffer, base string) {
	a.withEnv(map[string]string{"MCP_URL": server.url, "MCP_BEARER_TOKEN": "t"})
	write(t, "data/scenarios.json", sums)
	write(t, "data/bare.json", `[{"task": "Add 2 and 3."}]`)

	if code := a.main(t.Context(), []string{"train", "--dataset", "data/bare.json", "--base-model", base,
		"--output-dir", "OUT", "--num-gpus", "0"}); code != 2 {
		t.Errorf("without checks and judge: exit code %d", code)
	}
	for _, remedy := range []string{`give each scenario "checks"`, "--judge-model"} {
		if !strings.Contains(stderr.String(), remedy) {
			t.Errorf("stderr lacks %q: %s", remedy, stderr)
		}
	}
	if server.let.Load() != 0 {
		t.Error("a server was asked for scenarios that cannot be scored")
	}

	// a toy may earn the same in all episodes
	if code := a.main(t.Context(), []string{"train", "--dataset", "data/scenarios.json", "--base-model", base,
		"--output-dir", "OUT", "--num-gpus", "0"}); code != 0 && code != int(fault.CodeFailures) {
		t.Fatalf("train: exit code %d, %s", code, stderr)
	}
	for _, file := range []string{"adapter_config.json", "adapter_model.safetensors", "chat_template.jinja"} {
		if _, err := os.Stat(filepath.Join("OUT/final", file)); err != nil {
			t.Error(err)
		}
	}
	lines, err := os.ReadFile("OUT/trajectories.jsonl")
	if err != nil || bytes.Count(lines, []byte("\n")) != 6 || bytes.Contains(lines, []byte(`"environment_error"`)) {
		t.Errorf("%v; want 4 whole episodes of the step, and two of validation: %s", err, lines)
	}
	if metrics, err := os.ReadFile("OUT/metrics.jsonl"); err != nil ||
		!bytes.HasPrefix(metrics, []byte(`{"stage":"validation","step":0,`)) ||
		!bytes.Contains(metrics, []byte(`{"stage":"grpo","step":0,`)) {
		t.Errorf("%v; metrics %s", err, metrics)
	}

	if code := a.main(t.Context(), []string{"eval", "--model", "OUT/final", "--dataset", "data/scenarios.json",
		"--split", "validation", "--json"}); code != 0 {
		t.Fatalf("eval: exit code %d, %s", code, stderr)
	}
	var results struct {
		Systems map[string]struct {
			N           int `json:"n"`
			NumExcluded int `json:"num_excluded"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil || results.Systems["model"].N != 1 ||
		results.Systems["model"].NumExcluded != 0 {
		t.Errorf("%v: %s", err, stdout)
	}
	if server.let.Load() == 0 || server.refused.Load() != 0 {
		t.Errorf("%d requests let through, %d refused", server.let.Load(), server.refused.Load())
	}
	for _, file := range []string{"OUT/version.json", "OUT/config.resolved.yaml", "OUT/trajectories.jsonl"} {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("Bearer")) ||
			bytes.Contains(text, []byte("BEARER")) {
			t.Errorf("%s holds the token's header", file)
		}
	}
}

func TestFilesystemServer(t *testing.T) {
	servers := files(t)
	a, stdout, stderr, base := toyed(t)
	write(t, "hone.yaml", strings.Replace(contents(t, "hone.yaml"), fewTools, "", 1))
	filesystemServer(t, servers, a, stdout, stderr, base)
}

// A server that hone has no line of code for goes through discover, validate, collect, sft and eval.
func filesystemServer(t *testing.T, servers string, a *app, stdout, stderr *bytes.Buffer, base string) {
	endpoint := clerk(t)
	write(t, "mcp.json", servers)
	write(t, "template/notes.txt", "the code is 4711")
	write(t, "notes.jsonl", strings.ReplaceAll(notes, "\n  ", " ")) // one scenario a line
	verb := func(want int, args ...string) {
		t.Helper()
		stdout.Reset()
		if code := a.main(t.Context(), append(args, "--mcp-config", "mcp.json")); code != want {
			t.Fatalf("%s: exit code %d, %s", args, code, stderr)
		}
	}
	verb(0, "discover", "--json")
	var catalog struct{ Servers []struct{ Tools []any } }
	if err := json.Unmarshal(stdout.Bytes(), &catalog); err != nil || len(catalog.Servers) != 1 ||
		len(catalog.Servers[0].Tools) != 14 {
		t.Errorf("%v: %s", err, stdout)
	}
	verb(0, "scenarios", "validate", "notes.jsonl")
	verb(0, "collect", "--endpoint", endpoint, "--model", "clerk", "--dataset", "notes.jsonl", "--output-dir", "traces",
		"--yes", "--json")
	if strings.TrimSpace(stdout.String()) != "{\n  \"ok\": 2\n}" {
		t.Errorf("outcomes %s", stdout)
	}
	// What the first episode wrote, the second did not read: it answered the template's text, and passed its check.
	d, err := job.ReadConversations(fakes.QuietHost(t), "traces/trajectories.jsonl", "", false)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := d.Demonstrations(a.Host, config.Default()); err != nil || len(rows) != 2 ||
		len(rows[0].Tools) != 14 {
		t.Errorf("%d demonstrations, %v, %s", len(rows), err, stderr)
	}
	// nothing is left to ask
	verb(0, "collect", "--endpoint", "http://127.0.0.1:1/v1", "--model", "clerk", "--dataset", "notes.jsonl",
		"--output-dir", "traces", "--yes")
	// one prompt's worth of tools is enough to be sampled from
	write(t, "hone.yaml", contents(t, "hone.yaml")+fewTools)
	verb(0, "eval", "--base-model", base, "--dataset", "notes.jsonl", "--split", "train", "--json")
	var results struct {
		Systems map[string]struct {
			N           int `json:"n"`
			NumExcluded int `json:"num_excluded"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil || results.Systems["base"].N != 2 ||
		results.Systems["base"].NumExcluded != 0 {
		t.Errorf("%v: %s", err, stdout)
	}
}

// A scenario whose calls hone would never send is told before a run begins, by all verbs that run it; --skip-bad leaves
// it out of training.
func TestScenariosThatCannotBeDone(t *testing.T) {
	url, _ := shop(t)
	const good = `{"id": "hat", "task": "Look at a hat.", "split": "train", "gold": [{"name": "look", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "look", "arguments": {"name": "hat"}}]}` + "\n"
	workFolder(t, map[string]string{
		"hone.yaml": strings.Replace(ownConfig, "model: {", "model: {base: base, ", 1) +
			"engine: {backend: go}\ngrpo: {steps: 1, scenarios_per_step: 1, group_size: 2}\n",
		"mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, url),
		"tasks.jsonl": good + `{"id": "sell", "task": "Sell a hat.", "split": "train", "checks": [{"type": "call", "name": "sell", "arguments": {}}]}` + "\n" +
			`{"id": "cap", "task": "Look at a cap.", "split": "train", "checks": [{"type": "call", "name": "look", "arguments": {"nome": "cap"}}]}` + "\n" +
			`{"id": "bag", "task": "Sell a bag.", "split": "validation", "gold": [{"name": "sell", "arguments": {}}], "checks": [{"type": "answer", "contains": "sold"}]}` + "\n" +
			// which train does not run
			`{"id": "tote", "task": "Sell a tote.", "split": "test", "gold": [{"name": "sell", "arguments": {}}], "checks": [{"type": "answer", "contains": "sold"}]}` + "\n",
	})
	toyModel(t, "base/toy.gguf")
	run := func(args ...string) (int, string) {
		var said bytes.Buffer
		code := toyApp(&said, nil).main(t.Context(), append(args, "--mcp-config", "mcp.json"))
		return code, said.String()
	}
	train := []string{"train", "--dataset", "tasks.jsonl", "--output-dir", "out"}
	for _, args := range [][]string{train, append(slices.Clone(train), "--dry-run")} {
		if code, said := run(args...); code != 2 ||
			!strings.Contains(said, "3 scenarios cannot be done on these servers") ||
			!strings.Contains(said, `sell: checks[0] (call) cannot pass: there is no tool "sell"`) ||
			!strings.Contains(said,
				"cap: checks[0] (call) cannot pass: the arguments are against the schema of look") ||
			!strings.Contains(said, "--skip-bad") || exists("out") {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
	if code, said := run("scenarios", "validate", "tasks.jsonl"); code != 2 ||
		!strings.Contains(said, "4 findings in 5 scenarios") || !strings.Contains(said, "tasks.jsonl:2") {
		t.Errorf("validate: exit code %d, %s", code, said)
	}
	if code, said := run("eval", "--base-model", "base", "--dataset",
		"tasks.jsonl", "--split", "train"); code != 0 || !strings.Contains(said,
		"2 scenarios cannot be done on these servers, and will count as failed, the first sell") {
		t.Errorf("eval: exit code %d, %s", code, said)
	}
	if code, said := run("collect", "--gold", "--dataset", "tasks.jsonl", "--split", "all", "--output-dir", "shown",
		"--yes"); !strings.Contains(said, "cannot be done on these servers") {
		t.Errorf("collect: exit code %d, %s", code, said)
	}
	if code, said := run(append(slices.Clone(train), "--skip-bad", "--dry-run")...); code != 0 ||
		!strings.Contains(said, "rollouts on 1 scenario in out") {
		t.Errorf("exit code %d, %s", code, said)
	}
	// random weights pass nothing
	if code, said := run(append(slices.Clone(train), "--skip-bad")...); code != 3 ||
		!strings.Contains(said, "left out: tasks.jsonl: cap: ") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if list, err := scenario.LoadCopy("out/scenarios.json"); err != nil || len(list) != 2 || list[0].ID != "hat" ||
		list[1].ID != "tote" {
		t.Errorf("%v, %d scenarios are kept", err, len(list))
	}
	write(t, "tasks.jsonl", strings.Replace(good, `"look", "arguments"`, `"lock", "arguments"`, 2))
	if code, said := run("train", "--dataset", "tasks.jsonl", "--output-dir", "none", "--skip-bad"); code != 2 ||
		strings.Contains(said, "--skip-bad") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// GRPO learns from demonstrations beside its episodes: the run keeps them with their tools, goes on to the same adapter
// without the file, and its record says that they were learnt from.
func TestTrainOnDemonstrations(t *testing.T) {
	url, _ := shop(t)
	settings := strings.NewReplacer("model: {",
		"model: {base: base, ", "mcp: {", "mcp: {max_tools: 1, ").Replace(ownConfig) + "engine: {backend: go}\n" +
		"grpo: {steps: 2, scenarios_per_step: 1, group_size: 2, checkpoint_every: 1, demonstrations: {rows: 2}}\n"
	workFolder(t, map[string]string{
		"hone.yaml": settings, "mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, url),
		"tasks.jsonl": `{"id": "hat", "task": "Look at a hat.", "split": "train", "checks": [{"type": "call", "name": "look", "arguments": {"name": "hat"}}]}` + "\n",
		"gold.jsonl":  `{"id": "cap", "task": "Buy a cap.", "split": "train", "gold": [{"name": "buy", "arguments": {"name": "cap"}}], "gold_answer": "sold", "checks": [{"type": "answer", "contains": "sold"}]}` + "\n",
	})
	toyModel(t, "base/toy.gguf")
	run := func(ctx context.Context, said io.Writer, args ...string) int {
		return toyApp(said, nil).main(ctx, append(args, "--mcp-config", "mcp.json"))
	}
	var said bytes.Buffer
	if code := run(t.Context(), &said, "collect", "--gold", "--dataset", "gold.jsonl", "--output-dir", "shown",
		"--yes"); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	train := []string{"train", "--dataset", "tasks.jsonl", "--output-dir"}
	for _, args := range [][]string{
		append(slices.Clone(train), "whole", "--dry-run"), append(slices.Clone(train), "whole"),
	} {
		if said.Reset(); run(t.Context(), &said, args...) != 2 ||
			!strings.Contains(said.String(), "grpo.demonstrations.file") || exists("whole") {
			t.Errorf("%v without a file: %s", args, &said)
		}
	}
	write(t, "hone.yaml", strings.Replace(settings, "{rows: 2}", "{rows: 2, file: shown/trajectories.jsonl}", 1))
	for _, args := range [][]string{
		append(slices.Clone(train), "whole", "--dry-run"), append(slices.Clone(train), "whole"),
	} {
		if said.Reset(); run(t.Context(), &said, args...) != 0 { // what the toy does not do, it is shown
			t.Fatalf("%v: %s", args, &said)
		}
	}
	// Rows that name no tools are shown the servers', as an episode would be.
	write(t, "bare.jsonl", `{"id": "cap", "messages": [{"role": "user", "content": "Buy a cap."}, {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", `+
		`"function": {"name": "buy", "arguments": "{\"name\":\"cap\"}"}}]}, {"role": "tool", "tool_call_id": "a", "content": "sold"}, {"role": "assistant", "content": "sold"}]}`+"\n")
	write(t, "hone.yaml", strings.Replace(settings, "{rows: 2}", "{rows: 2, file: bare.jsonl}", 1))
	if said.Reset(); run(t.Context(), &said, append(slices.Clone(train), "bare")...) != 0 ||
		contents(t, "bare/final/adapter_model.safetensors") != contents(t, "whole/final/adapter_model.safetensors") {
		t.Errorf("rows without tools teach something else than those of a collection: %s", &said)
	}
	write(t, "hone.yaml", strings.Replace(settings, "{rows: 2}", "{rows: 2, file: shown/trajectories.jsonl}", 1))
	ctx, stop := context.WithCancel(t.Context())
	broken := &once{line: " 1/2", do: stop}
	if code := run(ctx, broken, append(slices.Clone(train), "broken")...); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, broken)
	}
	for _, gone := range []string{"shown/trajectories.jsonl", "shown/catalog.json"} {
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
	}
	if said.Reset(); run(t.Context(), &said, "runs", "resume", "./broken") != 0 {
		t.Fatalf("resumed: %s", &said)
	}
	if whole, resumed := contents(t, "whole/final/adapter_model.safetensors"),
		contents(t, "broken/final/adapter_model.safetensors"); whole != resumed {
		t.Error("a run that goes on learns something else")
	}
	if kept := contents(t, "broken/conversations.jsonl"); !strings.Contains(kept, `"tools"`) ||
		strings.Count(kept, "\n") != 1 {
		t.Errorf("the run keeps %s", kept)
	}
	list, err := scenario.Load("tasks.jsonl")
	shown, failed := scenario.Load("gold.jsonl")
	if list = append(list, shown...); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if got := records.ReadProvenance("broken/final").WarnSame(toyApp(&said, nil).Host, list); !slices.Equal(got,
		[]string{"hat", "cap"}) {
		t.Errorf("learnt from were %q", got)
	}
}
