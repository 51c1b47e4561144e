package overlap

import (
	"hash/maphash"
	"math"
	"slices"
)

// mostInBucket is how many texts of one bucket are looked at, the newest first. A bucket of more is what a template
// says: its texts share that part of it and little else. A copy shares the parts too that tell a text from the others
// of its template, and is found by those.
const mostInBucket = 64

// Copies holds texts, and finds one that another is a near copy of: as near as the threshold, and with the same values.
// It takes time linear in the number of texts, also where all are of one template.
type Copies struct {
	threshold   float64
	least       int // equal parts of two signatures, below which a pair is not counted
	rows, bands int // a pair of similarity s shares a bucket with probability 1 - (1 - s^rows)^bands
	seed        maphash.Seed
	texts       []Text           // without their shingles
	same        map[string]int32 // the first of each wording with its values
	newest      []map[uint64]int32
	before      [][]int32
	looked      []int32 // by text: the last query, from 1, that looked at it
	query       int32
}

// NewCopies returns an empty one. Texts are near from a similarity of threshold on, which is above 0 and at most 1.
func NewCopies(threshold float64) *Copies {
	c := &Copies{threshold: threshold, least: leastEqual(threshold), seed: maphash.MakeSeed(), same: map[string]int32{}}
	for c.rows = 14; c.rows > 1; c.rows-- { // the more rows, the fewer pairs that are not near are looked at
		if 1-math.Pow(1-math.Pow(threshold, float64(c.rows)), float64(numHashes/c.rows)) >= 0.996 {
			break
		}
	}
	c.bands = numHashes / c.rows
	c.newest, c.before = make([]map[uint64]int32, c.bands), make([][]int32, c.bands)
	for b := range c.newest {
		c.newest[b] = map[uint64]int32{}
	}
	return c
}

// bucket is that of a band among texts of the same values.
func (c *Copies) bucket(t *Text, b int) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, x := range t.signature[b*c.rows : (b+1)*c.rows] {
		_, _ = h.Write([]byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)})
	}
	for _, v := range t.values {
		_, _ = h.WriteString(v)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// wording tells texts apart that are not the same but for case and punctuation.
func wording(t *Text) string {
	out := t.plain
	for _, v := range t.values {
		out += "\x00" + v
	}
	return out
}

// Add puts a text in. Texts are numbered from 0, in the order in which they are added.
func (c *Copies) Add(t Text) {
	t.kept = nil
	id := int32(len(c.texts))
	c.texts, c.looked = append(c.texts, t), append(c.looked, 0)
	if key := wording(&t); t.plain != "" {
		if _, there := c.same[key]; !there {
			c.same[key] = id
		}
	}
	for b := range c.bands {
		key := c.bucket(&t, b)
		last, there := c.newest[b][key]
		if !there {
			last = -1
		}
		c.before[b], c.newest[b][key] = append(c.before[b], last), id
	}
}

// Of returns the nearest text that t is a near copy of, of equals the first; ok is false where there is none. A text of
// no letters is a copy of none. One whose similarity is just the threshold is missed in 4 of 1,000 cases, the same
// wording never.
func (c *Copies) Of(t Text) (m Match, ok bool) {
	if t.plain == "" {
		return Match{}, false
	}
	if id, there := c.same[wording(&t)]; there {
		return Match{ID: int(id), Similarity: 1, SameValues: true}, true
	}
	c.query++
	var own []uint64
	for b := range c.bands {
		id, there := c.newest[b][c.bucket(&t, b)]
		for n := 0; there && id >= 0 && n < mostInBucket; n, id = n+1, c.before[b][id] {
			other := &c.texts[id]
			if c.looked[id] == c.query {
				continue
			}
			c.looked[id] = c.query
			if t.equalParts(other) < c.least || !slices.Equal(t.values, other.values) {
				continue
			}
			if own == nil {
				own = t.shingles()
			}
			s := jaccard(own, other.shingles())
			if s >= c.threshold && (!ok || s > m.Similarity || s == m.Similarity && int(id) < m.ID) {
				m, ok = Match{ID: int(id), Similarity: s, SameValues: true}, true
			}
		}
	}
	return m, ok
}
