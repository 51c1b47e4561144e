package recipe

import (
	"math"

	"hone/internal/learn/batch"
)

// Of whom a step learns, as its metrics call them.
const (
	fromEpisodes       = "episodes" // by what they earned
	fromImitation      = "imitation"
	fromDemonstrations = "demonstrations"
	fromTeacher        = "distillation" // on the step's episodes too
)

const shareMetric = "gradient_share/"

// shares are how much each source makes of a step's gradient. A token's gradient is that of its logprob, times the
// derivative of the step's loss by it. As long as the policy has not moved, this is -w A / Z. Here w is the token's
// weight, A its advantage and Z the normaliser. A source's share is that of the sizes:
//
//	share = sum of |w A| over the source's tokens / sum of |w A| over all tokens of the step
//
// Where a teacher made a part of an advantage, that part is its. It says who pulls, and not whether they pull one way:
// gradients of two sources may cancel. A divergence and a bonus for entropy have none. A step from which nothing is
// learnt has no shares.
func (s *Step) shares() map[string]float64 {
	own := 0
	for _, g := range s.Groups {
		own += len(g.Trajectories)
	}
	sums, all := map[string]float64{}, 0.0
	for _, row := range s.Rows.Rows {
		source := fromEpisodes
		if row.Episode >= own {
			source = s.More[row.Episode-own].Source
		}
		taught := row.Columns[batch.ColumnTaught]
		for i, trained := range row.Trained {
			if !trained || row.Advantages == nil || row.Advantages[i] == 0 {
				continue
			}
			w, a := 1.0, float64(row.Advantages[i])
			if row.Weights != nil {
				w = float64(row.Weights[i])
			}
			if taught != nil {
				part := float64(taught[i])
				sums[fromTeacher] += math.Abs(w * part)
				all += math.Abs(w * part)
				a -= part
			}
			sums[source] += math.Abs(w * a)
			all += math.Abs(w * a)
		}
	}
	m := map[string]float64{}
	for source, sum := range sums {
		if all > 0 {
			m[shareMetric+source] = sum / all
		}
	}
	return m
}
