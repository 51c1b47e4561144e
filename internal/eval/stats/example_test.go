package stats

import (
	"context"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// shownExample called the right tool with wrong arguments, was answered, and said a wrong sum.
func shownExample() Example {
	s := &scenario.Scenario{ID: "two", Task: "Add 2 and 3.", Checks: []scenario.Check{
		{Type: scenario.CallCheck, Name: "add", Arguments: []byte(`{"a":2,"b":3}`)}, {Type: scenario.AnswerCheck,
			Number: scenario.NumberOf(5)}, {Type: scenario.NoCallCheck, Name: "mul"}}}
	call := chat.ToolCall{ID: "1", Name: "add", Arguments: `{"a":2,"b":4}`}
	t := &trajectory.Trajectory{
		ID:         "two/3/1",
		ScenarioID: "two",
		Split:      "train",
		Attempt:    2,
		Adapter:    "0123456789abcdef",
		Outcome:    trajectory.OK,
		StopReason: trajectory.StopCompleted,
		Messages: []chat.Message{
			{Role: chat.User, Content: "Add 2 and 3."}, {Role: chat.Assistant, ReasoningContent: "sums",
				ToolCalls: []chat.ToolCall{call}},
			{Role: chat.ToolRole, Name: "add", Content: "6\nhone: all fine", ToolCallID: "1"}, {Role: chat.Assistant,
				Content: "It is 6."},
		},
		Turns: []trajectory.Turn{
			{Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{
				{Call: call, Status: trajectory.CallOK, Text: "6", Seconds: 0.25, Approval: "rule allow add"},
			}},
			{Content: "It is 6."},
		},
		Seen:   []trajectory.Observation{{Look: "file out.json", Status: trajectory.Absent}},
		Stderr: map[string]string{"calc": "started\nadded"},
	}
	give(reward.Scorer{}, s, t)
	return Example{Trajectory: t, Scenario: s}
}

// All there is to know of an episode is in its text: what was said, called and answered, each check with why it failed,
// and what servers wrote to stderr.
func TestExampleAsText(t *testing.T) {
	e := shownExample()
	e.Trajectory.Terms = append(e.Trajectory.Terms, trajectory.Term{Name: reward.ExtraTerm, Score: 0.5, Weight: -1})
	var b strings.Builder
	if err := e.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"episode two/3/1\n", "outcome ok (completed), reward ",
		"scenario two, split train, adapter 0123456789ab, attempt 2\n", "\nuser\n  Add 2 and 3.\n",
		"\nassistant\n  (thinks) sums\n  calls add {\"a\":2,\"b\":4}\n",
		"\ntool add: ok, 0.25 s\n  6\n  hone: all fine\n  (approval) rule allow add\n",
		"\nchecks\n  failed  checks[0] {\"type\":\"call\"", `failed  checks[1] {"type":"answer","number":5}: `,
		"passed  checks[2] {\"type\":\"no_call\",\"name\":\"mul\"}", "\n  checks        0 x 1\n",
		"  (the weight is minus what checks and end earned; rewards.extra is in the score)\n",
		"\nseen by checks\n  file out.json: absent\n", "\nstderr of calc\n  started\n  added\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if !e.Fails() {
		t.Error("it did not fail")
	}

	e.Scenario = nil // whose run keeps no scenarios
	if v := e.Verdicts(); len(v) != 2 || v[0].Check != "checks[0] (call)" || v[1].Check != "checks[1] (answer)" ||
		v[0].Passed {
		t.Errorf("%+v", v)
	}
	e.Trajectory.Terms[0].Why = "checks[1] (sql): got 2 rows; want 3; checks[4] (file): absent"
	if v := e.Verdicts(); len(v) != 2 || v[0].Why != "got 2 rows; want 3" || v[1].Check != "checks[4] (file)" ||
		v[1].Why != "absent" {
		t.Errorf("%+v", v)
	}
	e.Trajectory.Terms = nil
	if v := e.Verdicts(); v != nil || e.Fails() {
		t.Errorf("not judged: %+v", v)
	}
	e.Trajectory.Outcome = trajectory.Limit
	if !e.Fails() {
		t.Error("one that a limit ended is no failure")
	}
	if e.Trajectory.Terms = []trajectory.Term{{Name: ChecksTerm, Score: 1, Weight: 1}}; e.Fails() {
		t.Error("one that passes its checks is a success in the rates, and a failure here")
	}
}

// give scores one trajectory as a group of its own.
func give(r reward.Scorer, s *scenario.Scenario, t *trajectory.Trajectory) {
	g := trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{t}}
	scores, err := r.Score(context.Background(), s, g)
	if err != nil {
		panic(err) // a rule does not fail
	}
	g.Take(scores)
}

// The results of an opening were given: those of the episode stand at its own calls.
func TestExampleWithAnOpening(t *testing.T) {
	e := shownExample()
	given := []chat.Message{
		{Role: chat.User, Content: "Earlier."}, {Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "0", Name: "old", Arguments: "{}"}}},
		{Role: chat.ToolRole, Name: "old", ToolCallID: "0", Content: "then"},
	}
	e.Trajectory.Messages, e.Trajectory.Opening = append(given, e.Trajectory.Messages...), 4
	var b strings.Builder
	if err := e.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\ntool old\n  then\n") ||
		!strings.Contains(b.String(), "\ntool add: ok, 0.25 s\n") {
		t.Errorf("%s", &b)
	}
}
