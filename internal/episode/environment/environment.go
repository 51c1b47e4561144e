// Package environment is the half of an episode that answers: servers, set-up, limits, results, outcomes. The other
// half, who speaks in it, is a policy; package rollout joins the two. Players are the simulated users of scenarios: a
// model that is told a goal, or a script.
package environment

import (
	"context"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Environment is where episodes take place. Servers, the MCP servers of a scenario, is one.
//
// The record of an episode is its environment's: it writes the opening, each reply with its results, what is seen of
// the world, and the end. Who speaks reads it.
type Environment interface {
	// Open begins an episode of a scenario. It writes the messages and tools that the policy is shown into t, and how
	// many messages these are. Where an end
	// is returned the episode is over before the policy said a word, and there is nothing to close.
	Open(ctx context.Context, s scenario.Scenario, t *trajectory.Trajectory) (Episode, *End)
}

// Episode is one that has begun. It is used by one goroutine at a time.
type Episode interface {
	// Tools are what can be called in the next turn: those of the opening, and what was found since.
	Tools() []chat.Tool
	// Take writes a reply into the record and answers it: with results, where the policy is to speak again, or with the
	// end.
	Take(ctx context.Context, r Reply) *End
	Close() error
}

// Reply is what a policy says in one turn.
type Reply struct {
	// Turn is the assistant message, with the ids and logprobs that it was sampled by where the policy has them, and
	// without results. It is nil where the context left no room for one.
	Turn *trajectory.Turn
	// Stop is why the message is not whole: trajectory.StopMaxTokens or StopContextOverflow; "" where it is.
	Stop trajectory.StopReason
	Why  string // of Stop, for the record
	// Crowded says that what fills the context is not what the policy said, but results of tools, or the opening.
	Crowded bool
}

// End is how an episode ended.
type End struct {
	Outcome trajectory.Outcome
	Reason  trajectory.StopReason
	Why     string
	Again   bool           // the tools ended it: another attempt, with servers of its own, may do better
	Lost    *chat.ToolCall // the call without an answer that ended it, where the environment is to blame for that
	Err     error          // what would end other episodes too, as a simulated user whose endpoint is gone
}

// Note writes the end into the record.
func (e *End) Note(t *trajectory.Trajectory) {
	t.Outcome, t.StopReason, t.Error = e.Outcome, e.Reason, e.Why
}

// Opening is the conversation that an episode begins with: the scenario's, behind the system message where it has none
// of its own. Where a model is to find the user's first words, they are missing.
func Opening(system string, s scenario.Scenario) []chat.Message {
	messages := s.Opening()
	if system != "" && (len(messages) == 0 || messages[0].Role != chat.System) {
		messages = append([]chat.Message{{Role: chat.System, Content: system}}, messages...)
	}
	return messages
}

// Openings are what an episode may begin with, for those who plan for its prompts: its opening or, where the user's
// first words are not known, two that have no word of the user in common.
func Openings(system string, s scenario.Scenario) [][]chat.Message {
	opening := Opening(system, s)
	if !s.UserBegins() {
		return [][]chat.Message{opening}
	}
	const words = 100 // more than a person writes to begin with
	var all [][]chat.Message
	for _, text := range []string{"Hi.", strings.Repeat("please ", words)} {
		all = append(all, append(slices.Clone(opening), chat.Message{Role: chat.User, Content: text}))
	}
	return all
}
