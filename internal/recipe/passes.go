package recipe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// learner is what passes over examples differ in.
type learner struct {
	trainer Trainer
	// begin prepares steps, of a stage that begins afresh or of one that goes on; nil: there is nothing to prepare.
	begin    func(ctx context.Context, fresh bool) error
	gradient gradient
	// prepare is given the examples of the steps of a pass before the first is taken; nil: nobody is.
	prepare func(steps [][]int)
	// broken are those of the picked examples that have a logprob which is no number.
	broken func(ctx context.Context, picked []int) ([]int, error)
	one    string                   // what an example is called
	place  func(example int) string // of an example in its file; "" where none is known
	// measure tells how good the policy is on what is held out, its loss as eval_loss; nil: nothing is.
	measure func(ctx context.Context) (map[string]float64, error)
}

// gradient computes that of a step's picked examples, and what there is to tell of them, whose names come before those
// of the step. Where an example has a number that is not finite, its error says so.
type gradient func(ctx context.Context, step int, picked []int) (batch.StepStats, map[string]float64, error)

// NumSteps is the number of optimiser steps over n examples.
func (s SFT) NumSteps(n int) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * s.perEpoch(n)
}

func (s SFT) perEpoch(n int) int { return (n + s.BatchSize - 1) / s.BatchSize }

// run takes the steps of a stage over n examples. It ends early where its patience does; the learning rate falls as if
// it did not.
func (s SFT) run(ctx context.Context, n int, l learner, publisher Publisher, log Log, progress Progress) error {
	if n == 0 || s.BatchSize < 1 || s.NumSteps(n) < 1 {
		return &fault.Error{Code: fault.CodeUsage, What: "there is nothing to train on", Where: s.Stage,
			Why: fmt.Sprintf("%s in batches of %d, for %d epochs or %s",
				fault.Count(n, "row"), s.BatchSize, s.Epochs, fault.Count(s.Steps, "step")),
			Next: "give at least one row, and one step"}
	}
	start, err := resume(s.Stage, l.trainer, l.trainer, log)
	if err == nil && l.begin != nil {
		err = l.begin(ctx, start == 0)
	}
	if err != nil {
		return err
	}
	clock := clock{began: time.Now()}
	total, passes := s.NumSteps(n), passing{s: s, n: n}
	s.EvalEvery = cmp.Or(s.EvalEvery, s.perEpoch(n))
	for step := start; ; step++ {
		enough := false
		if l.measure != nil && s.measures(step, total) {
			if enough, err = s.look(ctx, step, step == start, l, log, progress); err != nil {
				return stopStage(err, s.Stage, step, l.trainer, log)
			}
			clock.restart(l.trainer)
		}
		if enough || step == total {
			return finish(s.Stage, publisher, log)
		}
		if step == start && l.prepare != nil {
			pass := s.Pass(n, step/s.perEpoch(n))[step%s.perEpoch(n):]
			l.prepare(pass[:min(len(pass), total-step)])
		}
		update := s.Optimizer.Update(step, total)
		stats, more, err := passes.take(ctx, step, l, update, log)
		if err != nil {
			return stopStage(err, s.Stage, step, l.trainer, log)
		}
		metrics := map[string]float64{"learning_rate": update.Rate, "step_tokens": float64(stats.NumTokens),
			"padding": padding(stats)}
		if stats.NumApart > 0 {
			metrics["step_tokens_apart"] = float64(stats.NumApart)
		}
		maps.Copy(metrics, more)
		clock.step(metrics, l.trainer)
		if err := log.Metrics(s.Stage, step, metrics); err != nil {
			return stopStage(err, s.Stage, step+1, l.trainer, log) // the step is taken, whatever is known of it
		}
		// the best is to be kept
		if checkpointDue(step, total, s.CheckpointEvery) || l.measure != nil && s.measures(step+1, total) {
			if err := log.Checkpoint(s.Stage, step+1, l.trainer.Save); err != nil {
				return err
			}
		}
		note := fmt.Sprintf("loss %.3f", metrics["loss"])
		if metrics[stepSkippedMetric] > 0 {
			note = "skipped"
		}
		progress(s.Stage, step+1, total, note)
	}
}

// Pass are the examples of each step of a pass over n of them: in random orders, each pass in one of its own.
func (s SFT) Pass(n, pass int) [][]int {
	order := permutation(n, s.Seed, pass)
	if s.Together != nil {
		var wholes [][]int // in the order of their first examples
		number := map[int]int{}
		for i, of := range s.Together {
			at, ok := number[of]
			if !ok {
				at = len(wholes)
				number[of], wholes = at, append(wholes, nil)
			}
			wholes[at] = append(wholes[at], i)
		}
		order = nil
		for _, whole := range permutation(len(wholes), s.Seed, pass) {
			order = append(order, wholes[whole]...)
		}
	}
	return slices.Collect(slices.Chunk(order, s.BatchSize))
}

// passing goes over n examples, pass after pass, each of which is made once.
type passing struct {
	s      SFT
	n      int
	number int     // of the pass, from 0
	pass   [][]int // by step; nil before the first

	leftOut   []int // examples that a step was learnt without
	omissions omissions
}

// pick are the examples of a step.
func (p *passing) pick(step int) []int {
	perEpoch := p.s.perEpoch(p.n)
	if number := step / perEpoch; p.pass == nil || number != p.number {
		p.number, p.pass = number, p.s.Pass(p.n, number)
	}
	return p.pass[step%perEpoch]
}

// measures reports whether the policy after so many steps, of total, is measured.
func (s SFT) measures(steps, total int) bool {
	return steps > 0 && (steps == total || steps%s.EvalEvery == 0)
}

// look measures the policy after so many steps, and reports whether there were enough without a better one. Where again
// is set, what the log has of it is taken; that of later steps may be another attempt's.
func (s SFT) look(
	ctx context.Context, steps int, again bool, l learner, log Log, progress Progress,
) (enough bool, err error) {
	m, ok, err := log.StepMetrics(ValidationStage, steps)
	if err != nil {
		return false, err
	}
	if !ok || !again {
		if m, err = l.measure(ctx); err == nil {
			err = log.Metrics(ValidationStage, steps, m)
		}
		if left := m[heldOutMetric]; left > 0 {
			log.Notice(fmt.Sprintf("the loss after step %d is measured without %s that are held out, whose logprobs "+
				"are no numbers", steps, fault.Count(int(left), l.one)))
		}
		if err != nil {
			return false, err
		}
	}
	progress(fmt.Sprintf("%s/%d", ValidationStage, steps), 1, 1, fmt.Sprintf("loss %.3f", m["eval_loss"]))
	if s.Patience == 0 {
		return false, nil
	}
	stale, err := s.stale(steps, log)
	return stale >= s.Patience, err
}

// stale counts the measurements up to a step since the best one.
func (s SFT) stale(steps int, log Log) (n int, err error) {
	var best map[string]float64
	for at := s.EvalEvery; at <= steps; at += s.EvalEvery {
		m, ok, err := log.StepMetrics(ValidationStage, at)
		if err != nil {
			return 0, err
		}
		if n++; ok && (best == nil || Better(m, best)) {
			best, n = m, 0
		}
	}
	return n, nil
}
