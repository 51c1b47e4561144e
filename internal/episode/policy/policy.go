// Package policy is the one contract two sides share: who asks for tokens and who samples them. Remote is a sampler
// behind a server.
//
// A sampler lives in this process (internal/learn/sample), behind a server that returns token ids, or in a test.
package policy

import "context"

// FinishReason says why one completion ended.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"   // a stop id was sampled, the completion's last id, or a stop text was written
	FinishLength FinishReason = "length" // MaxTokens or the context ran out
)

// MaxTopLogprobs is the largest Sampling.TopLogprobs.
const MaxTopLogprobs = 20

// Sampling are the knobs of one completion. Zero temperature is greedy; of the others, zero is off.
//
// What a Constraint forbids goes first, then the temperature is applied, then TopK, TopP and MinP leave out tokens,
// each of those that the one before it left, as transformers' TopKLogitsWarper, TopPLogitsWarper and MinPLogitsWarper
// do in their order. Tokens as likely as the last one kept are kept too. Greedy completions are not truncated.
type Sampling struct {
	Temperature float64
	TopK        int     // keeps the K likeliest tokens
	TopP        float64 // keeps the fewest of the likeliest tokens whose probabilities add up to TopP; in [0, 1]
	MinP        float64 // keeps tokens at least MinP times as likely as the likeliest; in [0, 1]
	MaxTokens   int
	StopIDs     []int32
	Stop        []string // texts that end the completion once one of them is written, wherever its tokens begin and end
	TopLogprobs int      // how many of the likeliest tokens to tell beside each sampled one
}

// Truncates reports whether tokens are left out because they are improbable. The policy that is trained is not
// truncated, so completions of such a sampling must not train it.
func (s Sampling) Truncates() bool {
	return s.Temperature > 0 && (s.TopK > 0 || s.TopP > 0 && s.TopP < 1 || s.MinP > 0)
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
	// Seat is which of the conversations that take turns in the slot it is of, where the sampler was opened for
	// several. Only what was said at the same seat is held as it was.
	Seat int
	// Adapter is which adapter the completion is of, where the sampler holds several: the first (0), another, or
	// NoAdapter.
	Adapter int
	// Owner is for whom the request is: what a slot holds of another's is computed again, so that how long an answer
	// takes does not tell what others asked.
	Owner int
	Sampling
	Key        Key
	Constraint Constraint // nil: any token may come
	// Each, where not nil, is told of each token as soon as it is drawn, in order and before Sample returns. It must
	// not block: it is called where all slots are sampled.
	Each func(Token)
}

// Token is one token of a completion that is still being sampled; its numbers are those that the Completion will have.
type Token struct {
	ID            int32
	Logprob       float32
	Top           []TokenLogprob
	PolicyVersion int
}

// NoAdapter as Request.Adapter is the base model beside the adapters of a sampler that holds several.
const NoAdapter = -1

// Completion is what was sampled: the ids that will be trained on, never re-tokenised text.
type Completion struct {
	IDs []int32
	// SamplerLogprobs are natural-log probabilities of IDs under the distribution they were drawn from: that is
	// softmax(logits / Temperature), or softmax(logits) where Temperature is 0, over the tokens that the constraint and
	// the truncation left. Without either they are the policy's own.
	SamplerLogprobs []float32
	// TopLogprobs has, for each of IDs, the likeliest tokens of the same distribution, the likeliest first: as many as
	// Sampling.TopLogprobs, or fewer where fewer could be drawn.
	TopLogprobs   [][]TokenLogprob
	FinishReason  FinishReason
	StopText      string // the one of Sampling.Stop that was written; empty where another reason ended the completion
	Text          string // what was written before StopText; set only with it. IDs are whole, and may go on behind it
	PolicyVersion int    // number of optimiser steps the sampling weights had seen
}

// TokenLogprob is a token that could have been drawn, and its natural-log probability.
type TokenLogprob struct {
	ID      int32
	Logprob float32
}

// Sampler turns prompts into completions. Sample blocks, may be called from many goroutines, and gives up its slot
// when ctx is cancelled. A prompt that does not fit the context is a *ContextError, a constraint that leaves no token a
// *ConstraintError.
type Sampler interface {
	Sample(ctx context.Context, r Request) (Completion, error)
	NumSlots() int
}

// ContextError says that a prompt leaves no room for a completion.
type ContextError struct{ NumPrompt, MaxContext int }

func (e *ContextError) Error() string {
	return "prompt does not fit the context"
}
