package llm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// script answers turn by turn and keeps what it was asked.
type script struct {
	responses []Response
	err       error // after the responses
	asked     []Request
}

func (s *script) Chat(ctx context.Context, r Request) (Response, error) {
	s.asked = append(s.asked, r)
	if len(s.asked) > len(s.responses) {
		if s.err != nil {
			return Response{}, s.err
		}
		<-ctx.Done()
		return Response{}, ctx.Err()
	}
	return s.responses[len(s.asked)-1], nil
}

// tools answers every call with its name, and status by name.
type tools map[string]trajectory.CallStatus

func (s tools) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	var out []trajectory.ToolResult
	for _, c := range calls {
		status := trajectory.CallOK
		if st, ok := s[c.Name]; ok {
			status = st
		}
		out = append(out, trajectory.ToolResult{Call: c, Status: status, Text: "did " + c.Name})
	}
	return out
}
func (tools) Close() error      { return nil }
func (tools) Dir(string) string { return "" }
func (s tools) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{call})[0]
}

func calling(names ...string) Response {
	r := Response{FinishReason: "tool_calls", Usage: Usage{PromptTokens: 5, CompletionTokens: 10}}
	for _, n := range names {
		r.Message.ToolCalls = append(r.Message.ToolCalls, chat.ToolCall{Name: n, Arguments: "{}"})
	}
	r.Message.Role = chat.Assistant
	return r
}

func answering(text string) Response {
	return Response{Message: chat.Message{Role: chat.Assistant, Content: text}, FinishReason: "stop", Usage: Usage{CompletionTokens: 4}}
}

// Results name calls by id, so an endpoint that begins anew with each completion must not be believed.
func TestCallIDsAreUnique(t *testing.T) {
	again := calling("list")
	again.Message.ToolCalls[0].ID = "call_0"
	once := calling("list")
	once.Message.ToolCalls[0].ID = "call_0"
	s := &script{responses: []Response{once, again, answering("done")}}
	got, err := Collect(t.Context(), s, tools{}, Episode{Approve: approveAllBut("")})
	if err != nil || len(got.Calls()) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a, b := got.Calls()[0].Call.ID, got.Calls()[1].Call.ID; a != "call_0" || b == a {
		t.Errorf("ids %q and %q", a, b)
	}
}

// Reasoning of an endpoint stays with its turn and goes back with the conversation.
func TestCollectKeepsReasoning(t *testing.T) {
	thinks := calling("list")
	thinks.Message.ReasoningContent = "hm"
	s := &script{responses: []Response{thinks, answering("done")}}
	got, err := Collect(t.Context(), s, tools{}, Episode{Approve: approveAllBut("")})
	if err != nil || len(got.Turns) != 2 || got.Turns[0].ReasoningContent != "hm" || got.Turns[1].ReasoningContent != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if sent := s.asked[1].Messages; len(sent) != 3 || sent[1].ReasoningContent != "hm" || got.Messages[1].ReasoningContent != "hm" {
		t.Errorf("sent %+v", sent)
	}
}

func approveAllBut(denied string) func(chat.ToolCall, int) (bool, string) {
	return func(c chat.ToolCall, _ int) (bool, string) {
		if c.Name == denied {
			return false, "rule no-" + denied
		}
		return true, "rule all"
	}
}

func TestCollectFeedsDenialBack(t *testing.T) {
	s := &script{responses: []Response{calling("read", "delete", "list"), answering("done")}}
	got, err := Collect(t.Context(), s, tools{}, Episode{ID: "s/0/0", System: "be good", Task: "tidy up", Seed: 5, Approve: approveAllBut("delete")})
	if err != nil || got.Outcome != trajectory.OK || got.StopReason != trajectory.StopCompleted || got.Answer() != "done" {
		t.Fatalf("%+v, %v", got, err)
	}
	var text []string
	for _, m := range got.Messages {
		text = append(text, m.Role+":"+m.ToolCallID+":"+m.Content)
	}
	want := "system::be good|user::tidy up|assistant::|tool:call_0_0:did read|tool:call_0_1:The call was denied: rule no-delete|tool:call_0_2:did list|assistant::done"
	if strings.Join(text, "|") != want {
		t.Errorf("messages\n%s\nwant\n%s", strings.Join(text, "|"), want)
	}
	results := got.Calls()
	if results[0].Status != trajectory.CallOK || results[0].Approval != "rule all" ||
		results[1].Status != trajectory.CallDenied || results[1].Approval != "rule no-delete" || results[2].Call.Name != "list" {
		t.Errorf("results = %+v", results)
	}
	if s.asked[0].Seed != 5 || s.asked[1].Seed != 6 || len(s.asked[1].Messages) != 6 {
		t.Errorf("asked %+v", s.asked)
	}
	if rows := got.Rows(); len(rows[0].IDs) != 0 {
		t.Error("a collected trajectory has token ids")
	}
}

// Calls are counted over the whole episode, the denied ones too.
func TestCollectNumbersCalls(t *testing.T) {
	var nths []int
	approve := func(_ chat.ToolCall, nth int) (bool, string) { nths = append(nths, nth); return nth != 2, "" }
	s := &script{responses: []Response{calling("a", "b"), calling("c", "d"), answering("done")}}
	if _, err := Collect(t.Context(), s, tools{}, Episode{Approve: approve}); err != nil || !slices.Equal(nths, []int{1, 2, 3, 4}) {
		t.Errorf("%v, %v", nths, err)
	}
}

func TestCollectOutcomes(t *testing.T) {
	cut := answering("half a sen")
	cut.FinishReason = "length"
	overflow := &fault.Error{Err: &StatusError{Status: 400, Code: "context_length_exceeded"}}
	spent := &fault.Error{Code: fault.CodeBudget, What: "spent"}
	for name, tc := range map[string]struct {
		script  script
		tools   tools
		limits  Limits
		outcome trajectory.Outcome
		stop    trajectory.StopReason
		code    fault.Code
	}{
		"max turns":            {script{responses: []Response{calling("a"), calling("a")}}, nil, Limits{MaxTurns: 2}, trajectory.Limit, trajectory.StopMaxTurns, 0},
		"only invalid calls":   {script{responses: []Response{calling("a"), calling("a")}}, tools{"a": trajectory.CallInvalid}, Limits{MaxTurns: 2}, trajectory.PolicyError, trajectory.StopMaxTurns, 0},
		"max tool calls":       {script{responses: []Response{calling("a"), calling("a", "b")}}, nil, Limits{MaxToolCalls: 2}, trajectory.Limit, trajectory.StopMaxToolCalls, 0},
		"cut by the endpoint":  {script{responses: []Response{cut}}, nil, Limits{}, trajectory.Limit, trajectory.StopMaxTokens, 0},
		"context overflow":     {script{responses: []Response{calling("a")}, err: overflow}, nil, Limits{}, trajectory.Limit, trajectory.StopContextOverflow, 0},
		"a tool error is seen": {script{responses: []Response{calling("a"), answering("x")}}, tools{"a": trajectory.CallToolError}, Limits{}, trajectory.OK, trajectory.StopCompleted, 0},
		"a server crashed":     {script{responses: []Response{calling("a")}}, tools{"a": trajectory.CallTransportError}, Limits{}, trajectory.EnvironmentError, trajectory.StopError, 0},
		"a server hung":        {script{responses: []Response{calling("a")}}, tools{"a": trajectory.CallTimeout}, Limits{}, trajectory.EnvironmentError, trajectory.StopTimeout, 0},
		"budget spent":         {script{err: spent}, nil, Limits{}, trajectory.InfrastructureError, trajectory.StopError, fault.CodeBudget},
		"calls by the turn":    {script{responses: []Response{calling("a"), answering("x")}}, nil, Limits{MaxTokens: 10}, trajectory.OK, trajectory.StopCompleted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Collect(t.Context(), &tc.script, tc.tools, Episode{Task: "t", Limits: tc.limits, Approve: approveAllBut("")})
			if got.Outcome != tc.outcome || got.StopReason != tc.stop || fault.CodeOf(err) != tc.code {
				t.Errorf("%s %s code %d, want %s %s code %d", got.Outcome, got.StopReason, fault.CodeOf(err), tc.outcome, tc.stop, tc.code)
			}
		})
	}
}

func TestCollectStops(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := Collect(cancelled, &script{}, tools{}, Episode{Approve: approveAllBut("")})
	if !errors.Is(err, context.Canceled) || got.StopReason != trajectory.StopCancelled || got.Outcome.Trainable() {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	got, err = Collect(late, &script{}, tools{}, Episode{Approve: approveAllBut("")})
	if !errors.Is(err, context.DeadlineExceeded) || got.StopReason != trajectory.StopCancelled || got.Outcome.Trainable() {
		t.Errorf("the run is out of time: %+v, %v", got, err)
	}
	got, err = Collect(t.Context(), &script{}, tools{}, Episode{})
	if fault.CodeOf(err) != fault.CodeUsage || got.Outcome.Trainable() {
		t.Errorf("without approval: %+v, %v", got, err)
	}
}

// slow takes its time for each call, and says so.
type slow struct {
	tools
	each float64 // seconds
}

func (s slow) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := s.tools.Call(ctx, calls)
	for i := range results {
		results[i].Seconds = s.each
	}
	return results
}

// An episode's working time is bounded, as in rollouts. The time that a person or the endpoint takes does not count.
func TestCollectMaxWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, e := range map[string]struct {
			session slow
			asked   time.Duration
			outcome trajectory.Outcome
			stop    trajectory.StopReason
			turns   int
		}{
			"in time":                  {slow{nil, 3}, 0, trajectory.OK, trajectory.StopCompleted, 3},
			"a call takes longer":      {slow{nil, 60}, 0, trajectory.Limit, trajectory.StopMaxWork, 1},
			"all calls take longer":    {slow{nil, 6}, 0, trajectory.Limit, trajectory.StopMaxWork, 2},
			"a person thinks about it": {slow{nil, 1}, time.Hour, trajectory.OK, trajectory.StopCompleted, 3},
		} {
			s := &script{responses: []Response{calling("a"), calling("a"), answering("done")}}
			got, err := Collect(t.Context(), s, e.session, Episode{Limits: Limits{MaxWork: 10 * time.Second},
				Approve: func(chat.ToolCall, int) (bool, string) { time.Sleep(e.asked); return true, "" }})
			if err != nil || got.Outcome != e.outcome || got.StopReason != e.stop || len(got.Turns) != e.turns {
				t.Errorf("%s: %v, %s %s, %d turns (%s)", name, err, got.Outcome, got.StopReason, len(got.Turns), got.Error)
			}
		}
	})
}

// kept notes the calls made.
type kept struct {
	tools
	calls *[]chat.ToolCall
}

func (k kept) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	*k.calls = append(*k.calls, calls...)
	return k.tools.Call(ctx, calls)
}

func (k kept) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return k.Call(ctx, []chat.ToolCall{call})[0]
}

func TestCollectSetsUp(t *testing.T) {
	setup := []chat.ToolCall{{ID: "setup_0", Name: "clear", Arguments: "{}"}, {ID: "setup_1", Name: "fill", Arguments: "{}"}}
	var made []chat.ToolCall
	s := &script{responses: []Response{calling("a"), answering("done")}}
	got, err := Collect(t.Context(), s, kept{nil, &made}, Episode{Task: "t", Setup: setup, Limits: Limits{MaxTokens: 7}, Approve: approveAllBut("clear")})
	if err != nil || got.Outcome != trajectory.OK || len(got.Calls()) != 1 || len(got.Messages) != 4 || len(s.asked[0].Messages) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(made) != 3 || made[0].Name != "clear" || made[1].Name != "fill" || made[2].Name != "a" {
		t.Errorf("calls %+v", made)
	}
	if s.asked[0].MaxTokens != 7 || s.asked[1].MaxTokens != 7 {
		t.Errorf("asked for %d and %d tokens", s.asked[0].MaxTokens, s.asked[1].MaxTokens)
	}
	for name, status := range map[string]trajectory.CallStatus{"refused": trajectory.CallToolError, "lost": trajectory.CallTransportError} {
		s := &script{responses: []Response{answering("done")}}
		got, err := Collect(t.Context(), s, tools{"fill": status}, Episode{Setup: setup, Approve: approveAllBut("")})
		if err != nil || got.Outcome != trajectory.EnvironmentError || len(s.asked) != 0 || !strings.Contains(got.Error, "fill") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
