package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// calling is a message that calls tools by name; an argument tells the turns apart.
func calling(names ...string) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	for i, name := range names {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{Name: name, Arguments: fmt.Sprintf(`{"i": %d}`, i)})
	}
	return m
}

func answering(text string) chat.Message { return chat.Message{Role: chat.Assistant, Content: text} }

// byName answers calls as their names say: ok, or any status; "slow" takes a minute of work.
func byName() *tools {
	return &tools{status: func(_ int32, call chat.ToolCall) trajectory.CallStatus {
		if call.Name == "slow" || call.Name == "ok" {
			return trajectory.CallOK
		}
		return trajectory.CallStatus(call.Name)
	}}
}

// play runs one episode of a policy; seen is what the environment's servers counted.
func play(
	t interface{ Errorf(string, ...any) }, p rollout.Policy, in environment.Environment, s scenario.Scenario,
	o rollout.Options,
) (*trajectory.Trajectory, error) {
	o.Environment, o.Policy = in, p
	if o.MaxTokens == 0 {
		o.MaxTokens = 300
	}
	got, err := rollout.New(o).Episode(context.Background(), s, 0, 0, 0)
	contract(t, s, got)
	return got, err
}

// contract is what holds of every record, whoever spoke and whatever answered.
func contract(t interface{ Errorf(string, ...any) }, s scenario.Scenario, got *trajectory.Trajectory) {
	if got.Outcome == "" || got.StopReason == "" || got.ScenarioID != s.ID || got.Scenario != s.Hash() ||
		got.Split != s.Split {
		t.Errorf("no whole record: %+v", got)
	}
	ids, turns := map[string]bool{}, 0
	for i, m := range got.Messages {
		if m.Role != chat.Assistant {
			continue
		}
		if i < got.Opening { // somebody else's
			for _, call := range m.ToolCalls {
				ids[call.ID] = true
			}
			continue
		}
		turn := got.Turns[turns]
		turns++
		if m.Content != turn.Content || len(m.ToolCalls) != len(turn.Calls) ||
			len(turn.Results) > 0 && len(turn.Results) != len(turn.Calls) {
			t.Errorf("message %d is not its turn: %+v, %+v", i, m, turn)
		}
		for k, call := range m.ToolCalls {
			if call.ID == "" || ids[call.ID] {
				t.Errorf("message %d: the id %q is taken", i, call.ID)
			}
			ids[call.ID] = true
			if len(turn.Results) == 0 {
				continue
			}
			answer := got.Messages[i+1+k]
			if r := turn.Results[k]; r.Call != call || answer.Role != chat.ToolRole || answer.ToolCallID != call.ID ||
				answer.Name != call.Name || answer.Content != r.Text {
				t.Errorf("message %d, call %d: %+v is answered by %+v, %+v", i, k, call, r, answer)
			}
		}
	}
	if opening := s.Opening(); len(opening) > 0 &&
		!reflect.DeepEqual(got.Messages[max(0, got.Opening-len(opening)):got.Opening], opening) {
		t.Errorf("it begins with %+v", got.Messages[:got.Opening])
	}
	if turns != len(got.Turns) {
		t.Errorf("%d assistant messages, %d turns", turns, len(got.Turns))
	}
	for i, turn := range got.Turns {
		if len(turn.CompletionIDs) != len(turn.SamplerLogprobs) ||
			turn.Results == nil && len(turn.Calls) > 0 && i < len(got.Turns)-1 {
			t.Errorf("turn %d: %+v", i, turn)
		}
	}
}

// unspoken is a record without what only some policies know: ids and logprobs, why a context was full, times.
func unspoken(got *trajectory.Trajectory) string {
	same := *got
	same.Turns = slices.Clone(got.Turns)
	for i := range same.Turns {
		turn := &same.Turns[i]
		turn.BridgeIDs, turn.CompletionIDs, turn.SamplerLogprobs, turn.Rewrite, turn.PolicyVersion, turn.SampleSeconds =
			nil, nil, nil, "", 0, 0
	}
	if same.Seconds = 0; got.StopReason == trajectory.StopContextOverflow ||
		got.Outcome == trajectory.InfrastructureError {
		same.Error = ""
	}
	text, _ := json.Marshal(same) // of texts
	return string(text)
}

// Every outcome is reached, for the same reason and with the same record, whoever speaks.
func TestOutcomesOfEverySpeaker(t *testing.T) {
	long := chat.Message{Role: chat.Assistant,
		ToolCalls: []chat.ToolCall{{Name: "ok", Arguments: fmt.Sprintf(`{"a": %q}`, strings.Repeat("x", 200))}}}
	check := scenario.Scenario{Checks: []scenario.Check{{Type: "state", Name: "transport_error"}}}
	for name, c := range map[string]struct {
		said    said
		in      environment.Options
		o       rollout.Options
		s       scenario.Scenario
		outcome trajectory.Outcome
		reason  trajectory.StopReason
		turns   int
		fails   bool // the policy
	}{
		"it ends": {
			said:    said{turns: []chat.Message{calling("ok", "tool_error"), calling("ok"), answering("done")}},
			outcome: trajectory.OK,
			reason:  trajectory.StopCompleted,
			turns:   3,
		},
		"denied": {said: said{turns: []chat.Message{calling("denied"), answering("so not")}},
			outcome: trajectory.OK, reason: trajectory.StopCompleted, turns: 2},
		"turns": {said: said{turns: []chat.Message{calling("ok"), calling("ok")}},
			in: environment.Options{MaxTurns: 2}, outcome: trajectory.Limit, reason: trajectory.StopMaxTurns, turns: 2},
		"invalid to the end": {
			said:    said{turns: []chat.Message{calling("invalid"), calling("invalid")}},
			in:      environment.Options{MaxTurns: 2},
			outcome: trajectory.PolicyError,
			reason:  trajectory.StopMaxTurns,
			turns:   2,
		},
		"calls": {
			said:    said{turns: []chat.Message{calling("ok"), calling("ok", "ok")}},
			in:      environment.Options{MaxToolCalls: 2},
			outcome: trajectory.Limit,
			reason:  trajectory.StopMaxToolCalls,
			turns:   2,
		},
		"tokens": {said: said{turns: []chat.Message{answering(strings.Repeat("on and ", 9))}},
			o: rollout.Options{MaxTokens: 20}, outcome: trajectory.Limit, reason: trajectory.StopMaxTokens, turns: 1},
		"work": {
			said:    said{turns: []chat.Message{calling("slow"), calling("slow")}},
			in:      environment.Options{MaxWork: 90 * time.Second},
			outcome: trajectory.Limit,
			reason:  trajectory.StopMaxWork,
			turns:   2,
		},
		"the context": {said: said{turns: []chat.Message{long, answering("x")}, room: 150},
			outcome: trajectory.Limit, reason: trajectory.StopContextOverflow, turns: 1},
		"a server crashes": {said: said{turns: []chat.Message{calling("ok", "transport_error")}},
			outcome: trajectory.EnvironmentError, reason: trajectory.StopError, turns: 1},
		"a server hangs": {said: said{turns: []chat.Message{calling("timeout")}},
			outcome: trajectory.EnvironmentError, reason: trajectory.StopTimeout, turns: 1},
		"it cannot be set up": {
			s:       scenario.Scenario{Setup: []scenario.Gold{{Name: "tool_error", Arguments: []byte("{}")}}},
			outcome: trajectory.EnvironmentError,
			reason:  trajectory.StopError,
		},
		"it cannot be looked at": {said: said{turns: []chat.Message{answering("done")}}, s: check,
			outcome: trajectory.EnvironmentError, reason: trajectory.StopError, turns: 1},
		"the policy fails": {said: said{turns: []chat.Message{calling("ok")}},
			outcome: trajectory.InfrastructureError, reason: trajectory.StopError, turns: 1, fails: true},
		"programs may not run": {said: said{turns: []chat.Message{answering("done")}},
			s:       scenario.Scenario{Checks: []scenario.Check{{Type: "command", Command: []string{"echo"}}}},
			outcome: trajectory.InfrastructureError, reason: trajectory.StopError, turns: 1},
	} {
		c.s.ID, c.s.Task, c.s.Split = "x", "go", scenario.Validation
		records := map[string]bool{}
		for kind, p := range c.said.speakers(t) {
			servers := working{byName()}
			c.in.Tools = servers
			got, err := play(t, p, environment.New(c.in), c.s, c.o)
			if got.Outcome != c.outcome || got.StopReason != c.reason || len(got.Turns) != c.turns ||
				(err != nil) != c.fails {
				t.Errorf("%s, %s: %s, %s after %d turns (%s), %v",
					name, kind, got.Outcome, got.StopReason, len(got.Turns), got.Error, err)
			}
			if opened, closed := servers.opened.Load(), servers.closed.Load(); opened != 1 || closed != 1 {
				t.Errorf("%s, %s: %d sessions opened, %d closed", name, kind, opened, closed)
			}
			for _, turn := range got.Turns {
				if sampled := kind == "sampler"; sampled != (len(turn.CompletionIDs) > 0) ||
					sampled != (turn.PolicyVersion == 3) {
					t.Errorf("%s, %s: %+v", name, kind, turn)
				}
			}
			records[unspoken(got)] = true
		}
		if len(records) != 1 {
			t.Errorf("%s: who speaks makes another record: %v", name, records)
		}
	}
}

// A scenario may begin in the midst of a conversation, whoever speaks then. Its calls keep their ids, and no token of
// it is the policy's.
func TestEverySpeakerGoesOnWithAConversation(t *testing.T) {
	say := said{given: 2, turns: []chat.Message{calling("ok"), answering("done")}}
	say.turns[0].ToolCalls[0].ID = "call_0" // an endpoint that begins to count anew
	s := scenario.Scenario{ID: "x", Messages: []chat.Message{{Role: chat.User, Content: "go"},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "ok", Arguments: `{"given": 1}`}}},
		{Role: chat.ToolRole, ToolCallID: "call_0", Name: "ok", Content: "gone"}, {Role: chat.Assistant,
			Content: "went"}, {Role: chat.User, Content: "again"}}}
	for _, system := range []string{"", "be short"} {
		records := map[string]bool{}
		for kind, p := range say.speakers(t) {
			got, err := play(t, p, environment.New(environment.Options{Tools: byName(), System: system}), s,
				rollout.Options{})
			if err != nil || got.Outcome != trajectory.OK || len(got.Turns) != 2 || len(got.Calls()) != 1 ||
				got.Calls()[0].Call.ID != "call_1" {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
			if (got.Messages[0].Content == "be short") != (system != "") {
				t.Errorf("%s: under %q it begins with %+v", kind, system, got.Messages[0])
			}
			if row := got.Rows()[0]; kind == "sampler" {
				var own []int32
				for i, id := range row.IDs {
					if row.Sampled[i] {
						own = append(own, id)
					}
				}
				if want := fakes.Call("ok", `{"i": 0}`) + "\x00done\x00"; fakes.Text(own) != want ||
					!strings.Contains(fakes.Text(row.IDs), `{"given": 1}`) {
					t.Errorf("trained is %q, want %q", fakes.Text(own), want)
				}
			}
			records[unspoken(got)] = true
		}
		if len(records) != 1 {
			t.Errorf("who speaks makes another record: %v", records)
		}
	}
	s.Messages = append([]chat.Message{{Role: chat.System, Content: "its own"}}, s.Messages...)
	got, _ := play(t, scripted{say}, environment.New(environment.Options{Tools: byName(), System: "be short"}), s,
		rollout.Options{})
	if got.Messages[0].Content != "its own" || got.Messages[1].Role != chat.User || got.Opening != 6 {
		t.Errorf("%+v", got.Messages)
	}
}

// What ends an episode before or beside the conversation ends it for every speaker.
func TestNoSpeakerIsToBlame(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	s := scenario.Scenario{ID: "x", Task: "go"}
	for kind, p := range (said{turns: []chat.Message{answering("done")}}).speakers(t) {
		down := environment.New(environment.Options{Tools: &tools{openErr: errors.New("no such command")}})
		if got, err := play(t, p, down, s, rollout.Options{Retries: 1}); got.Outcome != trajectory.EnvironmentError ||
			got.Retries != 1 || err != nil {
			t.Errorf("%s, no servers: %+v, %v", kind, got, err)
		}
		r := rollout.New(rollout.Options{Environment: environment.New(environment.Options{Tools: byName()}), Policy: p})
		if got, err := r.Episode(cancelled, s, 0, 0, 0); got.Outcome != trajectory.InfrastructureError ||
			got.StopReason != trajectory.StopCancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %+v, %v", kind, got, err)
		}
	}
}

// Whatever is called and answered, all speakers leave one record.
func TestEverySpeakerLeavesOneRecord(t *testing.T) {
	names := []string{"ok", "ok", "ok", "tool_error", "invalid", "denied", "slow", "timeout", "transport_error"}
	rapid.Check(t, func(r *rapid.T) {
		var say said
		for range rapid.IntRange(0, 4).Draw(r, "turns") {
			say.turns = append(say.turns, calling(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(r, "calls")...))
		}
		say.turns = append(say.turns,
			answering(rapid.SampledFrom([]string{"", "done", strings.Repeat("x", 400)}).Draw(r, "answer")))
		in := environment.Options{MaxTurns: rapid.IntRange(1, 5).Draw(r, "most turns"),
			MaxToolCalls: rapid.IntRange(1, 9).Draw(r, "most calls"),
			MaxWork:      time.Duration(rapid.IntRange(0, 3).Draw(r, "minutes")) * time.Minute}
		first := ""
		for kind, p := range say.speakers(t) {
			in.Tools = working{byName()}
			got, _ := play(r, p, environment.New(in), scenario.Scenario{ID: "x", Task: "go"},
				rollout.Options{Retries: 1})
			if text := unspoken(got); first == "" {
				first = text
			} else if text != first {
				r.Errorf("%s: %s\nanother: %s", kind, text, first)
			}
		}
	})
}

// working says of slow calls that they took a minute.
type working struct{ *tools }

func (w working) Open(ctx context.Context, id string, from ...environment.Template) (environment.Session, error) {
	s, err := w.tools.Open(ctx, id, from...)
	return workingSession{s}, err
}

type workingSession struct{ environment.Session }

func (s workingSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := s.Session.Call(ctx, calls)
	for i := range results {
		if results[i].Call.Name == "slow" {
			results[i].Seconds = 60
		}
	}
	return results
}

// interview is an environment without tools: it asks two questions more, as a user does, and is then content.
type interview struct{}

func (interview) Open(
	_ context.Context, s scenario.Scenario, t *trajectory.Trajectory,
) (environment.Episode, *environment.End) {
	t.Messages = environment.Opening("", s)
	t.Opening = len(t.Messages)
	return &interviewed{t}, nil
}

type interviewed struct{ t *trajectory.Trajectory }

func (*interviewed) Tools() []chat.Tool { return nil }
func (*interviewed) Close() error       { return nil }

func (e *interviewed) Take(_ context.Context, r environment.Reply) *environment.End {
	if r.Turn != nil {
		e.t.Turns = append(e.t.Turns, *r.Turn)
		e.t.Messages = append(e.t.Messages, chat.Message{Role: chat.Assistant, Content: r.Turn.Content})
	}
	if r.Stop == "" && len(e.t.Turns) < 3 {
		e.t.Messages = append(e.t.Messages, chat.Message{Role: chat.User, Content: "and then?"})
		return nil
	}
	end := &environment.End{Outcome: trajectory.OK, Reason: trajectory.StopCompleted}
	if r.Stop != "" {
		end.Outcome, end.Reason = trajectory.Limit, r.Stop
	}
	end.Note(e.t)
	return end
}

// An environment is whatever answers: every speaker speaks in one that has no servers, and in which a user asks on.
func TestEverySpeakerInAnotherEnvironment(t *testing.T) {
	records := map[string]bool{}
	for kind, p := range (said{turns: []chat.Message{answering("one"), answering("two"),
		answering("three")}}).speakers(t) {
		got, err := play(t, p, interview{}, scenario.Scenario{ID: "x", Task: "go"}, rollout.Options{})
		roles := ""
		for _, m := range got.Messages {
			roles += m.Role[:1]
		}
		if err != nil || got.Outcome != trajectory.OK || roles != "uauaua" || got.Answer() != "three" {
			t.Errorf("%s: %s %+v, %v", kind, roles, got, err)
		}
		records[unspoken(got)] = true
		for stop, o := range map[trajectory.StopReason]rollout.Options{
			trajectory.StopMaxTokens:       {MaxTokens: 2},
			trajectory.StopContextOverflow: {},
		} {
			full := said{turns: []chat.Message{answering("one")}, room: 4} // "go" and "one" are more
			got, err := play(t, full.speakers(t)[kind], interview{}, scenario.Scenario{ID: "x", Task: "go"}, o)
			if err != nil || got.Outcome != trajectory.Limit || got.StopReason != stop || len(got.Turns) != 1 {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
		}
	}
	if len(records) != 1 {
		t.Errorf("who speaks makes another record: %v", records)
	}
}
