package judge

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

// wavering says 0.55 and 0.65 of each attempt alone, in two samples.
type wavering struct{ now, most atomic.Int32 }

func (w *wavering) Judge(
	_ context.Context, _ *scenario.Scenario, ts []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	n := w.now.Add(1)
	defer w.now.Add(-1)
	for most := w.most.Load(); n > most && !w.most.CompareAndSwap(most, n); most = w.most.Load() {
	}
	terms := make([]trajectory.Term, len(ts))
	for i := range terms {
		passed := false
		terms[i] = trajectory.Term{Score: 0.6, Judgement: &trajectory.Judgement{Model: "w",
			Samples: []float64{0.55, 0.65}, Places: []int{0, 1}, Passed: &passed}}
	}
	return terms, nil
}

func (w *wavering) Verdict(
	ctx context.Context, s *scenario.Scenario, ts []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	return w.Judge(ctx, s, ts)
}

// Two samples say the same of an attempt where both are at least what the rubric passes from: with axes that is not a
// half. And no more groups are asked about at once than the judge answers.
func TestSamplesPassFromWhatTheRubricSays(t *testing.T) {
	groups, err := BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[float64]float64{0: 1, 0.6: 0, 0.7: 1} {
		w := &wavering{}
		report, err := Calibration{Samples: 2, PassFrom: from, AtOnce: 2, Intervals: stats.Bootstrap{Level: 0.95,
			Seed: 1}}.Run(t.Context(), w, w, groups, func(error) bool { return false })
		if err != nil || w.most.Load() > 2 {
			t.Fatalf("%v: %d at once", err, w.most.Load())
		}
		seen := false
		for _, m := range report.Measures {
			if strings.HasPrefix(m.Name, "agreement with itself: verdicts") {
				if seen = true; m.Value.Mean != want {
					t.Errorf("from %v: %v agree, want %v", from, m.Value.Mean, want)
				}
			}
		}
		if !seen {
			t.Error("nothing says so")
		}
	}
}
