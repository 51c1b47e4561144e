package sidecar

import (
	"context"
	"math"

	"hone/internal/chat"
	"hone/internal/policy"
)

// Renderer is the part of rollout.Renderer that one turn needs.
type Renderer interface {
	Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error)
	Parse(completion []int32) (m chat.Message, parseError string)
	StopIDs() []int32
}

// Model is a sampler behind a renderer, asked for one message at a time. It may be used from many goroutines.
type Model struct {
	Sampler   policy.Sampler
	Renderer  Renderer
	MaxTokens int // of an answer
}

// Said is one message of a model.
type Said struct {
	Message          chat.Message
	Whole            bool    // it ended by itself
	Probability      float64 // of the whole completion, by the sampler: what the model takes for its chance to say just this
	PromptTokens     int
	CompletionTokens int
}

// Say answers a conversation at a temperature. Slot is the sampler's, stream names the random numbers.
func (m Model) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool, temperature float64, slot int, key policy.Key) (Said, error) {
	prompt, err := m.Renderer.Prompt(messages, tools)
	if err != nil {
		return Said{}, err
	}
	c, err := m.Sampler.Sample(ctx, policy.Request{Prompt: prompt, Slot: slot, Key: key,
		Sampling: policy.Sampling{Temperature: temperature, MaxTokens: m.MaxTokens, StopIDs: m.Renderer.StopIDs()}})
	if err != nil {
		return Said{}, err
	}
	sum := 0.0
	for _, p := range c.SamplerLogprobs {
		sum += float64(p)
	}
	said := Said{Whole: c.FinishReason == policy.FinishStop, Probability: math.Exp(sum), PromptTokens: len(prompt), CompletionTokens: len(c.IDs)}
	said.Message, _ = m.Renderer.Parse(c.IDs) // a malformed call stays in the content
	said.Message.Role = chat.Assistant
	return said, nil
}

// Revise implements Reviser.
func (m Model) Revise(ctx context.Context, q Question) (Said, error) {
	return m.Say(ctx, Prompt(q.Messages, q.Draft), q.Tools, 0, q.Slot, policy.Key{})
}
