package stats

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// turnOf is a turn whose calls are written as "name arguments status".
func turnOf(calls ...[3]string) trajectory.Turn {
	var turn trajectory.Turn
	for _, c := range calls {
		call := chat.ToolCall{Name: c[0], Arguments: c[1]}
		turn.Calls = append(turn.Calls, call)
		turn.Results = append(turn.Results, trajectory.ToolResult{Call: call, Status: trajectory.CallStatus(c[2])})
	}
	return turn
}

func TestRecovery(t *testing.T) {
	broken := trajectory.Turn{ParseError: "it ends early"}
	for name, x := range map[string]struct {
		turns             []trajectory.Turn
		failed, recovered int
		stop              trajectory.StopReason
	}{
		"a broken call":              {[]trajectory.Turn{broken, turnOf([3]string{"a", `{}`, "ok"})}, 1, 1, ""},
		"broken twice, one intent":   {[]trajectory.Turn{broken, broken, turnOf([3]string{"a", `{}`, "ok"}, [3]string{"b", `{}`, "ok"})}, 1, 1, ""},
		"broken to the end":          {[]trajectory.Turn{turnOf([3]string{"a", `{}`, "ok"}), broken}, 1, 0, ""},
		"broken, then another error": {[]trajectory.Turn{broken, turnOf([3]string{"a", `{}`, "tool_error"})}, 2, 0, ""},
		"cut by the limit":           {[]trajectory.Turn{broken}, 0, 0, trajectory.StopMaxTokens},
		"nothing failed":             {[]trajectory.Turn{turnOf([3]string{"a", `{}`, "ok"})}, 0, 0, ""},
		"again with other arguments": {[]trajectory.Turn{turnOf([3]string{"a", `{"x":1}`, "tool_error"}), turnOf([3]string{"a", `{"x":2}`, "ok"})}, 1, 1, ""},
		"never again":                {[]trajectory.Turn{turnOf([3]string{"a", `{"x":1}`, "tool_error"}), turnOf([3]string{"b", `{"x":2}`, "ok"})}, 1, 0, ""},
		"failed twice, one intent": {[]trajectory.Turn{turnOf([3]string{"a", `{}`, "invalid"}),
			turnOf([3]string{"a", `{}`, "tool_error"}), turnOf([3]string{"a", `{}`, "ok"})}, 1, 1, ""},
		"again after it succeeded": {[]trajectory.Turn{turnOf([3]string{"a", `{}`, "invalid"}),
			turnOf([3]string{"a", `{}`, "ok"}), turnOf([3]string{"a", `{}`, "invalid"})}, 2, 1, ""},
		"in the same turn is no cure": {[]trajectory.Turn{turnOf([3]string{"a", `{"x":1}`, "tool_error"}, [3]string{"a", `{"x":2}`, "ok"})}, 1, 0, ""},
		"a name that does not exist": {[]trajectory.Turn{turnOf([3]string{"serch", `{"q":"x"}`, "invalid"}),
			turnOf([3]string{"search", `{"q": "x"}`, "ok"})}, 1, 1, ""},
		"no arguments, another tool":  {[]trajectory.Turn{turnOf([3]string{"lst", `{}`, "invalid"}), turnOf([3]string{"time", `{}`, "ok"})}, 1, 0, ""},
		"denied is not failed":        {[]trajectory.Turn{turnOf([3]string{"a", `{}`, "denied"}), turnOf([3]string{"a", `{}`, "ok"})}, 0, 0, ""},
		"lost calls are not failed":   {[]trajectory.Turn{turnOf([3]string{"a", `{}`, "timeout"}, [3]string{"b", `{}`, "transport_error"})}, 0, 0, ""},
		"an error that was asked for": {[]trajectory.Turn{turnOf([3]string{"wanted", `{}`, "tool_error"})}, 0, 0, ""},
		"two intents, one comes right": {
			[]trajectory.Turn{turnOf([3]string{"a", `{}`, "invalid"}, [3]string{"b", `{"x":1}`, "invalid"}),
				turnOf([3]string{"b", `{"x":3}`, "ok"})}, 2, 1, "",
		},
	} {
		failed, recovered := recovery(&trajectory.Trajectory{Turns: x.turns, StopReason: x.stop},
			func(r trajectory.ToolResult) bool { return r.Call.Name == "wanted" })
		if failed != x.failed || recovered != x.recovered {
			t.Errorf("%s: %d of %d, want %d of %d", name, recovered, failed, x.recovered, x.failed)
		}
	}
}

func scenarios() map[string]*scenario.Scenario {
	gold := []scenario.Gold{
		{Name: "add", Arguments: json.RawMessage(`{"a":1}`)},
		{Name: "add", Arguments: json.RawMessage(`{"a":2}`)},
		{Name: "mail", Arguments: json.RawMessage(`{}`)},
	}
	answer := "7"
	return map[string]*scenario.Scenario{
		"gold": {ID: "gold", Gold: gold, Difficulty: "hard", Tags: []string{"kind:sums", "family:f1"},
			Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: &answer}}},
		"none":    {ID: "none", Tags: []string{"difficulty:easy"}, Checks: []scenario.Check{{Type: scenario.NoCallCheck}}},
		"not add": {ID: "not add", Checks: []scenario.Check{{Type: scenario.NoCallCheck, Name: "add"}}},
		"missing": {ID: "missing", Tags: []string{"missing_tool"}, Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: &answer}}},
		"file":    {ID: "file", Checks: []scenario.Check{{Type: scenario.FileCheck, Path: "x", Contains: &answer}}},
	}
}

// said is an episode that ended by itself with an answer.
func said(id, answer string, turns ...trajectory.Turn) *trajectory.Trajectory {
	return &trajectory.Trajectory{ScenarioID: id, Outcome: trajectory.OK, StopReason: trajectory.StopCompleted,
		Turns: append(turns, trajectory.Turn{Content: answer}), Messages: []chat.Message{
			{Role: chat.Assistant, Content: answer},
		}}
}

// What a scenario says, and what is known of its tools, is in its rows.
func TestRowsSayWhatTheirScenariosSay(t *testing.T) {
	yes, no, cost := true, false, 0.25
	c := ByChecks(scenarios(), nil, Known{
		Server: func(tool string) string { return map[string]string{"add": "calc", "mail": "post"}[tool] },
		Learnt: &Learnt{Tools: map[string]bool{"add": true, "mail": true}, Servers: map[string]bool{"calc": true}},
		Cost:   func(*trajectory.Trajectory) *float64 { return &cost },
	})
	again := said("gold", "7", turnOf([3]string{"add", `{"a":1}`, "tool_error"}),
		turnOf([3]string{"add", `{"a":1}`, "ok"}))
	again.Rollout, again.Reused = 3, "runs/earlier"
	again.Turns[0].Usage = &trajectory.Usage{PromptTokens: 100, CompletionTokens: 10}
	again.Turns[1].BridgeIDs, again.Turns[1].CompletionIDs = make([]int32, 5), make([]int32, 2)
	again.Turns[2].BridgeIDs, again.Turns[2].CompletionIDs = make([]int32, 3), make([]int32, 1)
	s := NewSystem("x",
		[]*trajectory.Trajectory{again, said("none", "no"), said("not add", "no"), said("missing", "7")}, c)
	want := Row{
		ScenarioID: "gold", Repeat: 3, Outcome: trajectory.OK, Family: "f1", Kind: "sums", Difficulty: "hard",
		Tags: []string{"kind:sums", "family:f1"}, Tools: []string{"add", "mail"}, Servers: []string{"calc", "post"},
		SeenTools: &yes, SeenServers: &no, FirstCall: true, Episode: true, NumGold: 3, NumTurns: 3, NumCalls: 2,
		NumToolErrors: 1, NumRecoverable: 1, NumRecovered: 1, NumPromptTokens: 100 + 5 + 10,
		NumCompletionTokens: 10 + 2 + 1, Cost: &cost, Reused: true,
	}
	if !reflect.DeepEqual(s.Rows[0], want) {
		t.Errorf("%+v\nwant %+v", s.Rows[0], want)
	}
	none, notAdd, missing := s.Rows[1], s.Rows[2], s.Rows[3]
	if none.Reused || !none.NoTool || none.MissingTool || !none.Abstained || none.SeenTools != nil ||
		none.Difficulty != "easy" || notAdd.NoTool || !missing.MissingTool || !missing.Abstained {
		t.Errorf("%+v\n%+v\n%+v", none, notAdd, missing)
	}
	if unknown := NewSystem("x", []*trajectory.Trajectory{again},
		ByChecks(scenarios(), nil, Known{})).Rows[0]; unknown.SeenTools != nil || unknown.Servers != nil ||
		unknown.Cost != nil {
		t.Errorf("%+v", unknown)
	}
}

// Abstaining is to end without a call; where the tool is missing and calls are not forbidden, what the checks say.
func TestAbstention(t *testing.T) {
	search := said("none", "no", turnOf([3]string{"find_tools", `{"q":"x"}`, "ok"}))
	search.Turns[0].Results[0].Search = true
	cut := said("none", "no")
	cut.Outcome = trajectory.Limit
	for name, x := range map[string]struct {
		t    *trajectory.Trajectory
		want bool
	}{
		"it says no":               {said("none", "no"), true},
		"it calls":                 {said("none", "no", turnOf([3]string{"add", `{"a":1}`, "ok"})), false},
		"it calls what is invalid": {said("none", "no", turnOf([3]string{"add", `{"a":1}`, "invalid"})), false},
		"it looks for tools":       {search, true},
		"it babbles until the end": {cut, false},
		"the tool is missing":      {said("missing", "7", turnOf([3]string{"add", `{"a":1}`, "ok"})), true},
		"and it does not see it":   {said("missing", "8"), false},
		"there is a tool":          {said("gold", "7"), false},
	} {
		rows := NewSystem("x", []*trajectory.Trajectory{x.t}, ByChecks(scenarios(), nil, Known{})).Rows
		if rows[0].Abstained != x.want {
			t.Errorf("%s: %v", name, rows[0].Abstained)
		}
	}
}

// A check that gives no verdict is named and counted, and its episode is neither a success nor a failure; at worst it
// is a failure.
func TestChecksThatFailToRun(t *testing.T) {
	lost := &trajectory.Trajectory{ScenarioID: "file", Outcome: trajectory.InfrastructureError,
		Error: "checks[0] (file)" + trajectory.CannotEvaluate + "disk on fire"}
	crash := &trajectory.Trajectory{ScenarioID: "gold", Outcome: trajectory.EnvironmentError,
		Error: "the server crashed: checks[0] (file)"}
	s := NewSystem("x", []*trajectory.Trajectory{said("gold", "7"), said("file", "done"), lost, crash,
		said("file", "done")}, ByChecks(scenarios(), nil, Known{}))
	if len(s.Rows) != 1 || len(s.Lost) != 4 || s.Excluded[Unjudged] != 2 ||
		s.Excluded[trajectory.InfrastructureError] != 1 || s.Lost[3].ChecksFailedToRun == nil ||
		s.Lost[2].ChecksFailedToRun != nil {
		t.Errorf("%+v", s)
	}
	got := Summarize(s, Bootstrap{})
	if want := []FailedToRun{{"file", "checks[0] (file)", 3}}; !slices.Equal(got.NotRun, want) {
		t.Errorf("%+v", got.NotRun)
	}
	if got.EpisodeSuccess != 1 || got.ExcludedShare != 0.8 || !got.Unreliable || got.WorstCase.Mean != 0.25 ||
		got.WorstCase.N != 2 || got.Excluded[Unjudged] != 2 {
		t.Errorf("%+v", got)
	}
	if r := (Comparison{Systems: []System{s}}).Results(); !slices.Equal(r.Unreliable, []string{"x"}) ||
		!slices.Equal(r.Unmeasured, []string{"file"}) || !slices.Equal(r.AlwaysDone, []string{"gold"}) {
		t.Errorf("%+v", r)
	}
}

// Each metric is the ratio it says it is.
func TestMetrics(t *testing.T) {
	price := func(x float64) *float64 { return &x }
	s := System{Rows: []Row{
		{ScenarioID: "a", NumGold: 2, FirstCall: true, Episode: true, NumTurns: 6, NumCalls: 4, NumExtraCalls: 2,
			NumInvalidCalls: 1, NumToolErrors: 1, NumRecoverable: 2, NumRecovered: 1, NumPromptTokens: 100,
			NumCompletionTokens: 10, Reward: 1, Seconds: 4, ModelSeconds: 3, ToolSeconds: 1, Cost: price(0.5),
			NumUserTurns: 3, NumUserTokens: 48, UserEnded: trajectory.EndedByOutOfScope},
		{ScenarioID: "b", NumGold: 1, NumTurns: 1, NumCalls: 1, NumMalformed: 1, NumRecoverable: 1, NumRecovered: 1, Seconds: 2, NumUserTurns: 1},
		{ScenarioID: "c", NumGold: 1, Episode: true, NumTurns: 1, NumCalls: 1, Seconds: 1},
		{ScenarioID: "d", NoTool: true, Episode: true, Abstained: true, NumTurns: 1, Cost: price(0.1)},
		{ScenarioID: "e", NoTool: true, NumTurns: 2, NumCalls: 2, NumExtraCalls: 9, Attacked: true},
		{ScenarioID: "f", MissingTool: true, NumTurns: 2, Attacked: true, AttackSucceeded: true, TaskDone: true},
	}, Lost: []Row{{ScenarioID: "a", Cost: price(1)}, {ScenarioID: "f", Cost: price(4), Reused: true}},
		Excluded: map[trajectory.Outcome]int{trajectory.EnvironmentError: 1}}
	got := Summarize(s, Bootstrap{})
	for name, want := range map[string]struct {
		mean float64
		n    int
	}{
		"completion": {3. / 6, 6}, "first_call": {1. / 3, 3}, "validity": {7. / 9, 4},
		"tool_efficiency": {(0.5 + 1) / 2, 2}, "turn_efficiency": {(0.5 + 1) / 2, 2}, "recovery": {2. / 3, 2},
		"abstention": {1. / 3, 3}, "extra_calls": {2. / 3, 3}, "turns": {13. / 6, 6}, "calls": {9. / 6, 6},
		"tool_errors": {1. / 6, 6}, "invalid_calls": {2. / 6, 6}, "prompt_tokens": {100. / 6, 6},
		"completion_tokens": {10. / 6, 6}, "reward": {1. / 6, 6}, "seconds": {7. / 6, 6}, "model_seconds": {3. / 6, 6},
		"tool_seconds": {1. / 6, 6}, "cost": {0.3, 2}, "attack_success": {1. / 2, 2}, "attacked_completion": {1. / 2,
			2}, "user_turns": {2, 2}, "user_tokens": {24, 2},
		"user_out_of_scope": {1. / 2, 2},
	} {
		i := got.Metrics[name]
		near(t, name, i.Mean, want.mean, 1e-12)
		if i.N != want.n || i.Low > i.Mean || i.High < i.Mean || i.Low == i.High && name != "abstention" {
			t.Errorf("%s: %+v, want %d scenarios", name, i, want.n)
		}
	}
	if len(got.Metrics) != len(Metrics()) {
		t.Errorf("%d metrics are measured, of %d", len(got.Metrics), len(Metrics()))
	}
	near(t, "total cost", *got.TotalCost, 1.6, 1e-12)
	near(t, "cost of what is reused", *got.ReusedCost, 4, 1e-12)
	if empty := Summarize(System{}, Bootstrap{}); len(empty.Metrics) != 0 || empty.TotalCost != nil ||
		empty.ReusedCost != nil || empty.Unreliable {
		t.Errorf("%+v", empty)
	}
}

// The estimators against counting the subsets one by one.
func TestPassesAgainstAllSubsets(t *testing.T) {
	const n = 5
	for c := range n + 1 {
		var rows []Row
		for i := range n {
			rows = append(rows, Row{ScenarioID: "s", Repeat: i, Episode: i < c})
		}
		got := Passes(rows, Bootstrap{})
		if len(got) != n {
			t.Fatalf("%d numbers of attempts", len(got))
		}
		for k := 1; k <= n; k++ {
			some, all, subsets := 0., 0., 0.
			for set := range 1 << n {
				size, done := 0, 0
				for i := range n {
					if set>>i&1 == 1 {
						size++
						if i < c {
							done++
						}
					}
				}
				if size == k {
					subsets++
					some += oneIf(done > 0)
					all += oneIf(done == k)
				}
			}
			near(t, fmt.Sprintf("pass@%d, %d of %d", k, c, n), got[k-1].Any.Mean, some/subsets, 1e-12)
			near(t, fmt.Sprintf("pass^%d, %d of %d", k, c, n), got[k-1].All.Mean, all/subsets, 1e-12)
		}
	}
	uneven := append(table("10"), Row{ScenarioID: "s0"}) // one of two attempts, none of one
	got := Passes(uneven, Bootstrap{})
	if len(got) != 2 || got[0].Any.N != 2 || got[0].Any.Mean != 0.25 || got[1].Any.N != 1 || got[1].Any.Mean != 1 ||
		got[1].All.Mean != 0 {
		t.Errorf("%+v", got)
	}
}
