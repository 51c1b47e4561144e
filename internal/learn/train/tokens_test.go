package train

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/testing/learntest"
)

// withRows are models whose head is the embedding, and is not, each with an adapter that has rows of tokens: of the
// prefix (8), behind it (14, 5, 0), of both (36), and one that no text has (59).
func withRows() map[string]func() (model.Spec, model.LoRA) {
	return map[string]func() (model.Spec, model.LoRA){
		"tied": func() (model.Spec, model.LoRA) {
			l := learntest.LoRA()
			l.Tokens = []int32{36, 8, 14, 5, 59}
			return learntest.Spec(), l
		},
		"untied": func() (model.Spec, model.LoRA) {
			s, l := learntest.Spec(), learntest.LoRA()
			s.TiedHead = false
			l.Tokens, l.HeadTokens = []int32{36, 8, 14, 59}, []int32{0, 36, 2, 59}
			return s, l
		},
	}
}

// What holds of an adapter's matrices holds of its rows of tokens: with and without a shared prefix, of rows as trees,
// with layers computed again, with moments in 8 bits, beside a reference and over a resume, to the bit. Their gradient
// is that of finite differences.
func TestRowsOfTokens(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		for name, of := range withRows() {
			s, l := of()
			d := newDevice(t, e, s, l)
			for what, test := range map[string]func(*testing.T, device){
				"SharedPrefix": testSharedPrefixGradientsEqualUnshared, "Trees": testTreesWithRowsOfTokens,
				"FiniteDifferences":       testSupervisedGradientEqualsFiniteDifferences,
				"PolicyFiniteDifferences": testPolicyGradientEqualsFiniteDifferences,
				"LayersComputedAgain":     testLayersComputedAgain, "EightBitSteps": testEightBitStepsFollowFloat32,
				"ScoreUnder": testScoreUnder, "Resume": testResumeIsExact, "Base": testRowsBeginAsTheBases,
				"Chunks": testChunksOfTheHead,
			} {
				t.Run(name+what, func(t *testing.T) { test(t, d) })
			}
		}
	})
}

// Both backends take the same steps.
func TestRowsOfTokensOnBothBackends(t *testing.T) {
	plugin, err := engine.Open(learntest.Options(t))
	if err != nil || learntest.Plugin() == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	defer plugin.Close()
	small, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	for name, of := range withRows() {
		var adapters [][]float32
		for _, e := range []*engine.Engine{small, plugin} {
			s, l := of()
			s.NumLayers = 1 // rows are outside of them
			tr := newDevice(t, e, s, l).startWith(t, Options{MicroBatch: 4})
			tr.together = true // one program in the place of three
			for range 2 {
				afterOneStep(t, tr, batch.New(rows()), false)
			}
			adapters = append(adapters, stateOf(t, tr).Adapter)
		}
		if delta := maxDelta(adapters[0], adapters[1]); delta > 1e-4 {
			t.Errorf("%s: the adapters differ by %g", name, delta)
		}
	}
}

// An adapter of zeros is the base model, which has rows of its own; so is a fresh one, whose rows are theirs.
func testRowsBeginAsTheBases(t *testing.T, d device) {
	b := batch.New(rows())
	bare := learntest.LoRA()
	without := device{d.Engine, d.weights, map[string]program{}, d.spec, bare}.start(t, 4)
	want, err := without.ScoreUnder(context.Background(), nil, b, 1)
	if err != nil {
		t.Fatal(err)
	}
	fresh := NewState(d.spec, d.lora, 5)
	base := map[string][]float32{}
	for i, w := range d.spec.Weights() {
		if base[w.Name()], err = engine.Floats(d.weights[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range d.lora.Rows(d.spec) {
		for i, id := range r.IDs {
			copy(fresh.Adapter[r.Offset+i*d.spec.Hidden:], base[r.Weight][int(id)*d.spec.Hidden:][:d.spec.Hidden])
		}
	}
	tr := d.start(t, 4)
	for name, flat := range map[string][]float32{"zeros": make([]float32, tr.size), "fresh": fresh.Adapter} {
		state := fresh
		state.Adapter = flat
		if err := tr.SetState(state); err != nil {
			t.Fatal(err)
		}
		got, err := tr.Score(context.Background(), b, 1)
		if err != nil || !slices.EqualFunc(got, want, func(x, y []float32) bool { return maxDelta(x, y) < 1e-6 }) {
			t.Errorf("%s: scored %v, the base model %v; %v", name, got, want, err)
		}
	}
	if err := tr.SetState(fresh); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, tr, b, false)
	after := stateOf(t, tr).Adapter
	for what, i := range numbersOf(tr) {
		// an input that no text has
		never := what == fmt.Sprintf("%s, token %d", d.spec.Weights()[0].Name(), 59) && !d.spec.TiedHead
		if moved := after[i] != fresh.Adapter[i]; i >= tr.size-len(after[d.lora.Rows(d.spec)[0].Offset:]) &&
			moved == never {
			t.Errorf("%s: moved is %v", what, moved)
		}
	}
}

func testTreesWithRowsOfTokens(t *testing.T, d device) {
	want, _ := afterOneStep(t, d.startWith(t, Options{MicroBatch: 2}), batch.New(forest()), false)
	got, stats := afterOneStep(t, d.startWith(t, Options{MicroBatch: 2, TreeTokens: 64}), batch.New(forest()), false)
	if delta := maxDelta(want, got); delta > 1e-6 || stats.NumTokens >= stats.NumApart {
		t.Errorf("the gradient differs by %g, of %d tokens, %d apart", delta, stats.NumTokens, stats.NumApart)
	}
}

// Chunks of the head that are computed again give the gradients of rows that need one chunk each.
func testChunksOfTheHead(t *testing.T, d device) {
	var b batch.Batch
	for i := range 4 { // 304 tokens are two chunks of a CPU's
		x := batch.Sequence{Trained: append(make([]bool, 20), slices.Repeat([]bool{true}, 76)...)}
		for j := range 96 {
			x.IDs = append(x.IDs, int32((i*17+j*7)%d.spec.VocabSize))
		}
		b.Rows = append(b.Rows, x)
	}
	want, _ := afterOneStep(t, d.start(t, 1), b, false)
	got, _ := afterOneStep(t, d.start(t, 4), b, false)
	if delta := maxDelta(want, got); delta > 1e-6 || maxDelta(want, make([]float32, len(want))) < 1e-3 {
		t.Errorf("the gradient differs by %g", delta)
	}
}
