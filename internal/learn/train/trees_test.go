package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// forest are rows as two conversations have them that are unrolled: each begins with what its conversation has so far,
// one is the beginning of another and trains the same token, and of one task there are two answers. All share 4 tokens.
func forest() []batch.Sequence {
	row := func(trained int, ids ...int32) batch.Sequence { // all from a place on
		s := batch.Sequence{IDs: append([]int32{9, 8, 7, 6}, ids...)}
		for i := range s.IDs {
			s.Trained = append(s.Trained, i >= trained+4)
		}
		return s
	}
	return []batch.Sequence{
		row(3, 1, 2, 3, 4, 5), row(5, 1, 2, 3, 4, 5, 10, 11, 12), row(4, 1, 2, 3, 4, 5, 10), row(3, 20, 21, 22, 23),
		row(2, 20, 21, 25, 26, 27), row(3, 1, 2, 3, 30, 31),
	}
}

// Rows as trees have the loss, the gradient and the logprobs of rows apart, at each of several steps, with dropout and
// weights too; what they share is computed once.
func testTreesEqualRowsApart(t *testing.T, d device) {
	plain, dropped := Options{MicroBatch: 2}, Options{MicroBatch: 2, Dropout: 0.4, Seed: 3}
	each := []Options{plain, dropped}
	if !d.PureGo() {
		each = each[:1] // a program takes seconds to compile
	}
	for _, o := range each {
		apart, packed := d.startWith(t, o), d.startWith(t,
			Options{MicroBatch: o.MicroBatch, Dropout: o.Dropout, Seed: o.Seed, TreeTokens: 64})
		for step := range 3 {
			b := batch.New(forest())
			if step == 1 { // of pairs, a slope for each row; of demonstrations, weights
				b.Rows[1].Weights = batch.Even(len(b.Rows[1].IDs), 0.5)
			}
			want, err := apart.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
			if err != nil {
				t.Fatal(err)
			}
			got, err := packed.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Loss-want.Loss) > 1e-6*want.Loss ||
				math.Abs(got.GradNorm-want.GradNorm) > 1e-5*want.GradNorm {
				t.Errorf("step %d: loss %v and norm %v, apart %v and %v",
					step, got.Loss, got.GradNorm, want.Loss, want.GradNorm)
			}
			// 4 of all; 8 of the first conversation, 2 of the other answer and 4 of the second; 5 of the last row,
			// which begins a tree: 17 tokens would be padded to 32.
			if got.NumTokens != 23 || want.NumTokens != 37 || got.NumApart != 37 || want.NumApart != 0 {
				t.Errorf("%d tokens computed, %d apart of %d and %d",
					got.NumTokens, want.NumTokens, got.NumApart, want.NumApart)
			}
			if got.NumTrained != want.NumTrained {
				t.Errorf("%d trained tokens, apart %d", got.NumTrained, want.NumTrained)
			}
		}
		if delta := maxDelta(stateOf(t, apart).Adapter, stateOf(t, packed).Adapter); delta > 2e-6 {
			t.Errorf("after three steps the adapters differ by %g", delta)
		}
		b := batch.New(forest())
		want, err := apart.Score(context.Background(), b, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := packed.Score(context.Background(), b, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if maxDelta(want[i], got[i]) > 2e-5 || len(want[i]) != len(got[i]) {
				t.Errorf("row %d: logprobs %v, apart %v", i, got[i], want[i])
			}
		}
	}
}

// Slopes of pairs, whose completions share their prompt, are columns of rows: a token that two rows have may be trained
// with two slopes.
func testTreesOfPairs(t *testing.T, d device) {
	gradient := func(treeTokens int) []float32 {
		tr := d.startWith(t, Options{MicroBatch: 2, TreeTokens: treeTokens})
		b := batch.New(forest())
		var slopes [][]float32
		for i, r := range b.Rows {
			slopes = append(slopes, batch.Even(len(r.IDs), []float64{1, -0.5, 0.25, -2, 0.75, -0.125}[i]))
		}
		b = b.With(batch.ColumnSlopes, slopes)
		b.Normaliser = 1
		if _, err := tr.Step(context.Background(), b, batch.Objective{Loss: batch.LossPreference},
			batch.Update{Rate: 1e-2}); err != nil {
			t.Fatal(err)
		}
		return stateOf(t, tr).M
	}
	if delta := maxDelta(gradient(0), gradient(64)); delta > 2e-6 {
		t.Errorf("the gradients differ by %g", delta)
	}
}

// Layers with windows count positions, not places in the tree.
func TestTreesOfLayersWithWindows(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := learntest.Spec()
	s.NumLayers, s.LocalRope = 3, modelfile.Rope{Theta: 100}
	s.Layers = []modelfile.Layer{{Window: 3, LocalRope: true}, {NoRope: true}, {Window: 5}}
	gradient := func(s model.Spec, treeTokens int) []float32 {
		state := NewState(s, learntest.LoRA(), 5)
		for i := range state.Adapter {
			state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
		}
		tr, err := New(e, s, learntest.Weights(t, e, s), state,
			Options{LoRA: learntest.LoRA(), RowMultiple: 16, MicroBatch: 2, TreeTokens: treeTokens})
		if err != nil {
			t.Fatal(err)
		}
		g, _ := afterOneStep(t, tr, batch.New(forest()), false)
		return g
	}
	if delta := maxDelta(gradient(s, 0), gradient(s, 64)); delta > 2e-6 {
		t.Errorf("the gradients differ by %g", delta)
	}
}

// A loss of whole rows has its rows apart.
func testLossesOfRowsAreNotPacked(t *testing.T, d device) {
	gspo := policyGradient()
	gspo.Loss = batch.LossGSPO
	want, _ := afterOneStepOf(t, d.start(t, 4), batch.New(rows()), gspo)
	got, stats := afterOneStepOf(t, d.startWith(t, Options{MicroBatch: 4, TreeTokens: 64}), batch.New(rows()), gspo)
	if maxDelta(want, got) != 0 || stats.NumTokens != 9+11+5+8 {
		t.Errorf("gradients differ by %g; %d tokens", maxDelta(want, got), stats.NumTokens)
	}
}

// Each row is in one tree, where its tokens stand in order; each of them sees its row's alone; a tree is no longer than
// it may be, and trees have no more tokens than rows.
func TestTreesHoldEachRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &Trainer{engine: &engine.Engine{}, rowMultiple: rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "multiple"),
			microBatch: 2, treeTokens: rapid.IntRange(1, 60).Draw(t, "tokens")}
		var rows []batch.Sequence
		longest, apart := tr.treeTokens, 0
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			ids := rapid.SliceOfN(rapid.Int32Range(1, 2), 2, 12).Draw(t, "ids")
			rows = append(rows, batch.Sequence{IDs: ids, Trained: append([]bool{false}, make([]bool, len(ids)-1)...)})
			rows[len(rows)-1].Trained[len(ids)-1] = true
			longest, apart = max(longest, len(ids)), apart+len(ids)
		}
		seen, together := map[int]bool{}, 0
		for _, x := range tr.calls(rows, true) {
			trained := 0
			for _, tree := range x.trees {
				together += len(tree.ids)
				if len(tree.ids) > longest || len(tree.ids) > x.c {
					t.Fatalf("a tree of %d tokens, at most %d", len(tree.ids), longest)
				}
				for k, row := range tree.rows {
					if seen[row] {
						t.Fatalf("row %d twice", row)
					}
					seen[row], trained = true, trained+1
					for j, place := range tree.at[k] {
						var saw []int32
						for i := range place + 1 {
							if tree.ends[i] > place {
								saw = append(saw, tree.ids[i])
							}
						}
						if tree.positions[place] != int32(j) || !slices.Equal(saw, rows[row].IDs[:j+1]) {
							t.Fatalf("token %d of row %d %v at %d sees %v", j, row, rows[row].IDs, place, saw)
						}
					}
				}
			}
			if trained > x.m {
				t.Fatalf("%d trained tokens in %d entries", trained, x.m)
			}
		}
		if len(seen) != len(rows) || together > apart {
			t.Fatalf("%d of %d rows, %d tokens of %d", len(seen), len(rows), together, apart)
		}
	})
}
