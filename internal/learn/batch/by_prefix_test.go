package batch

import (
	"fmt"
	"slices"
	"testing"
)

// Rows that begin alike beyond the prefix of all are a part behind what they share, of which as much is taken as cut
// says; rows that begin like no other, or are trained early, stay behind the prefix of all. No number of a row is lost.
func TestByPrefix(t *testing.T) {
	row := func(trained int, ids ...int32) Sequence {
		s := Sequence{IDs: slices.Concat([]int32{9, 8}, ids), Advantages: make([]float32, len(ids)+2)}
		for i := range s.IDs {
			s.Trained = append(s.Trained, i >= trained+2)
			s.Advantages[i] = float32(s.IDs[i])
		}
		return s
	}
	b := New([]Sequence{row(5, 1, 2, 3, 4, 5, 6), row(4, 7, 7, 7, 7, 10), row(5, 1, 2, 3, 4, 5, 12, 13),
		row(1, 1, 2, 3, 4, 5, 14), row(4, 7, 7, 7, 7, 16), row(4, 20, 21, 22, 23, 24), row(1, 30, 31)})
	whole := func(p Part, i int) string {
		r := p.Rows[i]
		return fmt.Sprint(slices.Concat(p.Prefix, r.IDs), r.NumTrained(), r.Advantages[len(r.Advantages)-1])
	}
	for _, c := range []struct {
		least int
		cut   func(int) int
		want  string
	}{
		// of 1 2 3 4 the first row's 5 comes before its first trained token, and stays in its row
		{3, func(n int) int { return n }, "[[3 6 5] behind 2 [0 2] behind 6 [1 4] behind 5]"},
		{3, func(n int) int { return n / 5 * 5 }, "[[3 6 5] behind 2 [0 2] behind 5 [1 4] behind 5]"},
		{3, func(n int) int { return n / 6 * 6 }, "[[3 6 1 4 5] behind 2 [0 2] behind 6]"},
		{4, func(n int) int { return n }, "[[1 3 4 5 6] behind 2 [0 2] behind 6]"},
		{5, func(n int) int { return n }, "[[0 1 2 3 4 5 6] behind 2]"},
	} {
		var got []string
		seen := map[int]string{}
		for _, p := range b.ByPrefix(c.least, c.cut) {
			got = append(got, fmt.Sprint(p.At, " behind ", len(p.Prefix)))
			if p.Normaliser != b.NumTrained() || len(p.Rows) != len(p.At) {
				t.Errorf("%d rows by %d, of %v", len(p.Rows), p.Normaliser, p.At)
			}
			for i, at := range p.At {
				seen[at] = whole(p, i)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("from %d: %v, want %v", c.least, got, c.want)
		}
		for i := range b.Rows {
			if want := whole(Part{Batch: b}, i); seen[i] != want {
				t.Errorf("row %d is %s, want %s", i, seen[i], want)
			}
		}
	}
}
