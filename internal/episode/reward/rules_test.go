package reward_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/reward/rewardtest"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/mcpbench"
)

// What the rule metrics and the cost of repairs say of episodes, by name; -1 where an episode has no such term.
func TestRules(t *testing.T) {
	tools := mcpbench.NewTools([]mcpbench.Tool{
		{Name: "hash", InputSchema: json.RawMessage(`{"type": "object", "properties": {"input": {"type": "string"}, "algorithm": {"type": "string"}}, "required": ["input"]}`)},
		{Name: "odd", InputSchema: json.RawMessage(`{"$ref": "https://elsewhere.test/schema"}`)}})
	scorer := reward.Scorer{Effort: reward.Effort{Repair: -0.5}, Rules: reward.Rules{Tools: tools, Refused: func(text string) string {
		if strings.HasPrefix(text, "Error") {
			return "it begins with Error"
		}
		return ""
	}, ValidToolName: 1, SchemaCompliance: 2, ExecutionSuccess: 3}}
	turns := func(turns ...trajectory.Turn) *trajectory.Trajectory {
		return &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted, Turns: turns}
	}
	made := func(status trajectory.CallStatus, text, name, arguments string) trajectory.Turn {
		r := trajectory.ToolResult{Call: call(name, arguments), Status: status, Text: text}
		return trajectory.Turn{Calls: []chat.ToolCall{r.Call}, Results: []trajectory.ToolResult{r}}
	}
	broken := func(text string) trajectory.Turn { return trajectory.Turn{Content: text, ParseError: "malformed call"} }
	cut := turns(broken(`<call>{"name": "ha`))
	cut.StopReason = trajectory.StopMaxTokens
	const ok, failed, invalid = trajectory.CallOK, trajectory.CallToolError, trajectory.CallInvalid
	const name, fits, works = "valid_tool_name_rate", "input_schema_compliance", "execution_success_rate"
	one, two, idle := hashScenario(), hashScenario(), hashScenario()
	one.Gold, idle.Gold = nil, nil
	two.Gold = append(two.Gold, scenario.Gold{Name: "hash", Arguments: json.RawMessage(`{"input": "ho"}`)})
	idle.Checks = []scenario.Check{{Type: scenario.NoCallCheck}}
	for of, c := range map[string]struct {
		s    *scenario.Scenario
		t    *trajectory.Trajectory
		term string
		want float64
	}{
		"a known tool of two":                  {one, turns(made(ok, "x", "hash", `{"input": "a"}`), made(invalid, "", "none", `{}`)), name, 0.5},
		"repeats of a success do not raise it": {one, turns(made(invalid, "", "none", `{}`), made(ok, "x", "hash", `{"input": "a"}`), made(ok, "x", "hash", `{"input":"a"}`)), name, 0.5},
		"nothing was called":                   {one, turns(trajectory.Turn{Content: "done"}), name, 0},
		"nothing was to be called":             {idle, turns(trajectory.Turn{Content: "done"}), name, -1},
		"against the schema":                   {one, turns(made(invalid, "", "hash", `{}`), made(ok, "x", "hash", `{"input": "a"}`)), fits, 0.5},
		"a schema that cannot be used":         {one, turns(made(ok, "x", "odd", `{}`)), fits, -1},
		"a broken call fits none":              {one, turns(broken("<call>{"), made(ok, "x", "hash", `{"input": "a"}`)), fits, 0.5},
		"an error in words":                    {one, turns(made(ok, "Error: no", "hash", `{"input": "a"}`), made(ok, "x", "hash", `{"input": "b"}`)), works, 0.5},
		"an error":                             {one, turns(made(failed, "no", "hash", `{"input": "a"}`)), works, 0},
		"no broken call":                       {one, turns(made(ok, "x", "hash", `{"input": "a"}`)), "repair", 0},
		"a comma too many":                     {one, turns(broken(`<call>{"name": "hash", "arguments": {"input": "a",}}</call>`)), "repair", 0.25},
		"two repairs":                          {one, turns(broken(`<call>{'name': "hash", "arguments": {"input": "a",}}</call>`)), "repair", 0.5},
		"its frame alone":                      {one, turns(broken(`<call>{"name": "hash", "arguments": {}}`)), "repair", 0.25},
		"nobody can read it":                   {one, turns(broken(`<call>{"name": "hash", "arguments": {"input": "a`)), "repair", 1},
		"two of them":                          {one, turns(broken(`<call>{"name": "hash", "arguments": {},}</call>`), broken(`<call>{"name": "hash", "arguments": {},}</call>`)), "repair", 0.5},
		"three that nobody can read":           {one, turns(broken("<call>x"), broken("<call>x"), broken("<call>x")), "repair", 1},
		"cut by the limit":                     {one, cut, "repair", 0},
	} {
		rewardtest.Give(scorer, c.s, c.t)
		i := slices.IndexFunc(c.t.Terms, func(term trajectory.Term) bool { return term.Name == c.term })
		switch {
		case c.want < 0 && i >= 0:
			t.Errorf("%s: %+v", of, c.t.Terms[i])
		case c.want >= 0 && (i < 0 || math.Abs(c.t.Terms[i].Score-c.want) > 1e-9):
			t.Errorf("%s: %+v, want %v", of, c.t.Terms, c.want)
		}
	}

	half := turns(made(ok, "x", "hash", string(hashArguments)), broken(`<call>{"name": "hash",}</call>`))
	rewardtest.Give(scorer, two, half)
	weights := map[string]float64{}
	for _, term := range half.Terms {
		weights[term.Name] = term.Weight
	}
	if weights["repair"] != 0 || weights[name] != 1 || weights[fits] != 2 || weights[works] != 3 {
		t.Errorf("an episode that made one gold call of two: %v", weights)
	}
	if rewardtest.Give(reward.Scorer{}, one, half); slices.ContainsFunc(half.Terms, func(term trajectory.Term) bool { return term.Name == "repair" || term.Name == works }) {
		t.Errorf("terms that nobody asked for: %+v", half.Terms)
	}

	scorer.Turns = &reward.Turns{}
	divided := turns(broken(`<call>{"name": "hash",}</call>`), made(ok, "x", "hash", `{"input": "a"}`), trajectory.Turn{Content: "done"})
	scores, err := scorer.Score(context.Background(), one, trajectory.Group{Trajectories: []*trajectory.Trajectory{divided}})
	if err != nil {
		t.Fatal(err)
	}
	// The first turn has all of the penalties for its broken call, the second all of what its call earns: a half of each rate.
	if got := scores[0].Turns; math.Abs(got[0]-(-0.5*0.25-0.2)) > 1e-9 || math.Abs(got[1]-(0.5+1+1.5)) > 1e-9 {
		t.Errorf("by turn: %v of %v", got, scores[0].Terms)
	}
}
