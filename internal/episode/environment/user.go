package environment

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Model writes what a user says. An endpoint (internal/llm) is one.
type Model interface {
	Name() string
	// Write is the next message of the assistant in a conversation, drawn by a seed. An equal request has an equal
	// answer, as far as the model keeps to its seed.
	Write(ctx context.Context, messages []chat.Message, seed uint64) (Written, error)
}

// Written is what a model wrote, and the tokens that it read and wrote for it.
type Written struct {
	Text                           string
	PromptTokens, CompletionTokens int
}

// Players play users; they implement environment.User. Model may be nil where all users have scripts.
type Players struct {
	Model Model
	Seed  uint64
}

// Begin implements environment.User. The words of a user depend on the seed, the scenario, the rollout and what was
// said, and on nothing of the policy's: all systems meet the same user as long as they say the same.
func (p Players) Begin(s scenario.Scenario, t *trajectory.Trajectory) Partner {
	if s.User.HasScript() {
		return &script{lines: s.Replies()}
	}
	return &actor{model: p.Model, system: System(s.User), stream: stream{p.Seed, s.ID, t.Rollout}}
}

// script says its lines, whatever it is told.
type script struct {
	lines []string
	said  int
}

// Name implements environment.Partner.
func (*script) Name() string { return trajectory.Script }

// Say implements environment.Partner.
func (s *script) Say(context.Context, []chat.Message) (Words, error) {
	if s.said == len(s.lines) {
		return Words{Ended: trajectory.EndedByScript}, nil
	}
	s.said++
	return read(s.lines[s.said-1]), nil
}

// actor is a model that plays the user.
type actor struct {
	model  Model
	system string
	stream stream
	turn   int
}

// Name implements environment.Partner.
func (a *actor) Name() string {
	if a.model == nil {
		return ""
	}
	return a.model.Name()
}

// draws is how often a model is asked for one message before it is taken to be speechless.
const draws = 3

// Say implements environment.Partner.
func (a *actor) Say(ctx context.Context, messages []chat.Message) (Words, error) {
	var words Words
	if a.model == nil {
		return words, errors.New("no model plays it: rollout.user names none")
	}
	prompt := Prompt(a.system, messages)
	for draw := range draws {
		w, err := a.model.Write(ctx, prompt, a.stream.seed(a.turn, draw))
		prompts, completions := words.PromptTokens+w.PromptTokens, words.CompletionTokens+w.CompletionTokens
		words = read(w.Text)
		words.PromptTokens, words.CompletionTokens = prompts, completions
		if err != nil || words.Text != "" || words.Ended != "" {
			a.turn++
			return words, err
		}
	}
	return words, errors.New(a.model.Name() + " answered without a text")
}

// stream names the random stream of a user.
type stream struct {
	seed0      uint64
	scenarioID string
	rollout    int
}

// seed is that of one draw of one message. It has 31 bits, which every endpoint takes, and is not 0, which would be no
// seed.
func (s stream) seed(turn, draw int) uint64 {
	h := fnv.New64a()
	// a hash does not fail
	_ = binary.Write(h, binary.LittleEndian, []int64{int64(s.seed0), int64(s.rollout), int64(turn), int64(draw)})
	_, _ = h.Write([]byte("user " + s.scenarioID))
	x := h.Sum64()
	return max(1, (x^x>>31)&(1<<31-1))
}
