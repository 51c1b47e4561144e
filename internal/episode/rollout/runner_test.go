package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools counts its sessions; status decides how a call goes.
type tools struct {
	opened, closed atomic.Int32
	openErr        error
	status         func(session int32, call chat.ToolCall) trajectory.CallStatus
	outcome        trajectory.Outcome
}

type session struct {
	*tools
	n int32
}

func (s *tools) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	n := s.opened.Add(1)
	if s.openErr != nil {
		return nil, s.openErr
	}
	return session{s, n}, nil
}

func (s session) Close() error      { s.closed.Add(1); return nil }
func (s session) Dir(string) string { return "" }

func (s session) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{call})[0]
}

func (s session) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	var results []trajectory.ToolResult
	for _, c := range calls {
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: "result of " + c.Arguments,
			Outcome: s.outcome}
		if s.status != nil {
			r.Status = s.status(s.n, c)
		}
		results = append(results, r)
	}
	return results
}

// script replies with its lines in order: the turn is the number of tool messages' openings in the prompt.
func script(lines ...string) func(string, policy.Request) (string, error) {
	return func(prompt string, _ policy.Request) (string, error) {
		return lines[strings.Count(prompt, "<assistant>")-1], nil
	}
}

var add = fakes.Call("add", `{"a": 1}`)

// options are those of an episode's two halves and of the runner that joins them.
type options struct {
	Tools    environment.Tools
	Sampler  policy.Sampler
	Renderer rollout.Renderer

	System                            string
	ToolList                          []chat.Tool
	ToolsOf                           func(s scenario.Scenario) ([]chat.Tool, error)
	MaxTurns, MaxTokens, MaxToolCalls int
	MaxMalformed                      int
	CompleteTask                      bool
	CallExample                       string
	MaxWork, Hang                     time.Duration
	Temperature                       float64
	Seed                              uint64
	Retries                           int
}

func newRunner(o options) *rollout.Runner {
	return rollout.New(rollout.Options{
		Environment: environment.New(environment.Options{
			Tools:        o.Tools,
			System:       o.System,
			ToolList:     o.ToolList,
			ToolsOf:      o.ToolsOf,
			MaxTurns:     o.MaxTurns,
			MaxToolCalls: o.MaxToolCalls,
			MaxMalformed: o.MaxMalformed,
			CompleteTask: o.CompleteTask,
			CallExample:  o.CallExample,
			MaxWork:      o.MaxWork,
			Hang:         o.Hang,
		}),
		Policy:    rollout.Sampled{Sampler: o.Sampler, Renderer: o.Renderer},
		MaxTokens: o.MaxTokens, Temperature: o.Temperature, Seed: o.Seed, Retries: o.Retries,
	})
}

func runner(s *tools, reply func(string, policy.Request) (string, error), o options) *rollout.Runner {
	if o.Sampler == nil {
		o.Sampler = &fakes.Sampler{Reply: reply, Slots: 3}
	}
	o.Tools, o.Renderer = s, fakes.Renderer{}
	return newRunner(o)
}

func TestEpisode(t *testing.T) {
	s := &tools{}
	r := runner(s, script(add+add, add, "done"),
		options{System: "be short", ToolList: []chat.Tool{{Name: "add"}}, Temperature: 0.7})
	got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 2, 5, 0)
	if got.Outcome != trajectory.OK || got.StopReason != trajectory.StopCompleted || got.ID != "x/5/2" ||
		got.Answer() != "done" || got.Temperature != 0.7 {
		t.Errorf("%+v", got)
	}
	if len(got.Turns) != 3 || len(got.Calls()) != 3 || got.Calls()[2].Call.ID != "call_2" {
		t.Errorf("turns %d, calls %+v", len(got.Turns), got.Calls())
	}
	// The row of ids is the conversation, exactly, and the completions in it are what was sampled.
	if len(got.Rows()) != 1 {
		t.Fatalf("%d rows", len(got.Rows()))
	}
	row := got.Rows()[0]
	ids, sampled, logprobs := row.IDs, row.Sampled, row.Logprobs
	want := "<tools>add \x00<system>be short\x00<user>go\x00<assistant>" + add + add +
		"\x00<tool>result of {\"a\": 1}\x00<tool>result of {\"a\": 1}\x00<assistant>" + add +
		"\x00<tool>result of {\"a\": 1}\x00<assistant>done\x00"
	if text := fakes.Text(ids); text != want {
		t.Errorf("row\n%q\nwant\n%q", text, want)
	}
	var own []int32
	for i, id := range ids {
		if sampled[i] != (logprobs[i] == fakes.Logprob) {
			t.Fatalf("id %d: sampled %v, logprob %v", i, sampled[i], logprobs[i])
		}
		if sampled[i] {
			own = append(own, id)
		}
	}
	if fakes.Text(own) != add+add+"\x00"+add+"\x00done\x00" {
		t.Errorf("sampled %q", fakes.Text(own))
	}
	roles := ""
	for _, m := range got.Messages {
		roles += m.Role[:1]
	}
	if roles != "suattata" {
		t.Errorf("roles %s", roles)
	}
	if s.opened.Load() != 1 || s.closed.Load() != 1 {
		t.Errorf("%d opened, %d closed", s.opened.Load(), s.closed.Load())
	}
}

// Reasoning is in the record, apart from the content, and in the ids as it was sampled.
func TestReasoningIsKept(t *testing.T) {
	got, _ := runner(&tools{}, script(fakes.Think("hm")+add, fakes.Think("so")+"done"), options{}).
		Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if got.Outcome != trajectory.OK || got.Answer() != "done" || len(got.Turns) != 2 {
		t.Fatalf("%+v", got)
	}
	var thoughts []string
	for _, m := range got.Messages {
		if m.Role == chat.Assistant {
			thoughts = append(thoughts, m.ReasoningContent)
		}
	}
	if strings.Join(thoughts, ",") != "hm,so" || got.Turns[0].ReasoningContent != "hm" ||
		got.Turns[1].ReasoningContent != "so" || got.Turns[1].Content != "done" {
		t.Errorf("messages %q, turns %+v", thoughts, got.Turns)
	}
	ids := got.Rows()[0].IDs
	again, err := fakes.Renderer{}.Prompt(got.Messages, got.Tools)
	if row := fakes.Text(ids); err != nil || !strings.Contains(row, "<think>hm</think><call>") ||
		!strings.HasPrefix(fakes.Text(again), row) {
		t.Errorf("row %q, rendered again %q (%v)", row, fakes.Text(again), err)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Count(string(text), `"reasoning_content":"hm"`) != 2 {
		t.Errorf("%v: %s", err, text)
	}
}

// drops is a renderer whose template drops the reasoning of earlier turns.
type drops struct{ fakes.Renderer }

func (d drops) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].ReasoningContent = ""
	}
	return d.Renderer.Prompt(messages, tools)
}

func (d drops) Next(messages []chat.Message, at int, completion []int32, tools []chat.Tool) ([]int32, string, error) {
	if messages[at].ReasoningContent == "" {
		return d.Renderer.Next(messages, at, completion, tools)
	}
	ids, err := d.Prompt(messages, tools)
	return ids, "reasoning is dropped", err
}

// Where the template drops what was sampled, the policy sees what serving would show, and a row begins anew.
func TestEpisodesSplit(t *testing.T) {
	var prompts []string
	reply := func(prompt string, _ policy.Request) (string, error) {
		prompts = append(prompts, prompt)
		return []string{fakes.Think("hm") + add, add, "done"}[len(prompts)-1], nil
	}
	r := newRunner(options{Tools: &tools{}, Renderer: drops{}, Sampler: &fakes.Sampler{Reply: reply}})
	got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	rows := got.Rows()
	if got.Outcome != trajectory.OK || len(rows) != 2 || got.NumRewrites() != 1 || got.Turns[1].Rewrite == "" ||
		got.Turns[2].Rewrite != "" {
		t.Fatalf("%d rows of %+v", len(rows), got)
	}
	const result = "\x00<tool>result of {\"a\": 1}\x00<assistant>"
	for i, want := range []string{"<user>go\x00<assistant>" + fakes.Think("hm") + add + "\x00",
		"<user>go\x00<assistant>" + add + result + add + result + "done\x00"} {
		if text := fakes.Text(rows[i].IDs); text != want {
			t.Errorf("row %d\n%q\nwant\n%q", i, text, want)
		}
	}
	for i, prompt := range prompts {
		at := 1 + 2*i // of the assistant message
		served, err := drops{}.Prompt(got.Messages[:at], nil)
		if err != nil || prompt != fakes.Text(served) {
			t.Errorf("turn %d sees %q, serving shows %q (%v)", i, prompt, fakes.Text(served), err)
		}
	}
	// Each completion is trained once: the first call is context in the second row.
	for i, want := range []string{fakes.Think("hm") + add + "\x00", add + "\x00done\x00"} {
		var own []int32
		for k, id := range rows[i].IDs {
			if rows[i].Sampled[k] != (rows[i].Logprobs[k] == fakes.Logprob) {
				t.Fatalf("row %d, id %d: sampled %v, logprob %v", i, k, rows[i].Sampled[k], rows[i].Logprobs[k])
			}
			if rows[i].Sampled[k] {
				own = append(own, id)
			}
		}
		if fakes.Text(own) != want {
			t.Errorf("row %d trains %q, want %q", i, fakes.Text(own), want)
		}
	}
}

func TestEndings(t *testing.T) {
	status := func(st trajectory.CallStatus) func(int32, chat.ToolCall) trajectory.CallStatus {
		return func(int32, chat.ToolCall) trajectory.CallStatus { return st }
	}
	forever := func(string, policy.Request) (string, error) { return add, nil }
	failing := func(string, policy.Request) (string, error) { return "", errors.New("device lost") }
	tests := []struct {
		name    string
		tools   *tools
		reply   func(string, policy.Request) (string, error)
		o       options
		setup   []scenario.Gold
		outcome trajectory.Outcome
		reason  trajectory.StopReason
		turns   int
		opened  int32
	}{
		{"no call", &tools{}, script("hi"), options{}, nil, trajectory.OK, trajectory.StopCompleted, 1, 1},
		{"parse error", &tools{}, script("<call>{"), options{}, nil, trajectory.PolicyError, trajectory.StopParseError, 1, 1},
		{"parse error, told", &tools{}, script("<call>{", "well, then"), options{MaxMalformed: 1}, nil, trajectory.OK, trajectory.StopCompleted, 2, 1},
		{"parse errors, told once", &tools{}, script("<call>{", "<call>{"), options{MaxMalformed: 1}, nil,
			trajectory.PolicyError, trajectory.StopParseError, 2, 1},
		{"parse errors to the end", &tools{}, script("<call>{", "<call>{"), options{MaxMalformed: 9, MaxTurns: 2}, nil,
			trajectory.PolicyError, trajectory.StopMaxTurns, 2, 1},
		{"a parse error, then calls to the end", &tools{}, script("<call>{", add),
			options{MaxMalformed: 9, MaxTurns: 2}, nil, trajectory.Limit, trajectory.StopMaxTurns, 2, 1},
		{"turns", &tools{}, forever, options{MaxTurns: 3}, nil, trajectory.Limit, trajectory.StopMaxTurns, 3, 1},
		{"calls", &tools{}, script(add, add+add), options{MaxToolCalls: 2}, nil, trajectory.Limit, trajectory.StopMaxToolCalls, 2, 1},
		{"tokens", &tools{}, script(add), options{MaxTokens: 10}, nil, trajectory.Limit, trajectory.StopMaxTokens, 1, 1},
		{"tokens after the call", &tools{}, script(add), options{MaxTokens: len(add)}, nil, trajectory.Limit, trajectory.StopMaxTokens, 1, 1},
		{
			"the task fills the context", &tools{}, nil, options{Sampler: &fakes.Sampler{Reply: script(add, "x"),
				MaxContext: 10}}, nil, trajectory.InfrastructureError, trajectory.StopContextOverflow, 0, 1,
		},
		{
			"the completion fills it", &tools{}, nil, options{MaxTokens: 45,
				Sampler: &fakes.Sampler{Reply: script("it goes on and on and on and on"), MaxContext: 40}}, nil,
			trajectory.Limit, trajectory.StopMaxTokens, 1, 1,
		},
		{
			"completions fill it", &tools{}, nil, options{MaxTokens: 70,
				Sampler: &fakes.Sampler{Reply: script(add, "x"), MaxContext: 80}}, nil, trajectory.Limit,
			trajectory.StopContextOverflow, 1, 1,
		},
		{"sampler", &tools{}, failing, options{Retries: 2}, nil, trajectory.InfrastructureError, trajectory.StopError, 0, 1},
		{"tool error", &tools{status: status(trajectory.CallToolError)}, script(add, "x"), options{}, nil, trajectory.OK, trajectory.StopCompleted, 2, 1},
		{"invalid", &tools{status: status(trajectory.CallInvalid)}, script(add, "x"), options{}, nil, trajectory.OK, trajectory.StopCompleted, 2, 1},
		{"invalid to the end", &tools{status: status(trajectory.CallInvalid)}, forever, options{MaxTurns: 3}, nil,
			trajectory.PolicyError, trajectory.StopMaxTurns, 3, 1},
		{"transport", &tools{status: status(trajectory.CallTransportError)}, script(add), options{}, nil,
			trajectory.EnvironmentError, trajectory.StopError, 1, 1},
		{"timeout", &tools{status: status(trajectory.CallTimeout)}, script(add), options{Retries: 2}, nil,
			trajectory.EnvironmentError, trajectory.StopTimeout, 1, 3},
		{"open", &tools{openErr: errors.New("no such command")}, nil, options{Retries: 1}, nil, trajectory.EnvironmentError, trajectory.StopError, 0, 2},
		{
			"setup", &tools{status: status(trajectory.CallToolError)}, script("x"),
			options{}, []scenario.Gold{{Name: "reset", Arguments: []byte("{}")}}, trajectory.EnvironmentError,
			trajectory.StopError, 0, 1,
		},
		{"crash, then well", &tools{status: func(session int32, _ chat.ToolCall) trajectory.CallStatus {
			if session == 1 {
				return trajectory.CallTransportError
			}
			return trajectory.CallOK
		}}, script(add, "x"), options{Retries: 1}, nil, trajectory.OK, trajectory.StopCompleted, 2, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := runner(test.tools, test.reply, test.o).Episode(context.Background(),
				scenario.Scenario{ID: "x", Task: "go", Setup: test.setup}, 0, 0, 0)
			if got.Outcome != test.outcome || got.StopReason != test.reason || len(got.Turns) != test.turns {
				t.Errorf("%s, %s, %d turns (%s)", got.Outcome, got.StopReason, len(got.Turns), got.Error)
			}
			opened, closed := test.tools.opened.Load(), test.tools.closed.Load()
			if opened != test.opened || test.tools.openErr == nil && closed != opened {
				t.Errorf("%d opened, %d closed", opened, closed)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	reply := func(string, policy.Request) (string, error) { cancel(); return add, nil }
	s := &tools{status: func(int32, chat.ToolCall) trajectory.CallStatus { return trajectory.CallTransportError }}
	r := runner(s, reply, options{Retries: 5})
	ended := 0
	for _, g := range groups(ctx, r, []scenario.Scenario{{ID: "a"}, {ID: "b"}}, 3, 0) {
		for _, got := range g.Trajectories {
			ended++
			if got.Outcome != trajectory.InfrastructureError || got.StopReason != trajectory.StopCancelled {
				t.Errorf("%s: %s, %s", got.ID, got.Outcome, got.StopReason)
			}
		}
	}
	if ended != 6 || s.opened.Load() != s.closed.Load() {
		t.Errorf("%d ended, %d opened, %d closed", ended, s.opened.Load(), s.closed.Load())
	}
}

// The same seed gives the same trajectories whatever the goroutines do; another seed, step or rollout gives others.
func TestDeterministic(t *testing.T) {
	var jitter atomic.Uint64
	var slots sync.Map // slot -> episodes in it right now
	reply := func(prompt string, r policy.Request) (string, error) {
		n, _ := slots.LoadOrStore(r.Slot, new(atomic.Int32))
		if n.(*atomic.Int32).Add(1) != 1 {
			return "", errors.New("two episodes in one slot")
		}
		defer n.(*atomic.Int32).Add(-1)
		for range jitter.Add(1) * 7 % 5 {
			runtime.Gosched()
		}
		draw := r.Key.Seed ^ r.Key.Stream
		if draw%3 == 0 {
			return fmt.Sprint("end ", draw), nil
		}
		return fakes.Call("add", fmt.Sprintf(`{"a": %d, "slot": %d}`, draw, r.Slot)), nil
	}
	scenarios := []scenario.Scenario{{ID: "a", Task: "one"}, {ID: "b", Task: "two"}, {ID: "c", Task: "three"}}
	run := func(seed uint64, step int) string {
		groups := groups(context.Background(), runner(&tools{}, reply, options{Seed: seed, MaxTurns: 5}),
			scenarios, 4, step)
		for i, g := range groups {
			for j, got := range g.Trajectories {
				if g.ScenarioID != scenarios[i].ID || got.ScenarioID != g.ScenarioID || got.Rollout != j ||
					got.Error != "" {
					t.Fatalf("group %d, %d: %+v", i, j, got)
				}
				got.Seconds = 0
				for k := range got.Turns {
					got.Turns[k].SampleSeconds = 0
				}
			}
		}
		text, err := json.Marshal(groups)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := run(1, 0)
	for range 20 {
		if run(1, 0) != first {
			t.Fatal("the same seed gave other trajectories")
		}
	}
	if run(2, 0) == first || run(1, 1) == first {
		t.Error("another seed or step gave the same trajectories")
	}
}

type blamed struct{ outcome trajectory.Outcome }

func (b blamed) Error() string             { return "no" }
func (b blamed) Blame() trajectory.Outcome { return b.outcome }

// Whose fault an episode without an answer is, its tools say; where they do not, it is the environment's. Either is
// tried again with a fresh session.
func TestWhoseFault(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		said trajectory.Outcome
		want trajectory.Outcome
	}{
		{"open, plain", errors.New("no"), "", trajectory.EnvironmentError},
		{"open, ours", fmt.Errorf("episode: %w", blamed{trajectory.InfrastructureError}), "", trajectory.InfrastructureError},
		{"open, theirs", blamed{trajectory.EnvironmentError}, "", trajectory.EnvironmentError},
		{"call, plain", nil, "", trajectory.EnvironmentError},
		{"call, ours", nil, trajectory.InfrastructureError, trajectory.InfrastructureError},
		{"call, theirs", nil, trajectory.EnvironmentError, trajectory.EnvironmentError},
	} {
		s := &tools{openErr: tc.err, outcome: tc.said, status: func(int32, chat.ToolCall) trajectory.CallStatus {
			return trajectory.CallTransportError
		}}
		got, _ := runner(s, script(add, "done"), options{Retries: 1}).Episode(context.Background(),
			scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
		if got.Outcome != tc.want || s.opened.Load() != 2 {
			t.Errorf("%s: %s after %d attempts, want %s after 2", tc.name, got.Outcome, s.opened.Load(), tc.want)
		}
	}
}

// A scenario's own list of tools is what the model is shown and the record says.
func TestToolsOf(t *testing.T) {
	var prompt string
	reply := func(p string, _ policy.Request) (string, error) { prompt = p; return "done", nil }
	of := func(s scenario.Scenario) ([]chat.Tool, error) {
		if s.ID == "bad" {
			return nil, errors.New("no such tool")
		}
		return []chat.Tool{{Name: "only-" + s.ID}}, nil
	}
	r := runner(&tools{}, reply, options{ToolList: []chat.Tool{{Name: "all"}}, ToolsOf: of})
	got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if len(got.Tools) != 1 || got.Tools[0].Name != "only-x" || !strings.Contains(prompt, "only-x") ||
		strings.Contains(prompt, "all") {
		t.Errorf("shown %v in %q", got.Tools, prompt)
	}
	if got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "bad", Task: "go"}, 0, 0,
		0); got.Outcome != trajectory.InfrastructureError {
		t.Errorf("%s", got.Outcome)
	}
}

// long answers at length.
type long struct{ tools }

func (s *long) Open(ctx context.Context, id string, t ...environment.Template) (environment.Session, error) {
	inner, err := s.tools.Open(ctx, id, t...)
	return longSession{inner}, err
}

type longSession struct{ environment.Session }

func (s longSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := s.Session.Call(ctx, calls)
	for i := range results {
		results[i].Text = strings.Repeat("r", 200)
	}
	return results
}

// Nor is it where the template drops reasoning that was longer than the results.
func TestResultsFillWhatReasoningLeft(t *testing.T) {
	const prompt, call, result = 20, 52, 6 + 200 + 1 + 11
	r := newRunner(options{Tools: &long{}, Renderer: drops{}, MaxTokens: 400,
		Sampler: &fakes.Sampler{Reply: script(fakes.Think(strings.Repeat("hm", 150))+add, "done"),
			MaxContext: prompt + 400 + call}})
	got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if got.Outcome != trajectory.OK {
		t.Fatalf("%s, %s", got.Outcome, got.Error)
	}
	r = newRunner(options{Tools: &long{}, Renderer: drops{}, MaxTokens: 400, MaxTurns: 4,
		Sampler: &fakes.Sampler{Reply: script(fakes.Think(strings.Repeat("hm", 150))+add, add, add, "done"),
			MaxContext: prompt + 2*(call+result) + 100}})
	got, _ = r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if got.Outcome != trajectory.InfrastructureError || got.StopReason != trajectory.StopContextOverflow ||
		!strings.Contains(got.Error, "of them results of tools") {
		t.Errorf("%s, %s: %s", got.Outcome, got.StopReason, got.Error)
	}
}

// A result that fills the context is not the policy's doing, whether it leaves no room or too little; the policy's own
// completions are.
func TestWhoFillsTheContext(t *testing.T) {
	const prompt, call, result = 20, 52, 6 + 200 + 1 + 11 // ids of the fake renderer
	for _, tc := range []struct {
		name               string
		maxTokens, context int
		reply              func(string, policy.Request) (string, error)
		outcome            trajectory.Outcome
		reason             trajectory.StopReason
		turns              int
	}{
		{"room for all", 60, prompt + call + result + 60, script(add, "done"), trajectory.OK, trajectory.StopCompleted, 2},
		{"a result leaves no room", 60, prompt + call + result, script(add, "done"), trajectory.InfrastructureError, trajectory.StopContextOverflow, 1},
		{"a result leaves too little", 60, prompt + call + result + 3, script(add, "done"), trajectory.InfrastructureError, trajectory.StopContextOverflow, 2},
		{"it leaves enough for a short answer", 60, prompt + call + result + 5, script(add, "done"), trajectory.OK, trajectory.StopCompleted, 2},
		{"cut at its own length", 60, prompt + call + result + 60, script(add, strings.Repeat("on ", 30)), trajectory.Limit, trajectory.StopMaxTokens, 2},
		{"calls fill it before the result does", 120, prompt + call + 100, script(add, "done"), trajectory.Limit, trajectory.StopContextOverflow, 1},
	} {
		r := newRunner(options{Tools: &long{}, Renderer: fakes.Renderer{}, MaxTokens: tc.maxTokens,
			Sampler: &fakes.Sampler{Reply: tc.reply, MaxContext: tc.context}})
		got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
		if got.Outcome != tc.outcome || got.StopReason != tc.reason || len(got.Turns) != tc.turns {
			t.Errorf("%s: %s, %s, %d turns (%s)", tc.name, got.Outcome, got.StopReason, len(got.Turns), got.Error)
		}
		if tc.outcome == trajectory.InfrastructureError &&
			!strings.Contains(got.Error, "200 of them results of tools; raise model.context") {
			t.Errorf("%s: %s", tc.name, got.Error)
		}
	}
}

// groups runs groupSize episodes of each scenario and returns them in the order of scenarios and rollouts.
func groups(
	ctx context.Context, r *rollout.Runner, scenarios []scenario.Scenario, groupSize, step int,
) []trajectory.Group {
	requests := make(chan rollout.Request, len(scenarios)*groupSize)
	all := make([]trajectory.Group, len(scenarios))
	of := map[string]int{}
	for i, s := range scenarios {
		of[s.ID], all[i] =
			i, trajectory.Group{ScenarioID: s.ID, Trajectories: make([]*trajectory.Trajectory, groupSize)}
		for j := range groupSize {
			requests <- rollout.Request{Scenario: s, Rollout: j, Step: step, Place: i*groupSize + j}
		}
	}
	close(requests)
	for t := range r.Run(ctx, requests) {
		all[of[t.ScenarioID]].Trajectories[t.Rollout] = t
	}
	return all
}
