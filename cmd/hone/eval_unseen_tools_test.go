//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hone/internal/eval/stats"
	"hone/internal/run/report"
)

// An evaluation is broken down by what its systems were trained on: an adapter that hone sft made of calls of one tool
// is held against tools and servers that it has seen and has not, and so is the base model beside it; the page that is
// made again still knows.
func TestSeenAndUnseenTools(t *testing.T) {
	both := `{"mcpServers": {"sums": {"command": "node", "args": ["` + npmServer(t, "server-everything") +
		`", "stdio"]}, ` + strings.TrimPrefix(files(t), `{"mcpServers":{`)
	workFolder(t, map[string]string{"mcp.json": both, "template/notes.txt": "hello",
		"hone.yaml": strings.NewReplacer("eval: {every: 3}\n", "", "epochs: 2", "epochs: 1").Replace(toyConfig) + fewTools,
		"say.jsonl": `{"messages": [{"role": "user", "content": "Add 8 and 9."}, {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get-sum", "arguments": "{\"a\": 8, \"b\": 9}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "17"}, {"role": "assistant", "content": "17"}],` +
			` "tools": [{"type": "function", "function": {"name": "get-sum", "description": "add", "parameters": {"type": "object"}}}]}`,
		"tasks.json": `[{"id": "sum", "task": "Add 1 and 2.", "split": "test", "gold": [{"name": "get-sum", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 3}]},
 {"id": "echo", "task": "Echo hat.", "split": "test", "gold": [{"name": "echo", "arguments": {"message": "hat"}}], "checks": [{"type": "answer", "contains": "hat"}]},
 {"id": "read", "task": "What does notes.txt say?", "split": "test", "gold": [{"name": "read_text_file", "arguments": {"path": "notes.txt"}}], "checks": [{"type": "answer", "contains": "hello"}]}]`})
	toyModel(t, "base/toy.gguf")
	for _, args := range [][]string{
		{"discover", "--mcp-config", "mcp.json", "--out", "catalog.json"},
		{"sft", "--data", "say.jsonl", "--base-model", "base", "--output-dir", "tuned"},
		{"eval", "--mcp-config", "mcp.json", "--model", "tuned/final", "--compare", "base", "--dataset", "tasks.json",
			"--split", "test", "--output-dir", "out"},
	} {
		if code, _, said := hone(t, "", args...); code != 0 {
			t.Fatalf("%s: exit code %d, %s", args[0], code, said)
		}
	}
	check := func(when string) {
		t.Helper()
		var n report.Numbers
		if err := json.Unmarshal([]byte(contents(t, "out/results.json")), &n); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][2]int{"tools in training": {1, 2}, "servers in training": {2, 1}} {
			i := slices.IndexFunc(n.Breakdowns, func(b stats.Breakdown) bool { return b.Name == name })
			if i < 0 || len(n.Breakdowns[i].Values) != 2 {
				t.Fatalf("%s: no breakdown by %s: %+v", when, name, n.Breakdowns)
			}
			for k, value := range []string{"seen", "unseen"} {
				got := n.Breakdowns[i].Values[k]
				if got.Value != value || len(got.Whole) != 2 || got.Whole[0].N != want[k] ||
					got.Whole[1].N != want[k] || len(got.Deltas) != 1 || got.Deltas[0].N != want[k] {
					t.Errorf("%s: %s, %s: %+v, want %d scenarios of both systems", when, name, value, got, want[k])
				}
			}
		}
	}
	check("at the end")
	write(t, "tuned/version.json", "{}") // the record is gone
	if code, _, said := hone(t, "", "runs", "report", "./out"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	check("made again")
}
