package train

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/objective"
	"hone/internal/testing/learntest"
)

// policies are objectives of rollouts with all kinds of graphs. A plug-in compiles a program for each, so one stands
// for all there: package objective holds the graphs of all of them to their references on it. Where the loss is one of
// a whole row, the rows of a micro-batch have numbers of their own.
func policies(d device) []batch.Objective {
	exploring := policyGradient()
	exploring.Bonus = batch.Bonus{On: true, Coefficient: 0.9}
	list := []batch.Objective{policyGradient(), exploring}
	if !d.PureGo() {
		return list
	}
	seen := map[string]bool{"dapo": true} // the first of the list
	for _, loss := range batch.Losses()[1:] {
		o := policyGradient()
		o.Loss = loss
		of, err := objective.Of(o)
		if err != nil || seen[of.Name()] { // package objective says which loss is not found
			continue
		}
		seen[of.Name()], list = true, append(list, o)
	}
	masked := policyGradient()
	masked.Loss, masked.OffPolicy = batch.LossGSPO, 0.01
	masked.KL = batch.KL{Beta: 0.3, Estimator: batch.K3, Gradient: batch.GradientRatio}
	return append(list, masked)
}

// referenced gives rows the logprobs of a reference policy, but for the second, which has none.
func referenced(b batch.Batch) batch.Batch {
	var lists [][]float32
	for i, r := range b.Rows {
		lists = append(lists, batch.Even(len(r.IDs), -4-0.1*float64(i)))
		if i == 1 {
			lists[i] = batch.Even(len(r.IDs), float64(batch.NoReference))
		}
	}
	return b.With(batch.ColumnReferenceLogprobs, lists)
}

// chosen lets rows be learnt from, and have a bonus, at every other token.
func chosen(b batch.Batch) batch.Batch {
	var lists [][]float32
	for _, r := range b.Rows {
		list := make([]float32, len(r.IDs))
		for i := range list {
			list[i] = float32(i % 2)
		}
		lists = append(lists, list)
	}
	return b.With(batch.ColumnChosen, lists)
}

// One step on tokens whose ratio lies inside the bounds, above and below them, for either sign of the advantage; none
// so near a bound that a difference crosses it. The ratios are known, so the statistics are too.
func testPolicyGradientEqualsFiniteDifferences(t *testing.T, d device) {
	for _, o := range policies(d) {
		checkPolicyGradient(t, d, o)
	}
}

func checkPolicyGradient(t *testing.T, d device, o batch.Objective) {
	tr, b := d.start(t, 4), chosen(referenced(batch.New(rows()))).Exploring()
	before := stateOf(t, tr)
	for i, a := range []float64{1, 0.3, -0.7} {
		b.Rows[i].Advantages = batch.Even(len(b.Rows[i].IDs), a)
	}
	offsets := []float64{0.5, -0.5, 0.05} // log ratios: 1.65, 0.61, 1.05
	n, ratios, mismatch := 0.0, 0.0, 0.0
	sums, counts := map[int]float64{}, map[int]float64{}
	eachToken(t, tr, b, func(row, at int, logp float64) {
		x := offsets[int(n)%len(offsets)]
		b.Rows[row].SamplerLogprobs[at] = float32(logp - x)
		n, ratios, mismatch = n+1, ratios+math.Exp(x), mismatch+math.Exp(x)-1-x
		sums[row], counts[row] = sums[row]+x, counts[row]+1
	})
	stats, err := tr.Step(context.Background(), b, o, batch.Update{Rate: 1e-2})
	if err != nil {
		t.Fatal(err)
	}
	checkGradient(t, tr, before, b, stateOf(t, tr).M, stats, o)
	clipped := 2.0 / 3 // of log ratios 0.5, -0.5 and 0.05 in turns
	if o.Loss == batch.LossGSPO {
		clipped = 0 // but for tokens of rows whose mean is beyond a bound
		for row, k := range counts {
			if ratio := math.Exp(sums[row] / k); ratio < 1-o.Clip.Low || ratio > 1+o.Clip.High {
				clipped += k / n
			}
		}
	}
	if math.Abs(stats.Clipped-clipped) > 0.05 {
		t.Errorf("%s: %g of the ratios are clipped, want %g", o.Loss, stats.Clipped, clipped)
	}
	if (stats.KL > 0) != (o.KL.Beta > 0) {
		t.Errorf("%s: a divergence of %g, times %g", o.Loss, stats.KL, o.KL.Beta)
	}
	if math.Abs(stats.Mismatch-mismatch/n) > 1e-5 || math.Abs(stats.MeanRatio-ratios/n) > 1e-5 ||
		math.Abs(stats.MaxDelta-0.5) > 1e-5 {
		t.Errorf("got %+v, want a mismatch of %g, a mean ratio of %g, differences up to 0.5",
			stats, mismatch/n, ratios/n)
	}
	if stats.NumTrained != int(n) || stats.NumTokens != 9+11+5+8 {
		t.Errorf("got %+v, want %g trained tokens of 33", stats, n)
	}
}

// Logprobs at temperature 2 are the log-softmax of half the logits, worked here from the logprobs of all tokens at
// temperature 1, which are logits up to a constant. So many tokens are scored that their logits are computed in chunks.
func testTemperature(t *testing.T, d device) {
	one := d.start(t, 4)
	const n = 70
	b := batch.Batch{Prefix: rows()[0].IDs[:9]}
	for last := range int32(learntest.Spec().VocabSize) {
		var row batch.Sequence
		for i := range int32(n) {
			row.IDs, row.Trained = append(row.IDs, i*i%59), append(row.Trained, i > 0)
		}
		row.IDs[n-1] = last
		b.Rows = append(b.Rows, row)
	}
	if x := one.calls(b.Rows, false)[0]; x.m <= headChunk {
		t.Fatalf("%d trained tokens fit into one chunk", x.m)
	}
	at1, err := one.Score(context.Background(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	at2, err := one.Score(context.Background(), b, 2)
	if err != nil {
		t.Fatal(err)
	}
	mass, sum := 0.0, 0.0
	for _, row := range at1 {
		mass, sum = mass+math.Exp(float64(row[n-1])), sum+math.Exp(float64(row[n-1])/2)
	}
	checkEntropies(t, one, b, at1, at2)
	if math.Abs(mass-1) > 1e-5 {
		t.Errorf("the probabilities of all tokens sum to %g", mass)
	}
	for id := range at1 {
		if want := float64(at1[id][n-1])/2 - math.Log(sum); math.Abs(float64(at2[id][n-1])-want) > 1e-5 {
			t.Errorf("token %d: logprob %g at temperature 2, want %g", id, at2[id][n-1], want)
		}
	}
}

// checkEntropies holds the entropies of rows whose last tokens are all there are, at temperatures 1 and 2, to those
// worked from the logprobs of these in float64.
func checkEntropies(t *testing.T, tr *Trainer, b batch.Batch, at1, at2 [][]float32) {
	t.Helper()
	for temperature, scores := range map[float64][][]float32{1: at1, 2: at2} {
		entropies, err := tr.Entropies(t.Context(), b, temperature)
		if err != nil {
			t.Fatal(err)
		}
		last, want := len(b.Rows[0].IDs)-1, 0.0
		for _, row := range scores {
			want -= math.Exp(float64(row[last])) * float64(row[last])
		}
		for i, row := range entropies {
			if math.Abs(float64(row[last])-want) > 1e-5 || row[0] != 0 || row[1] <= 0 {
				t.Errorf("temperature %g, row %d: entropy %g, want %g; of the first two tokens %v",
					temperature, i, row[last], want, row[:2])
			}
		}
	}
}

// Demonstrations were written at no temperature, so their loss divides logits by nothing. Rollouts were sampled at one,
// under which the trainer is the sampler; at another it is not.
func testTemperatureIsTheRolloutsAlone(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	scores := func(temperature float64) [][]float32 {
		s, err := tr.Score(context.Background(), b, temperature)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	kept := tr.programs // by the tests before
	tr.programs = map[string]program{}
	scores(1)
	if made, seconds := tr.CompileStats(); made == 0 || made != len(tr.programs) || seconds <= 0 {
		t.Errorf("%d of %d programs were counted, %g s: those that score are the trainer's too",
			made, len(tr.programs), seconds)
	}
	if made, seconds := tr.CompileStats(); made != 0 || seconds != 0 {
		t.Errorf("%d programs were counted twice, %g s", made, seconds)
	}
	tr.programs = kept
	mean, n := 0.0, 0.0
	for i, row := range scores(1) {
		for at, logp := range row {
			if b.Rows[i].Trained[at] {
				mean, n = mean-float64(logp), n+1
			}
		}
	}
	stats, err := tr.Gradient(context.Background(), b, batch.Objective{})
	if err != nil || math.Abs(stats.Loss-mean/n) > 1e-5 {
		t.Errorf("%v: demonstrations lose %g, at temperature 1 it is %g", err, stats.Loss, mean/n)
	}
	for i, row := range scores(2) {
		b.Rows[i].SamplerLogprobs = row
	}
	for temperature, same := range map[float64]bool{2: true, 1: false} {
		o := policyGradient()
		o.Temperature = temperature
		if stats, err := tr.Gradient(context.Background(), b, o); err != nil || (stats.Mismatch < 1e-9) != same {
			t.Errorf("%v: a mismatch of %g at temperature %g, of rollouts at 2", err, stats.Mismatch, temperature)
		}
	}
}

// Rows whose logprobs are the trainer's own are learnt from, and say nothing of a sampler.
func testScoredRowsSayNothing(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	of, err := tr.Gradient(context.Background(), batch.Batch{Prefix: b.Prefix, Rows: b.Rows[1:]}, policyGradient())
	if err != nil {
		t.Fatal(err)
	}
	b.Rows[0].Scored = true
	stats, err := tr.Gradient(context.Background(), b, policyGradient())
	if n := b.NumTrained() - b.Rows[0].NumTrained(); err != nil || stats.NumSampled != n || of.NumSampled != n ||
		of.Mismatch < 1e-9 || math.Abs(stats.Mismatch-of.Mismatch) > 1e-6 ||
		math.Abs(stats.MeanRatio-of.MeanRatio) > 1e-6 || stats.MaxDelta-of.MaxDelta > 1e-4 {
		t.Errorf("%v: beside a row of before %+v, without it %+v", err, stats, of)
	}
}

// A batch that names more tokens than it has loses, and moves, as much less; what is counted of its tokens stays.
func testNormaliser(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	whole, full := afterOneStep(t, tr, b, true)
	b.Normaliser = 5 * full.NumTrained
	tr = d.start(t, 4)
	fifth, stats := afterOneStep(t, tr, b.Shorten(3), true)
	if math.Abs(stats.Loss-full.Loss/5) > 1e-6 || math.Abs(stats.GradNorm-full.GradNorm/5) > 1e-6 ||
		stats.NumTrained != full.NumTrained || math.Abs(stats.Mismatch-full.Mismatch) > 1e-6 ||
		math.Abs(stats.MeanRatio-full.MeanRatio) > 1e-6 {
		t.Errorf("got %+v, want a fifth of %+v", stats, full)
	}
	for i := range fifth {
		fifth[i] *= 5
	}
	if x := maxDelta(fifth, whole); x > 1e-6 {
		t.Errorf("five times the gradient is %g from the whole", x)
	}
}

// A gradient changes nothing until it is applied, and is applied once; one that was refused leaves no trace.
func testAGradientIsAppliedOnceOrDropped(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	before := stateOf(t, tr)
	ctx, u := context.Background(), batch.Update{Rate: 1e-2}
	if _, err := tr.Apply(u); err == nil {
		t.Error("nothing was applied without an error")
	}
	if _, err := tr.Gradient(ctx, b, batch.Objective{}); err != nil || !equal(before, stateOf(t, tr)) {
		t.Fatalf("%v: a gradient changed the state", err)
	}
	if _, err := tr.Gradient(ctx, b, policyGradient()); err != nil { // in the place of the first
		t.Fatal(err)
	}
	norm, err := tr.Apply(u)
	if err != nil || norm == 0 {
		t.Fatalf("norm %g, %v", norm, err)
	}
	want := d.start(t, 4)
	if stats, err := want.Step(ctx, b, policyGradient(), u); err != nil || stats.GradNorm != norm ||
		!equal(stateOf(t, want), stateOf(t, tr)) {
		t.Errorf("%v: gradient and update apart are not the step", err)
	}
	if _, err := tr.Apply(u); err == nil {
		t.Error("a gradient was applied twice")
	}
	if _, err := tr.Gradient(ctx, b, policyGradient()); err != nil {
		t.Fatal(err)
	}
	if err := tr.SetState(before); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Apply(u); err == nil || !equal(before, stateOf(t, tr)) {
		t.Errorf("%v: a gradient outlived the state it was taken at", err)
	}
}

// Two steps on one batch: the ratios of the second are against the logprobs that the rows were sampled with, as those
// of the first, so it has a loss, a gradient and clipped tokens that the float64 reference has under the adapter which
// the first step left. Where the rows bring old logprobs of their own, ratios are against these.
func testSeveralStepsOnOneBatch(t *testing.T, d device) {
	for _, o := range policies(d) {
		loss := o.Loss
		if loss == batch.LossGSPO {
			o.Clip = batch.Clip{Low: 0.5, High: 0.5} // of three rows, some are beyond it
		}
		tr, b := d.start(t, 4), chosen(referenced(batch.New(rows()))).Exploring()
		scores, err := tr.Score(context.Background(), b, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range scores {
			b.Rows[i].SamplerLogprobs = row
		}
		first, err := tr.Step(context.Background(), b, o, batch.Update{Rate: 8e-3})
		if err != nil || math.Abs(first.MeanRatio-1) > 1e-5 || first.Clipped != 0 {
			t.Fatalf("%s: %+v, %v", loss, first, err)
		}
		middle := stateOf(t, tr)
		if err := tr.ResetOptimizer(); err != nil { // so that the first moment is a tenth of the second gradient
			t.Fatal(err)
		}
		second, err := tr.Step(context.Background(), b, o, batch.Update{Rate: 8e-3})
		if err != nil || math.Abs(second.MeanRatio-1) < 1e-3 || second.Clipped == 0 || second.Clipped == 1 {
			t.Fatalf("%s: %+v, %v", loss, second, err)
		}
		checkGradient(t, tr, middle, b, stateOf(t, tr).M, second, o)

		own := batch.Batch{Prefix: b.Prefix}
		for _, r := range b.Rows {
			r.Columns = maps.Clone(r.Columns)
			r.Columns[batch.ColumnOldLogprobs] = batch.Even(len(r.IDs), -4)
			own.Rows = append(own.Rows, r)
		}
		if err := tr.SetState(State{Adapter: middle.Adapter, M: make([]float32, tr.size),
			V: make([]float32, tr.size)}); err != nil {
			t.Fatal(err)
		}
		third, err := tr.Step(context.Background(), own, o, batch.Update{Rate: 8e-3})
		// which is against the sampler
		if err != nil || hasRatio(t, o) && math.Abs(third.Loss-second.Loss) < 1e-3 ||
			third.MeanRatio != second.MeanRatio {
			t.Fatalf("%s: %+v, with old logprobs of the rows' own %+v, %v", loss, second, third, err)
		}
		checkGradient(t, tr, middle, own, stateOf(t, tr).M, third, o)
	}
}

// hasRatio reports whether a loss depends on the old logprobs. That of a plain policy gradient does not.
func hasRatio(t *testing.T, o batch.Objective) bool {
	t.Helper()
	loss, err := objective.Of(o)
	if err != nil {
		t.Fatal(err)
	}
	of := func(old float64) float64 {
		x, _ := loss.Reference(objective.Row{Logprobs: []float64{-1},
			Columns: [][]float64{{old}, {1}, {-2}, {-2}}[:len(loss.Columns())], Weights: []float64{1}})
		return x
	}
	return of(-1) != of(-1.1)
}

// Scores under another adapter, and under the base model alone, are those of a trainer that holds it; the trainer's own
// stay. They stand where the tokens do, however much of the prefix is shared.
func testScoreUnder(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	before := stateOf(t, tr)
	scored := func(adapter engine.Buffer) [][]float32 {
		t.Helper()
		s, err := tr.ScoreUnder(context.Background(), adapter, b, 1)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	own := scored(tr.Adapter())
	for name, factor := range map[string]float32{"another": 2, "the base model": 0} {
		other := before
		other.Adapter = slices.Clone(before.Adapter)
		for i := range other.Adapter {
			other.Adapter[i] *= factor
		}
		reference, err := d.Upload(other.Adapter, len(other.Adapter))
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Free(reference)
		got := scored(reference)
		if factor == 0 {
			got = scored(nil)
		}
		holder := d.start(t, 4)
		if err := holder.SetState(other); err != nil {
			t.Fatal(err)
		}
		want, err := holder.Score(context.Background(), b, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) || slices.Equal(got[i], own[i]) {
				t.Errorf("%s, row %d: %v, want %v, the trainer's own are %v", name, i, got[i], want[i], own[i])
			}
			for at, trained := range b.Rows[i].Trained {
				if trained == (got[i][at] == 0) {
					t.Errorf("%s, row %d, token %d: %g, trained: %v", name, i, at, got[i][at], trained)
				}
			}
		}
	}
	if again := scored(tr.Adapter()); !slices.EqualFunc(again, own, slices.Equal) || !equal(before, stateOf(t, tr)) {
		t.Error("the trainer's own scores changed")
	}
	if d.PureGo() { // where a program costs nothing to compile
		tr.maxPrefix = 5
	}
	for i, row := range scored(tr.Adapter()) {
		for at := range row {
			if math.Abs(float64(row[at]-own[i][at])) > 1e-5 || len(row) != len(b.Rows[i].IDs) {
				t.Errorf("row %d, with a shorter prefix: %v, want %v", i, row, own[i])
				break
			}
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tr.Score(cancelled, b, 1); err == nil {
		t.Error("scoring goes on after it is cancelled")
	}
}

// A token's weight and advantage are its own: tokens of weight 0 count in the normaliser alone. Rows that lack what the
// loss needs are refused, by their place.
func testColumns(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	before := stateOf(t, tr)
	for i, r := range b.Rows {
		weights := make([]float32, len(r.IDs))
		for at := range weights {
			weights[at] = float32(at%3) / 2
			r.Advantages[at] *= float32(at%4) - 1
		}
		b.Rows[i].Weights = weights
	}
	for _, o := range []batch.Objective{{}, policyGradient()} {
		if err := tr.SetState(before); err != nil {
			t.Fatal(err)
		}
		stats, err := tr.Step(context.Background(), b, o, batch.Update{Rate: 1e-2})
		if err != nil {
			t.Fatal(err)
		}
		checkGradient(t, tr, before, b, stateOf(t, tr).M, stats, o)
	}
	for name, spoil := range map[string]func(r *batch.Sequence){
		"advantages": func(r *batch.Sequence) { r.Advantages = nil }, "old_logprobs": func(r *batch.Sequence) {
			r.SamplerLogprobs = nil
		},
		"weights": func(r *batch.Sequence) { r.Weights = r.Weights[:3] }} {
		spoilt := batch.New(rows())
		spoilt.Rows[1].Weights = batch.Even(len(spoilt.Rows[1].IDs), 1)
		spoil(&spoilt.Rows[1])
		if _, err := tr.Gradient(context.Background(), spoilt, policyGradient()); err == nil ||
			!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "row 2 of 3") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := tr.Gradient(context.Background(), b, batch.Objective{Loss: "none"}); err == nil {
		t.Error("a loss that there is not is taken")
	}
}

// At a low temperature logprobs are far below 0, at entries of a program that no token uses too: what k3 makes of these
// is infinite, and must not reach the loss. The logprobs of the used tokens are their own reference, so the divergence
// is 0.
func testUnusedEntriesAddNothing(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	o := policyGradient()
	o.Temperature, o.KL = 1e-3, batch.KL{Beta: 1, Estimator: batch.K3, Gradient: batch.GradientOwn}
	scores, err := tr.Score(t.Context(), b, o.Temperature)
	if err != nil {
		t.Fatal(err)
	}
	lowest := float32(0)
	for i, row := range scores {
		b.Rows[i].SamplerLogprobs, b.Rows[i].Advantages = row, batch.Even(len(row), 1)
		lowest = min(lowest, slices.Min(row))
	}
	stats, err := tr.Step(t.Context(), b.With(batch.ColumnReferenceLogprobs, scores), o, batch.Update{Rate: 1e-2})
	if err != nil || math.Abs(stats.Loss+1) > 1e-4 || lowest > -90 {
		t.Errorf("%v: %+v; the lowest logprob is %g", err, stats, lowest)
	}
}
