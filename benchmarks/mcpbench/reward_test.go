package mcpbench_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"hone/benchmarks/mcpbench"
	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// refused takes a text that begins with Error for a refusal.
func refused(text string) string {
	if strings.HasPrefix(text, "Error") {
		return "it begins with Error"
	}
	return ""
}

func twoTools() mcpbench.Tools {
	return mcpbench.NewTools([]mcpbench.Tool{
		{Name: "hash", InputSchema: json.RawMessage(`{"type": "object", "properties": {"input": {"type": "string"}, "algorithm": {"type": "string"}}, "required": ["input"]}`)},
		{Name: "odd", InputSchema: json.RawMessage(`{"$ref": "https://elsewhere.test/schema"}`)}})
}

// What each rate says of episodes, alone and as the whole of a reward.
func TestReward(t *testing.T) {
	turns := func(turns ...trajectory.Turn) *trajectory.Trajectory {
		return &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted, Turns: turns}
	}
	made := func(status trajectory.CallStatus, text, name, arguments string) trajectory.Turn {
		r := trajectory.ToolResult{Call: chat.ToolCall{Name: name, Arguments: arguments}, Status: status, Text: text}
		return trajectory.Turn{Calls: []chat.ToolCall{r.Call}, Results: []trajectory.ToolResult{r}}
	}
	const ok, failed, invalid = trajectory.CallOK, trajectory.CallToolError, trajectory.CallInvalid
	due := &scenario.Scenario{ID: "s", Task: "Hash a."}
	none := &scenario.Scenario{ID: "s", Task: "Thanks.", Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
	names, fits, works :=
		mcpbench.Weights{ValidToolName: 1}, mcpbench.Weights{SchemaCompliance: 2}, mcpbench.Weights{ExecutionSuccess: 3}
	all := mcpbench.Weights{ValidToolName: 1, SchemaCompliance: 2, ExecutionSuccess: 3}
	for of, c := range map[string]struct {
		s    *scenario.Scenario
		t    *trajectory.Trajectory
		w    mcpbench.Weights
		want float64
	}{
		"a known tool of two": {due, turns(made(ok, "x", "hash", `{"input": "a"}`), made(invalid, "", "none", `{}`)), names, 0.5},
		"repeats of a success do not raise it": {due, turns(made(invalid, "", "none", `{}`),
			made(ok, "x", "hash", `{"input": "a"}`), made(ok, "x", "hash", `{"input":"a"}`)), names, 0.5},
		"nothing was called":           {due, turns(trajectory.Turn{Content: "done"}), all, 0},
		"nothing was to be called":     {none, turns(trajectory.Turn{Content: "done"}), all, 1},
		"against the schema":           {due, turns(made(invalid, "", "hash", `{}`), made(ok, "x", "hash", `{"input": "a"}`)), fits, 0.5},
		"a schema that cannot be used": {due, turns(made(ok, "x", "odd", `{}`)), mcpbench.Weights{SchemaCompliance: 1, ExecutionSuccess: 1}, 1},
		"a broken call fits none": {
			due, turns(trajectory.Turn{Content: "<call>{", ParseError: "malformed call"},
				made(ok, "x", "hash", `{"input": "a"}`)), fits, 0.5,
		},
		"an error in words":   {due, turns(made(ok, "Error: no", "hash", `{"input": "a"}`), made(ok, "x", "hash", `{"input": "b"}`)), works, 0.5},
		"an error":            {due, turns(made(failed, "no", "hash", `{"input": "a"}`)), works, 0},
		"the mean by weights": {due, turns(made(failed, "no", "hash", `{"input": "a"}`)), all, 0.5},
	} {
		group, err := json.Marshal(map[string]any{"scenario": c.s, "trajectories": []*trajectory.Trajectory{c.t, c.t}})
		if err != nil {
			t.Fatal(err)
		}
		worker := strings.Replace(string(group), "{", `{"id":7,`, 1)
		var out strings.Builder
		if err := twoTools().Reward(strings.NewReader(string(group)+"\n"+worker+"\n"), &out, c.w, refused); err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		lines := json.NewDecoder(strings.NewReader(out.String()))
		var alone []float64
		var asked struct {
			ID     int
			Scores []float64
		}
		if err := lines.Decode(&alone); err != nil || len(alone) != 2 || math.Abs(alone[1]-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v, %v", of, alone, c.want, err)
		}
		if err := lines.Decode(&asked); err != nil || asked.ID != 7 || len(asked.Scores) != 2 ||
			asked.Scores[0] != alone[0] {
			t.Errorf("%s: a worker answers %+v, %v", of, asked, err)
		}
	}
	if err := twoTools().Reward(strings.NewReader("{"), &strings.Builder{}, all, refused); err == nil {
		t.Error("half a group is scored")
	}
}

// The places of a sidecar's evaluation: of what was written all, of executions those that were made. A place without a
// call that could be read counts against the system.
func TestPlaces(t *testing.T) {
	const lines = `{"system":"a","row":"1","calls":[{"name":"hash","arguments":"{\"input\":\"x\"}"}],"results":[{"call":{"name":"hash","arguments":"{\"input\":\"x\"}"},"status":"ok","text":"Error: no"}]}
{"system":"a","row":"2","calls":[],"results":[]}
{"system":"a","row":"3","calls":[{"name":"none","arguments":"{}"}],"results":null}
{"system":"b","row":"1","calls":[{"name":"hash","arguments":"{}"}],"results":null}
`
	rates, err := twoTools().Places(strings.NewReader(lines), refused)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, row := range mcpbench.PlaceRows(rates)[1:] {
		got.WriteString(strings.Join(row, " ") + "\n")
	}
	const want = `a valid_tool_name_rate 50.0% 33.3%
a input_schema_compliance 50.0% 33.3%
a execution_success_rate 100.0% 0.0%
a planning_json_compliance 100.0% 66.7%
b valid_tool_name_rate 100.0% 100.0%
b input_schema_compliance 0.0% 0.0%
b planning_json_compliance 100.0% 100.0%
`
	if got.String() != want {
		t.Errorf("%s", got.String())
	}
	if _, err := twoTools().Places(strings.NewReader("{"), refused); err == nil {
		t.Error("half a line is read")
	}
}
