// Package rollout runs episodes: it joins an environment, which answers, and a policy, which speaks.
package rollout

import (
	"context"
	"encoding/binary"
	"hash/fnv"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// Policy speaks in episodes. Sampled, a sampler behind a renderer, is one; an endpoint (internal/llm), a person or a
// script are others.
type Policy interface {
	NumSlots() int // in how many episodes it speaks at once
	// Speaker begins to speak in one attempt at an episode.
	Speaker(a Attempt) Speaker
}

// Speaker is a policy in one attempt at an episode. It is used by one goroutine at a time, for one turn after the
// other.
type Speaker interface {
	// Say answers a conversation with the next assistant message. tools are those that can be called now. Its error
	// says that the policy failed, which is not its doing as a policy: the episode is an infrastructure error.
	Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error)
}

// Attempt says which attempt at which episode is spoken in, and how.
type Attempt struct {
	ScenarioID string
	Step       int // the optimiser step it is for
	Rollout    int // the index in the group
	Retries    int // attempts at the same episode before it
	Slot       int // in [0, NumSlots)
	Seat       int // in [0, Seats) of the slot: no two episodes that run at once have the same slot and seat

	Temperature float64 // 0 is greedy
	MaxTokens   int     // of one completion
	Seed        uint64

	Forced Forced
}

// Forced is a turn at which the policy is held to something, whatever it would say, behind turns that another episode
// took: to a call of one tool, or to words without a call. The zero value has none. Only a sampler of ours can be held
// so.
type Forced struct {
	// what the policy says first: the same ids, as long as it is prompted by the same. What it calls in them is called
	// again
	Behind []trajectory.Turn
	Tool   string // that is called
	Words  bool   // no tool is
	Thinks bool   // the policy reasons first: it is held from the end of that on
}

// Stream names the random stream of one completion, whatever speaks.
func (a Attempt) Stream(turn int) uint64 {
	h := fnv.New64a()
	numbers := []int{a.Step, a.Rollout, turn}
	if a.Retries > 0 {
		numbers = append(numbers, a.Retries)
	}
	for _, n := range numbers {
		_ = binary.Write(h, binary.LittleEndian, int64(n)) // a hash does not fail
	}
	_, _ = h.Write([]byte(a.ScenarioID))
	return h.Sum64()
}
