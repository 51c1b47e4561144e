package plan

import (
	"hone/internal/learn/model"
	"hone/internal/learn/train"
)

// Tolerance is how far a plan may be from what a compiled program holds, either way: the tests compare.
const Tolerance = 0.25

// fewTokens is how many tokens a micro-batch keeps before layers are computed again instead: on fewer its products are
// too small for a GPU to be busy. A CPU is with less.
const fewTokens, fewTokensGPU = 512, 8192

// Propose returns settings that a limit of so many bytes holds. Where training needs most: with fewer rows computed at
// once, which costs nothing while they have many tokens, then with layers computed again, which costs a third, then
// with fewer rows still; where sampling does, with fewer completions sampled at once. Where all that is too large for
// several devices, weights are sharded over them, which each layer then waits for, and the rest begins anew. It returns
// false where the smallest are too large. The trainer's micro-batch must be set.
func Propose(s model.Spec, o Settings, limit int64) (Settings, Plan, bool, error) {
	given, slots := o.Train, o.Slots
	fewer := func(n int) { o.Train.MicroBatch, o.Train.MicroTokens = max(1, n), 0 }
	for {
		p, err := Make(s, o)
		if err != nil || p.Peak().Peak <= limit {
			return o, p, err == nil, err
		}
		few := fewTokens
		if o.GPU {
			few = fewTokensGPU
		}
		at := o.Train.RowsAtOnce(o.Row)
		switch training := p.Peak().Training; {
		case training && at > 1 && at/2*o.Row >= few:
			fewer(at / 2)
		case training && o.Train.Recompute != train.RecomputeLayer:
			o.Train.Recompute = train.RecomputeLayer
		case training && o.Train.MicroBatch > 1:
			fewer(at / 2)
		case o.Slots > 1:
			o.Slots /= 2
		case o.Train.MicroBatch > 1 && o.Row > 0:
			fewer(at / 2)
		case o.Devices > 1 && !o.ShardWeights:
			o.ShardWeights, o.Slots, o.Train = true, slots, given
			o.Train.Recompute = train.RecomputeLayer
		default:
			return o, p, false, nil
		}
	}
}
