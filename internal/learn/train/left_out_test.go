package train_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/train"
	"hone/internal/recipe"
	"hone/internal/testing/learntest"
)

// broken is a token whose embedding is no number, so that a row with it has no logprob that is one.
const broken = 59

// onAModelWithABrokenToken runs a test with fresh trainers of such a model, whose head is whole.
func onAModelWithABrokenToken(
	t *testing.T, test func(t *testing.T, fresh func(treeTokens int) *train.Trainer),
) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		spec := learntest.Spec()
		spec.TiedHead = false
		weights, params := learntest.Weights(t, e, spec), spec.WeightParams()
		embedding, err := engine.Floats(weights[0])
		if err != nil || len(embedding) != spec.VocabSize*spec.Hidden {
			t.Fatal(len(embedding), err)
		}
		embedding = slices.Clone(embedding)
		for i := range spec.Hidden {
			embedding[broken*spec.Hidden+i] = float32(math.NaN())
		}
		if weights[0], err = e.UploadParam(params[0], embedding); err != nil {
			t.Fatal(err)
		}
		test(t, func(treeTokens int) *train.Trainer {
			tr, err := train.New(e, spec, weights, train.NewState(spec, learntest.LoRA(), 1),
				train.Options{LoRA: learntest.LoRA(), MicroBatch: 4, RowMultiple: 16, TreeTokens: treeTokens})
			if err != nil {
				t.Fatal(err)
			}
			return tr
		})
	})
}

// shown are rows that begin alike and of which some hold the broken token, each of the rest a row of its own.
func shown(n int, spoilt ...int) (rows []batch.Sequence) {
	for i := range n {
		r := batch.Sequence{IDs: []int32{1, 2, 3, int32(4 + i), int32(5 + 2*i), int32(7 + i), int32(6 + i%3)},
			Trained: []bool{false, false, false, false, true, true, true}, Place: fmt.Sprintf("rows.jsonl:%d", i+1)}
		if slices.Contains(spoilt, i) {
			r.IDs[3] = broken
		}
		rows = append(rows, r)
	}
	return rows
}

func adapterOf(t *testing.T, tr *train.Trainer) []float32 {
	t.Helper()
	state, err := tr.State()
	if err != nil {
		t.Fatal(err)
	}
	return state.Adapter
}

// Ten steps of SFT with a row that is no number end with the adapter of ten steps without it, packed or not. What was
// left out is counted, and named once. Two such rows in one step, or one in a third step of 32, end the run at its
// place.
func TestASpoiltRowIsLeftOut(t *testing.T) {
	onAModelWithABrokenToken(t, func(t *testing.T, fresh func(int) *train.Trainer) {
		s := recipe.SFT{Stage: "sft", Epochs: 2, BatchSize: 4, Seed: 3, CheckpointEvery: 100,
			Optimizer: recipe.Optimizer{LearningRate: 0.01, MaxGradNorm: 1}}
		const n, spoilt = 20, 7
		for _, treeTokens := range []int{0, 64} {
			run := func(rows []batch.Sequence) ([]float32, *keeping, error) {
				tr, log := fresh(treeTokens), newKeeping()
				err := s.Run(t.Context(), rows, tr, nil, log, silent)
				return adapterOf(t, tr), log, err
			}
			without := shown(n)
			without[spoilt].Trained = make([]bool, len(without[spoilt].IDs)) // there is nothing to learn
			want, _, err := run(without)
			if err != nil {
				t.Fatal(err)
			}
			got, log, err := run(shown(n, spoilt))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("trees of %d: %v; the adapter is that of a run without the row: %v", treeTokens, err,
					slices.Equal(got, want))
			}
			if whole, _, err := run(shown(n)); err != nil || slices.Equal(whole, want) {
				t.Errorf("trees of %d: %v; the row teaches nothing", treeTokens, err)
			}
			for step := range 10 {
				left := 0.0
				if slices.Contains(s.Pass(n, step/5)[step%5], spoilt) {
					left = 1
				}
				if m := log.metrics[key("sft", step)]; m["left_out"] != left || m["step_skipped"] != 0 {
					t.Errorf("step %d leaves out %v rows, want %v", step, m["left_out"], left)
				}
			}
			if len(log.notices) != 1 || !strings.Contains(log.notices[0], "rows.jsonl:8") {
				t.Errorf("said %q", log.notices)
			}
		}
		first := s.Pass(n, 0)
		for _, c := range []struct {
			spoilt []int
			step   int
			says   string
		}{
			{first[2][:2], 2, "2 of 4 rows: "},
			{[]int{first[0][0], first[1][0], first[3][0]}, 3, fmt.Sprintf("third step in 32 that has to leave rows "+
				"out: rows.jsonl:%d", first[3][0]+1)},
		} {
			tr := fresh(0)
			err := s.Run(t.Context(), shown(n, c.spoilt...), tr, nil, newKeeping(), silent)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("sft step %d", c.step)) ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		}
	})
}

// A held row that is no number is not measured, and counted; where no other is there, the run ends.
func TestASpoiltRowIsNotMeasured(t *testing.T) {
	onAModelWithABrokenToken(t, func(t *testing.T, fresh func(int) *train.Trainer) {
		s := recipe.SFT{Stage: "sft", Epochs: 1, BatchSize: 4, CheckpointEvery: 100}
		loss := func(held []batch.Sequence) (map[string]float64, *keeping, error) {
			log := newKeeping()
			s.Held = held
			err := s.Run(t.Context(), shown(4), fresh(0), nil, log, silent)
			return log.metrics[key(recipe.ValidationStage, 1)], log, err
		}
		spoilt := shown(3, 1)
		want, _, err := loss([]batch.Sequence{spoilt[0], spoilt[2]})
		if err != nil {
			t.Fatal(err)
		}
		got, log, err := loss(spoilt)
		if err != nil || math.Abs(got["eval_loss"]-want["eval_loss"]) > 1e-6 || got["eval_left_out"] != 1 ||
			len(log.notices) != 1 {
			t.Errorf("%v: %v with the row, %v without it; said %q", err, got, want, log.notices)
		}
		if _, _, err := loss(spoilt[1:2]); err == nil || !strings.Contains(err.Error(), "rows.jsonl:2") {
			t.Errorf("nothing can be measured: %v", err)
		}
	})
}

// Ten steps of DPO with a pair of which a side is no number end with the adapter of those steps over the other pairs.
func TestASpoiltPairIsLeftOut(t *testing.T) {
	onAModelWithABrokenToken(t, func(t *testing.T, fresh func(int) *train.Trainer) {
		const n, spoilt = 20, 7
		d := recipe.DPO{
			SFT: recipe.SFT{Stage: "dpo", Epochs: 2, BatchSize: 4, Seed: 3, CheckpointEvery: 100,
				Optimizer: recipe.Optimizer{LearningRate: 0.01, MaxGradNorm: 1}},
			Preference: batch.Preference{Loss: batch.PreferenceSigmoid, Beta: 0.5},
		}
		pairs := func(bad ...int) (out []recipe.PreferencePair) {
			chosen, rejected := shown(n), shown(n+1, bad...)
			for i := range n {
				rejected[i].IDs[5]++
				out = append(out, recipe.PreferencePair{Chosen: chosen[i : i+1], Rejected: rejected[i : i+1]})
			}
			return out
		}
		want := fresh(0)
		learnPairs(t, d, pairs(), spoilt, want)
		tr, log := fresh(0), newKeeping()
		err := d.Run(t.Context(), pairs(spoilt), tr, nil, log, silent)
		if same := slices.Equal(adapterOf(t, tr), adapterOf(t, want)); err != nil || !same {
			t.Errorf("%v; the adapter is that of the other pairs: %v", err, same)
		}
		left := 0.0
		for step := range 10 {
			m := log.metrics[key("dpo", step)]
			if left += m["left_out"]; !(m["loss"] > 0) {
				t.Errorf("step %d has the loss %v", step, m["loss"])
			}
		}
		if left != 2 || len(log.notices) != 1 || !strings.Contains(log.notices[0], "rows.jsonl:8") {
			t.Errorf("left out %v times; said %q", left, log.notices)
		}
	})
}

// learnPairs takes the steps of DPO over all pairs but one.
func learnPairs(t *testing.T, d recipe.DPO, pairs []recipe.PreferencePair, but int, tr *train.Trainer) {
	t.Helper()
	score := func(b batch.Batch, of []batch.Pair, reference bool) {
		scores, err := tr.Score(t.Context(), b, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range b.Rows {
			s := &of[r.Group].Chosen
			if r.Episode%2 == 1 {
				s = &of[r.Group].Rejected
			}
			sum := 0.0
			for _, x := range scores[i] {
				sum += float64(x)
			}
			if s.Policy += sum; reference {
				s.Policy, s.Reference, s.Tokens = 0, s.Reference+sum, r.NumTrained()
			}
		}
	}
	all := make([]int, len(pairs))
	for i := range all {
		all[i] = i
	}
	reference := make([]batch.Pair, len(pairs))
	for at := 0; at < len(pairs); at += d.SFT.BatchSize {
		score(recipe.RowsOf(pairs, all[at:at+d.SFT.BatchSize]), reference[at:], true)
	}
	for step := range 10 {
		picked := slices.DeleteFunc(slices.Clone(d.SFT.Pass(len(pairs), step/5)[step%5]),
			func(i int) bool { return i == but })
		b, of := recipe.RowsOf(pairs, picked), make([]batch.Pair, len(picked))
		for i, p := range picked {
			of[i] = reference[p]
		}
		score(b, of, false)
		_, slopes := d.Preference.Of(of)
		var column [][]float32
		for _, r := range b.Rows {
			slope := slopes[r.Group].Chosen
			if r.Episode%2 == 1 {
				slope = slopes[r.Group].Rejected
			}
			column = append(column, batch.Even(len(r.IDs), slope))
		}
		b = b.With(batch.ColumnSlopes, column)
		b.Normaliser = 1
		if _, err := tr.Step(t.Context(), b, batch.Objective{Loss: batch.LossPreference},
			d.SFT.Optimizer.Update(step, 10)); err != nil {
			t.Fatal(err)
		}
	}
}
