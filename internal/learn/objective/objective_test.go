package objective

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

// Losses of single tokens with low 0.2 and high 0.28, worked by hand: p of the token under the trainer and the old
// policy, the advantage, the loss and its derivative by log p.
func TestReferencesByHand(t *testing.T) {
	worked := map[string]int{}
	for _, c := range []struct {
		loss              batch.Loss
		dual              float64
		p, old, advantage float64
		want, slope       float64
	}{
		{batch.LossLikelihood, 0, 0.5, 0.1, 7, math.Ln2, -1},
		{batch.LossPreference, 0, 0.5, math.Exp(0.25), 0, -0.25 * math.Ln2, 0.25}, // the column is the slope
		{batch.LossDAPO, 0, 0.3, 0.3, 2, -2, -2},                                  // r 1:    min(2, 2)
		// r 1.1:  inside both bounds, min(1.1, 1.1)
		{batch.LossDAPO, 0, 0.55, 0.5, 1, -1.1, -1.1},
		{batch.LossDAPO, 0, 0.55, 0.5, -1, 1.1, 1.1}, //         min(-1.1, -1.1)
		// r 1.5:  above the bound, min(1.5, 1.28): clipped, no more to gain
		{batch.LossDAPO, 0, 0.75, 0.5, 1, -1.28, 0},
		//         min(-1.5, -1.28): not clipped
		{batch.LossDAPO, 0, 0.75, 0.5, -1, 1.5, 1.5},
		{batch.LossDAPO, 0, 0.1, 0.05, 0.5, -.64, 0}, // r 2:    min(1, 0.64)
		// r 0.5:  below the bound, min(0.5, 0.8): not clipped
		{batch.LossDAPO, 0, 0.25, 0.5, 1, -0.5, -0.5},
		//         min(-0.5, -0.8): clipped, no more to gain
		{batch.LossDAPO, 0, 0.25, 0.5, -1, 0.8, 0},
		{batch.LossDAPO, 0, 0.3, 0.4, -3, 2.4, 0}, // r 0.75: min(-2.25, -2.4)
		{batch.LossDAPO, 0, 0.9, 0.1, 0, 0, 0},
		// r 8:    min(min(8, 3) * -2, 1.28 * -2), the bound of negative advantages
		{batch.LossDAPO, 3, 0.8, 0.1, -2, 6, 0},
		{batch.LossDAPO, 3, 0.8, 0.4, -2, 4, 4},     // r 2:    below that bound
		{batch.LossDAPO, 3, 0.8, 0.1, 2, -2.56, 0},  //         which is none of positive ones
		{batch.LossDAPO, 3, 0.05, 0.1, -2, 1.6, 0},  // r 0.5:  nor of ratios below the clip
		{batch.LossGRPO, 0, 0.75, 0.5, 1, -1.28, 0}, // the loss of a token is DAPO's
		{batch.LossBNPO, 0, 0.75, 0.5, 1, -1.28, 0},
		{batch.LossDrGRPO, 0, 0.75, 0.5, 1, -1.28, 0},
		{batch.LossGSPO, 0, 0.75, 0.5, 1, -1.28, 0}, // the ratio of a row of one token is the token's
		{batch.LossGSPO, 0, 0.75, 0.5, -1, 1.5, 1.5},
		{batch.LossCISPO, 0, 0.5, 0.5, 2, 2 * math.Ln2, -2}, // r 1
		// r 2:   the weight is 1.28, and the token has a gradient
		{batch.LossCISPO, 0, 0.5, 0.25, 2, 2.56 * math.Ln2, -2.56},
		{batch.LossCISPO, 0, 0.25, 0.5, 1, 1.6 * math.Ln2, -0.8}, // r 0.5: the weight is 0.8
		{batch.LossCISPO, 0, 0.25, 0.5, -1, -1.6 * math.Ln2, 0.8},
	} {
		o, err := Of(batch.Objective{Loss: c.loss, Clip: batch.Clip{Low: 0.2, High: 0.28, Dual: c.dual}})
		if err != nil {
			t.Fatal(err)
		}
		worked[string(c.loss)]++
		columns := [][]float64{{math.Log(c.old)}, {c.advantage}}[:len(o.Columns())]
		loss, slopes := o.Reference(Row{Logprobs: []float64{math.Log(c.p)}, Columns: columns, Weights: []float64{1}})
		if math.Abs(loss-c.want) > 1e-12 || math.Abs(slopes[0]-c.slope) > 1e-12 {
			t.Errorf("%s, p %g, before %g, advantage %g: loss %g and slope %g, want %g and %g",
				c.loss, c.p, c.old, c.advantage, loss, slopes[0], c.want, c.slope)
		}
	}
	for _, loss := range batch.Losses() {
		if worked[string(loss)] == 0 {
			t.Errorf("no loss of %q is worked by hand", loss)
		}
	}
	if _, err := Of(batch.Objective{Loss: "none"}); err == nil {
		t.Error("a loss that there is not was found")
	}
}

// What belongs to a row, worked by hand for rows of two tokens with p 0.6 and 0.2, before 0.5 and 0.2, so with ratios
// of 1.2 and 1.
func TestRowsByHand(t *testing.T) {
	ln, root := math.Log, math.Sqrt(1.2) // 1.0954: the row's ratio
	half := []float64{0.5, 0.5}
	for name, c := range map[string]struct {
		o           batch.Objective
		advantage   float64
		more        []float64 // the last column's probabilities
		want        float64
		first, last float64 // slopes
	}{
		"the ratio of a row":   {batch.Objective{Loss: batch.LossGSPO, Clip: batch.Clip{Low: 0.2, High: 0.28}}, 2, nil, -2 * root, -root, -root},
		"its clip":             {batch.Objective{Loss: batch.LossGSPO, Clip: batch.Clip{Low: 0.05, High: 0.05}}, 2, nil, -2 * 1.05, 0, 0},
		"not its token's clip": {batch.Objective{Loss: batch.LossGSPO, Clip: batch.Clip{Low: 0.1, High: 0.1}}, 2, nil, -2 * root, -root, -root},
		"k1":                   {kl(batch.LossDAPO, batch.K1, batch.GradientOwn), 0, []float64{0.3, 0.4}, 0.5 * 0.5 * (ln(2) + ln(0.5)), 0.25, 0.25},
		"k2":                   {kl(batch.LossDAPO, batch.K2, batch.GradientOwn), 0, []float64{0.3, 0.4}, 0.5 * 0.5 * ln(2) * ln(2), 0.25 * ln(2), -0.25 * ln(2)},
		"k3":                   {kl(batch.LossDAPO, batch.K3, batch.GradientOwn), 0, []float64{0.3, 0.4}, 0.25 * (0.5 - 1 + ln(2) + 2 - 1 - ln(2)), 0.25 * 0.5, -0.25},
		"k3 with k2's slope":   {kl(batch.LossDAPO, batch.K3, batch.GradientK2), 0, []float64{0.3, 0.4}, 0.125, 0.25 * ln(2), -0.25 * ln(2)},
		"k1 times the ratio": {kl(batch.LossDAPO, batch.K1, batch.GradientRatio), 0, []float64{0.3, 0.4},
			0.25 * (1.2*ln(2) - ln(2)), 0.25 * 1.2 * (1 + ln(2)), 0.25 * (1 - ln(2))},
		"k1 times the row's": {kl(batch.LossGSPO, batch.K1, batch.GradientRatio), 0, []float64{0.3, 0.3},
			0.25 * root * (ln(2) + ln(2.0/3)), 0.25*root + 0.125*root*(ln(2)+ln(2.0/3)),
			0.25*root + 0.125*root*(ln(2)+ln(2.0/3))},
		// mean log(p_sampler/p) is (ln 2 + 0) / 2 = 0.347
		"left by a good row":     {off(0.3), 1, []float64{1.2, 0.2}, -0.5 * 2.2, -0.6, -0.5},
		"left by a bad row":      {off(0.3), -1, []float64{1.2, 0.2}, 0, 0, 0},
		"a bad row that is near": {off(0.4), -1, []float64{1.2, 0.2}, 0.5 * 2.2, 0.6, 0.5},
		"moved the other way":    {off(0.3), -1, []float64{0.3, 0.2}, 0.5 * 2.2, 0.6, 0.5},
		"far at one of its two":  {off(0.3), -1, []float64{1.2, 0.1}, 0.5 * 2.2, 0.6, 0.5},
		// 0.5 of -2.2, less 0.1 times what the entropies 0.5 and 0.3 weigh, by half and by 3 and 0.2
		"a bonus": {
			batch.Objective{Loss: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28},
				Bonus: batch.Bonus{On: true, Coefficient: 0.1}}, 1, nil, -0.5*2.2 - 0.1*0.5*(3*0.5+0.2*0.3), -0.6, -0.5,
		},
		"the clip of GSPO is off": {batch.Objective{Loss: batch.LossGSPO, Clip: batch.Clip{Low: 0.05, High: 0.05, Dual: 1.07}}, -2, nil, 2 * 1.07, 0, 0},
	} {
		o, err := Of(c.o)
		if err != nil {
			t.Fatal(err)
		}
		columns := [][]float64{{ln(0.5), ln(0.2)}, {c.advantage, c.advantage}}
		if c.more != nil {
			columns = append(columns, []float64{ln(c.more[0]), ln(c.more[1])})
		}
		if c.o.Bonus.On {
			columns = append(columns, []float64{3, 0.2})
		}
		loss, slopes := o.Reference(Row{Logprobs: []float64{ln(0.6), ln(0.2)}, Columns: columns, Weights: half,
			Entropies: []float64{0.5, 0.3}})
		if math.Abs(loss-c.want) > 1e-12 || math.Abs(slopes[0]-c.first) > 1e-12 || math.Abs(slopes[1]-c.last) > 1e-12 {
			t.Errorf("%s: loss %g, slopes %g, want %g, %g and %g", name, loss, slopes, c.want, c.first, c.last)
		}
	}
}

func kl(loss batch.Loss, e batch.Estimator, g batch.Gradient) batch.Objective {
	return batch.Objective{Loss: loss, Clip: batch.Clip{Low: 0.2, High: 0.28},
		KL: batch.KL{Beta: 0.5, Estimator: e, Gradient: g}}
}

func off(bound float64) batch.Objective {
	return batch.Objective{Loss: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28}, OffPolicy: bound}
}

// all are objectives with each graph that there is, but for their numbers.
func all() (list []batch.Objective) {
	seen := map[string]bool{}
	for _, loss := range append(batch.Losses(), batch.LossPreference) {
		o, err := Of(batch.Objective{Loss: loss})
		if err != nil || seen[o.Name()] { // TestReferencesByHand says which loss is not found
			continue
		}
		seen[o.Name()], list = true, append(list, batch.Objective{Loss: loss})
	}
	for _, loss := range []batch.Loss{batch.LossDAPO, batch.LossGSPO} {
		list = append(list, batch.Objective{Loss: loss, Clip: batch.Clip{Dual: 1}},
			batch.Objective{Loss: loss, OffPolicy: 1})
	}
	for _, e := range []batch.Estimator{batch.K1, batch.K2, batch.K3} {
		for _, g := range []batch.Gradient{batch.GradientOwn, batch.GradientK2, batch.GradientRatio} {
			list = append(list, batch.Objective{KL: batch.KL{Estimator: e, Gradient: g, Beta: 1}, Loss: batch.LossDAPO})
		}
	}
	on := batch.Bonus{On: true}
	list = append(list, batch.Objective{Loss: batch.LossDAPO, Bonus: on}, batch.Objective{Loss: batch.LossGSPO,
		Bonus: on, OffPolicy: 1, KL: batch.KL{Estimator: batch.K3, Gradient: batch.GradientOwn, Beta: 1}})
	return append(list, batch.Objective{Loss: batch.LossGSPO, OffPolicy: 1,
		KL: batch.KL{Estimator: batch.K3, Gradient: batch.GradientRatio, Beta: 1}},
		batch.Objective{Loss: batch.LossCISPO, Clip: batch.Clip{Dual: 1},
			KL: batch.KL{Estimator: batch.K1, Gradient: batch.GradientRatio, Beta: 1}})
}

// Each graph computes what its reference says, and has its derivative, on random rows and under random numbers. Some
// entries are of no row.
func TestGraphsAreTheirReferences(t *testing.T) {
	const m, n = 64, 5
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		for _, base := range all() {
			program := compile(t, e, base, m, n)
			rapid.Check(t, func(rt *rapid.T) {
				drawn := base
				drawn.Clip.Low, drawn.Clip.High =
					rapid.Float64Range(0, 1).Draw(rt, "low"), rapid.Float64Range(0, 5).Draw(rt, "high")
				if base.Clip.Dual > 0 {
					drawn.Clip.Dual = 1 + drawn.Clip.High + rapid.Float64Range(0.01, 3).Draw(rt, "dual")
				}
				if base.OffPolicy > 0 {
					drawn.OffPolicy = rapid.Float64Range(0.01, 0.5).Draw(rt, "bound")
				}
				if base.KL.Beta > 0 {
					drawn.KL.Beta = rapid.Float64Range(0.01, 1).Draw(rt, "beta")
				}
				if base.Bonus.On {
					drawn.Bonus.Coefficient = rapid.Float64Range(0, 1).Draw(rt, "coefficient")
				}
				o, err := Of(drawn)
				if err != nil {
					rt.Fatal(err)
				}
				checkGraph(rt, e, program, o, m, n)
			})
		}
	})
}

// checkGraph runs the program of an objective on random rows.
func checkGraph(rt *rapid.T, e *engine.Engine, p *engine.Program, o Objective, m, n int) {
	in := [][]float32{rapid.SliceOfN(rapid.Float32Range(-9, 0), m, m).Draw(rt, "logprobs")}
	entropies := rapid.SliceOfN(rapid.Float32Range(0, 9), m, m).Draw(rt, "entropies")
	weights := rapid.SliceOfN(rapid.Float32Range(0, 2), m, m).Draw(rt, "weights")
	for _, c := range o.Columns() {
		in = append(in, rapid.SliceOfN(rapid.Float32Range(-3, 3), m, m).Draw(rt, string(c)))
		if c != batch.ColumnAdvantages && c != batch.ColumnBonus { // other logprobs are near the new ones
			for i := range m {
				in[len(in)-1][i] = in[0][i] + in[len(in)-1][i]/2
			}
		}
	}
	rows := rapid.SliceOfN(rapid.Int32Range(-1, int32(n-1)), m, m).Draw(rt, "rows")
	for i, row := range rows {
		if row < 0 {
			weights[i] = 0
		}
	}
	losses, slopes, byEntropy := run(rt, e, p, append(slices.Clone(in), entropies), rows, weights, o.Numbers())
	for row := range int32(n) {
		var of Row
		var at []int
		of.Columns = make([][]float64, len(o.Columns()))
		for i, r := range rows {
			if r == row {
				at, of.Logprobs, of.Weights =
					append(at, i), append(of.Logprobs, float64(in[0][i])), append(of.Weights, float64(weights[i]))
				of.Entropies = append(of.Entropies, float64(entropies[i]))
				for k := range of.Columns {
					of.Columns[k] = append(of.Columns[k], float64(in[1+k][i]))
				}
			}
		}
		if len(at) == 0 || atBound(o, of) {
			continue
		}
		want, derivatives := o.Reference(of)
		got, size := 0.0, 1.0
		for _, i := range at {
			got, size = got+float64(losses[i])*float64(weights[i]), size+math.Abs(float64(losses[i]))
		}
		if math.Abs(got-want) > 1e-4*size {
			rt.Fatalf("%s of row %d: loss %g, want %g: %+v", o.Name(), row, got, want, of)
		}
		for _, i := range at {
			want := 0.0
			if b, ok := o.(bonus); ok {
				want = -b.coefficient * float64(weights[i]) * float64(in[len(in)-1][i])
			}
			if math.Abs(float64(byEntropy[i])-want) > 1e-6 {
				rt.Fatalf("%s: slope %g by the entropy of token %d, want %g", o.Name(), byEntropy[i], i, want)
			}
		}
		for k, i := range at {
			if math.Abs(float64(slopes[i])-derivatives[k]) > 1e-4*(size+math.Abs(derivatives[k])) {
				rt.Fatalf("%s of row %d: slope %g of token %d, want %g: %+v",
					o.Name(), row, slopes[i], k, derivatives[k], of)
			}
		}
	}
}

// atBound reports whether a ratio of a row is so near to a bound that rounding decides whether it is clipped or masked.
func atBound(o Objective, r Row) bool {
	if len(r.Columns) == 0 {
		return false
	}
	away := 0.0
	if off, ok := inner(o).(offPolicy); ok {
		for i, p := range r.Logprobs {
			away += (r.Columns[2][i] - p) / float64(len(r.Logprobs))
		}
		if math.Abs(away-off.bound) < 1e-5 {
			return true
		}
	}
	ratios := []float64{rowRatio(r)}
	for i, p := range r.Logprobs {
		ratios = append(ratios, math.Exp(p-r.Columns[0][i]))
	}
	for _, ratio := range ratios {
		for i, bound := range o.Numbers()[:min(3, len(o.Numbers()))] {
			for _, at := range [][]float64{{1 - float64(bound)}, {1 + float64(bound)}, {float64(bound)}}[i] {
				if math.Abs(ratio-at) < 1e-4 {
					return true
				}
			}
		}
	}
	return false
}

// inner is what a divergence is added to.
func inner(o Objective) Objective {
	if b, ok := o.(bonus); ok {
		o = b.Objective
	}
	if d, ok := o.(divergence); ok {
		return d.Objective
	}
	return o
}

// compile makes a program of an objective: logprobs [m], columns [m], entropies [m], row [m], weights [m], numbers ->
// losses [m], the derivatives of their weighted sum by logprobs and entropies [m].
func compile(t *testing.T, e *engine.Engine, of batch.Objective, m, n int) *engine.Program {
	t.Helper()
	o, err := Of(of)
	if err != nil {
		t.Fatal(err)
	}
	params := []engine.Param{{Name: "logprobs", Shape: engine.F32(m)}}
	for _, c := range o.Columns() {
		params = append(params, engine.Param{Name: string(c), Shape: engine.F32(m)})
	}
	params = append(params, engine.Param{Name: "entropies", Shape: engine.F32(m)},
		engine.Param{Name: "row", Shape: engine.I32(m)}, engine.Param{Name: "weights", Shape: engine.F32(m)})
	columns, k := len(o.Columns()), len(o.Numbers())
	if k > 0 {
		params = append(params, engine.Param{Name: "numbers", Shape: engine.F32(k)})
	}
	p, err := e.Compile("loss", params, func(in []*graph.Node) []*graph.Node {
		entropies := in[1+columns]
		of := Tokens{Logprobs: in[0], Columns: in[1 : 1+columns], NumRows: n, Entropies: entropies}
		if o.ByRow() {
			of.Rows = in[2+columns]
		}
		for i := range k {
			of.Numbers = append(of.Numbers, graph.Reshape(graph.Slice(in[len(in)-1], graph.AxisRange(i, i+1))))
		}
		losses := o.Graph(of)
		total := graph.ReduceAllSum(graph.Mul(losses, in[3+columns]))
		return append([]*graph.Node{losses}, graph.Gradient(total, in[0], entropies)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs such a program.
func run(
	t *rapid.T, e *engine.Engine, p *engine.Program, in [][]float32, rows []int32, weights, numbers []float32,
) (losses, slopes, byEntropy []float32) {
	var buffers []engine.Buffer
	flats := []any{}
	for _, x := range in {
		flats = append(flats, x)
	}
	flats = append(flats, rows, weights)
	if len(numbers) > 0 {
		flats = append(flats, numbers)
	}
	for _, flat := range flats {
		var b engine.Buffer
		var err error
		switch x := flat.(type) {
		case []int32:
			b, err = e.Upload(x, len(x))
		case []float32:
			b, err = e.Upload(x, len(x))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Free(b)
		buffers = append(buffers, b)
	}
	out, err := p.Run(buffers...)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Free(out...)
	for i, to := range []*[]float32{&losses, &slopes, &byEntropy} {
		if *to, err = engine.Floats(out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return losses, slopes, byEntropy
}
