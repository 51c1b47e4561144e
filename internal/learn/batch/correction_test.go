package batch_test

import (
	"math"
	"slices"
	"testing"

	"hone/internal/learn/batch"
)

// Worked by hand for a row of three tokens whose ratios are 0.5, 4 and 1: their product is 2, their geometric mean
// 2^(1/3).
func TestCorrectionsByHand(t *testing.T) {
	old, sampler := []float64{math.Log(0.1), math.Log(0.8), -1}, []float64{math.Log(0.2), math.Log(0.2), -1}
	root := math.Cbrt(2)
	for _, c := range []struct {
		c    batch.Correction
		want []float64
	}{
		{batch.Correction{Level: batch.LevelToken, Mode: batch.ModeTruncate, High: 2}, []float64{0.5, 2, 1}}, // TIS
		{batch.Correction{Level: batch.LevelToken, Mode: batch.ModeTruncate, Low: 0.7, High: 9}, []float64{0.7, 4, 1}},
		// IcePop
		{batch.Correction{Level: batch.LevelToken, Mode: batch.ModeMask, Low: 0.5, High: 2}, []float64{0.5, 0, 1}},
		{batch.Correction{Level: batch.LevelToken, Mode: batch.ModeMask, Low: 0.6, High: 5}, []float64{0, 4, 1}},
		{batch.Correction{Level: batch.LevelSequence, Mode: batch.ModeTruncate, High: 1.5}, []float64{1.5, 1.5, 1.5}},
		{batch.Correction{Level: batch.LevelSequence, Mode: batch.ModeMask, High: 3}, []float64{2, 2, 2}}, // MIS
		{batch.Correction{Level: batch.LevelSequence, Mode: batch.ModeMask, High: 1.5}, []float64{0, 0, 0}},
		{batch.Correction{Level: batch.LevelGeometric, Mode: batch.ModeMask, Low: 0.99, High: 1.01}, []float64{0, 0, 0}},
		{batch.Correction{Level: batch.LevelGeometric, Mode: batch.ModeMask, Low: 0.5, High: 1.5}, []float64{root, root, root}},
	} {
		got := c.c.Weights(old, sampler)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%+v: %v, want %v", c.c, got, c.want)
			}
		}
	}
	for level, on := range map[batch.Level]bool{
		"":                   false,
		batch.LevelNone:      false,
		batch.LevelToken:     true,
		batch.LevelGeometric: true,
	} {
		if (batch.Correction{Level: level}).On() != on {
			t.Errorf("%q is on: %v", level, !on)
		}
	}
}

// A correction weighs the advantages of sampled tokens alone, brings the trainer's logprobs as the old ones, and leaves
// the batch it was given as it was.
func TestCorrected(t *testing.T) {
	row := batch.Sequence{IDs: []int32{1, 2, 3}, Trained: []bool{false, true, true},
		SamplerLogprobs: []float32{0, -1, -1}, Advantages: []float32{5, 5, 5}}
	b := batch.Batch{Prefix: []int32{9}, Rows: []batch.Sequence{row, row}, Normaliser: 7}
	old := [][]float32{{0, float32(math.Log(2)) - 1, float32(math.Log(8)) - 1}, {0, -1, -1}}
	got, s, err := b.Correct(batch.Correction{Level: batch.LevelToken, Mode: batch.ModeMask, High: 3}, old)
	if err != nil || got.Normaliser != 7 || !slices.Equal(got.Prefix, b.Prefix) {
		t.Fatalf("%v: %+v", err, got)
	}
	for i, want := range [][]float32{{5, 10, 0}, {5, 5, 5}} {
		for j, x := range got.Rows[i].Advantages {
			if math.Abs(float64(x-want[j])) > 1e-5 || !slices.Equal(got.Rows[i].Column(batch.ColumnOldLogprobs),
				old[i]) || !slices.Equal(got.Rows[i].Column(batch.ColumnSamplerLogprobs), row.SamplerLogprobs) {
				t.Errorf("row %d: %+v", i, got.Rows[i])
			}
		}
	}
	if s.Min != 0 || math.Abs(s.Max-2) > 1e-6 || math.Abs(s.Mean-1) > 1e-6 || s.Masked != 0.25 {
		t.Errorf("%+v", s)
	}
	if b.Rows[0].Advantages[1] != 5 || b.Rows[0].Columns != nil {
		t.Errorf("the batch given was changed: %+v", b)
	}
	if _, _, err := b.Correct(batch.Correction{Level: batch.LevelToken}, [][]float32{{0}, {0}}); err == nil {
		t.Error("logprobs of other rows are taken")
	}
	with := got.With(batch.ColumnReferenceLogprobs, old)
	if !slices.Equal(with.Rows[0].Column(batch.ColumnReferenceLogprobs), old[0]) ||
		!slices.Equal(with.Rows[0].Column(batch.ColumnOldLogprobs), old[0]) {
		t.Errorf("%+v", with.Rows[0])
	}
}
