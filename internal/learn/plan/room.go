package plan

import (
	"errors"
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

// Most episodes end within usualTurns, and a turn's results have usualResult tokens; completions have a quarter of
// their bound. Of 2,400 demonstrations on databases 25% take more turns than eight.
const (
	usualTurns  = 8
	usualResult = 256
)

// Own is the room without results: what the policy itself can fill, and its task.
func (e Episode) Own() int { return max(fewestTokens, e.Prompt+e.MaxTurns*e.MaxTokens) }

// Whole is the room with results. The last turn's are not read.
func (e Episode) Whole() int { return e.Own() + max(0, e.MaxTurns-1)*(e.MaxResult+e.Between) }

// Usual is the room that most episodes do with: where memory is short no slot has more, and none has less.
func (e Episode) Usual() int {
	return min(e.Own(), max(fewestTokens, e.Prompt+min(e.MaxTurns, usualTurns)*(e.MaxTokens/4+usualResult)))
}

// Rooms are the smallest and the largest size of a slot, as far as the limit (the context, or the positions of the
// model) goes: what most episodes do with, and all there can be.
func (e Episode) Rooms(limit int) (least, most int) {
	return min(e.Usual(), limit), min(e.Whole(), limit)
}

// Results is how many tokens of results a slot holds beside what the policy can fill.
func (e Episode) Results(room int) int { return max(0, room-e.Own()) }

// Room is what a slot holds of an episode, in tokens after the prefix, and how many slots there are.
type Room struct {
	Tokens   int
	Slots    int
	Wanted   int  // slots, if there were memory for them
	Apart    bool // the sampler has no copy of joined weights, for which there is no memory
	Episode  Episode
	ByMemory bool // else the context, or the model's positions, bound it
	Trains   bool // on its episodes, else they are only played
}

// String says it, and where results may overflow when, and what to do.
func (r Room) String() string {
	e := r.Episode
	text := fmt.Sprintf("an episode has room for %s behind the shared prefix", fault.Count(r.Tokens, "token"))
	if r.Slots < r.Wanted {
		text = fmt.Sprintf("%s at once, not %d: the memory has room for no more (engine.slots)\n",
			fault.Count(r.Slots, "episode"), r.Wanted) + text
	}
	if r.Apart {
		text = "the sampler reads the weights as the trainer does, without a copy of its own: slower, and all there " +
			"is memory for (engine.join_weights)\n" + text
	}
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

// fewestSlots are worth more than weights that are joined for the sampler.
const fewestSlots = 8

// FindRoom takes slots and the room in each, within context tokens, that the memory holds. of are the settings with so
// many tokens in a slot, and as many slots as are wanted; the spec is of the type that weights have on the device.
//
// First come the slots, each with the room that most episodes do with, where training computes one row at once and, if
// that is open, layers again: as many as are wanted, or as there is memory for; the sampler's joined weights go where
// else there would be fewer than eight. Then comes the room: what is left where layers are kept, if they can be; else
// half of what is left where they are not. The other half lets training compute more at once.
func FindRoom(
	s model.Spec, e Episode, of func(private int) Settings, open Open, context int, limit Limit,
) (Room, error) {
	least, most := e.Rooms(context)
	r := Room{Tokens: most, Episode: e}
	if of != nil {
		r.Slots, r.Apart = of(most).Slots, of(most).Apart
	}
	r.Wanted = r.Slots
	if limit.Bytes == 0 || least == most && !open.Slots && !open.Join {
		return r, nil
	}
	plan := func(private int, again train.Recompute) (Plan, error) {
		o := of(private)
		o.Slots, o.Apart, o.Seats, o.Train.MicroBatch = r.Slots, r.Apart, 1, 1
		if open.Recompute {
			o.Train.Recompute = again
		}
		return Make(s, o)
	}
	low, err := plan(least, train.RecomputeLayer)
	if err == nil && low.Peak().Peak > limit.Bytes && (open.Slots || open.Join) {
		joined := of(least).GPU && low.held(HeldBySampler) > 0 && !r.Apart
		low, err = r.shrink(open, joined, limit.Bytes,
			func() (Plan, error) { return plan(least, train.RecomputeLayer) })
	}
	if err != nil || least == most {
		return r, err
	}
	if kept := of(least); open.Recompute && kept.Row > 0 && !kept.ShardWeights {
		if low, err := plan(least, train.RecomputeNone); err != nil || low.Peak().Peak <= limit.Bytes {
			high, highErr := plan(most, train.RecomputeNone)
			return r.between(least, most, low, high, limit.Bytes, 0.9), errors.Join(err, highErr)
		}
	}
	high, err := plan(most, train.RecomputeLayer)
	return r.between(least, most, low, high, limit.Bytes, 0.5), err
}

// between gives a slot the room between the least and the most that takes a share of what the limit leaves.
func (r Room) between(least, most int, low, high Plan, limit int64, share float64) Room {
	a, b := low.Peak().Peak, high.Peak().Peak
	if room := share * float64(limit-a); float64(b-a) > room {
		more := max(0, room) / float64(b-a) * float64(most-least)
		r.Tokens, r.ByMemory = least+int(more)/64*64, true
	}
	return r
}

// shrink takes fewer slots, and no joined weights where there would be too few, until the limit holds the plan that
// again makes, which it does not hold as it is. It returns the last plan.
func (r *Room) shrink(open Open, joined bool, limit int64, again func() (Plan, error)) (last Plan, err error) {
	few := min(fewestSlots, r.Wanted)
	if !open.Slots {
		r.Apart = r.Apart || joined && open.Join
		return again()
	}
	for {
		r.Slots = r.Wanted
		most, err := again()
		if err != nil || most.Peak().Peak <= limit {
			return most, err
		}
		r.Slots = 1
		one, err := again()
		if err != nil {
			return one, err
		}
		// the peak is the largest of what grows with slots in a straight line, so a line through two is above it
		each := max(1, float64(most.Peak().Peak-one.Peak().Peak)/float64(max(1, r.Wanted-1)))
		n := 1 + int(max(0, float64(limit-one.Peak().Peak))/each)
		if n < few && joined && open.Join && !r.Apart {
			r.Apart = true
			continue
		}
		if n > fewestSlots {
			n = n / fewestSlots * fewestSlots // whole groups of prompts that are fed together
		}
		if r.Slots = max(1, min(n, r.Wanted)); r.Slots == 1 {
			return one, nil
		}
		return again()
	}
}
