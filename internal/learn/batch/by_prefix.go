package batch

import (
	"fmt"
	"slices"
)

// Part is some of a batch's rows behind a prefix of theirs. At says where each stands in the batch; nil: in its place.
type Part struct {
	Batch
	At []int
}

// Place is where a row of the part stands in the batch.
func (p Part) Place(row int) int {
	if p.At == nil {
		return row
	}
	return p.At[row]
}

// ByPrefix parts a batch into rows that begin alike beyond its prefix, in at least so many tokens, each behind what
// they share, and the others behind the batch's own prefix, which come first. cut says of how many tokens of a prefix
// of so many are shared: whoever compiles for a length wants few. All parts have the batch's normaliser.
func (b Batch) ByPrefix(least int, cut func(n int) int) []Part {
	if b.Normaliser == 0 {
		b.Normaliser = b.NumTrained()
	}
	alone := Part{Batch: Batch{Prefix: b.Prefix, Normaliser: b.Normaliser}}
	var keys []string
	alike := map[string][]int{}
	for i, r := range b.Rows {
		if len(r.IDs) <= least || slices.Contains(r.Trained[:least+1], true) {
			alone.Rows, alone.At = append(alone.Rows, r), append(alone.At, i)
			continue
		}
		key := fmt.Sprint(r.IDs[:least])
		if alike[key] == nil {
			keys = append(keys, key)
		}
		alike[key] = append(alike[key], i)
	}
	var parts []Part
	for _, key := range keys {
		var rows []Sequence
		for _, i := range alike[key] {
			rows = append(rows, b.Rows[i])
		}
		shared := New(rows)
		n := cut(len(b.Prefix)+len(shared.Prefix)) - len(b.Prefix)
		if len(rows) < 2 || n < least {
			alone.Rows, alone.At = append(alone.Rows, rows...), append(alone.At, alike[key]...)
			continue
		}
		shared = shared.Shorten(n)
		shared.Prefix, shared.Normaliser = slices.Concat(b.Prefix, shared.Prefix), b.Normaliser
		parts = append(parts, Part{shared, alike[key]})
	}
	if len(alone.Rows) > 0 {
		parts = slices.Insert(parts, 0, alone)
	}
	return parts
}
