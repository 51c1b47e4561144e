package grammar

import (
	"slices"
	"testing"

	"hone/internal/episode/policy"
)

// What may not come next, by what was said: what has a mark in it or begins one, what ends it, and the end before
// anything is said. A mark that begins with a letter may be begun within a line. Up to the text that is given anything
// may come but the end.
func TestSpeech(t *testing.T) {
	texts := []string{"<", "<t", "tool", "a<tool>b", "x.<", "<x", "> <", "fun", "f", "unc[", "c[", "c[{", "[", "func[",
		"un", "\nfu", "x\n", "\n", " ", "\t", "x", "", "<end>", "<pad>", "</th", "ink>", "ink>x"}
	v := NewVocabulary(len(texts), func(id int32) Token {
		return Token{Text: texts[id], Added: slices.Contains([]string{"<end>", "<pad>"}, texts[id])}
	})
	id := func(text string) int32 { return int32(slices.Index(texts, text)) }
	stops, marks := []int32{id("<end>")}, []*Mark{v.Mark("<tool>"), v.Mark("func[")}
	never, begin := []string{"<", "<t", "a<tool>b", "x.<", "> <", "func[", "\nfu"}, []string{"fun", "f"}
	unsaid := append(slices.Clone(begin), "<end>")
	for _, x := range []struct {
		after string
		said  []string
		want  []string // besides those that never may; nil and free: the end alone
		free  bool
	}{
		{said: nil, want: unsaid},
		{said: []string{"x"}},
		{said: []string{" ", "\t"}, want: unsaid},
		{said: []string{"\n"}, want: unsaid},
		{said: []string{"<pad>"}, want: []string{"<end>"}},
		{said: []string{"x", "\n"}, want: begin},
		{said: []string{"x\n", " "}, want: begin},
		{said: []string{"x", "fun"}, want: []string{"c[", "c[{"}},
		{said: []string{"x", "f"}, want: []string{"unc["}},
		{said: []string{"x", "f", "un"}, want: []string{"c[", "c[{"}},
		{said: []string{"x", "fun", "x"}},
		{said: []string{"x", "fun", "\n"}, want: begin},
		{said: []string{"x", "x", "x", "x", "x", "x", "x", "x", "x", "f", "un"}, want: []string{"c[", "c[{"}},
		{after: "</think>", free: true},
		{after: "</think>", said: []string{"x", "a<tool>b", "\n", "</th"}, free: true},
		{after: "</think>", said: []string{"x", "</th", "ink>"}, want: unsaid},
		{after: "</think>", said: []string{"x", "</th", "ink>x"}},
	} {
		c, ids, allowed := v.Speech(stops, x.after, marks...), []int32(nil), policy.NewIDSet(len(texts))
		for i := range len(x.said) + 1 {
			allowed.Fill()
			c.Narrow(ids, allowed)
			if i < len(x.said) {
				ids = append(ids, id(x.said[i]))
			}
		}
		for i, text := range texts {
			want := !slices.Contains(x.want, text) && !slices.Contains(never, text)
			if x.free {
				want = text != "<end>"
			}
			if allowed.Has(int32(i)) != want {
				t.Errorf("behind %q: %q may come: %v", x.said, text, !want)
			}
		}
	}
}
