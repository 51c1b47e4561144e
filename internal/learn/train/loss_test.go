package train

import (
	"context"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
)

// Losses of single tokens with low 0.2 and high 0.28, worked by hand: r is trainer/sampler, the loss is
// -min(r A, clip(r, 0.8, 1.28) A).
func testDAPO(t *testing.T, d device) {
	cases := []struct{ trainer, sampler, advantage, want float64 }{
		{0.3, 0.3, 2, -2},      // r 1:    min(2, 2)
		{0.55, 0.5, 1, -1.1},   // r 1.1:  inside both bounds, min(1.1, 1.1)
		{0.55, 0.5, -1, 1.1},   //         min(-1.1, -1.1)
		{0.75, 0.5, 1, -1.28},  // r 1.5:  above the bound, min(1.5, 1.28): clipped, no more to gain
		{0.75, 0.5, -1, 1.5},   //         min(-1.5, -1.28): not clipped
		{0.1, 0.05, 0.5, -.64}, // r 2:    min(1, 0.64)
		{0.25, 0.5, 1, -0.5},   // r 0.5:  below the bound, min(0.5, 0.8): not clipped
		{0.25, 0.5, -1, 0.8},   //         min(-0.5, -0.8): clipped, no more to gain
		{0.3, 0.4, -3, 2.4},    // r 0.75: min(-2.25, -2.4)
		{0.9, 0.1, 0, 0},
	}
	n := len(cases)
	in := make([][]float32, 3)
	for _, c := range cases {
		for i, x := range []float64{math.Log(c.trainer), math.Log(c.sampler), c.advantage} {
			in[i] = append(in[i], float32(x))
		}
	}
	params := []engine.Param{{Name: "trainer", Shape: engine.F32(n)}, {Name: "sampler", Shape: engine.F32(n)}, {Name: "advantage", Shape: engine.F32(n)}}
	p, err := d.Compile("dapo", params, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{losses(graph.Const(in[0].Graph(), []float32{1, 1, 0.2, 0.28}), in[0], in[1], in[2])}
	})
	if err != nil {
		t.Fatal(err)
	}
	var buffers []engine.Buffer
	for _, flat := range in {
		b, err := d.Upload(flat, n)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b)
	}
	out, err := p.Run(buffers...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := take(out[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if math.Abs(float64(got[i])-c.want) > 1e-5 {
			t.Errorf("p %g under the trainer, %g under the sampler, advantage %g: loss %g, want %g", c.trainer, c.sampler, c.advantage, got[i], c.want)
		}
	}
}

// One step on tokens whose ratio lies inside the bounds, above and below them, for either sign of the advantage; none so
// near a bound that a difference crosses it. The ratios are known, so the statistics are too.
func testPolicyGradientEqualsFiniteDifferences(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	before := stateOf(t, tr)
	for i, a := range []float64{1, 0.3, -0.7} {
		b.Rows[i].Advantage = a
	}
	offsets := []float64{0.5, -0.5, 0.05} // log ratios: 1.65, 0.61, 1.05
	n, ratios, mismatch := 0.0, 0.0, 0.0
	eachToken(t, tr, b, func(row, at int, logp float64) {
		x := offsets[int(n)%len(offsets)]
		b.Rows[row].SamplerLogprobs[at] = float32(logp - x)
		n, ratios, mismatch = n+1, ratios+math.Exp(x), mismatch+math.Exp(x)-1-x
	})
	m, stats := afterOneStep(t, tr, b, true)
	checkGradient(t, tr, before, b, m, stats, func(logp, sampler, a float64) float64 {
		r := math.Exp(logp - sampler)
		return -min(r*a, min(max(r, 0.8), 1.28)*a)
	})
	if math.Abs(stats.Mismatch-mismatch/n) > 1e-5 || math.Abs(stats.MeanRatio-ratios/n) > 1e-5 || math.Abs(stats.MaxDelta-0.5) > 1e-5 {
		t.Errorf("got %+v, want a mismatch of %g, a mean ratio of %g, differences up to 0.5", stats, mismatch/n, ratios/n)
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
	if x := one.calls(b.Rows)[0]; x.m <= headChunk {
		t.Fatalf("%d trained tokens fit into one chunk", x.m)
	}
	at1, err := one.Score(b, 1)
	if err != nil {
		t.Fatal(err)
	}
	at2, err := one.Score(b, 2)
	if err != nil {
		t.Fatal(err)
	}
	mass, sum := 0.0, 0.0
	for _, row := range at1 {
		mass, sum = mass+math.Exp(float64(row[n-2])), sum+math.Exp(float64(row[n-2])/2)
	}
	if math.Abs(mass-1) > 1e-5 {
		t.Errorf("the probabilities of all tokens sum to %g", mass)
	}
	for id := range at1 {
		if want := float64(at1[id][n-2])/2 - math.Log(sum); math.Abs(float64(at2[id][n-2])-want) > 1e-5 {
			t.Errorf("token %d: logprob %g at temperature 2, want %g", id, at2[id][n-2], want)
		}
	}
}

// Demonstrations were written at no temperature, so their loss divides logits by nothing. Rollouts were sampled at one, under
// which the trainer is the sampler; at another it is not.
func testTemperatureIsTheRolloutsAlone(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	scores := func(temperature float64) [][]float32 {
		s, err := tr.Score(b, temperature)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	mean, n := 0.0, 0.0
	for _, row := range scores(1) {
		for _, logp := range row {
			mean, n = mean-float64(logp), n+1
		}
	}
	stats, err := tr.Gradient(context.Background(), b, batch.Objective{})
	if err != nil || math.Abs(stats.Loss-mean/n) > 1e-5 {
		t.Errorf("%v: demonstrations lose %g, at temperature 1 it is %g", err, stats.Loss, mean/n)
	}
	for i, row := range scores(2) {
		j := 0
		for at, trained := range b.Rows[i].Trained {
			if trained {
				b.Rows[i].SamplerLogprobs[at], j = row[j], j+1
			}
		}
	}
	for temperature, same := range map[float64]bool{2: true, 1: false} {
		o := policy()
		o.Policy.Temperature = temperature
		if stats, err := tr.Gradient(context.Background(), b, o); err != nil || (stats.Mismatch < 1e-9) != same {
			t.Errorf("%v: a mismatch of %g at temperature %g, of rollouts at 2", err, stats.Mismatch, temperature)
		}
	}
}

// A batch that names more tokens than it has loses, and moves, as much less; what is counted of its tokens stays.
func testNormaliser(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	whole, full := afterOneStep(t, tr, b, true)
	b.Normaliser = 5 * full.NumTrained
	tr = d.start(t, 4)
	fifth, stats := afterOneStep(t, tr, b.Shorten(3), true)
	if math.Abs(stats.Loss-full.Loss/5) > 1e-6 || math.Abs(stats.GradNorm-full.GradNorm/5) > 1e-6 || stats.NumTrained != full.NumTrained ||
		math.Abs(stats.Mismatch-full.Mismatch) > 1e-6 || math.Abs(stats.MeanRatio-full.MeanRatio) > 1e-6 {
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
	if _, err := tr.Gradient(ctx, b, policy()); err != nil { // in the place of the first
		t.Fatal(err)
	}
	norm, err := tr.Apply(u)
	if err != nil || norm == 0 {
		t.Fatalf("norm %g, %v", norm, err)
	}
	want := d.start(t, 4)
	if stats, err := want.Step(ctx, b, policy(), u); err != nil || stats.GradNorm != norm || !equal(stateOf(t, want), stateOf(t, tr)) {
		t.Errorf("%v: gradient and update apart are not the step", err)
	}
	if _, err := tr.Apply(u); err == nil {
		t.Error("a gradient was applied twice")
	}
	if _, err := tr.Gradient(ctx, b, policy()); err != nil {
		t.Fatal(err)
	}
	if err := tr.SetState(before); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Apply(u); err == nil || !equal(before, stateOf(t, tr)) {
		t.Errorf("%v: a gradient outlived the state it was taken at", err)
	}
}
