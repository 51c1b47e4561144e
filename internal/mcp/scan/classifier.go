package scan

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sort"
	"sync"
	"unicode"
)

// buckets is how many weights there are: features are hashed (Weinberger et al. 2009).
const buckets = 1 << 18

// feature is one thing that a unit of text has. start and end are runes of the text.
type feature struct {
	bucket     uint32
	value      float32
	start, end int
	word       bool // of words, so worth showing to a person
}

// unit is a text as the classifier sees it: at most some sentences of a description, or what is said of a parameter.
type unit struct {
	at        string // JSON pointer of its text
	text      folded
	sentences []int // of each rune
	first     bool  // it begins with the first sentence of its text
	parameter bool  // it says what the model fills in
	lead      int   // runes at its begin that are the parameter's name, not text
}

const (
	longUnit = 5   // sentences
	stride   = 3   // sentences from one unit to the next
	wideUnit = 900 // runes
)

// unitsOf cuts a text into units that overlap, so that a long honest text hides no short order.
func unitsOf(at string, f folded, parameter bool) []unit {
	sentences := sentencesOf(f)
	if len(f.key) == 0 {
		return nil
	}
	var out []unit
	last := sentences[len(sentences)-1]
	for from := 0; from == 0 || from+longUnit-stride <= last; from += stride {
		start, _ := slices.BinarySearch(sentences, from)
		end, _ := slices.BinarySearch(sentences, from+longUnit)
		for ; start < end; start += wideUnit {
			cut := min(end, start+wideUnit)
			out = append(out, unit{at: at, text: f.part(start, cut), sentences: sentences[start:cut], first: start == 0,
				parameter: parameter})
		}
	}
	return out
}

// features lists what a unit has, each feature once, in three groups: words and pairs of words; runs of letters;
// concepts of the lexicon, and pairs of them in one sentence. Concepts are the same in all languages, so what is learnt
// in one serves the others. A group's length is its share, whatever the length of the text.
func (u unit) features() []feature {
	var out []feature
	for _, group := range []struct {
		list  []feature
		share float64
	}{{u.words(), 0.8}, {u.letters(), 0.7}, {u.concepts(), 1.5}} {
		scale := float32(group.share / math.Sqrt(float64(max(1, len(group.list)))))
		for _, f := range group.list {
			f.value = scale
			out = append(out, f)
		}
	}
	return out
}

// once collects features of a group, each bucket once.
type once struct {
	seen map[uint32]bool
	list []feature
}

func (o *once) add(start, end int, word bool, parts ...string) {
	h := uint32(2166136261) // FNV-1a
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint32(p[i])) * 16777619
		}
		h *= 16777619
	}
	b := h % buckets
	if o.seen == nil {
		o.seen = map[uint32]bool{}
	}
	if !o.seen[b] {
		o.seen[b] = true
		o.list = append(o.list, feature{bucket: b, start: start, end: end, word: word})
	}
}

// span is a run of runes.
type span struct {
	text       string
	start, end int
}

// spans cuts a text into words, or other runs of runes; digits are all alike.
func (u unit) spans(cut func(rune) bool) []span {
	var out []span
	for i := 0; i < len(u.text.key); i++ {
		start := i
		for i < len(u.text.key) && cut(u.text.key[i]) {
			i++
		}
		if i > start {
			word := slices.Clone(u.text.key[start:i])
			for j, r := range word {
				if unicode.IsDigit(r) {
					word[j] = '0'
				}
			}
			out = append(out, span{string(word), start, i})
		}
	}
	return out
}

func (u unit) words() []feature {
	var o once
	field := ""
	if u.parameter {
		field = "parameter"
	}
	previous := span{text: "^"}
	for _, w := range u.spans(inWord) {
		o.add(w.start, w.end, true, "w", w.text)
		o.add(previous.start, w.end, true, "w", previous.text, w.text)
		if u.parameter || !u.first || u.sentences[w.start] > u.sentences[0] {
			o.add(w.start, w.end, true, "later", field, w.text)
		} else if previous.text == "^" {
			o.add(w.start, w.end, true, "begins", w.text)
		}
		previous = w
	}
	return o.list
}

func (u unit) letters() []feature {
	var o once
	for _, w := range u.spans(func(r rune) bool { return !unicode.IsSpace(r) }) {
		padded := []rune(" " + w.text + " ")
		for n := 2; n <= 5; n++ {
			for i := 0; i+n <= len(padded); i++ {
				o.add(w.start+max(0, i-1), w.start+min(len(padded)-2, i+n-1), false, "l", string(padded[i:i+n]))
			}
		}
	}
	return o.list
}

// together is how far apart two concepts of a close pair may be, in runes.
const together = 40

func (u unit) concepts() []feature {
	var o once
	languages := languagesOf(lexicon().find(u.text.key, false))
	marks := placesOf(u.text)
	if languages["en"] == nil {
		languages["en"] = map[string][]hit{}
	}
	for language, words := range languages {
		if language != "en" && countWords(words, language) < fewWords {
			continue
		}
		var hits []hit
		for _, found := range []map[string][]hit{words, marks} {
			for _, list := range found {
				hits = append(hits, list...)
			}
		}
		sort.Slice(hits, func(i, j int) bool {
			a, b := hits[i], hits[j]
			return cmp.Or(a.start-b.start, a.end-b.end, cmp.Compare(a.concept, b.concept)) < 0
		})
		for i, h := range hits {
			where := "first"
			if u.parameter {
				where = "parameter"
			} else if !u.first || u.sentences[h.start] > u.sentences[0] {
				where = "later"
			}
			o.add(h.start, h.end, true, "c", h.concept)
			o.add(h.start, h.end, true, "c", where, h.concept)
			for _, g := range hits[i+1:] {
				if g.start < h.end || u.sentences[h.start] != u.sentences[g.start] {
					continue
				}
				o.add(h.start, g.end, true, "sentence", h.concept, g.concept)
				o.add(h.start, g.end, true, "sentence", where, h.concept, g.concept)
				if g.start-h.end < together {
					o.add(h.start, g.end, true, "pair", h.concept, g.concept)
				}
			}
		}
	}
	return o.list
}

//go:embed weights.bin.gz
var weightsFile []byte

// weights are what fit_test.go learnt from testdata/labelled: a bias, a scale, and a signed byte for each bucket.
type weights struct {
	bias, scale float32
	byBucket    []int8
}

var learnt = sync.OnceValue(func() weights {
	r, err := gzip.NewReader(bytes.NewReader(weightsFile))
	if err != nil {
		panic(err) // the file is part of the program
	}
	data, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	w := weights{math.Float32frombits(binary.LittleEndian.Uint32(data)),
		math.Float32frombits(binary.LittleEndian.Uint32(data[4:])), make([]int8, buckets)}
	for i, b := range data[8:] {
		w.byBucket[i] = int8(b)
	}
	return w
})

// weigh is what a feature adds to the score.
func (w weights) weigh(f feature) float32 { return w.scale * float32(w.byBucket[f.bucket]) * f.value }

// score is the log odds that a text gives orders, as far as the examples go.
func (w weights) score(features []feature) float32 {
	sum := w.bias
	for _, f := range features {
		sum += w.weigh(f)
	}
	return sum
}
