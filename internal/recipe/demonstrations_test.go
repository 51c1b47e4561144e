package recipe

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// demonstrating learns from two of five demonstrations in each step, which begin as the prompts of episodes do not.
func demonstrating(phi bool) GRPO {
	g := grpo()
	d := &Demonstrations{Rows: 2, Weight: 0.5, Phi: phi}
	for i := range 5 {
		d.Of = append(d.Of,
			batch.Sequence{IDs: []int32{7, 8, int32(50 + i), 60}, Trained: []bool{false, false, true, true}})
	}
	return g.with(d)
}

// Each step has two demonstrations beside its four episodes: each of the five comes as often as the others, give or
// take one, with the logprobs that the policy has for it, and tokens weigh what CHORD says.
func TestDemonstrationsAreLearntFrom(t *testing.T) {
	for _, phi := range []bool{false, true} {
		trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
		r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
		if err := demonstrating(phi).Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log,
			silent); err != nil {
			t.Fatal(err)
		}
		times := map[int32]int{}
		for step, b := range trainer.given {
			if len(b.Rows) != 6 || b.Normaliser != 8+4 {
				t.Fatalf("step %d: %d rows by %d", step, len(b.Rows), b.Normaliser)
			}
			now := -float64(step) / 8 // what a fakeTrainer scores
			want := 0.5
			if phi {
				want = 0.5 * math.Exp(now) * (1 - math.Exp(now))
			}
			for i, row := range b.Rows[4:] {
				ids := slices.Concat(b.Prefix, row.IDs)
				if len(ids) != 4 || ids[0] != 7 || ids[2] < 50 || row.NumTrained() != 2 || row.Group != 2+i ||
					row.Episode != 4+i {
					t.Fatalf("step %d: %v, group %d, episode %d", step, ids, row.Group, row.Episode)
				}
				times[ids[2]]++
				for k, trained := range row.Trained {
					a := float64(row.Advantages[k])
					if trained && (math.Abs(a-want) > 1e-7 || row.SamplerLogprobs[k] != float32(now)) ||
						!trained && a != 0 {
						t.Errorf("phi %v, step %d: token %d has the advantage %g and the logprob %g, want %g and %g",
							phi, step, k, a, row.SamplerLogprobs[k], want, now)
					}
				}
			}
			if m := log.Metric[fmt.Sprint("grpo", step)]; m["demonstrations"] != 2 ||
				math.Abs(m["demonstrations/logprob"]-now) > 1e-6 {
				t.Errorf("step %d: %v", step, m)
			}
		}
		if len(times) != 5 || slices.Max(values(times))-slices.Min(values(times)) > 1 {
			t.Errorf("of five demonstrations these came so often: %v", times)
		}
	}
}

func values(m map[int32]int) (list []int) {
	for _, n := range m {
		list = append(list, n)
	}
	return list
}

// Demonstrations come in an order that follows from seed and step alone, each pass in one of its own, also where one
// has more rows than there are.
func TestOrderOfDemonstrations(t *testing.T) {
	d := Demonstrations{Rows: 3, Of: make([]batch.Sequence, 4)}
	var all []int
	for step := range 8 {
		picked := d.choose(1, step)
		if !slices.Equal(picked, d.choose(1, step)) {
			t.Errorf("step %d has %v, then %v", step, picked, d.choose(1, step))
		}
		all = append(all, picked...)
	}
	orders := map[string]bool{}
	for pass := range slices.Chunk(all, 4) {
		orders[fmt.Sprint(pass)] = true
		if sorted := slices.Sorted(slices.Values(pass)); !slices.Equal(sorted, []int{0, 1, 2, 3}) {
			t.Errorf("a pass is %v", pass)
		}
	}
	if len(orders) < 3 {
		t.Errorf("six passes have the orders %v", orders)
	}
	if other := d.choose(2, 0); slices.Equal(other, d.choose(1, 0)) && slices.Equal(d.choose(2, 1), d.choose(1, 1)) {
		t.Error("another seed has the same order")
	}
	d.Rows = 9
	if picked := d.choose(1, 0); len(picked) != 9 || !slices.Equal(picked, all[:9]) {
		t.Errorf("%v, want %v", picked, all[:9])
	}
}

// A step whose groups are all alike learns from demonstrations nevertheless, and a stage that has none of them does not
// begin.
func TestStepsWithoutSpreadDemonstrate(t *testing.T) {
	g := demonstrating(false)
	g.Steps = 1
	trainer := &watched{fakeTrainer: &fakeTrainer{}}
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	if err := g.Run(t.Context(), scenarios(5), r, alike{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, trainer, trainer,
		newLog(t), silent); err != nil {
		t.Fatal(err)
	}
	if len(trainer.given) != 1 || len(trainer.given[0].Rows) != 2 {
		t.Errorf("%d optimiser steps", len(trainer.given))
	}
	g.Show(nil)
	if err := g.Run(t.Context(), scenarios(5), r, alike{}, trainer, trainer, newLog(t), silent); err == nil {
		t.Error("a stage without demonstrations begins")
	}
}
