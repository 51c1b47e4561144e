package programs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// leastStranger is how many letters a word has that somebody would look for.
const leastStranger = 4

// Strangers are the words of a request that no thing says, as "mentors", which is a relation's, and "people" where each
// is noted as a person: who looks for one finds nothing.
func (gt *GraphTables) Strangers(g *GraphProgram) (words []string) {
	plain := strings.Fields("noted both each those these they them they're whose other others number name names " +
		"higher lower first last latest earliest total average exactly about between least than")
	for p := g.Program; p != nil; p = p.then {
		for _, slot := range []string{"filter", "rel", "attr", "asks", "attr2", "others", "many"} {
			if slot == "many" && p.slots["x"] != "" { // a request that names one seldom says its kind
				continue
			}
			said := p.slots[slot]
			for _, s := range p.sayings {
				if !s.near { // nobody searches for "know"
					said = strings.Replace(said, s.words, "", 1)
				}
			}
			for _, w := range strings.FieldsFunc(said, func(r rune) bool { return !unicode.IsLetter(r) }) {
				low := strings.ToLower(w)
				if len(w) < leastStranger || low != w || slices.Contains(grammar(), w) || slices.Contains(plain, w) ||
					slices.Contains(words, w) || len(gt.Graph.Saying(w)) > 0 {
					continue
				}
				words = append(words, w)
			}
		}
	}
	return words
}

// SameWord reports whether two words are forms of one: "hotels" and "hotel".
func SameWord(a, b string) bool {
	a, b = singular(strings.ToLower(a)), singular(strings.ToLower(b))
	return stem(a) == stem(b) || plural(a) == b || plural(b) == a
}

// SaysWord reports whether a request has a word, in whatever form, or some words as they are.
func (g *GraphProgram) SaysWord(text string) bool {
	for p := g.Program; p != nil; p = p.then {
		for _, slot := range strings.Fields("filter rel attr asks attr2 others many x y v given") {
			if slot == "many" && p.slots["x"] != "" { // a request that names one seldom says its kind
				continue
			}
			said := p.slots[slot]
			if mentions(text)(said) || slices.ContainsFunc(strings.Fields(said), func(w string) bool {
				return SameWord(strings.Trim(w, ",.?\""), text)
			}) {
				return true
			}
		}
	}
	return false
}

// NewName is the name of a thing that a request has made, at times only where there is none yet; "" where it has none
// made.
func (p *Program) NewName() string {
	if slices.Contains([]string{"insert", "insert_bare", "add_unless", "insert_tied", "like_one", "like_peers"},
		p.pattern) {
		return p.slots["x"]
	}
	return ""
}

// wish is one of the changes that a request asks for, in its own words: with names and notes in the place of "{}".
type wish struct {
	words string
	args  []string
}

func wishOf(words string, args ...string) wish { return wish{words, args} }

// Wishes are what a request asks for, a numbered line for each; "" where it asks for one thing alone.
func (g *GraphProgram) Wishes() string {
	var list []string
	for _, w := range g.wishes {
		parts := strings.Split(w.words, "{}")
		text := parts[0]
		for i, arg := range w.args {
			text += cmp.Or(g.short[arg], arg) + parts[i+1]
		}
		list = append(list, text)
	}
	for p := g.Program; p != nil && len(g.wishes) == 0; p = p.then {
		list = append(list, p.wants()...)
	}
	if len(list) < 2 {
		return ""
	}
	for i := range list {
		list[i] = fmt.Sprintf("%d. %s", i+1, list[i])
	}
	return strings.Join(list, "\n")
}

// wants are the wishes of a program without what is behind it, in dry words; nil where there are none for it.
func (p *Program) wants() []string {
	wants := meanings().Patterns[p.pattern].Wants
	switch {
	case p.pattern == "set_two":
		return []string{fill("the {attr} of {x} changed to: {v}", p.slots),
			fill("the {attr2} of {x} changed to: {v2}", p.slots)}
	case p.slots["asks"] != "":
		return []string{p.slots["asks"]}
	case wants == "":
		return nil
	}
	return []string{strings.TrimPrefix(fill(wants, p.slots), "to know ")}
}
