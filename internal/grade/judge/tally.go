package judge

import (
	"cmp"
	"math"
	"slices"

	"hone/internal/episode/trajectory"
)

// tally is what the samples say of one attempt.
type tally struct {
	opinions []Opinion
	places   []int
}

func (t *tally) add(o Opinion, place int) {
	t.opinions, t.places = append(t.opinions, o), append(t.places, place)
}

// term is their mean. The reason is that of the sample whose score is nearest to it. An attempt alone passes where more
// than half of the samples say so, in doubt it does not; with axes where the mean is at least the rubric's PassFrom.
func (t *tally) term(r *Rubric) trajectory.Term {
	judged := &trajectory.Judgement{Places: t.places}
	total, passed, asked := 0.0, 0, false
	for _, o := range t.opinions {
		total += o.Score
		judged.Samples = append(judged.Samples, o.Score)
		if o.Passed != nil {
			asked = true
			if *o.Passed {
				passed++
			}
		}
		for _, a := range r.Axes {
			if judged.Axes == nil {
				judged.Axes = map[string]float64{}
			}
			judged.Axes[a.Name] += o.Axes[a.Name] / float64(len(t.opinions))
		}
	}
	score := total / float64(len(t.opinions))
	nearest := slices.MinFunc(t.opinions, func(a, b Opinion) int {
		return cmp.Compare(math.Abs(a.Score-score), math.Abs(b.Score-score))
	})
	if asked {
		verdict := 2*passed > len(t.opinions)
		if len(r.Axes) > 0 {
			verdict = r.passes(score)
		}
		judged.Passed = &verdict
		for _, o := range t.opinions {
			if *o.Passed == verdict {
				nearest = o
				break
			}
		}
	}
	return trajectory.Term{Score: score, Why: nearest.Why, Judgement: judged}
}

// passes reports whether an attempt alone with this score passes: with axes from PassFrom on, else above a half.
func (r *Rubric) passes(score float64) bool {
	if len(r.Axes) > 0 {
		return score >= r.PassFrom
	}
	return score > 0.5
}

// mergeTies makes scores that differ by no more than a tolerance one, their mean. From the lowest up, each takes with
// it those that are no further above it than that, so no two scores further apart become one.
func mergeTies(scores []float64, tolerance float64) []float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	out := make([]float64, len(scores))
	const rounding = 1e-9 // of decimal numbers
	for from := 0; from < len(order); {
		to, total := from, 0.0
		for to < len(order) && scores[order[to]]-scores[order[from]] <= tolerance+rounding {
			total += scores[order[to]]
			to++
		}
		for _, i := range order[from:to] {
			out[i] = total / float64(to-from)
		}
		if scores[order[from]] == scores[order[to-1]] { // no rounding of what is equal
			for _, i := range order[from:to] {
				out[i] = scores[i]
			}
		}
		from = to
	}
	return out
}
