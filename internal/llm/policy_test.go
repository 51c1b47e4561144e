package llm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// script answers turn by turn and keeps what it was asked.
type script struct {
	responses []Response
	err       error // after the responses
	asked     []Request
}

func (s *script) Chat(_ context.Context, r Request) (Response, error) {
	s.asked = append(s.asked, r)
	if len(s.asked) > len(s.responses) {
		return Response{}, s.err
	}
	return s.responses[len(s.asked)-1], nil
}

func calling(ids ...string) Response {
	r := Response{FinishReason: "tool_calls", Message: chat.Message{Role: chat.Assistant, ReasoningContent: "hm"}}
	for _, id := range ids {
		r.Message.ToolCalls = append(r.Message.ToolCalls, chat.ToolCall{ID: id, Name: "list", Arguments: "{}"})
	}
	return r
}

func answering(text string) Response {
	return Response{Message: chat.Message{Role: chat.Assistant, Content: text}, FinishReason: "stop"}
}

// finding is a session that finds a tool with each turn.
type finding struct{ offered []chat.Tool }

func (f *finding) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return f, nil
}
func (f *finding) CallableTools() []chat.Tool { return f.offered }
func (*finding) Close() error                 { return nil }
func (*finding) Dir(string) string            { return "" }
func (*finding) Probe(context.Context, chat.ToolCall) trajectory.ToolResult {
	return trajectory.ToolResult{Status: trajectory.CallOK}
}

func (f *finding) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	f.offered = append(f.offered, chat.Tool{Name: "found"})
	var results []trajectory.ToolResult
	for _, c := range calls {
		results = append(results, trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: "did"})
	}
	return results
}

func run(
	t *testing.T, s *script, one scenario.Scenario, rolloutIndex int, o rollout.Options,
) (*trajectory.Trajectory, error) {
	t.Helper()
	first := []chat.Tool{{Name: "list"}}
	o.Policy = Policy{Client: s, Model: "m"}
	o.Environment = environment.New(environment.Options{Tools: &finding{offered: first}, ToolList: first,
		System: "be good"})
	return rollout.New(o).Episode(t.Context(), one, rolloutIndex, 0, 0)
}

var tidy = scenario.Scenario{ID: "s", Task: "tidy up"}

// The endpoint is asked with all that there is: the conversation with its reasoning, the tools found meanwhile, the
// limits. Call ids that it leaves out, or gives again, become ids of their own.
func TestEndpointIsAskedWithTheWhole(t *testing.T) {
	s := &script{responses: []Response{calling("call_7", ""), calling("call_7"), answering("done")}}
	s.responses[1].Usage, s.responses[2].Usage =
		Usage{PromptTokens: 30, CompletionTokens: 4}, Usage{PromptTokens: 50, CompletionTokens: 6}
	got, err := run(t, s, tidy, 0, rollout.Options{MaxTokens: 7, Temperature: 0.4})
	if err != nil || got.Outcome != trajectory.OK || got.Answer() != "done" || got.Temperature != 0.4 ||
		len(got.Tools) != 1 || len(got.Rows()[0].IDs) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, q := range s.asked {
		if q.Model != "m" || q.Temperature != 0.4 || q.MaxTokens != 7 || len(q.Tools) != 1+i ||
			len(q.Messages) != []int{2, 5, 7}[i] {
			t.Errorf("turn %d: %+v", i, q)
		}
	}
	if m := s.asked[1].Messages; m[0].Content != "be good" || m[1].Content != "tidy up" ||
		m[2].ReasoningContent != "hm" || m[4].Content != "did" {
		t.Errorf("sent %+v", m)
	}
	if prompt, completion := got.NumTokens(); prompt != 80 || completion != 10 || got.Turns[0].Usage != nil {
		t.Errorf("%d tokens read, %d written", prompt, completion)
	}
	ids := ""
	for _, r := range got.Calls() {
		ids += r.Call.ID + " "
	}
	if ids != "call_7 call_1 call_2 " {
		t.Errorf("ids %s", ids)
	}
}

// No two completions have one seed: not of two scenarios of one wording, nor of two rollouts, turns or attempts. The
// same completion has the same one each time, for the answer to it is kept.
func TestSeedsOfTheEndpoint(t *testing.T) {
	seen := map[uint64]bool{}
	n := 0
	for _, id := range []string{"a", "b"} {
		for rolloutIndex := range 3 {
			for _, again := range []bool{false, true} {
				s := &script{responses: []Response{calling(""), calling(""), answering("done")}}
				if _, err := run(t, s, scenario.Scenario{ID: id, Task: "one wording"}, rolloutIndex,
					rollout.Options{Seed: 5}); err != nil {
					t.Fatal(err)
				}
				for _, q := range s.asked {
					if q.Seed == 0 || q.Seed >= 1<<31 || again != seen[q.Seed] {
						t.Errorf("%s, rollout %d, again %v: seed %d", id, rolloutIndex, again, q.Seed)
					}
					seen[q.Seed] = true
				}
				n += len(s.asked)
			}
		}
	}
	if 2*len(seen) != n {
		t.Errorf("%d seeds of %d completions, each asked for twice", len(seen), n)
	}
	for _, a := range []rollout.Attempt{
		{ScenarioID: "a", Seed: 5, Retries: 1},
		{ScenarioID: "a", Seed: 6},
		{ScenarioID: "a", Seed: 5, Step: 1},
	} {
		if seen[seed(a, 0)] {
			t.Errorf("%+v has the seed of another", a)
		}
	}
}

// What stops a run comes back with its exit code.
func TestEndpointFails(t *testing.T) {
	spent := &fault.Error{Code: fault.CodeBudget, What: "spent"}
	got, err := run(t, &script{err: spent}, tidy, 0, rollout.Options{})
	if !errors.Is(err, spent) || got.Outcome != trajectory.InfrastructureError ||
		got.StopReason != trajectory.StopError || got.Error != spent.Error() {
		t.Errorf("%+v, %v", got, err)
	}
	full := &fault.Error{Err: &StatusError{Status: 400, Code: "context_length_exceeded", Message: "4097 of 4096"}}
	got, err = run(t, &script{responses: []Response{calling("")}, err: full}, tidy, 0, rollout.Options{})
	if err != nil || got.Outcome != trajectory.Limit || got.StopReason != trajectory.StopContextOverflow ||
		got.Error != "4097 of 4096" || len(got.Turns) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// An answer that is remembered counts the time that it took when it was said, in the turn and in the whole episode.
func TestRememberedTurnsTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remembered := calling("a")
		remembered.Cached, remembered.Seconds = true, 12.5
		now := answering("done")
		now.Seconds = 7 // of an answer that is asked for now the clock counts
		got, err := run(t, &script{responses: []Response{remembered, now}}, tidy, 0, rollout.Options{MaxTokens: 7})
		if err != nil || got.Turns[0].SampleSeconds != 12.5 || got.Turns[1].SampleSeconds != 0 || got.Seconds != 12.5 {
			t.Errorf("turns of %v and %v s, %v s in all, %v",
				got.Turns[0].SampleSeconds, got.Turns[1].SampleSeconds, got.Seconds, err)
		}
	})
}
