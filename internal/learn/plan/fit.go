package plan

import "hone/internal/learn/model"

// Tolerance is how far a plan may be from what a compiled program holds, either way: the tests compare.
const Tolerance = 0.25

// Propose returns settings that a limit of so many bytes holds: with fewer rows computed at once where training needs most,
// with fewer completions sampled at once where sampling does. It returns false where the smallest are too large. The
// trainer's micro-batch must be set.
func Propose(s model.Spec, o Settings, limit int64) (Settings, Plan, bool, error) {
	for {
		p, err := Make(s, o)
		if err != nil || p.Peak().Peak <= limit {
			return o, p, err == nil, err
		}
		switch training := p.Peak().Training; {
		case training && o.Train.MicroBatch > 1:
			o.Train.MicroBatch /= 2
		case o.Slots > 1:
			o.Slots /= 2
		case o.Train.MicroBatch > 1 && o.Row > 0:
			o.Train.MicroBatch /= 2
		default:
			return o, p, false, nil
		}
	}
}
