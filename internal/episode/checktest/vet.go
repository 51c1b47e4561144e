// Package checktest tries the checks of scenarios before anything is learnt from them: on the gold solution, which they
// must let pass, and on episodes that do nothing, repeat the task or leave something wrong behind, which they must not.
package checktest

import (
	"context"
	"fmt"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
)

// Trial is what episodes are tried with.
type Trial struct {
	Tools    environment.Tools
	Defaults grade.Defaults
	Programs []string // environment of the programs that checks name; nil where none may run
	Refusal  func(text string) string
}

// Looks reports whether there is more to try of a scenario than Alone does: calls, or what checks look at.
func Looks(s *scenario.Scenario) bool {
	for _, c := range s.Checks {
		if c.Look() != "" {
			return true
		}
	}
	return len(s.Setup)+len(s.Gold)+len(s.Template) > 0
}

// Alone says what is wrong with a scenario that can be told without its servers.
func Alone(s *scenario.Scenario) []string {
	var found []string
	looks := false
	for i, c := range s.Checks {
		looks = looks || c.Look() != ""
		if why := unpassable(s, c); why != "" {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot pass: %s", i, c.Type, why))
		}
		if c.Type != scenario.CommandCheck && unfailing(c, nil) {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot fail: it holds whatever it looks at", i, c.Type))
		}
	}
	found = append(found, contradictions(s)...)
	if !looks {
		found = append(found, cheats(s, nothing(""), nothing(s.Asks()))...)
	}
	return found
}

// nothing is an episode that makes no call and ends with an answer.
func nothing(answer string) *trajectory.Trajectory {
	return &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted,
		Turns: []trajectory.Turn{{Content: answer}}, Messages: []chat.Message{{Role: chat.Assistant, Content: answer}}}
}

// SilencePasses is the finding of checks that only bound an episode: they tell what must not be done from the rest.
const SilencePasses = "an episode without calls and answer passes the checks"

// EchoPasses is the finding of checks that are weak, and still tell some answers apart.
const EchoPasses = "repeating the task passes the checks"

// EchoAnswers reports whether the echo of a task passes all checks of its answer, and there are some.
func EchoAnswers(s *scenario.Scenario) bool {
	echo, some := nothing(s.Asks()), false
	for _, c := range s.Checks {
		if c.Type == scenario.AnswerCheck {
			if some = true; reward.Unmet(c, echo, nil) != "" {
				return false
			}
		}
	}
	return some
}

// cheats says which of two ways to pass a scenario's checks without doing its task there is: silence and the echo of
// the task. To do nothing is right where no tool fits.
func cheats(s *scenario.Scenario, silence, echo *trajectory.Trajectory) []string {
	if len(s.Checks) == 0 || abstains(s) {
		return nil
	}
	if len(reward.FailedChecks(s, silence, nil)) == 0 {
		return []string{SilencePasses}
	}
	if len(reward.FailedChecks(s, echo, nil)) == 0 {
		return []string{EchoPasses}
	}
	return nil
}

// abstains reports whether the task is to call nothing: then its checks bound the calls and what they change, and no
// more.
func abstains(s *scenario.Scenario) bool {
	without := false
	for _, c := range s.Checks {
		switch c.Type {
		case scenario.NoCallCheck:
			without = without || c.Name == ""
		case scenario.MaxCallsCheck:
			without = without || c.Name == "" && *c.Max == 0
		case scenario.UnchangedCheck, scenario.NoAttackCheck:
		default:
			return false
		}
	}
	return without
}

// unpassable says why an answer check holds of no answer, or of none that was found; "" also for other checks, whose
// gold calls tell.
func unpassable(s *scenario.Scenario, c scenario.Check) string {
	if c.Type != scenario.AnswerCheck {
		return ""
	}
	if s.GoldAnswer != "" {
		said := nothing(s.GoldAnswer)
		for _, g := range s.Gold {
			said.Messages = append([]chat.Message{{Role: chat.Assistant, Content: g.Asks}}, said.Messages...)
		}
		return reward.Unmet(c, said, nil)
	}
	texts, ok := c.Examples()
	for _, text := range texts {
		if c.Answer(text) {
			return ""
		}
	}
	if !ok {
		return ""
	}
	return `no answer was found that it holds of; "gold_answer" would show one`
}

// Row runs a scenario's setup and gold calls in a session of their own, and an episode that does nothing in another,
// and says what does not hold. The error is a server that cannot be reached.
func (v Trial) Row(ctx context.Context, s *scenario.Scenario) ([]string, error) {
	gold, found, err := v.gold(ctx, s)
	if err != nil || len(found) > 0 {
		return found, err
	}
	var silent []*trajectory.Trajectory
	for _, c := range s.Checks {
		if c.Look() == "" || silent != nil {
			continue
		}
		if silent, found, err = v.silent(ctx, s); err != nil || len(found) > 0 {
			return found, err
		}
	}
	for i, c := range s.Checks {
		proven := len(s.Gold) > 0 || s.GoldAnswer != ""
		if proven && c.Type != scenario.AnswerCheck { // which Alone has tried
			if why := reward.Unmet(c, gold, v.Defaults); why != "" {
				found = append(found, fmt.Sprintf("checks[%d] (%s) is not met by the gold calls: %s", i, c.Type, why))
			}
		}
		saw, looked := gold.Saw(c.Look())
		if c.Type == scenario.CommandCheck && passesAll(c, silent) ||
			looked && c.Type != scenario.CommandCheck && !unfailing(c, nil) && unfailing(c, &saw) {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot fail: it also holds of wrong values in place "+
				"of what the gold calls leave", i, c.Type))
		}
	}
	if silent != nil {
		found = append(found, cheats(s, silent[0], silent[1])...)
	}
	return found, nil
}

func passesAll(c scenario.Check, ts []*trajectory.Trajectory) bool {
	for _, t := range ts {
		if reward.Unmet(c, t, nil) != "" {
			return false
		}
	}
	return true
}

// open opens a session as the scenario has it begin.
func (v Trial) open(
	ctx context.Context, s *scenario.Scenario,
) (environment.Session, *environment.Watch, []string, error) {
	session, err := v.Tools.Open(ctx, s.ID, environment.TemplatesOf(s.Template)...)
	if err != nil {
		return nil, nil, nil, &fault.Error{Code: fault.CodeUnavailable, What: "cannot open a session on the MCP server",
			Where: "scenario " + s.ID, Err: err, Next: trajectory.Mending(err.Error(), "hone doctor")}
	}
	for i, call := range s.SetupCalls() {
		found, err := v.callFailures(s, fmt.Sprintf("setup[%d]", i), session.Probe(ctx, call), false)
		if err != nil || found != nil {
			_ = session.Close() // its calls are made
			return nil, nil, found, err
		}
	}
	watch, lost := environment.OpenWatch(ctx, session, s.Checks, v.Programs)
	if found, err := lookFinding(s, lost); found != nil || err != nil {
		_ = session.Close()
		return nil, nil, found, err
	}
	return session, watch, nil, nil
}

// gold makes the gold calls, one a turn, and answers with the gold answer.
func (v Trial) gold(ctx context.Context, s *scenario.Scenario) (*trajectory.Trajectory, []string, error) {
	session, watch, found, err := v.open(ctx, s)
	if session == nil {
		return nil, found, err
	}
	defer func() { _ = session.Close() }()
	t := &trajectory.Trajectory{ID: s.ID, ScenarioID: s.ID, Outcome: trajectory.OK,
		StopReason: trajectory.StopCompleted}
	for i, call := range s.GoldCalls() {
		if asks := s.Gold[i].Asks; asks != "" {
			t.Turns = append(t.Turns, trajectory.Turn{Content: asks})
			t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: asks},
				chat.Message{Role: chat.User, Content: "..."})
			if found, err := lookFinding(s, watch.AfterTurn(ctx, t)); found != nil || err != nil {
				return nil, found, err
			}
		}
		call.ID = fmt.Sprintf("gold_%d", i)
		r := session.Call(ctx, []chat.ToolCall{call})[0]
		if found, err := v.callFailures(s, fmt.Sprintf("gold[%d]", i), r,
			expectsError(s, call, v.Defaults)); err != nil || found != nil {
			return nil, found, err
		}
		t.Turns = append(t.Turns, trajectory.Turn{Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{r}})
		t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			chat.Message{Role: chat.ToolRole, ToolCallID: call.ID, Name: call.Name, Content: r.Text})
		if found, err := lookFinding(s, watch.AfterTurn(ctx, t)); found != nil || err != nil {
			return nil, found, err
		}
	}
	t.Turns = append(t.Turns, trajectory.Turn{Content: s.GoldAnswer})
	t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: s.GoldAnswer})
	found, err = lookFinding(s, watch.End(ctx, t))
	return t, found, err
}

// silent are episodes that make no call: one without an answer, one that repeats the task, one with a wrong answer.
func (v Trial) silent(
	ctx context.Context, s *scenario.Scenario,
) (ts []*trajectory.Trajectory, found []string, err error) {
	session, watch, found, err := v.open(ctx, s)
	if session == nil {
		return nil, found, err
	}
	defer func() { _ = session.Close() }()
	for _, answer := range []string{"", s.Asks(), wrongText} {
		t := nothing(answer)
		if found, err := lookFinding(s, watch.End(ctx, t)); found != nil || err != nil {
			return nil, found, err
		}
		ts = append(ts, t)
	}
	return ts, nil, nil
}

// Blind reports whether an episode passes a scenario's checks that makes one call, whatever the task says, and ends
// with no answer, or with what the call answered. The error is a server that cannot be reached.
func (v Trial) Blind(ctx context.Context, s *scenario.Scenario, call chat.ToolCall) (passes bool, err error) {
	session, watch, found, err := v.open(ctx, s)
	if session == nil || len(found) > 0 {
		return false, err
	}
	defer func() { _ = session.Close() }()
	call.ID = "blind"
	r := session.Call(ctx, []chat.ToolCall{call})[0]
	if r.Status == trajectory.CallTransportError {
		return false, &fault.Error{Code: fault.CodeUnavailable, What: "the MCP server was lost",
			Where: "scenario " + s.ID, Why: r.Error, Next: trajectory.Mending(r.Error, "hone doctor")}
	}
	for _, answer := range []string{"", r.Text} {
		t := nothing(answer)
		t.Turns = append([]trajectory.Turn{{Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{r}}},
			t.Turns...)
		if _, err := lookFinding(s, watch.End(ctx, t)); err != nil {
			return false, err
		}
		if len(s.Checks) > 0 && len(reward.FailedChecks(s, t, v.Defaults)) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// callFailures says why a call of the scenario did not do what it is there for.
func (v Trial) callFailures(
	s *scenario.Scenario, what string, r trajectory.ToolResult, refused bool,
) ([]string, error) {
	switch {
	case r.Status == trajectory.CallTransportError:
		return nil, &fault.Error{Code: fault.CodeUnavailable, What: "the MCP server was lost",
			Where: "scenario " + s.ID, Why: r.Error, Next: trajectory.Mending(r.Error, "hone doctor")}
	case r.Status == trajectory.CallToolError && refused:
		return nil, nil
	case r.Status != trajectory.CallOK:
		return []string{fmt.Sprintf("%s (%s): %s: %s", what, r.Call.Name, r.Status, r.Text)}, nil
	case v.Refusal == nil || v.Refusal(r.Text) == "":
		return nil, nil
	}
	return []string{fmt.Sprintf("%s (%s) is answered like an error that counts as none: %s; "+
		"\"refusal\" in the server's configuration would say so", what, r.Call.Name, strings.TrimSpace(r.Text))}, nil
}

// expectsError reports whether a check wants the call to be answered with an error.
func expectsError(s *scenario.Scenario, call chat.ToolCall, defaults grade.Defaults) bool {
	for _, c := range s.Checks {
		if c.Type == scenario.CallCheck && c.Refused && c.IsCall(call, defaults) {
			return true
		}
	}
	return false
}

// lookFinding makes a finding of a look that could not be made for the scenario's own fault, and an error of a lost
// server.
func lookFinding(s *scenario.Scenario, lost *environment.Lost) ([]string, error) {
	switch {
	case lost == nil:
		return nil, nil
	case lost.Again:
		return nil, &fault.Error{Code: fault.CodeUnavailable, What: "the MCP server was lost",
			Where: "scenario " + s.ID, Why: lost.Why, Next: trajectory.Mending(lost.Why, "hone doctor")}
	}
	return []string{lost.Why}, nil
}
