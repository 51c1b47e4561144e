package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/objective"
	"hone/internal/testing/learntest"
)

// device is what the tests of one device share: a program takes seconds to compile on a plug-in, so each is compiled
// once.
type device struct {
	*engine.Engine
	weights  []engine.Buffer
	programs map[string]program
	spec     model.Spec
	lora     model.LoRA
}

func newDevice(t *testing.T, e *engine.Engine, s model.Spec, l model.LoRA) device {
	t.Helper()
	return device{e, learntest.Weights(t, e, s), map[string]program{}, s, l}
}

func TestTrainer(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		d := newDevice(t, e, learntest.Spec(), learntest.LoRA())
		for _, c := range []struct {
			name string
			test func(*testing.T, device)
			// it is of what a plug-in does otherwise: buffers that are donated, shared or let go, programs and their
			// memory
			plugin bool
		}{
			{"SharedPrefix", testSharedPrefixGradientsEqualUnshared, false},
			{"Trees", testTreesEqualRowsApart, true},
			{"TreesOfPairs", testTreesOfPairs, false},
			{"TreesAndRows", testLossesOfRowsAreNotPacked, false},
			{"Clipping", testGradientIsClippedByItsGlobalNorm, false},
			{"FiniteDifferences", testSupervisedGradientEqualsFiniteDifferences, false},
			{"PolicyFiniteDifferences", testPolicyGradientEqualsFiniteDifferences, false},
			{"SeveralSteps", testSeveralStepsOnOneBatch, false},
			{"ScoreUnder", testScoreUnder, true},
			{"Columns", testColumns, false},
			{"AdamW", testAdamW, false},
			{"EightBits", testEightBitCodes, false},
			{"EightBitSteps", testEightBitStepsFollowFloat32, false},
			{"Dropout", testDropoutIsTheSameHoweverRowsAreCut, false},
			{"DropoutFiniteDifferences", testDropoutGradientEqualsFiniteDifferences, false},
			{"LayersComputedAgain", testLayersComputedAgain, false},
			{"DropoutResume", testDropoutIsDrawnAnewEachStepAndRepeatedByAResume, false},
			{"OutOfMemory", testOutOfMemory, true},
			{"Temperature", testTemperature, false},
			{"TemperatureOfAStep", testTemperatureIsTheRolloutsAlone, false},
			{"ScoredRows", testScoredRowsSayNothing, false},
			{"UnusedEntries", testUnusedEntriesAddNothing, false},
			{"Normaliser", testNormaliser, false},
			{"HeldGradient", testAGradientIsAppliedOnceOrDropped, true},
			{"Resume", testResumeIsExact, true},
			{"Reset", testResetOptimizer, false},
			{"LossFalls", testLossFallsAndUnusableStepsAreRefused, false},
			{"NotFinite", testStepsThatAreNotFiniteLeaveTheState, true},
			{"Leaks", testFailuresReleaseBuffers, true},
		} {
			if c.plugin || e.PureGo() || learntest.Whole() {
				t.Run(c.name, func(t *testing.T) { c.test(t, d) })
			}
		}
	})
}

// start returns a trainer with a fresh adapter whose B is not zero, so that gradients reach A.
func (d device) start(t *testing.T, microBatch int) *Trainer {
	return d.startWith(t, Options{MicroBatch: microBatch})
}

// startWith sets what of the options all tests share.
func (d device) startWith(t *testing.T, o Options) *Trainer {
	t.Helper()
	s, l := d.spec, d.lora
	state := NewState(s, l, 5)
	for i := range state.Adapter {
		state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
	}
	for _, r := range l.Rows(s) { // as large as the base's
		for i := r.Offset; i < r.Offset+len(r.IDs)*s.Hidden; i++ {
			state.Adapter[i] *= 6
		}
	}
	o.LoRA, o.RowMultiple = l, 16
	tr, err := New(d.Engine, s, d.weights, state, o)
	if err != nil {
		t.Fatal(err)
	}
	tr.programs = d.programs // their keys hold all in which the tests' trainers differ
	tr.together = false      // as on a CPU; tests of it say so
	return tr
}

func stateOf(t *testing.T, tr *Trainer) State {
	t.Helper()
	s, err := tr.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows are three rows of different length that share their first 9 tokens.
func rows() []batch.Sequence {
	var out []batch.Sequence
	for r, n := range []int{20, 14, 17} {
		var s batch.Sequence
		for i := range n {
			id := int32(i*7%60 + 1)
			if i >= 9 {
				id = int32((i*11 + r*13) % 60)
			}
			s.IDs, s.Trained = append(s.IDs, id), append(s.Trained, i > 11 && i%4 != 0)
			s.SamplerLogprobs = append(s.SamplerLogprobs, -4-float32(i%3)*0.02)
		}
		s.Advantages = batch.Even(n, []float64{1, -0.7, 0.3}[r])
		out = append(out, s)
	}
	return out
}

// policyGradient is the objective of sampled rows.
func policyGradient() batch.Objective {
	return batch.Objective{Loss: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28}, Temperature: 1}
}

func afterOneStep(t *testing.T, tr *Trainer, b batch.Batch, sampled bool) ([]float32, batch.StepStats) {
	t.Helper()
	var o batch.Objective
	if sampled {
		o = policyGradient()
	}
	return afterOneStepOf(t, tr, b, o)
}

func afterOneStepOf(t *testing.T, tr *Trainer, b batch.Batch, o batch.Objective) ([]float32, batch.StepStats) {
	t.Helper()
	stats, err := tr.Step(context.Background(), b, o, batch.Update{Rate: 1e-2})
	if err != nil {
		t.Fatal(err)
	}
	return stateOf(t, tr).M, stats // after one step the first moment is a tenth of the gradient
}

// equal reports whether two states hold the same bits.
func equal(a, b State) bool {
	same := func(a, b []float32) bool {
		return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	}
	return same(a.Adapter, b.Adapter) && same(a.M, b.M) && same(a.V, b.V) && a.Steps == b.Steps &&
		a.MomentSteps == b.MomentSteps
}

func maxDelta(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		worst = math.Max(worst, math.Abs(float64(a[i]-b[i])))
	}
	return worst
}

// Layers with windows, with rotations of their own and with none see in a prefix with its rows what they see in the two
// apart.
func TestTreeOfLayersThatDiffer(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	whole := learntest.Spec()
	whole.NumLayers, whole.LocalRope = 3, modelfile.Rope{Theta: 100}
	differing := whole
	differing.Layers = []modelfile.Layer{{Window: 4, LocalRope: true}, {NoRope: true}, {Window: 11}}
	gradient := func(s model.Spec, together bool) []float32 {
		state := NewState(s, learntest.LoRA(), 5)
		for i := range state.Adapter {
			state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
		}
		tr, err := New(e, s, learntest.Weights(t, e, s), state,
			Options{LoRA: learntest.LoRA(), RowMultiple: 16, MicroBatch: 4})
		if err != nil {
			t.Fatal(err)
		}
		tr.together = together
		g, _ := afterOneStep(t, tr, batch.New(rows()), false)
		return g
	}
	want := gradient(differing, false)
	if delta := maxDelta(want, gradient(differing, true)); delta > 1e-6 {
		t.Errorf("the gradient differs by %g", delta)
	}
	if maxDelta(want, gradient(whole, true)) < 1e-4 {
		t.Error("the layers differ in nothing")
	}
}

// The gradient must not depend on how much of the rows is shared, nor on how they are cut into micro-batches. That
// holds for each loss alike.
func testSharedPrefixGradientsEqualUnshared(t *testing.T, d device) {
	shared := batch.New(rows())
	if len(shared.Prefix) != 9 {
		t.Fatalf("shared %d tokens, want 9", len(shared.Prefix))
	}
	want, stats := afterOneStep(t, d.start(t, 4), batch.Batch{Rows: rows()}, false)
	if maxDelta(want, make([]float32, len(want))) == 0 {
		t.Error("the gradient is zero")
	}
	sizes := []int{4, 2}
	if d.PureGo() {
		sizes = []int{4, 3, 2, 1} // where a program costs nothing to compile
	}
	for _, microBatch := range sizes {
		for _, together := range []bool{false, true} {
			tr := d.start(t, microBatch)
			tr.together = together
			got, s := afterOneStep(t, tr, shared, false)
			if delta := maxDelta(want, got); delta > 1e-6 || math.Abs(s.Loss-stats.Loss) > 1e-5 ||
				s.NumTokens != 9+11+5+8 {
				t.Errorf("%d rows at a time: the gradient differs by %g, losses are %v and %v, of %d tokens",
					microBatch, delta, s.Loss, stats.Loss, s.NumTokens)
			}
			if _, is := tr.programs[fmt.Sprintf("tree_%d_16_%d_9", microBatch, 8*microBatch)]; is != (together &&
				microBatch > 2) {
				t.Errorf("%d rows at a time: the prefix is computed with them: %v", microBatch, is)
			}
			clearKeys(tr.programs, "tree_")
		}
	}
}

func testGradientIsClippedByItsGlobalNorm(t *testing.T, d device) {
	b := batch.New(rows())
	free, stats := afterOneStep(t, d.start(t, 4), b, false)
	tr := d.start(t, 4)
	clipped, err := tr.Step(context.Background(), b, batch.Objective{},
		batch.Update{Rate: 1e-2, MaxGradNorm: stats.GradNorm / 3})
	if err != nil || math.Abs(clipped.GradNorm-stats.GradNorm) > 1e-5 {
		t.Fatalf("norm %v before clipping, want %v; %v", clipped.GradNorm, stats.GradNorm, err)
	}
	state := stateOf(t, tr)
	for i := range free {
		free[i] /= 3
	}
	if d := maxDelta(free, state.M); d > 1e-6 {
		t.Errorf("clipping to a third differs from a third by %g", d)
	}
}

func testSupervisedGradientEqualsFiniteDifferences(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	before := stateOf(t, tr)
	m, stats := afterOneStep(t, tr, b, false)
	checkGradient(t, tr, before, b, m, stats, batch.Objective{})
}

// checkGradient compares loss and gradient (ten times the first moment) of one step from a state with the objective's
// float64 reference: the loss with that of the scores, and the gradient with the reference's slope times central
// differences of the logprobs, along one number of each of the adapter's matrices. A slope is not the loss's difference
// where no gradient goes through a part of it.
func checkGradient(
	t *testing.T, tr *Trainer, before State, b batch.Batch, m []float32, stats batch.StepStats, o batch.Objective,
) {
	t.Helper()
	reference, err := objective.Of(o)
	if err != nil {
		t.Fatal(err)
	}
	scores := func(i int, h float32) (logprobs, entropies []float64) {
		s := before
		s.Adapter = slices.Clone(before.Adapter)
		s.Adapter[i] += h
		if err := tr.SetState(s); err != nil {
			t.Fatal(err)
		}
		eachToken(t, tr, b, func(_, _ int, logp float64) { logprobs = append(logprobs, logp) })
		return logprobs, entropiesOf(t, tr, b, o)
	}
	_, entropies := scores(0, 0)
	of := make([]objective.Row, len(b.Rows))
	eachToken(t, tr, b, func(row, at int, logp float64) {
		r, weight := b.Rows[row], 1/float64(b.NumTrained())
		if r.Weights != nil {
			weight *= float64(r.Weights[at])
		}
		x := &of[row]
		x.Logprobs, x.Weights = append(x.Logprobs, logp), append(x.Weights, weight)
		if o.Bonus.On {
			x.Entropies, entropies = append(x.Entropies, entropies[0]), entropies[1:]
		}
		for i, c := range reference.Columns() {
			if len(x.Columns) == i {
				x.Columns = append(x.Columns, nil)
			}
			x.Columns[i] = append(x.Columns[i], float64(r.Column(c)[at]))
		}
	})
	want, slopes, entropy, chosen, byEntropy := 0.0, []float64{}, 0.0, 0.0, []float64{}
	for _, row := range of {
		loss, derivatives := reference.Reference(row)
		want, slopes = want+loss, append(slopes, derivatives...)
		for i, h := range row.Entropies {
			of := row.Weights[i] * row.Columns[len(row.Columns)-1][i]
			byEntropy, entropy, chosen =
				append(byEntropy, -o.Bonus.Coefficient*of), entropy+h/float64(b.NumTrained()), chosen+of*h
		}
	}
	if math.Abs(want-stats.Loss) > 1e-5 {
		t.Errorf("the step's loss is %g, worked from its logprobs it is %g", stats.Loss, want)
	}
	if math.Abs(entropy-stats.Entropy) > 1e-5 {
		t.Errorf("the step's entropy is %g, scored apart it is %g", stats.Entropy, entropy)
	}
	if math.Abs(chosen-stats.EntropyChosen) > 1e-5 ||
		o.Bonus.On && (math.Abs(chosen-entropy) < 1e-4 || stats.NumChosen == 0 || stats.NumChosen >= stats.NumTrained) {
		t.Errorf("the entropy of %d chosen tokens is %g, scored apart it is %g; of all it is %g",
			stats.NumChosen, stats.EntropyChosen, chosen, entropy)
	}
	for what, i := range numbersOf(tr) {
		const h = 0.01
		numeric := 0.0
		up, upH := scores(i, h)
		down, downH := scores(i, -h)
		for j, slope := range byEntropy {
			numeric += slope * (upH[j] - downH[j]) / (2 * h)
		}
		for j, slope := range slopes {
			numeric += slope * (up[j] - down[j]) / (2 * h)
		}
		exact := float64(m[i]) / 0.1
		if math.Abs(numeric-exact) > 2e-3*math.Max(0.05, math.Abs(exact)) {
			t.Errorf("%s: gradient %g, finite difference %g", what, exact, numeric)
		}
	}
}

// numbersOf are one number of each matrix of the adapter, and of each of its rows of tokens.
func numbersOf(tr *Trainer) map[string]int {
	at := map[string]int{}
	pieces, _ := tr.lora.Pieces(tr.spec)
	for _, p := range pieces {
		at[fmt.Sprintf("layer %d %s B=%v", p.Layer, p.Target.Name(), p.B)] = p.Offset + p.Rows*p.Cols/2
	}
	for _, r := range tr.lora.Rows(tr.spec) {
		for i, id := range r.IDs {
			at[fmt.Sprintf("%s, token %d", r.Weight, id)] = r.Offset + i*tr.spec.Hidden + tr.spec.Hidden/2
		}
	}
	return at
}

// entropiesOf are those of each trained token, where an objective has a bonus for them.
func entropiesOf(t *testing.T, tr *Trainer, b batch.Batch, o batch.Objective) (all []float64) {
	t.Helper()
	if !o.Bonus.On {
		return nil
	}
	entropies, err := tr.Entropies(t.Context(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	for row, r := range b.Rows {
		for at, yes := range r.Trained {
			if yes {
				all = append(all, float64(entropies[row][at]))
			}
		}
	}
	return all
}

// eachToken calls f with the trainer's logprob of each trained token: its row and its place there.
func eachToken(t *testing.T, tr *Trainer, b batch.Batch, f func(row, at int, logp float64)) {
	t.Helper()
	scores, err := tr.Score(context.Background(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	for row, r := range b.Rows {
		for at, yes := range r.Trained {
			if yes {
				f(row, at, float64(scores[row][at]))
			}
		}
	}
}

// A trainer read back from disk takes the same next step, bit for bit.
func testResumeIsExact(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	if err := tr.HoldReference(); err != nil {
		t.Fatal(err)
	}
	began := stateOf(t, tr)
	afterOneStep(t, tr, b, false)
	dir := t.TempDir()
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, tr, b, true)
	again := d.start(t, 4)
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	reference, err := again.ScoreReference(context.Background(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := d.start(t, 4)
	if err := first.SetState(began); err != nil {
		t.Fatal(err)
	}
	if want, err := first.Score(context.Background(), b, 1); err != nil ||
		!slices.EqualFunc(reference, want, slices.Equal) {
		t.Errorf("%v: the reference of a resumed trainer is another", err)
	}
	if _, err := first.ScoreReference(context.Background(), b, 1); err == nil {
		t.Error("a reference is scored that nobody holds")
	}
	if again.PolicyVersion() != 1 {
		t.Errorf("policy version %d after a resume at 1", again.PolicyVersion())
	}
	afterOneStep(t, again, b, true)
	if want, got := stateOf(t, tr), stateOf(t, again); !equal(want, got) {
		t.Errorf("the resumed step differs by %g, %g and %g",
			maxDelta(want.Adapter, got.Adapter), maxDelta(want.M, got.M), maxDelta(want.V, got.V))
	}
}

// After a reset the next step is what a trainer that was given this adapter would take first.
func testResetOptimizer(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	afterOneStep(t, tr, b, false)
	state := stateOf(t, tr)
	if err := tr.ResetOptimizer(); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, tr, b, false)
	got := stateOf(t, tr)
	fresh := d.start(t, 4)
	zero := make([]float32, len(state.M))
	if err := fresh.SetState(State{Adapter: state.Adapter, M: zero, V: zero}); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, fresh, b, false)
	want := stateOf(t, fresh)
	if d := maxDelta(want.Adapter, got.Adapter); d != 0 {
		t.Errorf("the step after a reset differs by %g from a first step", d)
	}
	if got.Steps != 2 || tr.PolicyVersion() != 2 {
		t.Errorf("policy version %d after two steps", got.Steps)
	}
}

func testLossFallsAndUnusableStepsAreRefused(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	_, first := afterOneStep(t, tr, b, false)
	var last batch.StepStats
	for range 15 {
		_, last = afterOneStep(t, tr, b, false)
	}
	if last.Loss > first.Loss-0.5 {
		t.Errorf("15 steps on one batch took the loss from %.3f to %.3f", first.Loss, last.Loss)
	}
	if _, err := tr.Step(context.Background(), batch.Batch{}, batch.Objective{}, batch.Update{Rate: 1}); err == nil {
		t.Error("a step without trained tokens was taken")
	}
	unpredicted := batch.Batch{Rows: rows()}
	unpredicted.Rows[1].Trained[0] = true
	if _, err := tr.Step(context.Background(), unpredicted, batch.Objective{}, batch.Update{Rate: 1}); err == nil {
		t.Error("a row's first token was trained, which no position predicts")
	}
	if _, err := tr.Score(context.Background(), unpredicted, 1); err == nil {
		t.Error("a row's first token was scored, which no position predicts")
	}
	before := stateOf(t, tr)
	for _, s := range []State{{Adapter: []float32{1}}, {Adapter: before.Adapter, M: before.M, V: []float32{1}}} {
		if err := tr.SetState(s); err == nil {
			t.Error("a state of another model was accepted")
		}
	}
	if !equal(before, stateOf(t, tr)) {
		t.Error("a refused state or step changed the state")
	}
}
