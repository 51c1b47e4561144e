package serve

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/policy"
)

// However a text and its stop texts are cut by tokens, what is passed on is the text up to the stop text that is whole
// first, and nothing is held back that could not begin one.
func TestReadingStopsWhereTheSamplerDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab-")), 1, 4, -1)
		stops := rapid.SliceOfN(word, 0, 3).Draw(t, "stops")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab-é")), 0, 12, -1).Draw(t, "text")
		c := policy.Completion{FinishReason: policy.FinishLength}
		want, read := text, text
		// the stop text that is whole first, and the longest of those
		for end := 1; end <= len(text) && c.StopText == ""; end++ {
			for _, stop := range stops {
				if strings.HasSuffix(text[:end], stop) && len(stop) > len(c.StopText) {
					c.StopText, c.Text = stop, text[:end-len(stop)]
					want, read = c.Text, text[:end]
				}
			}
		}
		r := reading{decoder: decoder{}, reader: &reader{}, ends: []int32{stopID}, stops: stops}
		for i, id := range []rune(read) {
			r.next(id)
			seen := string([]rune(read)[:i+1])
			rest := seen[len(r.message.Content):]
			begins := func(stop string) bool { // what is held back
				return strings.HasPrefix(stop, rest) || strings.HasPrefix(rest, stop) ||
					strings.HasPrefix(stop, rest[:min(len(rest), len(stop)-1)])
			}
			if rest != "" && !slices.ContainsFunc(stops, begins) {
				t.Fatalf("%q is held back of %q, stops %q", rest, seen, stops)
			}
		}
		r.close(&c)
		if r.message.Content != want {
			t.Fatalf("read %q, want %q", r.message.Content, want)
		}
	})
}

// An id that ends completions is no text where it is the last, and is text before others, as in a completion read
// whole.
func TestReadingOfEnds(t *testing.T) {
	for says, want := range map[string]string{"a\x00": "a", "a\x00b": "a\x00b", "a\x00\x00": "a\x00", "": ""} {
		r := reading{decoder: decoder{}, reader: &reader{}, ends: []int32{stopID}}
		for _, id := range says {
			r.next(id)
		}
		r.close(&policy.Completion{})
		if r.message.Content != want {
			t.Errorf("%q is read as %q, want %q", says, r.message.Content, want)
		}
	}
}
