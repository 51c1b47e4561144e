package mcpbench

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// golden is what testdata/make_mcpbench.py has from MCP-Bench itself.
type golden struct {
	Commit string
	Tools  map[string]struct {
		Server string
		Schema json.RawMessage `json:"input_schema"`
	}
	Verdicts []struct {
		Tool, Arguments string
		Compliant       bool
	}
	Tasks []struct {
		Calls []struct {
			Tool, Arguments string
			Success         bool
		}
		Rates   map[string]*float64
		Servers int
	}
	Accuracy map[string]float64 `json:"accuracy_metrics"`
	Servers  map[string]float64 `json:"server_utilization_metrics"`
	Calls    float64            `json:"avg_tool_calls_per_task"`
}

func theirs(t *testing.T) (golden, Tools) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	var list []Tool
	for name, tool := range g.Tools {
		list = append(list, Tool{name, tool.Server, tool.Schema})
	}
	return g, NewTools(list)
}

func TestVerdictsAreTheirs(t *testing.T) {
	g, tools := theirs(t)
	yes := 0
	for _, v := range g.Verdicts {
		if got := tools[v.Tool].compliant(v.Arguments); got != v.Compliant {
			t.Errorf("%s with %s: %v, MCP-Bench says %v", v.Tool, v.Arguments, got, v.Compliant)
		}
		if v.Compliant {
			yes++
		}
	}
	if len(g.Verdicts) < 500 || yes < 100 || len(g.Verdicts)-yes < 100 {
		t.Errorf("%d verdicts, %d of them yes, say little", len(g.Verdicts), yes)
	}
}

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && math.Abs(*a-*b) < 1e-12
}

func TestRatesAreTheirs(t *testing.T) {
	g, tools := theirs(t)
	var logs []Log
	for i, task := range g.Tasks {
		var l Log
		for _, c := range task.Calls {
			l.Calls = append(l.Calls, Call{Tool: c.Tool, Arguments: c.Arguments, Answered: c.Success})
		}
		logs = append(logs, l)
		got := tools.PublishedRates(l)
		for name, rate := range map[string]*float64{
			"valid_tool_name_rate": got.ValidToolName, "input_schema_compliance": got.SchemaCompliance,
			"execution_success_rate": got.ExecutionSuccess, "valid_call_failure_rate": got.ValidCallFailure,
		} {
			if want, there := task.Rates[name]; !there || !same(rate, want) {
				t.Errorf("task %d: %s is %v, MCP-Bench has %v", i, name, rate, want)
			}
		}
		if one := tools.Summarize([]Log{l}); int(one.Servers) != task.Servers {
			t.Errorf("task %d: %v servers, MCP-Bench has %d", i, one.Servers, task.Servers)
		}
	}
	s := tools.Summarize(logs)
	for name, pair := range map[string][2]float64{
		"schema":   {s.Published.SchemaCompliance, g.Accuracy["avg_input_schema_compliance"]},
		"name":     {s.Published.ValidToolName, g.Accuracy["avg_valid_tool_name_rate"]},
		"success":  {s.Published.ExecutionSuccess, g.Accuracy["avg_execution_success_rate"]},
		"failures": {s.Published.ValidCallFailure, g.Accuracy["avg_valid_call_failure_rate"]},
		"servers":  {s.Servers, g.Servers["avg_servers_used"]},
		"cross":    {s.CrossServer, g.Servers["cross_server_coordination_rate"]},
		"calls":    {s.Calls, g.Calls},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("%s: %v, MCP-Bench has %v", name, pair[0], pair[1])
		}
	}
	if s.NumTasks != len(g.Tasks) || s.NumWithoutCalls != 1 || s.Published.NumTasks != len(g.Tasks)-1 {
		t.Errorf("%+v", s)
	}
}

// Each hole, by what MCP-Bench says of it and what the closed version does. -1 is not defined.
func TestHolesAreClosed(t *testing.T) {
	tools := NewTools([]Tool{
		{"add", "calc", json.RawMessage(`{"type":"object","required":["a"]}`)},
		{"broken", "calc", json.RawMessage(`{"type":"any"}`)},
	})
	good := Call{Tool: "add", Arguments: `{"a": 1}`, Answered: true}
	other := Call{Tool: "add", Arguments: `{"a": 2}`, Answered: true}
	failing := Call{Tool: "add", Arguments: `{"a": 3}`}
	unknown := Call{Tool: "mul", Arguments: `{"a": 1}`}
	with := func(c Call, change func(*Call)) Call { change(&c); return c }
	for _, tc := range []struct {
		name              string
		log               Log
		published, closed [5]float64 // name, schema, success, failure, planning
	}{
		{"sound", Log{Calls: []Call{good, other}}, [5]float64{1, 1, 1, 0, 1}, [5]float64{1, 1, 1, 0, 1}},
		{"no calls", Log{}, [5]float64{-1, -1, -1, -1, 1}, [5]float64{0, 0, 0, -1, 1}},
		{"no calls, and rightly so", Log{NoToolFits: true}, [5]float64{-1, -1, -1, -1, 1}, [5]float64{-1, -1, -1, -1, 1}},
		{"nothing but broken calls", Log{NumMalformed: 2}, [5]float64{-1, -1, -1, -1, 1}, [5]float64{0, 0, 0, -1, 0}},
		{"padded with repeats", Log{Calls: []Call{failing, good, good, good}}, [5]float64{1, 1, 0.75, 0.25, 1}, [5]float64{1, 1, 0.5, 0.5, 1}},
		{
			"padded with repeats in another order of keys", Log{Calls: []Call{
				failing, with(good, func(c *Call) { c.Arguments = `{"a":1,"b":2}` }), with(good, func(c *Call) {
					c.Arguments = `{"b": 2, "a": 1.0}`
				}),
			}},
			[5]float64{1, 1, 2. / 3, 1. / 3, 1}, [5]float64{1, 1, 0.5, 0.5, 1},
		},
		{"failing again counts", Log{Calls: []Call{failing, failing, good}}, [5]float64{1, 1, 1. / 3, 2. / 3, 1}, [5]float64{1, 1, 1. / 3, 2. / 3, 1}},
		{"an error as text", Log{Calls: []Call{good, with(other, func(c *Call) { c.Refused = true })}},
			[5]float64{1, 1, 1, 0, 1}, [5]float64{1, 1, 0.5, 0.5, 1}},
		{"unknown tools", Log{Calls: []Call{good, unknown, unknown}}, [5]float64{1. / 3, 1, 1. / 3, 0, 1}, [5]float64{1. / 3, 1. / 3, 1. / 3, 0, 1}},
		{"unknown tools alone", Log{Calls: []Call{unknown}}, [5]float64{0, 0, 0, 0, 1}, [5]float64{0, 0, 0, -1, 1}},
		{"a server's broken schema", Log{Calls: []Call{good, {Tool: "broken", Arguments: `{}`, Answered: true}}},
			[5]float64{1, 0.5, 1, 0, 1}, [5]float64{1, 1, 1, 0, 1}},
		{"broken calls beside sound ones", Log{Calls: []Call{good}, NumMalformed: 1}, [5]float64{1, 1, 1, 0, 1}, [5]float64{0.5, 0.5, 0.5, 0, 0.5}},
		{"repeated keys", Log{Calls: []Call{with(good, func(c *Call) { c.Arguments = `{"a": 1, "a": 2}` })}},
			[5]float64{1, 1, 1, 0, 1}, [5]float64{1, 0, 1, 0, 1}},
	} {
		for version, pair := range map[string]struct {
			got  Rates
			want [5]float64
		}{"published": {tools.PublishedRates(tc.log), tc.published}, "closed": {tools.ClosedRates(tc.log), tc.closed}} {
			r := pair.got
			for i, rate := range []*float64{
				r.ValidToolName, r.SchemaCompliance, r.ExecutionSuccess, r.ValidCallFailure, r.PlanningJSON,
			} {
				want := &pair.want[i]
				if *want < 0 {
					want = nil
				}
				if !same(rate, want) {
					t.Errorf("%s, %s: rate %d is %v, want %v", tc.name, version, i, show(rate), pair.want[i])
				}
			}
		}
	}
}

func show(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

func TestLogOf(t *testing.T) {
	result := func(status trajectory.CallStatus, text, err string) trajectory.ToolResult {
		return trajectory.ToolResult{Call: chat.ToolCall{Name: "add", Arguments: `{"a":1}`}, Status: status,
			Text: text, Error: err}
	}
	searched := result(trajectory.CallOK, "", "")
	searched.Search = true
	tr := &trajectory.Trajectory{Turns: []trajectory.Turn{
		{ParseError: "cut off"},
		{Results: []trajectory.ToolResult{
			result(trajectory.CallOK, "3", ""), searched, result(trajectory.CallOK, "bad luck", ""),
			result(trajectory.CallToolError, "no", ""),
			result(trajectory.CallToolError, "Error", trajectory.RefusedByConfiguration+"^Error"),
			result(trajectory.CallInvalid, "", "unknown"), result(trajectory.CallTimeout, "", "slow"),
		}},
	}}
	s := &scenario.Scenario{Checks: []scenario.Check{{Type: scenario.NoCallCheck, Name: "add"}}}
	got := LogOf(tr, s, func(text string) string {
		if text == "bad luck" {
			return "a pattern"
		}
		return ""
	})
	call := func(answered, refused bool) Call { return Call{"add", `{"a":1}`, answered, refused} }
	want := Log{NumMalformed: 1, Calls: []Call{call(true, false), call(true, true), call(false, false),
		call(true, true), call(false, false), call(false, false)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.Checks[0].Name = ""
	if !LogOf(tr, s, func(string) string { return "" }).NoToolFits ||
		LogOf(tr, nil, func(string) string { return "" }).NoToolFits {
		t.Error("whether no tool fits")
	}
}

// All rates are shares; the closed version is never raised by repeating what has succeeded, and where nothing is
// repeated, broken, refused or uncheckable, names and successes are as published.
func TestRatesAreShares(t *testing.T) {
	tools := NewTools([]Tool{{"a", "s", json.RawMessage(`{"type":"object","required":["x"]}`)}, {"b", "r", nil}})
	rapid.Check(t, func(r *rapid.T) {
		drawn := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Call {
			return Call{
				Tool: rapid.SampledFrom([]string{"a", "b", "none"}).Draw(r, "tool"),
				Arguments: rapid.SampledFrom([]string{`{}`, `{"x":1}`, `{"x":2}`, `{"x":3}`, `[]`, `{`}).Draw(r,
					"arguments"),
				Answered: rapid.Bool().Draw(r, "answered"),
			}
		}), 0, 8).Draw(r, "calls")
		l := Log{Calls: drawn}
		closed := tools.ClosedRates(l)
		for _, rates := range []Rates{tools.PublishedRates(l), closed} {
			for _, v := range []*float64{
				rates.ValidToolName, rates.SchemaCompliance, rates.ExecutionSuccess, rates.ValidCallFailure,
				rates.PlanningJSON,
			} {
				if v != nil && !(*v >= 0 && *v <= 1) {
					r.Fatalf("%v of %+v", *v, l)
				}
			}
		}
		for _, c := range drawn {
			if !c.Answered {
				continue
			}
			padded := tools.ClosedRates(Log{Calls: append(append([]Call{}, drawn...), c, c)})
			if !reflect.DeepEqual(padded, closed) {
				r.Fatalf("repeating %+v changes %+v to %+v", c, closed, padded)
			}
		}
	})
}

func TestDefinitions(t *testing.T) {
	m := Means{ValidToolName: 1, SchemaCompliance: 2, ExecutionSuccess: 3, ValidCallFailure: 4,
		PlanningJSON: 5, Rules: 6}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]float64
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	for i, d := range Definitions() {
		if d.Of(m) != float64(i+1) || keys[d.Name] != float64(i+1) || d.Published == "" || d.Closed == "" ||
			d.Hole == "" {
			t.Errorf("%+v", d)
		}
	}
}
