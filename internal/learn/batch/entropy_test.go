package batch

import (
	"slices"
	"testing"
)

// Of six trained tokens those count whose entropy is at the quantile or above, worked by hand: the sorted entropies are 1, 2, 3, 4, 5, 6, and the
// quantile 1-share stands at (1-share) * 5 of them, from 0. What is not trained has no say, however high its number is.
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
		if n := len(got.Pushed().Rows); (n == 2) != (share >= 0.5) || n == 0 || got.Pushed().Normaliser != 9 {
			t.Errorf("share %g: %d rows have a gradient", share, n)
		}
	}
	many := Batch{Rows: []Sequence{{IDs: make([]int32, 27), Trained: make([]bool, 27), Advantages: make([]float32, 27)}}} // 26 tokens: float64 would give another rank
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
