package train

import (
	"slices"

	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
)

// tree is what a device computes in the place of one row: rows of which each token is held once that several of them
// begin with.
//
// Example: the rows 1 2 3 and 1 2 4 5 are
//
//	ids        1 2 3 4 5
//	positions  0 1 2 2 3   in the row, behind the prefix
//	ends       5 5 3 5 5   where what goes on from the token ends
//	at         0 1 2 and 0 1 3 4
//
// A token sees those before it whose end is behind it, which are its row's.
type tree struct {
	ids, positions, ends []int32
	rows                 []int     // of the step
	at                   [][]int32 // of each of them, where its tokens stand
}

// evenAttention is in how many tokens attention is as much work as a small model's linear maps: 2 x 135M operations of
// these for a token of SmolLM2, and 2 x 2 x 30 x 576 of attention for each key that it is held against, seen or not.
const evenAttention = 4096

// NumTokens is how many tokens a step on a batch computes.
func (o Options) NumTokens(b batch.Batch) int {
	n := len(b.Prefix)
	for _, x := range o.trees(b.Rows) {
		n += len(x.ids)
	}
	return n
}

// trees packs the rows of a step, which share what is before them. Rows that begin alike are neighbours when rows are
// sorted, and what a row shares with any before it, it shares with the one before it. Packed or not, each row is in one
// tree.
func (o Options) trees(rows []batch.Sequence) []tree {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	var out []tree
	if o.TreeTokens == 0 {
		for _, row := range order {
			out = append(out, addRow(tree{}, row, rows[row].IDs, 0))
		}
		return out
	}
	slices.SortStableFunc(order, func(i, j int) int { return slices.Compare(rows[i].IDs, rows[j].IDs) })
	limit := o.TreeTokens
	for _, r := range rows {
		limit = max(limit, len(r.IDs))
	}
	cost := func(tokens int) int {
		c := o.padded(tokens)
		return c * (evenAttention + c)
	}
	for i, row := range order {
		ids := rows[row].IDs
		if i > 0 {
			last := &out[len(out)-1]
			shared := policy.CommonPrefix(rows[order[i-1]].IDs, ids)
			if n := len(last.ids) + len(ids) - shared; n <= limit && cost(n) < cost(len(last.ids))+cost(len(ids)) {
				*last = addRow(*last, row, ids, shared)
				continue
			}
		}
		out = append(out, addRow(tree{}, row, ids, 0))
	}
	return out
}

// addRow adds a row, whose first tokens are those of the row that was added before.
func addRow(x tree, row int, ids []int32, shared int) tree {
	at := make([]int32, 0, len(ids))
	if shared > 0 {
		at = append(at, x.at[len(x.at)-1][:shared]...)
	}
	for i := shared; i < len(ids); i++ {
		at = append(at, int32(len(x.ids)))
		x.ids, x.positions, x.ends = append(x.ids, ids[i]), append(x.positions, int32(i)), append(x.ends, 0)
	}
	for _, place := range at {
		x.ends[place] = int32(len(x.ids))
	}
	x.rows, x.at = append(x.rows, row), append(x.at, at)
	return x
}
