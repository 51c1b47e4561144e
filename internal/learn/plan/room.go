package plan

import (
	"fmt"

	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
)

// Episode is what the slot of one episode must hold after the prefix that all prompts share. Tokens all.
type Episode struct {
	Prompt    int // of the longest task
	MaxTurns  int
	MaxTokens int // of a completion
	// MaxResult is the most that one turn's results can be: a token of a byte-level vocabulary stands for a byte at
	// least, so it is their bytes. Between is what the chat template writes around them.
	MaxResult, Between int
}

// fewestTokens is a slot that is worth having.
const fewestTokens = 256

// Own is the room without results: what the policy itself can fill, and its task.
func (e Episode) Own() int { return max(fewestTokens, e.Prompt+e.MaxTurns*e.MaxTokens) }

// Whole is the room with results. The last turn's are not read.
func (e Episode) Whole() int { return e.Own() + max(0, e.MaxTurns-1)*(e.MaxResult+e.Between) }

// Rooms are the smallest and the largest size of a slot, as far as the limit (the context, or the positions of the
// model) goes: without results, and with all there can be.
func (e Episode) Rooms(limit int) (least, most int) {
	return min(e.Own(), limit), min(e.Whole(), limit)
}

// Results is how many tokens of results a slot holds beside what the policy can fill.
func (e Episode) Results(room int) int { return max(0, room-e.Own()) }

// Room is what a slot holds of an episode, in tokens after the prefix.
type Room struct {
	Tokens   int
	Episode  Episode
	ByMemory bool // else the context, or the model's positions, bound it
	Trains   bool // on its episodes, else they are only played
}

// String says it, and where results may overflow when, and what to do.
func (r Room) String() string {
	e := r.Episode
	text := fmt.Sprintf("an episode has room for %s behind the shared prefix", fault.Count(r.Tokens, "token"))
	if r.Tokens >= e.Whole() {
		return text + ": all that its completions and tools' results can be"
	}
	text += fmt.Sprintf("\nat worst (%s of %d tokens) %d are left for tools' results, which can be %d\n"+
		"shorter completions leave more; an episode that needs more than there is ends early",
		fault.Count(e.MaxTurns, "full completion"), e.MaxTokens, e.Results(r.Tokens), e.Whole()-e.Own())
	if r.Trains {
		text += " and is not trained on"
	}
	text += "\nif that is too little: "
	if r.ByMemory {
		return text + "the memory bounds it; lower rollout.max_result, rollout.max_turns or engine.slots"
	}
	return text + "raise model.context, or lower rollout.max_result or rollout.max_turns"
}

// Results are the tokens of results that a slot holds; 0 where nothing is known of the episode.
func (r Room) Results() int {
	if r.Episode.MaxTurns == 0 {
		return 0
	}
	return r.Episode.Results(r.Tokens)
}

// FindRoom takes the room for results that the memory holds beside what the policy can fill, within context tokens:
// half of what is left where training computes one row at once and, if that is open, layers again. The other half lets
// it compute more. of are the settings with so many tokens in a slot; the spec is of the type that weights have on the
// device.
func FindRoom(
	s model.Spec, e Episode, of func(private int) Settings, open Open, context int, limit Limit,
) (Room, error) {
	least, most := e.Rooms(context)
	if limit.Bytes == 0 || least == most {
		return Room{Tokens: most, Episode: e}, nil
	}
	peak := func(private int) (int64, error) {
		o := of(private)
		o.Train.MicroBatch = 1
		if open.Recompute {
			o.Train.Recompute = train.RecomputeLayer
		}
		p, err := Make(s, o)
		return p.Peak().Peak, err
	}
	low, err := peak(least)
	if err != nil {
		return Room{}, err
	}
	high, err := peak(most)
	if err != nil || high <= (low+limit.Bytes)/2 {
		return Room{Tokens: most, Episode: e}, err
	}
	more := float64(max(0, limit.Bytes-low)) / 2 / float64(high-low) * float64(most-least)
	return Room{Tokens: least + int(more)/64*64, Episode: e, ByMemory: true}, nil
}
