package overlap

import (
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Threshold is the similarity from which two texts are taken for near copies. Chosen on the odd lines of
// testdata/tasks.txt: a courtesy, a word less, another word or a typing error leaves 0.72 or more, three of these at
// once 0.50 or more in 19 of 20 cases, and different tasks have 0.09 or less.
const Threshold = 0.5

// Shape of the signatures. A pair of similarity s is looked at with probability 1 - (1 - s^rows)^bands: 0.996 at
// Threshold, 0.9999 at 0.6, 0.04 at 0.1.
const (
	bands     = 42
	rows      = 3
	numHashes = bands * rows
)

// mostKept is of how many shingles they are kept; those of a longer text are made again where they are counted.
const mostKept = 1000

// Text is one text, read.
type Text struct {
	plain     string
	values    []string
	signature [numHashes]uint32
	kept      []uint64 // its shingles
}

func (t *Text) shingles() []uint64 {
	if t.kept != nil {
		return t.kept
	}
	return shingles(t.plain)
}

// Read reads texts, on all cores; what comes out does not depend on their number.
func Read(texts ...string) []Text {
	out := make([]Text, len(texts))
	a, b := coefficients()
	spread(len(texts), func(i int) { out[i] = read(texts[i], &a, &b) })
	return out
}

// coefficients are those of the hash functions h(x) = (a x + b) / 2^32 (Dietzfelbinger et al. 1997), always the same.
func coefficients() (a, b [numHashes]uint64) {
	state := uint64(1)
	draw := func() uint64 {
		state += 0x9E3779B97F4A7C15
		return mix(state)
	}
	for i := range a {
		a[i], b[i] = draw()|1, draw()
	}
	return a, b
}

func read(text string, a, b *[numHashes]uint64) Text {
	t := Text{plain: plain(text), values: values(text)}
	for i := range t.signature {
		t.signature[i] = math.MaxUint32
	}
	eachShingle(t.plain, func(x uint64) {
		for i := range a {
			if h := uint32((a[i]*x + b[i]) >> 32); h < t.signature[i] {
				t.signature[i] = h
			}
		}
	})
	if len(t.plain) <= mostKept {
		t.kept = shingles(t.plain)
	}
	return t
}

// Index holds texts, and finds those near to another. It may be read from many goroutines while none adds.
type Index struct {
	threshold float64
	least     int // equal parts of two signatures, below which a pair is not counted
	texts     []Text
	newest    [bands]map[[rows]uint32]int32 // of the texts whose band is the same
	before    [bands][]int32                // by text: the one added before it there, -1 for none
}

// NewIndex returns an empty one. A pair is near from a similarity of threshold on, which is above 0 and at most 1.
func NewIndex(threshold float64) *Index {
	x := &Index{threshold: threshold, least: leastEqual(threshold)}
	for b := range x.newest {
		x.newest[b] = map[[rows]uint32]int32{}
	}
	return x
}

// leastEqual is in how many places the signatures of a near pair are equal at least. A signature shows the similarity
// with a standard deviation of sqrt(s (1-s) / numHashes); four of them are one pair in 30,000.
func leastEqual(threshold float64) int {
	return int(numHashes*threshold - 4*math.Sqrt(numHashes*threshold*(1-threshold)))
}

func (t *Text) band(b int) [rows]uint32 { return [rows]uint32(t.signature[b*rows : (b+1)*rows]) }

// Add puts a text into the index. Texts are numbered from 0, in the order in which they are added.
func (x *Index) Add(t Text) {
	id := int32(len(x.texts))
	x.texts = append(x.texts, t)
	for b := range bands {
		key := t.band(b)
		last, there := x.newest[b][key]
		if !there {
			last = -1
		}
		x.before[b] = append(x.before[b], last)
		x.newest[b][key] = id
	}
}

// Match is a text of the index that is near to another.
type Match struct {
	ID         int     // its number in the index
	Similarity float64 // of the shingles, Jaccard's: from the threshold to 1
	// SameValues is false where the two differ in a number or in something quoted. Then they may be one template,
	// filled in twice.
	SameValues bool
}

// Near returns the texts near to t: those with the same values first, then by similarity, then as they were added. A
// text of the index whose similarity is just Threshold is missed in 4 of 1,000 cases, and a copy never.
func (x *Index) Near(t Text) []Match {
	if t.plain == "" {
		return nil
	}
	var candidates []int32
	for b := range bands {
		id, there := x.newest[b][t.band(b)]
		for there && id >= 0 {
			candidates = append(candidates, id)
			id = x.before[b][id]
		}
	}
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	var out []Match
	own := t.shingles()
	for _, id := range candidates {
		c := &x.texts[id]
		if t.equalParts(c) < x.least {
			continue
		}
		similarity := 1.0
		if c.plain != t.plain {
			similarity = jaccard(own, c.shingles())
		}
		if similarity < x.threshold {
			continue
		}
		out = append(out, Match{ID: int(id), Similarity: similarity, SameValues: slices.Equal(t.values, c.values)})
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].SameValues != out[j].SameValues {
			return out[i].SameValues
		}
		return out[i].Similarity > out[j].Similarity
	})
	return out
}

// NearEach is Near of each text, on all cores.
func (x *Index) NearEach(texts []Text) [][]Match {
	out := make([][]Match, len(texts))
	spread(len(texts), func(i int) { out[i] = x.Near(texts[i]) })
	return out
}

// spread calls f with 0 to n-1 on all cores.
func spread(n int, f func(int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}

// equalParts is in how many places two signatures are equal: about numHashes times the similarity.
func (t *Text) equalParts(other *Text) int {
	n := 0
	for i, h := range t.signature {
		if h == other.signature[i] {
			n++
		}
	}
	return n
}
