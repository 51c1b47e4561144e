package batch

import (
	"math"
	"slices"
	"testing"
)

// Of six trained tokens those count whose entropy is at the quantile or above, worked by hand: the sorted entropies are
// 1, 2, 3, 4, 5, 6, and the quantile 1-share stands at (1-share) * 5 of them, from 0. What is not trained has no say,
// however high its number is.
func TestTopEntropy(t *testing.T) {
	b := Batch{Normaliser: 9, Prefix: []int32{7}, Rows: []Sequence{
		{IDs: []int32{1, 2, 3, 4}, Trained: []bool{false, true, true, true}, Advantages: []float32{2, 2, 2, 2}},
		{IDs: []int32{1, 2, 3, 4}, Trained: []bool{false, true, true, true}, Advantages: []float32{0, 0, -1, -1}},
	}}
	entropies := [][]float32{{99, 6, 1, 3}, {99, 5, 2, 4}}
	for share, want := range map[float64][2][]float32{
		0.2: {{2, 0, 0}, {0, 0, 0}},  // at 4: 5, and the token that has it has no advantage anyway
		0.5: {{2, 0, 0}, {0, 0, -1}}, // at 2.5: 3.5
		0.6: {{2, 0, 2}, {0, 0, -1}}, // at 2: 3
		1:   {{2, 2, 2}, {0, -1, -1}},
		0:   {{2, 0, 0}, {0, 0, 0}}, // at 5: 6
	} {
		got, err := b.TopEntropy(entropies, share)
		if err != nil || got.Normaliser != 9 || !slices.Equal(got.Prefix, b.Prefix) {
			t.Fatal(err, got)
		}
		for i, r := range got.Rows {
			if !slices.Equal(r.Advantages[1:], want[i]) {
				t.Errorf("share %g, row %d: %v, want %v", share, i, r.Advantages[1:], want[i])
			}
		}
		if n := len(got.WithAdvantage().Rows); (n == 2) != (share >= 0.5) || n == 0 ||
			got.WithAdvantage().Normaliser != 9 {
			t.Errorf("share %g: %d rows have a gradient", share, n)
		}
	}
	// 26 tokens: float64 would give another rank
	many := Batch{Rows: []Sequence{
		{IDs: make([]int32, 27), Trained: make([]bool, 27), Advantages: make([]float32, 27)},
	}}
	ranks := make([]float32, 27)
	for i := 1; i < 27; i++ {
		many.Rows[0].Trained[i], many.Rows[0].Advantages[i], ranks[i] = true, 1, float32(i)
		if i > 16 {
			ranks[i] += 1000
		}
	}
	got, err := many.TopEntropy([][]float32{ranks}, 0.4)
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(got.Rows[0].Advantages, 1); at != 17 {
		t.Errorf("the first token that counts is %d, in torch 17", at)
	}
	if b.Rows[0].Advantages[2] != 2 {
		t.Error("the batch that was given has changed")
	}
	if _, err := b.TopEntropy([][]float32{{1}, {1}}, 0.5); err == nil {
		t.Error("entropies of other rows are taken")
	}
	if got, err := (Batch{}).TopEntropy(nil, 0.5); err != nil || len(got.Rows) != 0 {
		t.Error(err)
	}
}

// A step's bonus is the mean entropy of the tokens that have it, whatever the loss divides by: of all trained tokens,
// or of the chosen ones.
func TestExploringIsAMean(t *testing.T) {
	rows := []Sequence{
		{IDs: []int32{1, 2, 3}, Trained: []bool{false, true, true}, Weights: []float32{0, 0.5, 0.5}, Advantages: make([]float32, 3)},
		{IDs: []int32{1, 2, 3, 4}, Trained: []bool{false, true, false, true}, Weights: []float32{0, 0.25, 0, 0.25},
			Advantages: make([]float32, 4)},
	}
	entropies := [][]float32{{99, 1, 2}, {99, 4, 99, 5}}
	for _, normaliser := range []int{0, 2, 40} {
		b := Batch{Prefix: []int32{7}, Normaliser: normaliser, Rows: rows}
		chosen, err := b.TopEntropy(entropies, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		for want, of := range map[float64]Batch{3: b.Exploring(), 4.5: chosen.Exploring()} {
			z, got := float64(normaliser), 0.0
			if normaliser == 0 {
				z = 4
			}
			for i, r := range of.Rows {
				for j, bonus := range r.Column(ColumnBonus) {
					if !r.Trained[j] && bonus != 0 {
						t.Errorf("token %d of row %d is not trained and has a bonus of %g", j, i, bonus)
					}
					got += float64(r.Weights[j]) * float64(bonus) * float64(entropies[i][j]) / z
				}
			}
			if math.Abs(got-want) > 1e-6 || of.Normaliser != normaliser || !slices.Equal(of.Prefix, b.Prefix) {
				t.Errorf("by %d: the bonus is %g, want %g", normaliser, got, want)
			}
		}
	}
	if got := (Batch{}).Exploring(); len(got.Rows) != 0 {
		t.Error(got)
	}
}

// What the policy did not sample is learnt from whole: it is no part of the quantile, and has no bonus.
func TestForeignRowsAreNoPartOfEntropy(t *testing.T) {
	trained := []bool{false, true, true}
	b := Batch{Rows: []Sequence{
		{IDs: []int32{1, 2, 3}, Trained: trained, Advantages: []float32{2, 2, 2}},
		{IDs: []int32{1, 2, 3}, Trained: trained, Advantages: []float32{1, 1, 1}, Scored: true},
	}}
	got, err := b.TopEntropy([][]float32{{99, 1, 2}, {99, 0, 50}}, 0.5) // the quantile is 1.5
	if err != nil || !slices.Equal(got.Rows[0].Advantages, []float32{2, 0, 2}) ||
		!slices.Equal(got.Rows[1].Advantages, []float32{1, 1, 1}) {
		t.Errorf("%v: %v", err, got.Rows)
	}
	for _, of := range []Batch{b.Exploring(), got.Exploring()} {
		own, foreign := of.Rows[0].Column(ColumnBonus), of.Rows[1].Column(ColumnBonus)
		if own[2] == 0 || slices.ContainsFunc(foreign, func(x float32) bool { return x != 0 }) {
			t.Errorf("bonus %v, and %v of what was not sampled", own, foreign)
		}
	}
}
