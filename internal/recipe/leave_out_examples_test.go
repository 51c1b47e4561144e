package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// A step of SFT whose gradient has no norm, of which no row is to blame, is skipped, and said; the third of 32 ends the
// run at its place, and the steps before are kept.
func TestAStepOverRowsWithoutANormIsSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		at      func(try int) bool
		skipped []int
		ends    int // at which step; -1: it does not
	}{
		"none":       {func(int) bool { return false }, nil, -1},
		"two":        {func(try int) bool { return try == 2 || try == 5 }, []int{2, 5}, -1},
		"each of it": {func(try int) bool { return try >= 1 }, []int{1, 2}, 3},
	} {
		s, log := supervised(), newLog(t)
		s.Held = nil
		trainer := &unstable{fakeTrainer: &fakeTrainer{}, at: c.at}
		err := s.Run(t.Context(), demonstrations(5), trainer, nil, log, silent)
		f, is := errors.AsType[*fault.Error](err)
		if is != (c.ends >= 0) || len(log.said) != len(c.skipped) ||
			is && (f.Where != fmt.Sprintf("sft step %d", c.ends) || log.latest["sft"] != c.ends) {
			t.Errorf("%s: %v, kept %d steps; said %q", name, err, log.latest["sft"], log.said)
		}
		for step := range len(trainer.Steps) + len(c.skipped) {
			m := log.Metric[fmt.Sprint("sft", step)]
			_, taken := m["loss"]
			if skipped := slices.Contains(c.skipped, step); (m[stepSkippedMetric] == 1) != skipped || taken == skipped {
				t.Errorf("%s: step %d: %v", name, step, m)
			}
		}
	}
}

// spoiling is a trainer to whom rows with some ids are no numbers.
type spoiling struct {
	*fakeTrainer
	policy, reference func(row batch.Sequence) bool
}

func (s spoiling) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	if slices.ContainsFunc(b.Rows, s.policy) {
		return batch.StepStats{}, fmt.Errorf("the loss is NaN: %w", batch.ErrNotFinite)
	}
	return s.fakeTrainer.Gradient(ctx, b, o)
}

func (s spoiling) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	scores, err := s.fakeTrainer.Score(ctx, b, temperature)
	return spoilt(b, scores, s.policy), err
}

func (s spoiling) ScoreReference(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	scores, err := s.fakeTrainer.ScoreReference(ctx, b, temperature)
	return spoilt(b, scores, s.reference), err
}

func spoilt(b batch.Batch, scores [][]float32, bad func(batch.Sequence) bool) [][]float32 {
	for i, r := range b.Rows {
		if bad(r) {
			scores[i] = batch.Even(len(r.IDs), math.NaN())
		}
	}
	return scores
}

// The only row of a step is left out, and the step is skipped; that it is met in each pass ends nothing.
func TestAStepOfSpoiltRowsAloneIsSkipped(t *testing.T) {
	s, log, rows := supervised(), newLog(t), demonstrations(5)
	s.Held, s.BatchSize = nil, 1
	bad := func(r batch.Sequence) bool { return r.Place == "rows.jsonl:3" }
	for i := range rows {
		rows[i].Place = fmt.Sprintf("rows.jsonl:%d", i+1)
	}
	trainer := spoiling{&fakeTrainer{}, bad, bad}
	if err := s.Run(t.Context(), rows, trainer, nil, log, silent); err != nil || len(trainer.Steps) != 4*s.Epochs ||
		len(log.said) != 1 || !strings.Contains(log.said[0], "is skipped") ||
		!strings.Contains(log.said[0], "rows.jsonl:3") {
		t.Errorf("%v after %d optimiser steps; said %q", err, len(trainer.Steps), log.said)
	}
	for step := range 5 * s.Epochs {
		m := log.Metric[fmt.Sprint("sft", step)]
		if n := m[leftOutMetric]; n != m[stepSkippedMetric] || (n == 1) != (s.Pass(5, step/5)[step%5][0] == 2) {
			t.Errorf("step %d: %v", step, m)
		}
	}
}

// oneByOne is a spoiling trainer that tells of one row at a time.
type oneByOne struct{ spoiling }

func (o oneByOne) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	scores, err := o.fakeTrainer.Score(ctx, b, temperature)
	first := slices.IndexFunc(b.Rows, o.policy)
	return spoilt(b, scores, func(r batch.Sequence) bool { return first >= 0 && r.Place == b.Rows[first].Place }), err
}

// What a step leaves out is counted over all of its tries.
func TestAStepLeavesOutNoMoreByAndBy(t *testing.T) {
	s, log, rows := supervised(), newLog(t), demonstrations(5)
	s.Held, s.BatchSize = nil, 5
	for i := range rows {
		rows[i].Place = fmt.Sprintf("rows.jsonl:%d", i+1)
	}
	bad := func(r batch.Sequence) bool { return r.Place == "rows.jsonl:2" || r.Place == "rows.jsonl:4" }
	err := s.Run(t.Context(), rows, oneByOne{spoiling{&fakeTrainer{}, bad, bad}}, nil, log, silent)
	if err == nil || !strings.Contains(err.Error(), "2 of 5 rows") {
		t.Errorf("error %v; said %q", err, log.said)
	}
}

// Each number of a pair counts.
func TestUnnumberedPairs(t *testing.T) {
	for i := range 5 {
		var p batch.Pair
		if i < 4 {
			numbers := []*float64{&p.Chosen.Policy, &p.Chosen.Reference, &p.Rejected.Policy, &p.Rejected.Reference}
			*numbers[i] = math.Inf(i%2*2 - 1)
		}
		if unnumbered(p) != (i < 4) {
			t.Errorf("%+v", p)
		}
	}
}

// A pair of which the reference has no number is left out of each step, whatever the loss makes of it, and of what is
// measured.
func TestAPairWithoutAReferenceIsLeftOut(t *testing.T) {
	for _, loss := range []batch.PreferenceLoss{batch.PreferenceSigmoid, batch.PreferenceSigmoidNorm} {
		d := DPO{SFT: supervised(), Preference: batch.Preference{Loss: loss, Beta: 0.5}, Held: preferred(3, 1000)}
		d.SFT.Stage, d.SFT.Held = "dpo", nil
		log, none := newLog(t), func(batch.Sequence) bool { return false }
		bad := func(r batch.Sequence) bool { return r.IDs[0] == 2 || r.IDs[0] == 3000 }
		trainer := spoiling{&fakeTrainer{}, none, bad}
		if err := d.Run(t.Context(), preferred(5, 1), trainer, nil, log, silent); err != nil {
			t.Fatal(err)
		}
		left := 0.0
		for step := range 18 {
			m := log.Metric[fmt.Sprint("dpo", step)]
			if left += m[leftOutMetric]; !isNumber(m["loss"]) || !isNumber(m["rewards/margins"]) {
				t.Errorf("step %d: %v", step, m)
			}
		}
		for _, step := range []int{3, 6, 18} {
			m, ok, _ := log.StepMetrics(ValidationStage, step)
			if !ok || m[heldOutMetric] != 1 || !isNumber(m["eval_loss"]) || !isNumber(m["eval_rewards/margins"]) {
				t.Errorf("after step %d: %v", step, m)
			}
		}
		if left != float64(d.SFT.Epochs) || !strings.Contains(log.said[0], "(pair 2)") {
			t.Errorf("left out %v times; said %q", left, log.said)
		}
	}
}
