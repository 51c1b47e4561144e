package llm

import (
	"context"
	"errors"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
)

// Chatter is the part of a Client that speaking needs.
type Chatter interface {
	Chat(ctx context.Context, r Request) (Response, error)
}

// Policy is an endpoint that speaks in episodes. Its turns hold no token ids: they can be curated and turned into SFT rows,
// but not be trained on as sampled.
type Policy struct {
	Client Chatter
	Model  string
}

// NumSlots implements rollout.Policy: a person may be asked about each call, so one episode follows the other.
func (p Policy) NumSlots() int { return 1 }

// Speaker implements rollout.Policy.
func (p Policy) Speaker(a rollout.Attempt) rollout.Speaker { return &speaker{p, a, 0} }

type speaker struct {
	Policy
	a    rollout.Attempt
	turn int
}

// Say implements rollout.Speaker.
func (s *speaker) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	resp, err := s.Client.Chat(ctx, Request{Model: s.Model, Messages: messages, Tools: tools, Temperature: s.a.Temperature,
		MaxTokens: s.a.MaxTokens, Seed: seed(s.a, s.turn)})
	s.turn++
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Code == "context_length_exceeded" {
		return environment.Reply{Stop: trajectory.StopContextOverflow, Why: refused.Message}, nil
	}
	if err != nil {
		return environment.Reply{}, err
	}
	m := resp.Message
	r := environment.Reply{Turn: &trajectory.Turn{ReasoningContent: m.ReasoningContent, Content: m.Content, Calls: m.ToolCalls}}
	if resp.Usage.Total() > 0 {
		r.Turn.Usage = &trajectory.Usage{PromptTokens: resp.Usage.PromptTokens, CompletionTokens: resp.Usage.CompletionTokens}
	}
	if resp.FinishReason == "length" {
		r.Stop = trajectory.StopMaxTokens
	}
	return r, nil
}

// seed is that of a turn. Two scenarios of one wording, or two attempts, have others: equal requests share an answer. It
// has 31 bits, which every endpoint takes, and is not 0, which would be no seed.
func seed(a rollout.Attempt, turn int) uint64 {
	x := a.Seed ^ a.Stream(turn)
	return max(1, (x^x>>31)&(1<<31-1))
}
