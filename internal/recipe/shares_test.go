package recipe

import (
	"math"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Of the sizes of weight times advantage, 12 in all, each source has its part: tokens that are not trained have none,
// and what a teacher made of an advantage is its, whichever way it pulls.
func TestSharesOfAGradient(t *testing.T) {
	tokens := func(advantages ...float32) batch.Sequence {
		row := batch.Sequence{IDs: make([]int32, len(advantages)), Trained: make([]bool, len(advantages)),
			Advantages: advantages}
		for i := range row.Trained {
			row.Trained[i] = i > 0
		}
		return row
	}
	number := func(row batch.Sequence, episode int) batch.Sequence { row.Episode = episode; return row }
	taught := tokens(9, -1, 2)
	taught.Columns = map[batch.Column][]float32{batch.ColumnTaught: {9, 1, 2}} // so the reward made -2 and 0
	weighed := number(tokens(9, 0.5), 3)
	weighed.Weights = []float32{1, 2}
	step := &Step{Sampling: Sampling{Groups: []trajectory.Group{{Trajectories: make([]*trajectory.Trajectory, 2)}}},
		More: []batch.Earlier{{Source: fromImitation}, {Source: fromDemonstrations}},
		Rows: batch.Batch{Rows: []batch.Sequence{number(taught, 0), number(tokens(9, 0, -3), 1),
			number(tokens(9, 3), 2), weighed}}}
	want := map[string]float64{fromEpisodes: 5. / 12, fromTeacher: 3. / 12, fromImitation: 3. / 12,
		fromDemonstrations: 1. / 12}
	got := step.shares()
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for source, share := range want {
		if math.Abs(got[shareMetric+source]-share) > 1e-12 {
			t.Errorf("%s has %g, want %g", source, got[shareMetric+source], share)
		}
	}
	step.Rows.Rows = []batch.Sequence{tokens(1, 0)}
	if got := step.shares(); len(got) != 0 {
		t.Errorf("a step that teaches nothing has %v", got)
	}
}

// A stage records the shares of its steps: they add up to one, and each source that it has is there.
func TestStagesRecordShares(t *testing.T) {
	trainer, log := &fakeTrainer{}, newLog(t)
	r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	g := demonstrating(false).with(&Imitation{Rows: 2, Weight: 1, Memory: 8})
	if err := g.Run(t.Context(), scenarios(2), r, scoreFunc(byRollout), trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	// Two groups with the advantages -0.7071 and 0.7071 of two tokens each; two demonstrations of two tokens with 0.5.
	m := log.Metric["grpo0"]
	a := 1 / (math.Sqrt2 * (1 + 1e-4*math.Sqrt2))
	if want := 2 / (8*a + 2); math.Abs(m[shareMetric+fromDemonstrations]-want) > 1e-6 ||
		math.Abs(m[shareMetric+fromEpisodes]-(1-want)) > 1e-6 {
		t.Errorf("step 0: %v, want %g", m, want)
	}
	if m := log.Metric["grpo1"]; m[shareMetric+fromImitation] <= 0 ||
		math.Abs(m[shareMetric+fromImitation]+m[shareMetric+fromDemonstrations]+m[shareMetric+fromEpisodes]-1) > 1e-9 {
		t.Errorf("step 1: %v", m)
	}
}
