package recipe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// Distillation is on-policy self-distillation (OPSD, arXiv 2601.18734): the policy, shown the gold calls of a scenario
// in its prompt, is the teacher of itself without them, on the episodes that it sampled. Each sampled token's advantage
// has the teacher's opinion added (as SDPO blends them, arXiv 2601.20802):
//
//	A_t + c_k d_t    d_t = log p_teacher(t) - log p_sampler(t), cut to [-5, 5]
//	c_k = weight (1 - k / K)    at step k, and 0 from step K = until x steps on
//
// d_t is, with its sign turned, one sample of the reverse divergence from the teacher, so its part of the gradient is
// that of this divergence. The teacher is the policy as it is before the step, at the rollouts' temperature, and is not
// differentiated. It reads the same tokens behind another opening, so it speaks of what was sampled, also where the
// episode has gone astray (which is why its weight falls to 0: SOD, arXiv 2605.07725). Groups in which all failed teach
// something by it. Scenarios without gold calls, and rows that do not begin as their episode did, have no teacher. Nor
// have rows that are longer with the gold calls than an episode has room for.
type Distillation struct {
	None
	Weight float64
	Until  float64 // share of the stage's steps at which the weight has come to 0
	// Hint is the prompt of an episode's first turn with the gold calls of its scenario shown, in tokens; nil where
	// there are none.
	Hint func(s *scenario.Scenario, t *trajectory.Trajectory) ([]int32, error)
	Room int // tokens of a row, for which memory is planned; 0: no bound is known

	stage *stage
	told  bool // that rows are too long
}

// mostTaught bounds how sure a teacher is, in nats: one token that it would never say is not to outweigh a step.
const mostTaught = 5

// Begin implements Addition.
func (d *Distillation) Begin(s *stage) error {
	if d.stage = s; d.Hint == nil {
		return errors.New("a stage that is taught is not told what the teacher sees")
	}
	return nil
}

// weight is c of a step.
func (d *Distillation) weight(step int) float64 {
	return d.Weight * max(0, 1-float64(step)/(d.Until*float64(d.stage.Steps)))
}

// AddRows implements Addition. Tokens of groups without spread have a gradient too.
func (d *Distillation) AddRows(_ context.Context, s *Step) error {
	s.Alike = s.Alike || d.weight(s.Number) > 0
	return nil
}

// Compare implements Addition.
func (d *Distillation) Compare(ctx context.Context, s *Step) error {
	c := d.weight(s.Number)
	s.Metrics["distillation/weight"] = c
	if c == 0 {
		return nil
	}
	hinted, at, long, err := d.lessons(s)
	if err != nil {
		return err
	}
	d.leaveOut(s, long)
	if len(hinted) == 0 {
		return nil
	}
	b := batch.New(hinted)
	scores, err := d.stage.trainer.Score(ctx, b, d.stage.Temperature)
	if err != nil {
		return err
	}
	rows, gap, tokens := slices.Clone(s.Rows.Rows), 0.0, 0
	for k, number := range at {
		sum, n := teach(&rows[number], b.Rows[k], scores[k], c)
		gap, tokens = gap+sum, tokens+n
	}
	s.Rows.Rows = rows
	s.Metrics["distillation/rows"], s.Metrics["distillation/gap"] = float64(len(at)), gap/float64(max(1, tokens))
	return nil
}

// leaveOut counts the rows of a step that are too long for the teacher, and tells of the first step that has some.
func (d *Distillation) leaveOut(s *Step, long int) {
	s.Metrics["distillation/left_out"] = float64(long)
	if long == 0 || d.told {
		return
	}
	d.told = true
	d.stage.log.Notice(fmt.Sprintf("step %d has no teacher for %s, too long with the gold calls for the %d tokens "+
		"that an episode has room for (model.context); they are learnt from by their rewards alone, and counted as "+
		"distillation/left_out", s.Number, fault.Count(long, "row"), d.Room))
}

// lessons are the step's rows as the teacher reads them, which of the step's rows each is, and how many are too long.
func (d *Distillation) lessons(s *Step) (hinted []batch.Sequence, at []int, long int, err error) {
	var episodes []*trajectory.Trajectory
	for _, g := range s.Groups {
		episodes = append(episodes, g.Trajectories...)
	}
	byID := scenario.ByID(d.stage.scenarios)
	for i, row := range s.Rows.Rows {
		if row.Episode >= len(episodes) { // not sampled in this step
			continue
		}
		t := episodes[row.Episode]
		hint, err := d.Hint(byID[t.ScenarioID], t)
		if err != nil {
			return nil, nil, 0, err
		}
		ids, opening := slices.Concat(s.Rows.Prefix, row.IDs), t.Turns[0].BridgeIDs
		if hint == nil || len(ids) < len(opening) || !slices.Equal(ids[:len(opening)], opening) {
			continue
		}
		if d.Room > 0 && len(hint)+len(ids)-len(opening) > d.Room {
			long++
			continue
		}
		behind := slices.Concat(make([]bool, len(s.Rows.Prefix)), row.Trained)[len(opening):]
		hinted = append(hinted, batch.Sequence{IDs: slices.Concat(hint, ids[len(opening):]),
			Trained: slices.Concat(make([]bool, len(hint)), behind), Scored: true})
		at = append(at, i)
	}
	return hinted, at, long, nil
}

// teach adds what the teacher thinks of a row to its advantages, c times. The row as the teacher read it has as many
// trained tokens, and scores at them. The sum of the gaps is of so many tokens.
func teach(row *batch.Sequence, read batch.Sequence, scores []float32, c float64) (sum float64, n int) {
	var opinions []float32
	for i, trained := range read.Trained {
		if trained {
			opinions = append(opinions, scores[i])
		}
	}
	taught := make([]float32, len(row.IDs))
	advantages := slices.Clone(row.Advantages)
	for i, trained := range row.Trained {
		if !trained {
			continue
		}
		gap := float64(opinions[n]) - float64(row.SamplerLogprobs[i])
		sum, n = sum+gap, n+1
		taught[i] = float32(c * min(max(gap, -mostTaught), mostTaught))
		advantages[i] += taught[i]
	}
	row.Advantages = advantages
	columns := map[batch.Column][]float32{batch.ColumnTaught: taught}
	for name, column := range row.Columns {
		columns[name] = column
	}
	row.Columns = columns
	return sum, n
}
