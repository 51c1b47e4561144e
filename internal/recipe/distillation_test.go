package recipe

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// hinting scores a row by what it is shown: of a hinted one the teacher's logprobs, in the order of its trained tokens.
type hinting struct {
	*watched
	teacher map[int32][]float32 // by the last id of the row
	read    []batch.Sequence    // whole
}

func (h *hinting) Score(_ context.Context, b batch.Batch, _ float64) (all [][]float32, err error) {
	for _, row := range b.Rows {
		h.read = append(h.read, batch.Sequence{IDs: slices.Concat(b.Prefix, row.IDs)})
		scores, opinions := make([]float32, len(row.IDs)), h.teacher[row.IDs[len(row.IDs)-1]]
		for i, trained := range row.Trained {
			if trained {
				scores[i], opinions = opinions[0], opinions[1:]
			}
		}
		all = append(all, scores)
	}
	return all, nil
}

// A token's advantage has c (log p_teacher - log p_sampler) more, with the gap cut to five nats. The teacher reads the
// same tokens behind the hinted prompt; an episode without a hint has none.
func TestTeacherAddsToAdvantages(t *testing.T) {
	episode := func(id string, last int32) *trajectory.Trajectory {
		return &trajectory.Trajectory{ScenarioID: id, Outcome: trajectory.OK, Turns: []trajectory.Turn{
			{BridgeIDs: []int32{1, 2}, CompletionIDs: []int32{11, 12}, SamplerLogprobs: []float32{-1, -2}},
			{BridgeIDs: []int32{3}, CompletionIDs: []int32{last}, SamplerLogprobs: []float32{-0.5}},
		}}
	}
	trainer := &hinting{watched: &watched{fakeTrainer: &fakeTrainer{}},
		teacher: map[int32][]float32{21: {-0.5, -9, -0.25}, 22: {-1, -2, -0.5}}}
	d := &Distillation{Weight: 0.4, Until: 0.5,
		Hint: func(s *scenario.Scenario, _ *trajectory.Trajectory) ([]int32, error) {
			if s.ID == "b" {
				return nil, nil
			}
			return []int32{1, 7, 7, 2}, nil
		}}
	g := grpo()
	g.Steps, g.Loss.Name = 8, batch.LossDAPO
	s := begun(t, g.with(d), scenarios(2))
	s.trainer = trainer
	groups := []trajectory.Group{
		{ScenarioID: "a", Trajectories: []*trajectory.Trajectory{episode("a", 21), episode("a", 22)}},
		{ScenarioID: "b", Trajectories: []*trajectory.Trajectory{episode("b", 23), episode("b", 24)}},
	}
	step := func(number int) *Step {
		x := &Step{Number: number, Sampling: Sampling{Groups: groups, Sampled: groups}, Metrics: map[string]float64{}}
		if err := s.add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		x.Rows = s.rows(x)
		if err := d.Compare(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	// At step 1 of 8, with until half of them, c = 0.4 (1 - 1/4) = 0.3. Groups without spread have an advantage of 0.
	x := step(1)
	if len(x.Rows.Rows) != 4 || math.Abs(x.Metrics["distillation/weight"]-0.3) > 1e-12 {
		t.Fatalf("%d rows, %v", len(x.Rows.Rows), x.Metrics)
	}
	for i, want := range [][]float64{{0.3 * 0.5, 0.3 * -5, 0.3 * 0.25}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}} {
		row, n := x.Rows.Rows[i], 0
		for j, trained := range row.Trained {
			if !trained {
				if row.Advantages[j] != 0 {
					t.Errorf("row %d: token %d is not trained and has %g", i, j, row.Advantages[j])
				}
				continue
			}
			if math.Abs(float64(row.Advantages[j])-want[n]) > 1e-6 {
				t.Errorf("row %d, token %d: %g, want %g", i, n, row.Advantages[j], want[n])
			}
			n++
		}
	}
	if len(trainer.read) != 2 || !slices.Equal(trainer.read[0].IDs, []int32{1, 7, 7, 2, 11, 12, 3, 21}) {
		t.Errorf("the teacher reads %v", trainer.read)
	}
	// gaps of 0.5, -7 and 0.25, and three of 0
	if gap := x.Metrics["distillation/gap"]; math.Abs(gap+6.25/6) > 1e-6 || x.Metrics["distillation/rows"] != 2 {
		t.Errorf("%v", x.Metrics)
	}
	if share := x.shares()[shareMetric+fromTeacher]; share != 1 {
		t.Errorf("its share is %g where no reward differs", share)
	}
	// From half of the steps on there is no teacher, and groups without spread teach nothing.
	trainer.read = nil
	if x := step(4); len(x.Rows.Rows) != 0 || len(trainer.read) != 0 || x.Metrics["distillation/weight"] != 0 {
		t.Errorf("step 4: %d rows, read %v, %v", len(x.Rows.Rows), trainer.read, x.Metrics)
	}
}

// Rows that do not fit with the gold calls have no teacher: they are counted, and told of once. A row that just fits
// has one.
func TestTeacherReadsNoRowThatIsTooLong(t *testing.T) {
	episode := func(more ...int32) *trajectory.Trajectory {
		return &trajectory.Trajectory{ScenarioID: "a", Outcome: trajectory.OK, Turns: []trajectory.Turn{{
			BridgeIDs: []int32{1, 2}, CompletionIDs: append(more, 21), SamplerLogprobs: make([]float32, len(more)+1)}}}
	}
	groups := []trajectory.Group{{ScenarioID: "a", Trajectories: []*trajectory.Trajectory{
		episode(11), episode(11, 12), episode(11, 12, 13), episode(11, 12, 13)}}}
	for room, want := range map[int][2]float64{0: {4, 0}, 5: {0, 4}, 6: {1, 3}, 7: {2, 2}, 8: {4, 0}} {
		trainer := &hinting{watched: &watched{fakeTrainer: &fakeTrainer{}},
			teacher: map[int32][]float32{21: make([]float32, 4)}}
		d := &Distillation{Weight: 1, Until: 1, Room: room,
			Hint: func(*scenario.Scenario, *trajectory.Trajectory) ([]int32, error) { return []int32{1, 7, 7, 2}, nil }}
		s := begun(t, grpo().with(d), scenarios(1))
		s.trainer, s.log = trainer, &memoryLog{}
		for number := range 2 {
			x := &Step{Number: number, Metrics: map[string]float64{}}
			x.Groups, x.Sampled = groups, groups
			if err := s.add(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			x.Rows = s.rows(x)
			if err := d.Compare(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			if got := [2]float64{x.Metrics["distillation/rows"], x.Metrics["distillation/left_out"]}; got != want {
				t.Errorf("room for %d, step %d: %v rows and left out, want %v", room, number, got, want)
			}
		}
		for _, row := range trainer.read {
			if room > 0 && len(row.IDs) > room {
				t.Errorf("room for %d: the teacher reads %d tokens", room, len(row.IDs))
			}
		}
		notices := 0
		for _, n := range s.log.(*memoryLog).said {
			if strings.Contains(n, "distillation/left_out") {
				notices++
			}
		}
		if notices > 1 || notices == 1 != (want[1] > 0) {
			t.Errorf("room for %d: told %d times", room, notices)
		}
	}
}

// What rewards made of an advantage stays under what the teacher adds, and a row that begins otherwise has no teacher.
func TestTeacherLeavesRewards(t *testing.T) {
	row := batch.Sequence{IDs: []int32{5, 6, 7}, Trained: []bool{false, true, true}, Advantages: []float32{2, 2, 2},
		SamplerLogprobs: []float32{0, -1, -3}, Columns: map[batch.Column][]float32{"other": {1, 2, 3}}}
	read := batch.Sequence{IDs: []int32{9, 9, 6, 7}, Trained: []bool{false, false, true, true}}
	given := row.Advantages
	sum, n := teach(&row, read, []float32{0, 0, -2, -1}, 0.5)
	if sum != -1+2 || n != 2 || !slices.Equal(row.Advantages, []float32{2, 1.5, 3}) ||
		!slices.Equal(row.Columns[batch.ColumnTaught], []float32{0, -0.5, 1}) || len(row.Columns["other"]) != 3 ||
		!slices.Equal(given, []float32{2, 2, 2}) {
		t.Errorf("%g of %d tokens, %v, given %v", sum, n, row, given)
	}
	d := &Distillation{Weight: 1, Until: 1, Hint: func(*scenario.Scenario, *trajectory.Trajectory) ([]int32, error) {
		return []int32{1}, nil
	}}
	s := begun(t, grpo().with(d), scenarios(1))
	s.trainer = &hinting{watched: &watched{fakeTrainer: &fakeTrainer{}}}
	e := &trajectory.Trajectory{ScenarioID: "a", Turns: []trajectory.Turn{{BridgeIDs: []int32{4}}}}
	step := &Step{Metrics: map[string]float64{}, Rows: batch.Batch{Rows: []batch.Sequence{row}}}
	step.Groups = []trajectory.Group{{ScenarioID: "a", Trajectories: []*trajectory.Trajectory{e}}}
	if err := d.Compare(t.Context(), step); err != nil || step.Metrics["distillation/rows"] != 0 {
		t.Errorf("%v, %v", err, step.Metrics)
	}
	d.Hint = func(*scenario.Scenario, *trajectory.Trajectory) ([]int32, error) {
		return nil, errors.New("unreadable")
	}
	if err := d.Compare(t.Context(), step); err == nil {
		t.Error("a prompt that cannot be written stops nothing")
	}
	d.Hint = nil
	if err := d.Begin(s); err == nil {
		t.Error("a teacher begins that is shown nothing")
	}
}
