//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/toolset"
)

const ownConfig = `lora: {rank: 2}
sft: {batch_size: 3}
rollout: {max_tokens: 4, max_turns: 2}
model: {context: 2048}
mcp: {approval: {allow: ["*/look", "*/buy"]}}
`

// A user's own tasks are compared as the demo's are: the start is shown gold calls, made on the server, of the tools that were drawn, and none of a task whose
// gold calls fail or that GRPO has; a run that goes on has the same tasks without the file.
func TestCompareOnOwnScenarios(t *testing.T) {
	url, sold := shop(t)
	var rows strings.Builder
	row := func(split, id, tool, check string) {
		fmt.Fprintf(&rows, `{"id": %q, "task": "Deal with %s.", "split": %q, "gold": [{"name": %q, "arguments": {"name": %q}}], "checks": [%s]}`+"\n", id, id, split, tool, id, check)
	}
	for i, id := range []string{"hat", "cap", "bow", "fez"} {
		row("train", id, "look", `{"type": "answer", "contains": "stock"}`)
		row("train", id+"s", "buy", `{"type": "answer", "contains": "sold"}`)
		row([]string{"validation", "test"}[i%2], "a "+id, "look", `{"type": "answer", "contains": "stock"}`)
	}
	row("train", "tie", "look", `{"type": "answer", "regex": "^lent$"}`) // no gold call passes it
	rows.WriteString(`{"id": "none", "task": "Never mind.", "split": "train", "gold_answer": "All right.", "checks": [{"type": "no_call"}]}` + "\n")
	workFolder(t, map[string]string{"hone.yaml": ownConfig, "tasks.jsonl": rows.String(), "mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, url)})
	toyModel(t, "base/toy.gguf")
	if err := os.WriteFile("hone.yaml", []byte(strings.Replace(ownConfig, "model: {", "model: {base: base, ", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ran := func(code int, args ...string) {
		t.Helper()
		if got := toyApp(&said, nil).main(t.Context(), args); got != code {
			t.Fatalf("%v: exit code %d, %s", args, got, &said)
		}
	}
	command := []string{"demo", "learn", "--dataset", "tasks.jsonl", "--mcp-config", "mcp.json", "--backend", "go", "--seed", "3", "--demonstrations", "3", "--shown-kinds", "1",
		"--epochs", "1", "--steps", "1", "--groups", "2", "--group-size", "2", "--arms", "grpo,rft,gold", "--reward-noise", "1", "--output-dir", "out"}
	ran(2, append(slices.Clone(command), "--reward-noise", "1.5")...)
	ran(0, append(slices.Clone(command), "--dry-run")...)
	ran(2, append(slices.Clone(command), "--shown-kinds", "0", "--demonstrations", "9", "--output-dir", "unsolved")...) // the arm gold has nothing to learn from
	ran(2, append(slices.Clone(command), "--steps", "1", "--groups", "1", "--output-dir", "stepless")...)
	if said.Reset(); exists("stepless") {
		t.Error("an arm without a step is refused after its run has begun")
	}
	ran(0, command...)
	for name, next := range map[string]string{"start": "grpo: ", "grpo": "rft: "} { // a result is told before the next arm has trained
		if told, after := strings.Index(said.String(), "\n"+name+" "), strings.Index(said.String(), "\n"+next); told < 0 || after < told {
			t.Errorf("%s is told at %d, and the next arm's end at %d: %s", name, told, after, &said)
		}
	}
	if len(sold()) == 0 {
		t.Error("nothing was made on the server")
	}
	if !strings.Contains(said.String(), "rft trains on 0 rows that passed and 3 demonstrations") {
		t.Errorf("rft has other rows: %s", &said)
	}
	var tasks demo.Tasks
	if err := json.Unmarshal([]byte(contents(t, "out/tasks.json")), &tasks); err != nil {
		t.Fatal(err)
	}
	calls := func(list []demo.Solved) (names []string) {
		for _, solved := range list {
			name := ""
			for _, x := range solved.Messages {
				for _, c := range x.ToolCalls {
					name += c.Name
				}
			}
			names = append(names, name)
		}
		return names
	}
	shown := calls(tasks.Demonstrations)
	if len(shown) != 3 || len(tasks.Train) != 10-3 || len(tasks.Solutions) != 9-3 || len(tasks.Test) != 2 || len(tasks.Validation) != 2 {
		t.Errorf("%d shown, %d to learn with %d solutions, %d held out, %d watched", len(shown), len(tasks.Train), len(tasks.Solutions), len(tasks.Test), len(tasks.Validation))
	}
	for _, name := range shown {
		if name != "" && name != shown[slices.IndexFunc(shown, func(n string) bool { return n != "" })] {
			t.Errorf("of one tool there are demonstrations, and these call %q", shown)
		}
	}
	for _, s := range tasks.Train {
		want := demo.ShownKind
		if len(s.Gold) == 0 {
			if slices.ContainsFunc(s.Tags, func(tag string) bool { return tag == demo.ShownKind || tag == demo.UnshownKind }) {
				t.Errorf("%s calls nothing and is tagged %q", s.ID, s.Tags)
			}
			continue
		}
		if !slices.Contains(shown, s.Gold[0].Name) {
			want = demo.UnshownKind
		}
		if !slices.Contains(s.Tags, want) {
			t.Errorf("%s of %+v is tagged %q", s.ID, s.Gold, s.Tags)
		}
	}
	noise := 0
	for line := range strings.Lines(contents(t, "out/trajectories.jsonl")) {
		var e struct {
			Stage  string
			Reward float64
			Terms  []struct {
				Name          string
				Score, Weight float64
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		sum, noisy := 0.0, false
		for _, x := range e.Terms {
			if x.Name == "noise" {
				noisy = true
				noise++
			} else {
				sum += x.Score * x.Weight
			}
		}
		want := sum
		if noisy {
			want = 1.9 - sum
		}
		if noisy != (e.Stage == "grpo") || len(e.Terms) > 0 && (e.Reward-want > 1e-9 || want-e.Reward > 1e-9) {
			t.Errorf("%s: reward %v of %+v", e.Stage, e.Reward, e.Terms)
		}
	}
	if noise != 4 {
		t.Errorf("%d noisy rewards", noise)
	}
	for line := range strings.Lines(contents(t, "out/metrics.jsonl")) { // its trackers are told, and GRPO looks at itself before it samples
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		_, timed := m["time/elapsed"]
		if _, probed := m["sampling/probe_kl"]; !timed || probed != (m["stage"] == "grpo") {
			t.Errorf("a row of metrics is %s", line)
		}
	}
	if events, err := filepath.Glob("out/tfevents/*"); err != nil || len(events) == 0 {
		t.Errorf("nothing for TensorBoard: %v", err)
	}
	ran(0, append(slices.Clone(command), "--arms", "", "--output-dir", "bare")...)
	if files, _ := filepath.Glob("bare/tfevents/*"); len(files) != 1 || !strings.Contains(contents(t, files[0]), "train/grad_norm") {
		t.Errorf("without an arm the start is what is trained, and %q do not have it so", files)
	}
	if err := os.Remove("tasks.jsonl"); err != nil {
		t.Fatal(err)
	}
	ran(0, "runs", "resume", "./out")
}

// A demonstration is learnt under the prompt that an episode of its scenario is sampled under: each has the tools that fit its own task.
func TestDemonstrationsHaveTheirEpisodesPrompt(t *testing.T) {
	url, _ := shop(t)
	settings := strings.NewReplacer("model: {", "model: {base: base, ", "mcp: {", "mcp: {max_tools: 1, ", "rollout: {", "rollout: {system: Sell well., ").Replace(ownConfig)
	workFolder(t, map[string]string{"hone.yaml": settings + "engine: {backend: go}\n",
		"mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, url)})
	toyModel(t, "base/toy.gguf")
	c, err := config.Load("hone.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := toyApp(&bytes.Buffer{}, nil)
	servers, err := toolset.LoadServers(a.Host, c, toolset.Source{File: "mcp.json"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := job.Open(t.Context(), a.Host, c, servers, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var list []scenario.Scenario
	for _, tool := range []string{"look", "buy"} {
		list = append(list, scenario.Scenario{ID: tool, Task: "Deal with a hat.", Gold: []scenario.Gold{{Name: tool, Arguments: json.RawMessage(`{"name": "hat"}`)}}})
	}
	if err := l.OpenModel(a.Host, &c, "", list, true); err != nil {
		t.Fatal(err)
	}
	requests := make(chan rollout.Request, len(list))
	for _, s := range list {
		requests <- rollout.Request{Scenario: s}
	}
	close(requests)
	prompts := map[string][]int32{}
	for e := range l.Rollouts(1).Run(t.Context(), requests) {
		prompts[e.ScenarioID] = e.Turns[0].BridgeIDs
	}
	if slices.Equal(prompts["look"], prompts["buy"]) {
		t.Fatal("both episodes have the same tools")
	}
	for _, s := range list {
		rows, err := l.Rows([]demo.Solved{{Scenario: s, Messages: []chat.Message{{Role: chat.User, Content: s.Task}, {Role: chat.Assistant, Content: "Sold."}}}})
		if err != nil || len(rows) != 1 || !slices.Equal(rows[0].IDs[:len(prompts[s.ID])], prompts[s.ID]) || slices.Contains(rows[0].Trained[:len(prompts[s.ID])], true) || !rows[0].Trained[len(prompts[s.ID])] {
			t.Errorf("%s: %v, a demonstration %v, an episode's prompt %v", s.ID, err, rows, prompts[s.ID])
		}
	}
}

// A model that passes nothing is held to calls that it did not make, in episodes of a stage of their own: each is one call with arguments of the tool's schema.
func TestExplorationsForceCalls(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"look", "buy"} {
		schema := json.RawMessage(`{"type": "object", "properties": {"name": {"enum": ["hat", "cap"]}}, "required": ["name"], "additionalProperties": false}`)
		server.AddTool(&mcp.Tool{Name: name, InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in stock"}}}, nil
		})
	}
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(at.Close)
	var rows strings.Builder
	for i, id := range []string{"hat", "cap", "bow", "fez", "tie", "bag"} {
		fmt.Fprintf(&rows, `{"id": %q, "task": "Sell a %s.", "split": %q, "gold": [{"name": "buy", "arguments": {"name": %q}}], "checks": [{"type": "answer", "contains": "sold"}]}`+"\n", id, id, []string{"train", "train", "train", "train", "test", "validation"}[i], []string{"hat", "cap"}[i%2])
	}
	workFolder(t, map[string]string{"tasks.jsonl": rows.String(), "mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, at.URL)})
	toyModel(t, "base/toy.gguf")
	settings := func(grpo string) {
		text := strings.Replace(strings.Replace(ownConfig, "model: {", "model: {base: base, ", 1), "max_tokens: 4", "max_tokens: 90", 1) + "engine: {backend: go}\ngrpo: {" + grpo + "}\n"
		if err := os.WriteFile("hone.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string) {
		var said bytes.Buffer
		code := toyApp(&said, nil).main(t.Context(), append([]string{"train", "--dataset", "tasks.jsonl", "--mcp-config", "mcp.json"}, args...))
		return code, said.String()
	}
	settings("explorations: 2")
	if code, said := run("--output-dir", "out"); code != 2 || !strings.Contains(said, "grpo.imitation.rows") {
		t.Errorf("exit code %d, %s", code, said)
	}
	settings("explorations: 2, imitation: {rows: 4}, steps: 3, scenarios_per_step: 3, group_size: 4")
	if code, said := run("--output-dir", "out"); code != 3 { // random weights pass nothing
		t.Fatalf("exit code %d, %s", code, said)
	}
	forced, called := 0, map[string]int{}
	for line := range strings.Lines(contents(t, "out/trajectories.jsonl")) {
		var e struct {
			Stage   string
			Rollout int
			Turns   []struct {
				Forced  bool
				Calls   []chat.ToolCall
				Results []struct{ Status string }
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, turn := range e.Turns {
			if !turn.Forced {
				continue
			}
			forced++
			if e.Stage != "grpo_explorations" || e.Rollout < 4 || len(turn.Calls) > 1 {
				t.Errorf("%s", line)
			}
			if len(turn.Calls) == 0 {
				called["words"]++
			}
			for i, c := range turn.Calls {
				if called[c.Name]++; turn.Results[i].Status != "ok" {
					t.Errorf("%+v: %+v", c, turn.Results[i])
				}
			}
		}
	}
	if forced < 8 || called["look"] == 0 || called["buy"] == 0 || called["words"] == 0 {
		t.Errorf("%d turns are forced, to %v", forced, called)
	}
	if metrics := contents(t, "out/metrics.jsonl"); strings.Count(metrics, `"explorations":2`) != 2 || strings.Count(metrics, `"explorations":0`) != 1 {
		t.Error(metrics) // nothing would learn from those of the last step
	}
}
