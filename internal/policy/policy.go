// Package policy is the one contract two sides share: who asks for tokens and who samples them.
//
// A sampler lives in this process (internal/learn/sample), behind a server that returns token ids, or in a test.
package policy

import "context"

// FinishReason says why one completion ended.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"   // a stop id was sampled; it is the completion's last id
	FinishLength FinishReason = "length" // MaxTokens or the context ran out
)

// Sampling are the knobs of one completion. Zero temperature is greedy.
type Sampling struct {
	Temperature float64
	MaxTokens   int
	StopIDs     []int32
}

// Key names a random stream. Token i of the completion draws from (Seed, Stream, i) alone, so there is no generator
// state to save: the same key gives the same draws whatever else is sampled and whenever a run was resumed.
type Key struct {
	Seed   uint64
	Stream uint64 // built by the caller from step, scenario, rollout and turn
}

// Request asks for one completion.
type Request struct {
	Prompt []int32 // the whole conversation so far; what a slot already holds is not computed again
	// Slot fixes the row of the batch this request is computed in. An episode keeps one slot over its turns; on the
	// CPU backend this makes its tokens independent of what else is being sampled. Slots are taken modulo NumSlots.
	Slot int
	Sampling
	Key Key
}

// Completion is what was sampled: the ids that will be trained on, never re-tokenised text.
type Completion struct {
	IDs []int32
	// SamplerLogprobs are natural-log probabilities of IDs under the distribution they were drawn from, that is
	// softmax(logits / Temperature), or softmax(logits) where Temperature is 0.
	SamplerLogprobs []float32
	FinishReason    FinishReason
	PolicyVersion   int // number of optimiser steps the sampling weights had seen
}

// Sampler turns prompts into completions. Sample blocks, may be called from many goroutines, and gives up its slot
// when ctx is cancelled. A prompt that does not fit the context is a *ContextError.
type Sampler interface {
	Sample(ctx context.Context, r Request) (Completion, error)
	NumSlots() int
}

// ContextError says that a prompt leaves no room for a completion.
type ContextError struct{ NumPrompt, MaxContext int }

func (e *ContextError) Error() string {
	return "prompt does not fit the context"
}
