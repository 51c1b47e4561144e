package train

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

// Computing layers again changes no gradient: with a prefix and without, several rows in one program or each in its
// own, with dropout, with the MLP in chunks, for both losses.
func testLayersComputedAgain(t *testing.T, d device) {
	type cut struct {
		o      Options
		b      batch.Batch
		policy bool
		chunk  int
		whole  bool // a prefix with its rows
	}
	shared := batch.New(rows())
	cuts := map[string]cut{
		"a prefix, dropout and chunks": {Options{MicroBatch: 4, Dropout: 0.4, Seed: 1}, shared, false, 32, true},
	}
	if d.PureGo() { // where a program costs nothing to compile
		cuts["no prefix"] = cut{Options{MicroBatch: 4}, batch.Batch{Rows: rows()}, false, mlpChunk, false}
		cuts["a row at a time"] = cut{Options{MicroBatch: 1}, shared, false, mlpChunk, false}
		cuts["sampled"] = cut{Options{MicroBatch: 2}, shared, true, 20, false}
	}
	for name, c := range cuts {
		want, wantStats := afterOneStep(t, d.startWith(t, c.o), c.b, c.policy)
		c.o.Recompute = RecomputeLayer
		tr := d.startWith(t, c.o)
		tr.mlpChunk, tr.together = c.chunk, c.whole
		got, stats := afterOneStep(t, tr, c.b, c.policy)
		if delta := maxDelta(want, got); delta > 1e-6 || math.Abs(stats.Loss-wantStats.Loss) > 1e-6 ||
			maxDelta(want, make([]float32, len(want))) < 1e-3 {
			t.Errorf("%s: the gradient differs by %g, losses are %v and %v", name, delta, stats.Loss, wantStats.Loss)
		}
		if d.PureGo() {
			clearKeys(d.programs, "_layer") // the next has other chunks
		}
	}
}

func clearKeys(programs map[string]program, part string) {
	for key := range programs {
		if strings.Contains(key, part) {
			delete(programs, key)
		}
	}
}

// Chunks of the head that wait for each other give the gradients of those that do not, of a bonus for entropy too.
func TestHeadInTurn(t *testing.T) {
	e := learntest.Devices(t, 1)
	s, l := learntest.Spec(), learntest.LoRA()
	s.NumLayers = 1 // the head is the same behind one
	weights := learntest.Weights(t, e, s)
	b := batch.Batch{}
	for i := range 6 { // 576 tokens are three chunks of a CPU's
		x := batch.Sequence{Trained: append(make([]bool, 20), slices.Repeat([]bool{true}, 76)...)}
		for j := range 96 {
			x.IDs = append(x.IDs, int32((i*17+j*7)%s.VocabSize))
		}
		x.SamplerLogprobs, x.Advantages = batch.Even(96, -4), batch.Even(96, 0)
		b.Rows = append(b.Rows, x)
	}
	exploring := policyGradient() // without advantages: the bonus alone
	exploring.Bonus = batch.Bonus{On: true, Coefficient: 1}
	for name, o := range map[string]batch.Objective{"likelihood": {}, "a bonus for entropy": exploring} {
		if name == "likelihood" && !learntest.Whole() { // the other has its chunks, and entropies beside
			continue
		}
		var gradients [][]float32
		for _, inTurn := range []bool{false, true} {
			tr, err := New(e, s, weights, NewState(s, l, 5), Options{LoRA: l, MicroBatch: 6, RowMultiple: 32})
			if err != nil {
				t.Fatal(err)
			}
			tr.inTurn = inTurn
			if _, err := tr.Step(context.Background(), b.Exploring(), o, smooth()); err != nil {
				t.Fatal(err)
			}
			gradients = append(gradients, stateOf(t, tr).M)
		}
		delta, largest :=
			maxDelta(gradients[0], gradients[1]), maxDelta(gradients[0], make([]float32, len(gradients[0])))
		if delta > largest*1e-5 || largest < 1e-4 {
			t.Errorf("%s: the gradient differs by %g of %g", name, delta, largest)
		}
	}
}

// In bfloat16 too, where attention is fused and its output is kept: the gradient is the same to what the type resolves.
func TestLayersComputedAgainInBF16(t *testing.T) {
	e := learntest.Devices(t, 1)
	s, l := learntest.Spec(), learntest.LoRA()
	s.BF16, s.HeadDim, l.Tokens = true, 8, []int32{36, 8, 59}
	weights := learntest.Weights(t, e, s)
	var gradients [][]float32
	for _, r := range []Recompute{RecomputeNone, RecomputeLayer} {
		state := NewState(s, l, 5)
		for i := range state.Adapter {
			state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
		}
		tr, err := New(e, s, weights, state, Options{LoRA: l, MicroBatch: 4, RowMultiple: 16, Recompute: r})
		if err != nil {
			t.Fatal(err)
		}
		tr.together = true // one program in the place of three
		if _, err := tr.Step(context.Background(), batch.New(rows()), batch.Objective{}, smooth()); err != nil {
			t.Fatal(err)
		}
		gradients = append(gradients, stateOf(t, tr).M)
	}
	delta, largest := maxDelta(gradients[0], gradients[1]), maxDelta(gradients[0], make([]float32, len(gradients[0])))
	t.Logf("the gradient differs by %g of %g", delta, largest)
	if delta > largest/100 || largest < 1e-3 {
		t.Errorf("the gradient differs by %g of %g", delta, largest)
	}
}

// Chunks of the MLP are computed again one after the other: the compiler needs less for them than for all tokens at
// once. How much less is up to the device: XLA for CPUs orders operations as if there were no barriers between them.
func TestMLPChunksSaveMemory(t *testing.T) {
	e := learntest.Devices(t, 1)
	if e.IsGPU() {
		t.Skip("XLA for GPUs joins products of one matrix where they are as small as here " +
			"(xla_gpu_dot_merger_threshold_mb)")
	}
	dry := engine.OpenDry(false, 1)
	defer dry.Close()
	s := learntest.Spec()
	s.Intermediate = 2048
	var weights []engine.Buffer
	for _, p := range s.WeightParams() {
		weights = append(weights, dry.Blank(p.Shape))
	}
	b := batch.Batch{}
	for range 64 {
		b.Rows = append(b.Rows, batch.Sequence{IDs: make([]int32, 32), Trained: append(make([]bool, 31), true)})
	}
	var took []int64
	for _, chunk := range []int{mlpChunk, 256} {
		tr, err := New(dry.Engine, s, weights, NewState(s, learntest.LoRA(), 1),
			Options{LoRA: learntest.LoRA(), MicroBatch: len(b.Rows), RowMultiple: 32, Recompute: RecomputeLayer})
		if err != nil {
			t.Fatal(err)
		}
		tr.mlpChunk = chunk
		if _, err := tr.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range dry.Programs() {
		if p.Name() != "rows" {
			continue
		}
		m, err := e.Measure(p.HLO())
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, m.Temporary)
	}
	if len(took) != 2 {
		t.Fatalf("%d programs of rows", len(took))
	}
	t.Logf("temporary bytes: all tokens at once %d, in chunks %d", took[0], took[1])
	if took[1] > took[0]*3/4 {
		t.Errorf("temporary bytes: all tokens at once %d, in chunks %d", took[0], took[1])
	}
}

// Short rows keep their layers beside long ones, which are computed again: the gradient is the same to rounding. A
// device that runs out of memory keeps none.
func TestShortRowsKeepTheirLayers(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, l := learntest.Spec(), learntest.LoRA()
	weights := learntest.Weights(t, e, s)
	var b batch.Batch
	for i, n := range []int{9, 60, 14, 50} {
		x := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
		for j := range n {
			x.IDs[j], x.Trained[j] = int32((i*17+j*7)%s.VocabSize), j > 3
		}
		b.Rows = append(b.Rows, x)
	}
	gradient := func(o Options) ([]float32, *Trainer) {
		o.LoRA, o.MicroBatch, o.RowMultiple = l, 1, 16
		tr, err := New(e, s, weights, NewState(s, l, 5), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(t.Context(), b, batch.Objective{}, smooth()); err != nil {
			t.Fatal(err)
		}
		return stateOf(t, tr).M, tr
	}
	want, _ := gradient(Options{})
	got, tr := gradient(Options{Recompute: RecomputeLayer, KeepTokens: 16})
	if delta := maxDelta(want, got); delta > 1e-6 || maxDelta(want, make([]float32, len(want))) < 1e-3 {
		t.Errorf("the gradient differs by %g", delta)
	}
	kept, again := 0, 0
	for key := range tr.programs {
		switch {
		case strings.HasPrefix(key, "rows") && strings.Contains(key, "_layer"):
			again++
		case strings.HasPrefix(key, "rows"):
			kept++
		}
	}
	if kept != 1 || again != 1 {
		t.Errorf("%d programs of rows keep their layers, %d compute them again, want one each", kept, again)
	}
	tr.lessens(errors.New("RESOURCE_EXHAUSTED: Out of memory"), b, true, true)
	if tr.keepTokens != 0 || tr.microBatch != 1 {
		t.Errorf("out of memory, rows of %d tokens keep their layers", tr.keepTokens)
	}
	for _, c := range []struct {
		o       Options
		n, want int
	}{
		{Options{}, 1000, 0},
		{Options{KeepTokens: 100, RowMultiple: 64, MicroBatch: 1}, 1000, 64},
		{Options{KeepTokens: 100, RowMultiple: 64, MicroBatch: 2}, 1000, 0},
		{Options{KeepTokens: 8192, RowMultiple: 256, MicroBatch: 16, MicroTokens: 4096}, 30000, 8192},
		{Options{KeepTokens: 4096, RowMultiple: 256, MicroBatch: 16, MicroTokens: 4096}, 5000, 4096},
		{Options{KeepTokens: 4096, RowMultiple: 256, MicroBatch: 16, MicroTokens: 4096}, 700, 512},
	} {
		if got := c.o.KeptRow(c.n); got != c.want {
			t.Errorf("of rows of %d tokens those of %d keep their layers, want %d: %+v", c.n, got, c.want, c.o)
		}
	}
}
