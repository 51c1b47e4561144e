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
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/job/episodes"
	"hone/internal/toolset"
)

const ownConfig = `lora: {rank: 2}
sft: {batch_size: 3}
rollout: {max_tokens: 4, max_turns: 2}
model: {context: 2048}
mcp: {approval: {allow: ["*/look", "*/buy"]}}
`

// A demonstration is learnt under the prompt that an episode of its scenario is sampled under: each has the tools that
// fit its own task.
func TestDemonstrationsHaveTheirEpisodesPrompt(t *testing.T) {
	url, _ := shop(t)
	settings := strings.NewReplacer("model: {", "model: {base: base, ", "mcp: {", "mcp: {max_tools: 1, ", "rollout: {",
		"rollout: {system: Sell well., ").Replace(ownConfig)
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
	l, err := episodes.Open(t.Context(), a.Host, c, servers, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var list []scenario.Scenario
	for _, tool := range []string{"look", "buy"} {
		list = append(list, scenario.Scenario{ID: tool, Task: "Deal with a hat.", Gold: []scenario.Gold{
			{Name: tool, Arguments: json.RawMessage(`{"name": "hat"}`)},
		}})
	}
	p, err := l.Resolve(a.Host, c, episodes.Wanted{Scenarios: list, Trains: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.OpenModel(a.Host, p); err != nil {
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
		rows, err := l.Rows([]scenario.Solved{
			{Scenario: s, Messages: []chat.Message{
				{Role: chat.User, Content: s.Task},
				{Role: chat.Assistant, Content: "Sold."},
			}},
		})
		if err != nil || len(rows) != 1 || !slices.Equal(rows[0].IDs[:len(prompts[s.ID])], prompts[s.ID]) ||
			slices.Contains(rows[0].Trained[:len(prompts[s.ID])], true) || !rows[0].Trained[len(prompts[s.ID])] {
			t.Errorf("%s: %v, a demonstration %v, an episode's prompt %v", s.ID, err, rows, prompts[s.ID])
		}
	}
}

// A model that passes nothing is held to calls that it did not make, in episodes of a stage of their own: each is one
// call with arguments of the tool's schema.
func TestExplorationsForceCalls(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"look", "buy"} {
		schema := json.RawMessage(`{"type": "object", "properties": {"name": {"enum": ["hat", "cap"]}}, "required": ["name"], "additionalProperties": false}`)
		server.AddTool(
			&mcp.Tool{Name: name, InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in stock"}}}, nil
			},
		)
	}
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(at.Close)
	var rows strings.Builder
	for i, id := range []string{"hat", "cap", "bow", "fez", "tie", "bag"} {
		fmt.Fprintf(
			&rows, `{"id": %q, "task": "Sell a %s.", "split": %q, "gold": [{"name": "buy", "arguments": {"name": %q}}], "checks": [{"type": "answer", "contains": "sold"}]}`+
				"\n", id, id, []string{"train", "train", "train", "train", "test", "validation"}[i], []string{"hat",
				"cap"}[i%2],
		)
	}
	workFolder(t, map[string]string{"tasks.jsonl": rows.String(),
		"mcp.json": fmt.Sprintf(`{"mcpServers": {"shop": {"url": %q}}}`, at.URL)})
	toyModel(t, "base/toy.gguf")
	settings := func(grpo string) {
		text := strings.Replace(strings.Replace(ownConfig, "model: {", "model: {base: base, ", 1), "max_tokens: 4",
			"max_tokens: 90", 1) + "engine: {backend: go}\ngrpo: {" + grpo + "}\n"
		if err := os.WriteFile("hone.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string) {
		var said bytes.Buffer
		code := toyApp(&said, nil).main(t.Context(),
			append([]string{"train", "--dataset", "tasks.jsonl", "--mcp-config", "mcp.json"}, args...))
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
	if metrics := contents(t, "out/metrics.jsonl"); strings.Count(metrics, `"explorations":2`) != 2 ||
		strings.Count(metrics, `"explorations":0`) != 1 {
		t.Error(metrics) // nothing would learn from those of the last step
	}
}

// Where nothing is set, training goes on with the conversations that the adapter's SFT had, if its run kept them; each
// choice is said with its reason, and what is set is not chosen.
func TestTrainSaysWhatItChooses(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "tasks.json": hats, "say.jsonl": sayings,
		"set.yaml": strings.Replace(toyConfig, "minibatches: 1", "optimizer: {learning_rate: 1e-4}, "+
			"advantage: group, minibatches: 1, demonstrations: {rows: 0}", 1)})
	toyModel(t, "base/toy.gguf")
	run := func(args ...string) string {
		t.Helper()
		code, _, said := hone(t, "", args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d, %s", args, code, said)
		}
		return said
	}
	run("sft", "--data", "say.jsonl", "--base-model", "base", "--output-dir", "tuned")
	train := []string{"train", "--mcp", url, "--adapter", "tuned/final", "--dataset", "tasks.json",
		"--output-dir", "out", "--dry-run"}
	said := run(train...)
	for _, want := range []string{"grpo.advantage: centred, since ", "grpo.optimizer.learning_rate: 0.00015, since ",
		"grpo.demonstrations.rows: 1 of ", "tuned/conversations.jsonl, since "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if said := run(append([]string{"--config", "set.yaml"}, train...)...); strings.Contains(said, "docs/LEARNING.md") {
		t.Errorf("what is set is told of: %s", said)
	}
}
