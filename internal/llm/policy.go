package llm

import (
	"context"
	"errors"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
)

// Chatter is the part of a Client that speaking needs.
type Chatter interface {
	Chat(ctx context.Context, r Request) (Response, error)
}

// Policy is an endpoint that speaks in episodes. Its turns hold no token ids: they can be curated and turned into SFT
// rows, but not be trained on as sampled.
type Policy struct {
	Client Chatter
	Model  string
	Slots  int    // episodes at once; 0: 1, since a person may be asked about each call
	Guide  string // a system message that the endpoint gets and no record has; "" for none

	TopK       int // these three as policy.Sampling has them; an endpoint is asked for those that truncate
	TopP, MinP float64
	// of a request, in US dollars; nil where it is not known
	Cost func(promptTokens, completionTokens int) float64
}

// NumSlots implements rollout.Policy.
func (p Policy) NumSlots() int { return max(1, p.Slots) }

// Speaker implements rollout.Policy.
func (p Policy) Speaker(a rollout.Attempt) rollout.Speaker { return &speaker{p, a, 0} }

type speaker struct {
	Policy
	a    rollout.Attempt
	turn int
}

// Say implements rollout.Speaker.
func (s *speaker) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	q := Request{Model: s.Model, Messages: withGuide(messages, s.Guide), Tools: tools, Temperature: s.a.Temperature,
		MaxTokens: s.a.MaxTokens, Seed: seed(s.a, s.turn), TopK: s.TopK, MinP: s.MinP}
	if s.TopP < 1 {
		q.TopP = s.TopP
	}
	resp, err := s.Client.Chat(ctx, q)
	s.turn++
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Code == "context_length_exceeded" {
		return environment.Reply{Stop: trajectory.StopContextOverflow, Why: refused.Message}, nil
	}
	if err != nil {
		return environment.Reply{}, err
	}
	m := resp.Message
	r := environment.Reply{Turn: &trajectory.Turn{ReasoningContent: m.ReasoningContent, Content: m.Content,
		Calls: m.ToolCalls}}
	if resp.Cached {
		r.Turn.SampleSeconds = resp.Seconds
	}
	if resp.Usage.Total() > 0 {
		r.Turn.Usage = &trajectory.Usage{PromptTokens: resp.Usage.PromptTokens,
			CompletionTokens: resp.Usage.CompletionTokens}
		if s.Cost != nil {
			cost := s.Cost(resp.Usage.PromptTokens, resp.Usage.CompletionTokens)
			r.Turn.Usage.Cost = &cost
		}
	}
	if resp.FinishReason == "length" {
		r.Stop = trajectory.StopMaxTokens
	}
	return r, nil
}

// withGuide are messages with a guide behind the system message, or in its place where there is none.
func withGuide(messages []chat.Message, guide string) []chat.Message {
	if guide == "" {
		return messages
	}
	if len(messages) > 0 && messages[0].Role == chat.System {
		out := slices.Clone(messages)
		out[0].Content += "\n\n" + guide
		return out
	}
	return append([]chat.Message{{Role: chat.System, Content: guide}}, messages...)
}

// seed is that of a turn. Two scenarios of one wording, or two attempts, have others: equal requests share an answer.
// It has 31 bits, which every endpoint takes, and is not 0, which would be no seed.
func seed(a rollout.Attempt, turn int) uint64 {
	x := a.Seed ^ a.Stream(turn)
	return max(1, (x^x>>31)&(1<<31-1))
}
