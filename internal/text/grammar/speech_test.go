package grammar

import (
	"slices"
	"testing"

	"hone/internal/policy"
)

// What may not come next, by what was said: what has a mark in it, what ends it, where a line begins what begins it, and the end before anything is said.
func TestSpeech(t *testing.T) {
	texts := []string{"<", "<t", "tool", "ool>", "ol>y", "a<tool>b", "x", "\n<to", "\n", " ", " <", ">", "<>", "\n<x", "", "y\n", "<end>", "[C]", "[", "[C", "tool>", "\t"}
	v := NewVocabulary(len(texts), func(id int32) Token { return Token{Text: texts[id], Added: texts[id] == "ool>"} })
	stops, marks := []int32{int32(slices.Index(texts, "<end>"))}, []*Mark{v.Mark("<tool>"), v.Mark("[C]")}
	begin, always := []string{"<", "<t", " <", "[", "[C"}, []string{"a<tool>b", "\n<to", "[C]"}
	for _, x := range []struct {
		said []string
		want []string // besides those that never may
	}{
		{nil, append(begin, "<end>")},
		{[]string{"x"}, nil},
		{[]string{" ", " "}, append(begin, "<end>")},
		{[]string{"\n"}, append(begin, "<end>")},
		{[]string{"x", "\n"}, begin},
		{[]string{"y\n", " "}, begin},
		{[]string{"x", "\n<x"}, nil},
		{[]string{"x", "<t"}, []string{"ool>"}},
		{[]string{"x", "<"}, []string{"tool>"}},
		{[]string{"x", "\n", "\t"}, begin},
		{[]string{"x", "<", "tool"}, []string{">"}},
		{[]string{"x", "<t", "x"}, nil},
		{[]string{"x", "<t", "\n"}, begin},
		{[]string{"x", "x", "x", "x", "x", "x", "x", "x", "<", "tool"}, []string{">"}},
	} {
		c, ids, allowed := v.Speech(stops, marks...), []int32(nil), policy.NewIDSet(len(texts))
		for i := range len(x.said) + 1 {
			allowed.Fill()
			c.Narrow(ids, allowed)
			if i < len(x.said) {
				ids = append(ids, int32(slices.Index(texts, x.said[i])))
			}
		}
		for id, text := range texts {
			if want := !slices.Contains(x.want, text) && !slices.Contains(always, text); allowed.Has(int32(id)) != want {
				t.Errorf("behind %q: %q may come: %v", x.said, text, !want)
			}
		}
	}
}
