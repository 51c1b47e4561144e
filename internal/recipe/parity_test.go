package recipe

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// probing returns rows of a prompt of two ids each, and the trainer's logprobs of their completions: those of the
// sampler, and off of one.
type probing struct {
	*fakeTrainer
	off func(row, at int) float32
}

const probedTokens = 16

func (p probing) rows(context.Context) (rows []batch.Sequence, err error) {
	for i := range 4 {
		r := batch.Sequence{IDs: []int32{1, int32(i)}, Trained: []bool{false, false}, SamplerLogprobs: []float32{0, 0}}
		for j := range probedTokens {
			r.IDs, r.Trained, r.SamplerLogprobs =
				append(r.IDs, int32(100*i+j)), append(r.Trained, true), append(r.SamplerLogprobs, -1)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Score implements Trainer.
func (p probing) Score(_ context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	if temperature != 0.5 {
		return nil, errors.New("another temperature")
	}
	p.made++
	var out [][]float32
	for i, r := range b.Rows {
		scores, at := make([]float32, len(r.IDs)), 0
		for j, trained := range r.Trained {
			if trained {
				scores[j] = -1 + p.off(i, at)
				at++
			}
		}
		out = append(out, scores)
	}
	return out, nil
}

// What rounding does to a token or two passes; what is off in most tokens, or is no number in one, is refused, and the
// farthest token is named with its place and what both think of it.
func TestParity(t *testing.T) {
	const bound = 2e-3
	for name, c := range map[string]struct {
		off  func(row, at int) float32
		want string // "": it passes
	}{
		"the same":     {func(int, int) float32 { return 0 }, ""},
		"rounding":     {func(row, at int) float32 { return 0.09 * float32(row%2*2-1) }, ""},
		"a nat or two": {func(row, at int) float32 { return map[bool]float32{true: 0.97}[at == 3 && row < 2] }, ""},
		"most of them": {func(row, at int) float32 { return -0.2 - 0.001*float32(at) }, `token 15 of the completion of prompt 0, "id 15" (id 15): its logprob is -1.0000 to the sampler and -1.2150 to the trainer`},
		"one of eight": {func(row, at int) float32 { return map[bool]float32{true: 0.5}[at%8 == 3] }, `token 3 of the completion of prompt 0`},
		"one is no one": {func(row, at int) float32 {
			return map[bool]float32{true: float32(math.NaN())}[at == 5 && row == 2]
		}, `token 5 of the completion of prompt 2`},
		"one cannot be": {func(row, at int) float32 {
			return map[bool]float32{true: float32(math.Inf(-1))}[at == 5 && row == 3]
		}, `token 5 of the completion of prompt 3`},
	} {
		x := probing{&fakeTrainer{}, c.off}
		p := &Parity{Sample: x.rows, Text: func(id int32) string { return map[int32]string{15: "id 15"}[id] }}
		m, err := p.look(t.Context(), "grpo step 3", 0.5, bound, x)
		if c.want == "" {
			if err != nil || m["sampling/probe_kl"] > 0.1 {
				t.Errorf("%s: %v, %v", name, m, err)
			}
			continue
		}
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Where != "grpo step 3" || !strings.Contains(f.Why, c.want) ||
			!strings.Contains(f.Why, "the bound is 0.008") || f.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A policy is probed before step 0 and after each step, ahead of any episode of it; one that the sampler does not
// compute with stops the run, which has kept the steps before.
func TestEveryPolicyIsProbed(t *testing.T) {
	for _, wrong := range []int{0, 3, 7, 8} { // steps taken when it is; there are 7
		trainer, log := &fakeTrainer{}, newLog(t)
		var probed []int
		x := probing{trainer, func(int, int) float32 {
			if len(trainer.Steps) == wrong {
				return -0.5
			}
			return 0
		}}
		g := grpo()
		g.Temperature, g.MaxMismatch = 0.5, 1e-2
		g.Parity = &Parity{Sample: func(ctx context.Context) ([]batch.Sequence, error) {
			probed = append(probed, len(trainer.Steps))
			return x.rows(ctx)
		}}
		err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(byRollout), x, trainer, log, silent)
		last, episodes := probed[len(probed)-1], len(log.Kept)
		if (err != nil) != (wrong < 8) || episodes != 4*min(wrong, 7) || last != min(wrong, 7) ||
			len(probed) != last+1 || len(trainer.Steps) != last {
			t.Errorf("wrong after %d steps: probed after %v, %d episodes, %v", wrong, probed, episodes, err)
		}
	}
}

// Programs that only score are counted as compiling of the step behind the probe, though it trains on nothing.
func TestScoringCompilesToo(t *testing.T) {
	trainer, log := &fakeTrainer{}, newLog(t)
	x := probing{trainer, func(int, int) float32 { return 0 }}
	g := grpo()
	g.Temperature, g.Steps = 0.5, 1
	g.Parity = &Parity{Sample: x.rows}
	times := timesLog{log, map[string]float64{}}
	if err := g.Run(t.Context(), scenarios(1), &fakeRunner{trainer: trainer, outcome: trajectory.OK}, alike{"a": 1}, x,
		trainer, times, silent); err != nil {
		t.Fatal(err)
	}
	if m := times.of; len(trainer.Steps) != 0 || m["time/compile"] != 1 || m["time/programs"] != 1 {
		t.Errorf("%d optimiser steps, %g s of compiling, %g programs",
			len(trainer.Steps), m["time/compile"], m["time/programs"])
	}
}

// timesLog holds what the log leaves out: the clock's metrics of the last step.
type timesLog struct {
	*memoryLog
	of map[string]float64
}

func (l timesLog) Metrics(stage string, step int, m map[string]float64) error {
	maps.Copy(l.of, m)
	return l.memoryLog.Metrics(stage, step, m)
}

// One token of sixteen may be as far as it likes, if that is a number; one alone may not. The bound is four times a
// step's.
func TestNear(t *testing.T) {
	sixteen := func(first, second, rest float64) []float64 {
		return append([]float64{first, second}, slices.Repeat([]float64{rest}, 14)...)
	}
	for name, c := range map[string]struct {
		each []float64
		mean float64
		near bool
	}{
		"one is far":    {sixteen(9, 0, 0), 0, true},
		"two are":       {sixteen(9, 9, 0), 0.6, false},
		"all a little":  {sixteen(0.039, 0.039, 0.039), 0.039, true},
		"all too much":  {sixteen(0.041, 0.041, 0.041), 0.041, false},
		"one is none":   {sixteen(math.Inf(1), 0, 0), 0, false},
		"one alone":     {[]float64{0.05}, 0.05, false},
		"one of two is": {[]float64{0.01, 9}, 0.01, true},
	} {
		if mean, near := Near(c.each, ProbeBound(0.01)); near != c.near || math.Abs(mean-c.mean) > 1e-9 {
			t.Errorf("%s: %g, %t", name, mean, near)
		}
	}
}
