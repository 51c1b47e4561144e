package rollout_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// finding opens sessions that offer one tool more with each turn.
type finding struct{ *tools }

func (f finding) Open(ctx context.Context, id string, from ...environment.Template) (environment.Session, error) {
	s, err := f.tools.Open(ctx, id, from...)
	return &finds{s, []chat.Tool{{Name: "add"}}}, err
}

type finds struct {
	environment.Session
	offered []chat.Tool
}

func (f *finds) CallableTools() []chat.Tool { return f.offered }

func (f *finds) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	f.offered = append(f.offered, chat.Tool{Name: "found"})
	return f.Session.Call(ctx, calls)
}

// A prompt of tokens only grows at its end: what is found is not written into the list of tools at its beginning, not
// even where a prompt is written anew. Prompts that a sampler keeps stay as they were.
func TestFoundToolsAreNotInThePrompt(t *testing.T) {
	var kept [][]int32
	var texts []string
	reply := func(prompt string, r policy.Request) (string, error) {
		kept, texts = append(kept, r.Prompt), append(texts, prompt)
		return []string{fakes.Think("hm") + add, fakes.Think("hm") + add, "done"}[len(texts)-1], nil
	}
	got, _ := newRunner(options{Tools: finding{&tools{}}, ToolList: []chat.Tool{{Name: "add"}}, Renderer: drops{},
		Sampler: &fakes.Sampler{Reply: reply}}).
		Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if got.Outcome != trajectory.OK || got.NumRewrites() != 2 || len(kept) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, prompt := range kept {
		if text := fakes.Text(prompt); text != texts[i] || !strings.HasPrefix(text, "<tools>add \x00") ||
			strings.Contains(text, "found") {
			t.Errorf("prompt %d: %q, was %q", i, text, texts[i])
		}
	}
}

// scribbles is a sampler that writes into the prompts it was given.
type scribbles struct{ *fakes.Sampler }

func (s scribbles) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	c, err := s.Sampler.Sample(ctx, r)
	clear(r.Prompt)
	return c, err
}

// The ids of an episode are its own, whatever a sampler does with a prompt.
func TestPromptsAreTheSamplersToKeep(t *testing.T) {
	r := newRunner(options{Tools: &tools{}, Renderer: fakes.Renderer{},
		Sampler: scribbles{&fakes.Sampler{Reply: script(add, "done")}}})
	if got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0,
		0); got.Answer() != "done" || len(got.Turns) != 2 {
		t.Errorf("%+v", got)
	}
}

// What was cut says what it was in the midst of.
func TestCutCallsSaySo(t *testing.T) {
	got, _ := runner(&tools{}, script(add), options{MaxTokens: 10}).Episode(context.Background(),
		scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
	if got.StopReason != trajectory.StopMaxTokens || got.Error != "unterminated call" {
		t.Errorf("%s: %s", got.StopReason, got.Error)
	}
}

// nameless gives the first token a logprob that is none.
type nameless struct {
	*fakes.Sampler
	logprob float64
}

func (n nameless) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	c, err := n.Sampler.Sample(ctx, r)
	c.SamplerLogprobs[0] = float32(n.logprob)
	return c, err
}

// A completion of which the sampler tells no number is the sampler's failure: nothing is learnt from it.
func TestLogprobsAreNumbers(t *testing.T) {
	for _, logprob := range []float64{math.NaN(), math.Inf(-1), -1} {
		r := newRunner(options{Tools: &tools{}, Renderer: fakes.Renderer{},
			Sampler: nameless{&fakes.Sampler{Reply: script("done")}, logprob}})
		got, err := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
		if sound := logprob == -1; (err == nil) != sound || got.Outcome.Trainable() != sound ||
			!sound && !strings.Contains(got.Error, "token 0 of turn 0 has the logprob") {
			t.Errorf("%v: %v, %s: %s", logprob, err, got.Outcome, got.Error)
		}
	}
}
