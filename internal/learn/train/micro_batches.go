package train

import (
	"math/bits"
	"slices"
	"sort"

	"hone/internal/learn/batch"
)

// A program is compiled for one shape of rows, and compiling takes as long as dozens of micro-batches. So rows are
// padded to few lengths, and how many are computed at one time follows from the length: a run has about as many
// programs of rows as there are lengths.

// microTokens is how many tokens a micro-batch of several rows has at most on a GPU, where nothing else is asked for:
// enough for its products to be large, and so few that rows of like length are computed together (docs/log).
const microTokens = 4096

// bucket is the length that a row of n tokens is padded to: a multiple, and beyond eight of them one of four lengths
// from each to its double.
func bucket(n, multiple int) int {
	step := multiple
	for n > 8*step {
		step *= 2
	}
	return roundUp(n, step)
}

// padded is the length that a row of n tokens is padded to.
func (o Options) padded(n int) int {
	if i, _ := slices.BinarySearch(o.Lengths, n); i < len(o.Lengths) {
		return o.Lengths[i]
	}
	return bucket(n, max(1, o.RowMultiple))
}

// Ladder are few lengths of rows, each about half of the next: from the one of rows of the shortest tokens to that of
// rows of the longest.
func (o Options) Ladder(shortest, longest int) []int {
	multiple := max(1, o.RowMultiple)
	shortest = bucket(shortest, multiple)
	lengths := []int{bucket(max(longest, shortest), multiple)}
	for lengths[0] >= 2*shortest {
		lengths = slices.Insert(lengths, 0, bucket((lengths[0]+1)/2, multiple))
	}
	return lengths
}

// RowsAtOnce is how many rows of n tokens a device computes at one time.
func (o Options) RowsAtOnce(n int) int {
	if o.MicroTokens == 0 {
		return o.MicroBatch
	}
	return min(o.MicroBatch, max(1, o.MicroTokens/bucket(n, max(1, o.RowMultiple))))
}

// FullestRow is a length of rows, at most n tokens, of which a micro-batch has the most.
func (o Options) FullestRow(n int) int {
	most := n
	for c := n; c > 1 && o.MicroTokens > 0; c = c * 7 / 8 { // there are four buckets to a power of two
		if b := bucket(c, max(1, o.RowMultiple)); b <= n && b*o.RowsAtOnce(b) > most*o.RowsAtOnce(most) {
			most = b
		}
	}
	return most
}

// KeptRow is the longest row, of at most n tokens, of which what is computed at one time keeps its layers; 0: none.
func (o Options) KeptRow(n int) int {
	multiple := max(1, o.RowMultiple)
	for c := bucket(min(n, o.KeepTokens), multiple); c >= multiple; c -= multiple {
		if bucket(c, multiple) == c && c <= n && c*o.RowsAtOnce(c) <= o.KeepTokens {
			return c
		}
	}
	return 0
}

// call is what the devices compute at one time: up to n rows each, in one shape.
type call struct {
	shape
	trees []tree // the first n of them the first device's
}

// calls sorts rows, or the trees that they are packed into, by length, longest first, and cuts them into calls such
// that as few positions as possible are computed. It depends on the rows alone, as what a resumed run computes must.
// The gradient is a sum over rows, so their order within a step does not matter to it.
func (t *Trainer) calls(rows []batch.Sequence, packed bool) []call {
	o := t.shapes()
	if !packed {
		o.TreeTokens = 0
	}
	return o.calls(rows, t.engine.NumDevices())
}

// shapes are the options that the shapes of calls follow from.
func (t *Trainer) shapes() Options {
	o := Options{MicroBatch: t.microBatch, MicroTokens: t.microTokens, RowMultiple: t.rowMultiple,
		TreeTokens: t.treeTokens}
	if t.lengthSteps == 0 || t.steps < t.lengthSteps {
		o.Lengths = t.lengths
	}
	return o
}

func (o Options) calls(rows []batch.Sequence, devices int) []call {
	trees := o.trees(rows)
	sort.SliceStable(trees, func(i, j int) bool { return len(trees[i].ids) > len(trees[j].ids) })
	lengths := make([]int, len(trees))
	for i, x := range trees {
		lengths[i] = o.padded(len(x.ids))
	}
	// least is the fewest positions in which the rows from i on are computed, and with the first call's length best.
	// More rows in a call leave fewer to the next, so each takes as many as it holds.
	least, best := make([]int, len(trees)+1), make([]int, len(trees))
	for i := len(trees) - 1; i >= 0; i-- {
		for j := i; j >= 0; j-- { // lengths rise towards the front
			c := lengths[j]
			n := o.rowsAt(c, len(trees), devices)
			if cost := n*c*devices + least[min(len(trees), i+n*devices)]; best[i] == 0 || cost < least[i] {
				least[i], best[i] = cost, c
			}
		}
	}
	var out []call
	for i := 0; i < len(trees); {
		n := o.rowsAt(best[i], len(trees), devices)
		end := min(len(trees), i+n*devices)
		out = append(out, call{shape{n: n, c: best[i], packed: o.TreeTokens > 0}, trees[i:end]})
		i = end
	}
	halves := 1
	if len(o.Lengths) > 0 { // a step of many trained tokens is not to have all programs compiled anew
		halves = 2
	}
	setNumTrained(out, rows, halves)
	return out
}

// setNumTrained sets how many trained tokens the calls of a step hold: so many halves of their positions, 1 or 2, or
// all where one call has more trained, or as many halves as need be where rows of a tree train the same tokens. So that
// few programs are compiled it is the same in all calls: most runs have the one or the other.
func setNumTrained(calls []call, rows []batch.Sequence, halves int) {
	for _, x := range calls {
		for device := range slices.Chunk(x.trees, x.n) {
			trained := 0
			for _, tree := range device {
				for _, row := range tree.rows {
					trained += rows[row].NumTrained()
				}
			}
			for trained > halves*x.n*x.c/2 {
				halves++
			}
		}
	}
	for i, x := range calls {
		calls[i].m = max(1, halves*x.n*x.c/2)
	}
}

// rowsAt is how many rows of length c, of so many in the step, a device computes at one time.
func (o Options) rowsAt(c, rows, devices int) int {
	n := o.rowsAtOnce(rows, devices)
	if o.MicroTokens > 0 {
		n = min(n, max(1, o.MicroTokens/c))
	}
	return n
}

// rowsAtOnce is how many rows of a step a device computes at one time at most: the micro-batch. Where there are several
// devices it is less when that makes all of them work, by halves, so that few programs are compiled.
func (o Options) rowsAtOnce(rows, devices int) int {
	if devices == 1 {
		return o.MicroBatch
	}
	return min(o.MicroBatch, 1<<bits.Len(uint((rows-1)/devices)))
}

// RowPrograms is how many programs of rows the steps need on so many devices, and how many positions each of these
// computes. The options have what WithDefaults fills in.
func (o Options) RowPrograms(steps []batch.Batch, devices int) (programs, positions int) {
	shapes := map[shape]bool{}
	for _, b := range steps {
		for _, x := range o.calls(b.Rows, devices) {
			shapes[x.shape] = true
			positions += x.n * x.c
		}
	}
	return len(shapes), positions
}

// oneProgram reports whether the prefix is computed with the rows: where they are one call.
func (t *Trainer) oneProgram(b batch.Batch, calls []call) bool {
	return t.together && len(b.Prefix) > 0 && len(calls) == 1 && !calls[0].packed
}

// mostRows is how many rows are computed at one time in the calls of a step that has most of them.
func mostRows(calls []call) int {
	n := 0
	for _, x := range calls {
		n = max(n, x.n)
	}
	return n
}
