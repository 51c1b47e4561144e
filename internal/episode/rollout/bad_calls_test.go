package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// A malformed call is answered by what is wrong with it and by how a call is written. The model reads that and goes on;
// no call of the message is made, the record has all of it, and what is trained is what was sampled.
func TestMalformedCallsAreToldOf(t *testing.T) {
	server := &tools{}
	wrong := add + "<call>{"
	got, _ := newRunner(
		options{Tools: server, Sampler: &fakes.Sampler{Reply: script(wrong, add, "done")}, Renderer: half{},
			MaxMalformed: 1, CallExample: "<call>{...}</call>"},
	).Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if got.Outcome != trajectory.OK || len(got.Turns) != 3 || got.Answer() != "done" {
		t.Fatalf("%s, %d turns: %s", got.Outcome, len(got.Turns), got.Error)
	}
	first := got.Turns[0]
	if first.ParseError == "" || !strings.Contains(first.Feedback, first.ParseError) ||
		!strings.HasSuffix(first.Feedback, "in this form:\n<call>{...}</call>") || got.Turns[1].Feedback != "" {
		t.Errorf("told %q of %q", first.Feedback, first.ParseError)
	}
	told := slices.IndexFunc(got.Messages, func(m chat.Message) bool {
		return m.Role == chat.User && m.Content == first.Feedback
	})
	if told < 1 || got.Messages[told+1].Role != chat.Assistant || len(got.Messages[told+1].ToolCalls) != 1 {
		t.Errorf("messages %+v", got.Messages)
	}
	ids := map[string]bool{}
	for _, r := range got.Calls() {
		if ids[r.Call.ID] {
			t.Errorf("two calls are %s", r.Call.ID)
		}
		ids[r.Call.ID] = true
	}
	if len(first.Calls) != 1 || len(first.Results) != 1 || got.Messages[told-1].Role != chat.ToolRole ||
		got.Messages[told-1].ToolCallID != first.Calls[0].ID {
		t.Errorf("calls %+v of the malformed message have the results %+v", first.Calls, first.Results)
	}
	for _, r := range first.Results {
		if r.Status != trajectory.CallInvalid {
			t.Errorf("a call of the malformed message is %s", r.Status)
		}
	}
	if n := len(got.Turns[1].Results); n != 1 || got.Turns[1].Results[0].Status != trajectory.CallOK {
		t.Errorf("%d results of the well-formed call", n)
	}
	sampled := 0
	for _, r := range got.Rows() {
		for _, yes := range r.Sampled {
			if yes {
				sampled++
			}
		}
	}
	if want := got.NumSampled(); sampled != want {
		t.Errorf("%d tokens are trained, %d were sampled", sampled, want)
	}
}

// half reads the calls before a malformed one, as some formats do.
type half struct{ fakes.Renderer }

func (h half) Parse(completion []int32, tools []chat.Tool) (m chat.Message, parseError string) {
	text := strings.TrimSuffix(fakes.Text(completion), "\x00")
	if before, broken := strings.CutSuffix(text, "<call>{"); broken {
		m, _ = h.Renderer.Parse(fakes.IDs(before), tools)
		m.Content += "<call>{"
		return m, "a call that does not end"
	}
	return h.Renderer.Parse(completion, tools)
}

// overhearing is a user who keeps what is said to it.
type overhearing struct{ heard *[][]chat.Message }

func (o overhearing) Begin(scenario.Scenario, *trajectory.Trajectory) environment.Partner { return o }

func (overhearing) Name() string { return "overhearing" }

func (o overhearing) Say(_ context.Context, messages []chat.Message) (environment.Words, error) {
	*o.heard = append(*o.heard, slices.Clone(messages))
	return environment.Words{Text: "Go on.",
		Ended: map[bool]string{true: trajectory.EndedByUser}[len(*o.heard) == 2]}, nil
}

// A simulated user does not hear of malformed calls, which it did not write the answer to.
func TestUsersDoNotHearOfMalformedCalls(t *testing.T) {
	var heard [][]chat.Message
	r := rollout.New(rollout.Options{
		Environment: environment.New(environment.Options{Tools: &tools{}, MaxMalformed: 3, User: overhearing{&heard}}),
		Policy: rollout.Sampled{
			Sampler:  &fakes.Sampler{Reply: script("<call>{", "Which?", "<call>{", "<call>{", "This?")},
			Renderer: fakes.Renderer{},
		},
	})
	got, _ := r.Episode(context.Background(),
		scenario.Scenario{ID: "x", User: &scenario.User{Goal: "g", First: "Hi."}}, 0, 0, 0)
	if got.Outcome != trajectory.OK || len(heard) != 2 || got.User.Turns != 2 && got.User.Turns != 3 {
		t.Fatalf("%s: %s, heard %d times", got.Outcome, got.Error, len(heard))
	}
	for i, want := range []string{"Hi.|Which?", "Hi.|Which?|Go on.|This?"} {
		var text []string
		for _, m := range heard[i] {
			text = append(text, m.Content)
		}
		if strings.Join(text, "|") != want {
			t.Errorf("heard %q, want %q", text, want)
		}
	}
}
