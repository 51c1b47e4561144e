package recovery_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/recovery"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/rewardtest"
)

func ptr[T any](v T) *T { return &v }

func call(id, name, arguments string) chat.ToolCall {
	return chat.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// shop is a server on which a hat is bought once it is in the basket, by its number.
type shop struct{ basket map[string]bool }

func (s *shop) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return &shop{map[string]bool{}}, nil
}

func (s *shop) Close() error { return nil }

func (s *shop) Dir(string) string { return "" }

func (s *shop) Probe(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{c})[0]
}

func (s *shop) Call(_ context.Context, calls []chat.ToolCall) (results []trajectory.ToolResult) {
	for _, c := range calls {
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: "done"}
		switch {
		case c.Name == "add":
			s.basket["hat"] = true
		case c.Arguments != `{"number":7}`:
			r.Status, r.Text = trajectory.CallToolError, "no such number; the hat is number 7"
		case !s.basket["hat"]:
			r.Status, r.Text = trajectory.CallToolError, "the basket is empty"
		}
		results = append(results, r)
	}
	return results
}

// play runs an episode of a scenario on the shop, with these turns.
func play(t *testing.T, s scenario.Scenario, turns ...trajectory.Turn) *trajectory.Trajectory {
	t.Helper()
	record := &trajectory.Trajectory{ID: s.ID, ScenarioID: s.ID}
	e, end := environment.New(environment.Options{Tools: &shop{}, System: "You shop."}).Open(t.Context(), s, record)
	if end != nil {
		t.Fatalf("%+v", end)
	}
	for i := 0; i < len(turns) && end == nil; i++ {
		end = e.Take(t.Context(), environment.Reply{Turn: &turns[i]})
	}
	return record
}

func turn(calls ...chat.ToolCall) trajectory.Turn { return trajectory.Turn{Calls: calls} }

func hat() scenario.Scenario {
	gold := []scenario.Gold{{Name: "add", Arguments: json.RawMessage(`{"what":"hat"}`)}, {Name: "buy", Arguments: json.RawMessage(`{"number":7}`)}}
	return scenario.Scenario{ID: "hat", Task: "Buy a hat.", Split: scenario.Train, Gold: gold, Checks: []scenario.Check{
		{Type: scenario.CallCheck, Name: "add", Arguments: gold[0].Arguments}, {Type: scenario.CallCheck, Name: "buy", Arguments: gold[1].Arguments},
		{Type: scenario.MaxCallsCheck, Max: ptr(4)}, {Type: scenario.AnswerCheck, Contains: ptr("bought")}}}
}

// A chain whose second call fails becomes a task that begins behind it, on a server that is as far: the call that is left passes there, and nothing
// else is wanted.
func TestAnEpisodeGoesOnFromItsFailedCall(t *testing.T) {
	s := hat()
	failed := play(t, s, turn(call("1", "add", `{"what":"hat"}`)), turn(call("2", "buy", `{"number":1}`)), turn(call("3", "buy", `{"number":2}`)), trajectory.Turn{Content: "I give up."})
	r, ok := recovery.Of(&s, failed, nil)
	if !ok || len(r.Messages) != 6 || r.Messages[0].Content != "You shop." || r.Messages[5].Content != "no such number; the hat is number 7" {
		t.Fatalf("%v: %+v", ok, r)
	}
	if !reflect.DeepEqual(r.Setup, s.Gold[:1]) || !reflect.DeepEqual(r.Gold, s.Gold[1:]) || len(r.Checks) != 3 || *r.Checks[1].Max != 2 || *s.Checks[2].Max != 4 || r.Split != scenario.Train {
		t.Errorf("%+v", r)
	}
	if again, _ := recovery.Of(&s, failed, nil); again.ID != r.ID || again.Hash() != r.Hash() || r.ID == s.ID {
		t.Errorf("%s and %s", r.ID, again.ID)
	}
	good := play(t, r, turn(call("3", "buy", `{"number":7}`)), trajectory.Turn{Content: "I bought it."})
	bad := play(t, r, trajectory.Turn{Content: "I bought it."})
	for _, x := range []*trajectory.Trajectory{good, bad} {
		rewardtest.Give(reward.Scorer{}, &r, x)
	}
	if !reward.Episode(&r, good, nil) || reward.Episode(&r, bad, nil) || good.Reward != (reward.Scorer{}).Max(&r) || len(good.Turns) != 2 || good.Opening != 6 {
		t.Errorf("%+v earns %v, %v", good, good.Reward, bad.Reward)
	}
}

// What cannot be gone on from, or tells nothing, makes no task.
func TestNoRecovery(t *testing.T) {
	add, fail := turn(call("1", "add", `{"what":"hat"}`)), turn(call("2", "buy", `{"number":1}`))
	for name, c := range map[string]struct {
		change func(s *scenario.Scenario, t *trajectory.Trajectory)
		turns  []trajectory.Turn
	}{
		"nothing failed":      {nil, []trajectory.Turn{add, {Content: "done"}}},
		"the server was lost": {func(_ *scenario.Scenario, t *trajectory.Trajectory) { t.Outcome = trajectory.EnvironmentError }, []trajectory.Turn{add, fail}},
		"a call that is no JSON": {func(_ *scenario.Scenario, t *trajectory.Trajectory) {
			t.Messages[2].ToolCalls[0].Arguments = `{"number":`
		}, []trajectory.Turn{fail}},
		"no calls are left": {func(s *scenario.Scenario, _ *trajectory.Trajectory) { s.Checks[2].Max = ptr(1) }, []trajectory.Turn{add, fail}},
		"a tool that must rest": {func(s *scenario.Scenario, _ *trajectory.Trajectory) {
			s.Checks[3] = scenario.Check{Type: scenario.NoCallCheck, Name: "buy"}
		}, []trajectory.Turn{add, fail}},
		"a look between turns": {func(s *scenario.Scenario, _ *trajectory.Trajectory) {
			s.Checks[3] = scenario.Check{Type: scenario.StateCheck, Name: "add", AfterTurn: 1, Contains: ptr("x")}
		}, []trajectory.Turn{add, fail}},
		"what changed": {func(s *scenario.Scenario, _ *trajectory.Trajectory) {
			s.Checks[3] = scenario.Check{Type: scenario.UnchangedCheck}
		}, []trajectory.Turn{add, fail}},
		"all is met": {func(s *scenario.Scenario, _ *trajectory.Trajectory) { s.Checks = s.Checks[:1] }, []trajectory.Turn{add, fail}},
		"a user":     {func(s *scenario.Scenario, _ *trajectory.Trajectory) { s.User = &scenario.User{Goal: "a hat"} }, []trajectory.Turn{add, fail}},
	} {
		s := hat()
		x := play(t, s, append(slices.Clone(c.turns), trajectory.Turn{Content: "I give up."})...)
		if c.change != nil {
			c.change(&s, x)
		}
		if r, ok := recovery.Of(&s, x, nil); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
