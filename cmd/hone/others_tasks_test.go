package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/data/tasks"
	"hone/internal/eval"
	"hone/internal/eval/mcpbench"
)

// What was imported is told, is run by collect, and is measured by MCP-Bench's rules: published and closed.
func TestMCPBenchFromTasksToRates(t *testing.T) {
	from, err := filepath.Abs("../../internal/data/tasks/testdata/mcpbench")
	if err != nil {
		t.Fatal(err)
	}
	workFolder(t, nil)
	code, out, said := hone(t, "", "scenarios", "import", "--from", "mcpbench", from, "--out", "bench.json", "--json")
	var found tasks.Imported
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 || found.Scenarios != 2 || len(found.Refused) != 4 || found.Files != "bench.files" {
		t.Fatalf("exit code %d, %+v, %v, %s", code, found, err, said)
	}
	for _, words := range []string{`refused 1 task, the first `, `the id "tea_shop_000" is another task's`, "unknown field server_tasks.tasks.priority: 1 time;", "servers that the tasks need, by their names there: Tea Shop (2)"} {
		if !strings.Contains(said, words) {
			t.Errorf("no %q in %s", words, said)
		}
	}
	if code, _, said := hone(t, "", "scenarios", "import", "--from", "mcpbench", from, "--out", "bench.json"); code != 2 || !strings.Contains(said, "there already") {
		t.Errorf("again: exit code %d, %s", code, said)
	}
	if code, out, _ := hone(t, "", "scenarios", "import", "--from", "mcpbench", from, "--only", "tea_shop_001", "--out", "one.json"); code != 0 || !strings.Contains(out, "not asked for") {
		t.Errorf("one: exit code %d, %s", code, out)
	}

	url, _ := shop(t)
	// Of four calls one names no tool, one has no name, and one is made twice.
	call := func(tool, arguments string) chat.ToolCall { return chat.ToolCall{Name: tool, Arguments: arguments} }
	endpoint := buyer(t, call("look", `{"name": "tea"}`), call("look", `{"name":"tea"}`), call("buy", `{}`), call("steal", `{"name": "tea"}`))
	if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "bench.json", "--split", "test", "--output-dir", "ran", "--yes"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	code, out, said = hone(t, "", "eval", "mcpbench", "./ran", "--json")
	var stages []eval.RuleMetrics
	if err := json.Unmarshal([]byte(out), &stages); err != nil || code != 0 || len(stages) != 1 {
		t.Fatalf("exit code %d, %s, %v, %s", code, out, err, said)
	}
	s := stages[0]
	got := fmt.Sprintf("%s %d %.3f %.3f", s.Stage, s.NumTasks, s.Calls, s.Servers)
	for _, d := range mcpbench.Definitions() {
		got += fmt.Sprintf(" %s %.3f %.3f", d.Name, d.Of(s.Published), d.Of(s.Closed))
	}
	want := "collect 2 4.000 1.000 valid_tool_name_rate 0.750 0.667 input_schema_compliance 0.667 0.333 execution_success_rate 0.500 0.333 valid_call_failure_rate 0.333 0.500 planning_json_compliance 1.000 1.000 rules 0.639 0.444"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, out, said = hone(t, "", "eval", "mcpbench", "./ran")
	if !strings.Contains(out, "valid_tool_name_rate") || !strings.Contains(out, "0.667") || !strings.Contains(said, "2 tasks, 0 without calls") {
		t.Errorf("%s%s", out, said)
	}
	if code, out, _ := hone(t, "", "eval", "mcpbench", "--definitions"); code != 0 || strings.Count(out, "hole") < len(mcpbench.Definitions()) {
		t.Errorf("exit code %d, %s", code, out)
	}
	for _, args := range [][]string{{"./nowhere"}, {}, {"./ran", "--definitions"}} {
		if code, _, said := hone(t, "", append([]string{"eval", "mcpbench"}, args...)...); code != 2 {
			t.Errorf("%q: exit code %d, %s", args, code, said)
		}
	}
}
