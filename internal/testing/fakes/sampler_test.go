package fakes_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/testing/fakes"
)

var (
	_ policy.Sampler   = (*fakes.Sampler)(nil)
	_ rollout.Renderer = fakes.Renderer{}
)

func TestSampler(t *testing.T) {
	s := &fakes.Sampler{Reply: func(string, policy.Request) (string, error) { return "abc", nil }, MaxContext: 10}
	sample := func(prompt string, maxTokens int) (policy.Completion, error) {
		return s.Sample(context.Background(),
			policy.Request{Prompt: fakes.IDs(prompt), Sampling: policy.Sampling{MaxTokens: maxTokens}})
	}
	c, err := sample("12345", 9)
	if err != nil || fakes.Text(c.IDs) != "abc\x00" || c.FinishReason != policy.FinishStop ||
		len(c.SamplerLogprobs) != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	if math.Abs(float64(c.SamplerLogprobs[0])+math.Log(257)) > 1e-6 {
		t.Errorf("logprob %v is not uniform over 257 ids", c.SamplerLogprobs[0])
	}
	for _, cut := range []struct {
		prompt    string
		maxTokens int
	}{{"12345", 3}, {"1234567", 9}} {
		if c, err := sample(cut.prompt, cut.maxTokens); err != nil || fakes.Text(c.IDs) != "abc" ||
			c.FinishReason != policy.FinishLength {
			t.Errorf("%+v: %+v, %v", cut, c, err)
		}
	}
	var full *policy.ContextError
	if _, err := sample("1234567890", 9); !errors.As(err, &full) || full.NumPrompt != 10 {
		t.Errorf("full context: %v", err)
	}
}

func TestRenderer(t *testing.T) {
	r := fakes.Renderer{}
	call := chat.ToolCall{Name: "add", Arguments: `{"a": 1}`}
	want := chat.Message{Role: chat.Assistant, ReasoningContent: "hm", Content: "so",
		ToolCalls: []chat.ToolCall{call, call}}
	ids, err := r.Completion(want)
	if err != nil {
		t.Fatal(err)
	}
	if m, parseError := r.Parse(ids, nil); !reflect.DeepEqual(m, want) || parseError != "" {
		t.Errorf("Parse = %+v, %q", m, parseError)
	}
	for _, text := range []string{"<call>{", `<call>{"name": }</call>`, `<call>{}</call>`} {
		if m, parseError := r.Parse(fakes.IDs(text), nil); parseError == "" || m.ToolCalls != nil ||
			m.Content != text {
			t.Errorf("Parse(%s) = %+v, %q", text, m, parseError)
		}
	}
}
