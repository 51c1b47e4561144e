package train

import (
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
)

func TestPad(t *testing.T) {
	row := func(ids ...int32) batch.Sequence { // all but the first two are trained
		s := batch.Sequence{IDs: ids, Trained: make([]bool, len(ids)), SamplerLogprobs: make([]float32, len(ids)),
			Advantages: batch.Even(len(ids), float64(ids[0])), Weights: batch.Even(len(ids), 2)}
		for i := range ids[2:] {
			s.Trained[2+i], s.SamplerLogprobs[2+i] = true, -float32(ids[2+i])
		}
		return s
	}
	for _, c := range []struct {
		microBatch, rowMultiple int
		rows                    []batch.Sequence
		c, m                    int
		index, target           []int32 // without padding
	}{
		{1, 1, []batch.Sequence{row(5, 6, 7)}, 3, 1, []int32{1}, []int32{7}},
		{1, 2, []batch.Sequence{row(5, 6, 7)}, 4, 2, []int32{1}, []int32{7}},
		{2, 4, []batch.Sequence{row(5, 6, 7), row(1, 2, 3, 4, 8)}, 8, 8, []int32{1, 2, 3, 9}, []int32{3, 4, 8, 7}},
		{4, 4, []batch.Sequence{row(5, 6, 7, 8)}, 4, 8, []int32{1, 2}, []int32{7, 8}},
	} {
		tr := &Trainer{engine: &engine.Engine{}, rowMultiple: c.rowMultiple, microBatch: c.microBatch}
		x := tr.pad(tr.calls(c.rows, false)[0], c.rows, 0.125,
			[]batch.Column{batch.ColumnOldLogprobs, batch.ColumnAdvantages}, masks{})[0]
		if x.n != c.microBatch || x.c != c.c || x.m != c.m || len(x.ids) != x.n*x.c || len(x.index) != x.m ||
			len(x.weight) != x.m {
			t.Errorf("rows of %d, multiple %d: shapes %d %d %d, want %d %d",
				c.microBatch, c.rowMultiple, x.n, x.c, x.m, c.c, c.m)
			continue
		}
		n := len(c.index)
		if x.used != n {
			t.Errorf("%d entries are used, want %d", x.used, n)
		}
		if !slices.Equal(x.index[:n], c.index) || !slices.Equal(x.target[:n], c.target) {
			t.Errorf("index %v and target %v, want %v and %v", x.index, x.target, c.index, c.target)
		}
		for i := range x.m {
			if i < n && x.row[i] != x.index[i]/int32(x.c) || i >= n && x.row[i] != -1 {
				t.Errorf("entry %d of %d is of row %d", i, n, x.row[i])
			}
			switch trained := i < n; {
			case trained && (x.weight[i] != 0.25 || x.sampler[i] != -float32(x.target[i]) || !x.sampled[i] ||
				x.columns[0][i] != x.sampler[i] || x.columns[1][i] != float32(x.ids[int(x.index[i])/x.c*x.c]) ||
				x.ids[x.index[i]+1] != x.target[i]):
				t.Errorf("entry %d: weight %g, sampler %g, columns %g", i, x.weight[i], x.sampler[i], x.columns)
			case !trained && (x.weight[i] != 0 || x.sampled[i]):
				t.Errorf("padding %d has weight %g", i, x.weight[i])
			}
		}
	}
}

// The share of clipped ratios is taken against the old logprobs, the mismatch against the sampler's, where a row has
// both.
func TestCompareWithOldAndSampler(t *testing.T) {
	r := batch.Sequence{IDs: []int32{1, 2, 3}, Trained: []bool{false, true, true},
		SamplerLogprobs: []float32{0, -1, -1},
		Columns:         map[batch.Column][]float32{batch.ColumnOldLogprobs: {0, -1, -3}}}
	columns := []batch.Column{batch.ColumnOldLogprobs}
	x := shape{n: 1, c: 4, m: 4}.pad(Options{}.trees([]batch.Sequence{r}), []batch.Sequence{r}, 1,
		columns, masks{})
	var stats batch.StepStats
	x.compare([]float32{-1, -1, 0, 0},
		goal{columns: columns, settings: batch.Objective{Clip: batch.Clip{Low: 0.2, High: 0.2}}}, &stats)
	if stats.Clipped != 1 || stats.MeanRatio != 2 || stats.Mismatch != 0 || stats.MaxDelta != 0 {
		t.Errorf("%+v", stats)
	}
	// The mean of the log ratios 0 and 2 is outside of the clip too, that of 0 and 0.3 is not, nor is one of them a
	// row's.
	for old, want := range map[float32]float64{-3: 2, -1.3: 0} {
		r.Columns = map[batch.Column][]float32{batch.ColumnOldLogprobs: {0, -1, old},
			batch.ColumnReferenceLogprobs: {0, -2, -1}}
		columns = []batch.Column{batch.ColumnOldLogprobs, batch.ColumnReferenceLogprobs}
		x, stats = shape{n: 1, c: 4, m: 4}.pad(Options{}.trees([]batch.Sequence{r}), []batch.Sequence{r}, 1,
			columns, masks{}), batch.StepStats{}
		x.compare([]float32{-1, -1, 0, 0}, goal{columns: columns, settings: batch.Objective{Loss: batch.LossGSPO,
			Clip: batch.Clip{Low: 0.2, High: 0.2}, KL: batch.KL{Estimator: batch.K1}}}, &stats)
		if stats.Clipped != want || stats.KL != 1 || stats.NumReferred != 2 {
			t.Errorf("%+v, want %g tokens of clipped rows, and a divergence of 1", stats, want)
		}
		x.columns[1][0], stats = batch.NoReference, batch.StepStats{}
		x.compare([]float32{-1, -1, 0, 0}, goal{columns: columns,
			settings: batch.Objective{KL: batch.KL{Estimator: batch.K1}}}, &stats)
		if stats.KL != 0 || stats.NumReferred != 1 {
			t.Errorf("a token without a reference: %+v", stats)
		}
	}
}
