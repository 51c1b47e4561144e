package overlap

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// width is how many letters a shingle has. Letters stand an ending or a typing error better than words do, and a task
// has few words: one that is changed touches three of its shingles of three words.
const width = 5

// plain is what is compared of a text: its letters and digits in lower case, in Unicode's form NFKC, with one space for
// all that stands between. Of a text without any it is the text.
func plain(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFKC.String(text)) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return strings.TrimSpace(text)
	}
	return b.String()
}

// eachShingle calls f with a hash of each shingle of a plain text, in order, repeated ones too. A space before and
// behind the text lets its first and last word count as much as the others. A text shorter than a shingle is one.
func eachShingle(plain string, f func(uint64)) {
	if plain == "" {
		return
	}
	const base = 0x9E3779B97F4A7C15 // odd, so no letter is lost
	var window [width]uint64
	var oldest uint64 = 1 // base to the power of width
	for range width {
		oldest *= base
	}
	n, h := 0, uint64(0)
	next := func(r uint64) {
		h = h*base + r - window[n%width]*oldest
		window[n%width] = r
		if n++; n >= width {
			f(mix(h))
		}
	}
	next(' ')
	for _, r := range plain {
		next(uint64(r))
	}
	next(' ')
	if n < width {
		f(mix(h))
	}
}

// mix spreads a hash over all its bits: the last step of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// shingles are those of a plain text, sorted, each once.
func shingles(plain string) []uint64 {
	out := make([]uint64, 0, len(plain)+2)
	eachShingle(plain, func(h uint64) { out = append(out, h) })
	slices.Sort(out)
	return slices.Compact(out)
}

// jaccard is the similarity of two sorted sets, 0 of empty ones.
func jaccard(a, b []uint64) float64 {
	both, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// value finds what a task is about, as far as it can be told from the wording: words with a digit, and what stands in
// quotes.
var value = regexp.MustCompile(`(?:^|[\s(\[{=:,])(?:"([^"]+)"|'([^']+)'|` + "`([^`]+)`" +
	`)|[“‘«]([^”’»]+)[”’»]|([\pL\pN_./:+-]*\pN[\pL\pN_/:%-]*(?:\.\pN+)*)`)

// values are those of a text, sorted, in lower case.
func values(text string) []string {
	var out []string
	for _, groups := range value.FindAllStringSubmatch(text, -1) {
		for _, v := range groups[1:] {
			if v = plain(v); v != "" {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return out
}
