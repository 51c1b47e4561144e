package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/trajectory"
)

// Renderer turns a conversation into ids and ids into messages. internal/text/render implements it.
type Renderer interface {
	// Prompt renders a whole conversation up to and including the opening of the next assistant message.
	Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error)
	// Next renders the prompt of the turn that follows a completion, read as messages[at], and its results behind it.
	// ids are what follows the completion: the end of its message if it is missing, the results, the next opening.
	// Where a prompt of these messages would write otherwise what was prompted and sampled so far, ids are that prompt
	// whole, and rewrite says why.
	Next(
		messages []chat.Message, at int, completion []int32, tools []chat.Tool,
	) (ids []int32, rewrite string, err error)
	// Completion renders an assistant message as it would have been sampled, its stop id last (for SFT).
	Completion(m chat.Message) ([]int32, error)
	// Parse reads a sampled completion back as the assistant message it is: its reasoning, by the rules of the model's
	// family, its content, and its calls, numbered from 0, whose values are typed by the tools' schemas where the form
	// writes all of them as text. A malformed or unterminated call is parseError, and its text stays in the content; so
	// is reasoning that does not end.
	Parse(completion []int32, tools []chat.Tool) (m chat.Message, parseError string)
	StopIDs() []int32
}

// Calls holds completions to one call of a tool, or to none. internal/text/render implements it.
type Calls interface {
	// thinks says that the completion may reason first.
	Call(tool chat.Tool, prompt []int32, thinks bool) (policy.Constraint, error)
	None(prompt []int32, thinks bool) policy.Constraint
}

// Sampled is the policy of a model whose tokens we draw: a sampler behind a renderer.
type Sampled struct {
	policy.Sampler
	Renderer Renderer
	Calls    Calls // nil: no turn can be forced
}

// Speaker implements Policy.
func (p Sampled) Speaker(a Attempt) Speaker { return &sampled{Sampled: p, a: a, said: -1} }

// sampled speaks in one attempt.
type sampled struct {
	Sampled
	a     Attempt
	tools []chat.Tool // of the beginning: what is found since stands in the results that found it
	turn  int
	ids   []int32 // all so far, prompt and completions
	said  int     // which message was the last completion
	last  []int32 // its ids
	apart bool    // it was prompted by something else than the episode behind which a call is forced
}

// Say implements Speaker.
func (s *sampled) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	bridge, rewrite, err := s.next(messages, tools)
	if err != nil {
		return environment.Reply{}, fmt.Errorf("rendering: %w", err)
	}
	if rewrite != "" {
		s.ids = nil
	}
	s.ids = append(s.ids, bridge...)
	said := s.a.Forced.Behind
	s.apart = s.apart || s.turn < len(said) && !slices.Equal(bridge, said[s.turn].BridgeIDs)
	if s.turn < len(said) && !s.apart {
		c := said[s.turn]
		return s.reply(bridge, rewrite, len(messages),
			policy.Completion{IDs: c.CompletionIDs, SamplerLogprobs: c.SamplerLogprobs, PolicyVersion: c.PolicyVersion},
			tools, c.Forced), nil
	}
	held, err := s.constraint(tools)
	if err != nil {
		return environment.Reply{}, err
	}
	c, err := s.Sample(ctx, policy.Request{
		Prompt: slices.Clone(s.ids), // the sampler may keep it
		Slot:   s.a.Slot,
		Seat:   s.a.Seat,
		Sampling: policy.Sampling{Temperature: s.a.Temperature, MaxTokens: s.a.MaxTokens,
			StopIDs: s.Renderer.StopIDs()},
		Key:        policy.Key{Seed: s.a.Seed, Stream: s.a.Stream(s.turn)},
		Constraint: held,
	})
	if full, ok := errors.AsType[*policy.ContextError](err); ok {
		// The bridge is dropped: a row must not end in ids nobody answered.
		return s.overflow(nil, s.results(messages), full.NumPrompt, full.MaxContext), nil
	}
	if err != nil {
		return environment.Reply{}, fmt.Errorf("sampling: %w", err)
	}
	if len(c.IDs) == 0 || len(c.IDs) != len(c.SamplerLogprobs) {
		return environment.Reply{}, fmt.Errorf("sampling: %d ids with %d logprobs", len(c.IDs), len(c.SamplerLogprobs))
	}
	for i, logprob := range c.SamplerLogprobs {
		if x := float64(logprob); math.IsNaN(x) || math.IsInf(x, 0) {
			return environment.Reply{}, fmt.Errorf("sampling: token %d of turn %d has the logprob %v", i, s.turn, x)
		}
	}
	reply := s.reply(bridge, rewrite, len(messages), c, tools, held != nil)
	if c.FinishReason != policy.FinishLength {
		return reply, nil
	}
	if len(c.IDs) < s.a.MaxTokens { // cut by the context
		if results := s.results(messages); results > 0 && s.contextFull(results, len(s.ids)-len(c.IDs), len(s.ids)) {
			return s.overflow(reply.Turn, results, len(s.ids)-len(c.IDs), len(s.ids)), nil
		}
	}
	reply.Stop, reply.Why = trajectory.StopMaxTokens, reply.Turn.ParseError
	return reply, nil
}

// reply reads a completion as the message at, which may call tools.
func (s *sampled) reply(
	bridge []int32, rewrite string, at int, c policy.Completion, tools []chat.Tool, forced bool,
) environment.Reply {
	s.turn, s.ids, s.said, s.last = s.turn+1, append(s.ids, c.IDs...), at, c.IDs
	m, parseError := s.Renderer.Parse(c.IDs, tools)
	return environment.Reply{
		Turn: &trajectory.Turn{
			Forced:           forced,
			BridgeIDs:        bridge,
			Rewrite:          rewrite,
			CompletionIDs:    c.IDs,
			SamplerLogprobs:  c.SamplerLogprobs,
			PolicyVersion:    c.PolicyVersion,
			ReasoningContent: m.ReasoningContent,
			Content:          m.Content,
			Calls:            m.ToolCalls,
			ParseError:       parseError,
		},
	}
}

// constraint is what the turn is held to, nil where the policy is free. A tool that cannot be called now is not forced.
func (s *sampled) constraint(tools []chat.Tool) (policy.Constraint, error) {
	f := s.a.Forced
	i := slices.IndexFunc(tools, func(t chat.Tool) bool { return t.Name == f.Tool })
	switch {
	case len(f.Behind) != s.turn, i < 0 && !f.Words:
		return nil, nil
	case s.Calls == nil:
		return nil, fmt.Errorf("a turn is to be forced (tool %q), and this policy cannot be held to calls, nor to none",
			f.Tool)
	case f.Words:
		return s.Calls.None(s.ids, f.Thinks), nil
	}
	return s.Calls.Call(tools[i], s.ids, f.Thinks)
}

// next is what the prompt of this turn adds to the ids so far.
func (s *sampled) next(messages []chat.Message, tools []chat.Tool) (bridge []int32, rewrite string, err error) {
	if s.said < 0 {
		s.tools = tools
		bridge, err = s.Renderer.Prompt(messages, tools)
		return bridge, "", err
	}
	return s.Renderer.Next(messages, s.said, s.last, s.tools)
}

// overflow is the reply for want of context: the prompt has numPrompt ids. Where it is the results of tools, or the
// task, that fill it, the policy is not to blame: there is too little room.
func (s *sampled) overflow(turn *trajectory.Turn, results, numPrompt, maxContext int) environment.Reply {
	r := environment.Reply{Turn: turn, Stop: trajectory.StopContextOverflow,
		Crowded: s.contextFull(results, numPrompt, maxContext), Why: fmt.Sprintf("the context is full: %d of %d ids",
			numPrompt, maxContext)}
	if r.Crowded {
		r.Why = fmt.Sprintf("%s, %d of them results of tools; raise model.context, or lower rollout.max_result or "+
			"rollout.max_turns", r.Why, results)
	}
	return r
}

// contextFull reports whether the results of tools fill the context, without which there would be room for a
// completion; or what stands before the first one.
func (s *sampled) contextFull(results, numPrompt, maxContext int) bool {
	if results > 0 {
		return numPrompt-results+s.a.MaxTokens <= maxContext
	}
	return s.said < 0
}

// results is how many ids of a prompt are results of tools: those that it has beyond one in which the tools returned
// nothing, whatever the template rewrites.
func (s *sampled) results(messages []chat.Message) int {
	empty := slices.Clone(messages)
	for i := range empty {
		if empty[i].Role == chat.ToolRole {
			empty[i].Content = ""
		}
	}
	whole, err := s.Renderer.Prompt(messages, s.tools)
	if err != nil {
		return 0
	}
	without, err := s.Renderer.Prompt(empty, s.tools)
	if err != nil {
		return 0
	}
	return max(0, len(whole)-len(without))
}
