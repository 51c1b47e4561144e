package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hone/internal/episode/scenario"
	"hone/internal/synth/written"
)

// noteWords are the words that people have for things with a note, and for those without it, which are not the note's
// own: who "can't have nuts" is allergic to them.
type noteWords struct {
	Note     string // "{food}" stands for any
	Opposite string // a note of those without it
	Of       string // the kinds of things that have it
	Group    string // of notes that say about the same
	saidOf
	Any saidOf // of notes of this form, whatever they say
}

// saidOf are phrases for things with a note and for those without it.
type saidOf struct{ With, Without saidIn }

// saidIn are phrases by splits, as they stand behind a plural. What is held out has words of its own.
type saidIn struct{ Train, Held []string }

// lexicon is the words for notes, with what stands for their slots and the nouns of kinds of things.
type lexicon struct {
	Fills map[string][]string
	Kinds map[string]string
	Notes []noteWords
}

var noteLexicon = sync.OnceValue(func() (all lexicon) {
	written.Words("note_words", &all)
	return all
})

var noteSlot = regexp.MustCompile(`\{(\w+)\}`)

// saying is a condition on notes and what it means in their words. What is held out says it in other words; near says
// that these are a note's own in another form.
type saying struct {
	words, held, means string
	near               bool
}

// Speak has a request of a split say conditions in the words of that.
func (p *Program) Speak(split string) {
	for i, s := range p.sayings {
		if split != scenario.Train && !s.near {
			p.slots["filter"] = strings.Replace(p.slots["filter"], s.words, s.held, 1)
			p.sayings[i].words = s.held
		}
	}
}

// mappings say first what the words of a request mean in those of notes.
func (p *Program) mappings() string {
	var lines []string
	for _, s := range p.sayings {
		lines = append(lines, `"`+s.words+`" means: `+s.means)
	}
	return strings.Join(lines, "\n")
}

// kindOf is the kind of the things of a table, for which notes have words.
func (l lexicon) kindOf(t *Table) string {
	if t.OfPeople() {
		return "people"
	}
	for kind, nouns := range l.Kinds {
		if slices.Contains(strings.Fields(nouns), lastWord(t.One)) {
			return kind
		}
	}
	return "other"
}

// words are those for a note of things of a kind, with what stands in the slot of the note. opposite says that the note
// is the opposite one. nil where there are none.
func (l lexicon) words(kind, note string) (w *noteWords, value string, opposite bool) {
	for i := range l.Notes {
		w := &l.Notes[i]
		before, after, has := strings.Cut(noteSlot.ReplaceAllString(w.Note, "\x00"), "\x00")
		value, ok := source{before: before, after: after}.in(note)
		switch {
		case !slices.Contains(strings.Fields(w.Of), kind):
		case note == w.Note, has && ok && !strings.ContainsAny(value, "0123456789,:"):
			return w, value, false
		case note == w.Opposite:
			return w, "", true
		}
	}
	return nil, "", false
}

// alone reports whether no other note of some things says about the same as one.
func (gt *GraphTables) alone(t *Table, note string) bool {
	l := noteLexicon()
	kind := l.kindOf(t)
	w, value, opposite := l.words(kind, note)
	loose := func(w *noteWords, value string) bool { // who is no vegetarian may do without nuts
		return value != "" && w.Group == "diet" && !slices.Contains(l.Fills["meat"], value)
	}
	return !slices.ContainsFunc(gt.Graph.Things, func(x Thing) bool {
		return x.Type == gt.types[t] && slices.ContainsFunc(x.Notes, func(n string) bool {
			o, other, turned := l.words(kind, n)
			return o != nil && (o == w && turned != opposite ||
				o != w && o.Group != "" && o.Group == w.Group && !loose(w, value) && !loose(o, other))
		})
	})
}

// spokenOf are those columns of notes of which people speak in other words.
func (gt *GraphTables) spokenOf(t *Table, columns []int) (list []int) {
	l := noteLexicon()
	for _, i := range columns {
		if w, _, _ := l.words(l.kindOf(t), t.Columns[i].Says); w != nil && t.Columns[i].Note {
			list = append(list, i)
		}
	}
	return list
}

// inOtherWords says the condition on a note in words that are not the note's; "" where there are none.
func (gt *GraphTables) inOtherWords(d *drawer, t *Table, c Cond) string {
	l, note := noteLexicon(), t.Columns[c.Column].Says
	w, value, opposite := l.words(l.kindOf(t), note)
	if w == nil || !gt.alone(t, note) {
		return ""
	}
	return d.say(w.saidOf, equal(c.Value, int64(1)) != opposite, value, c.meant(t))
}

// meant is a condition on a note as a mapping says it.
func (c Cond) meant(t *Table) string {
	if equal(c.Value, int64(1)) {
		return "with " + c.wants(t)
	}
	return c.wants(t)
}

// say draws the words for things with a note, or for those without it.
func (d *drawer) say(of saidOf, with bool, value, means string) string {
	in := of.With
	if !with {
		in = of.Without
	}
	s := saying{noteSlot.ReplaceAllString(pick(d.r, in.Train), value),
		noteSlot.ReplaceAllString(pick(d.r, in.Held), value), means, false}
	d.sayings = append(d.sayings, s)
	return s.words
}

// anyOf draws a condition on all notes of a form: to have one of them, whatever it says, or none. ok is false where no
// form has two.
func (gt *GraphTables) anyOf(d *drawer, t *Table) (where []Cond, phrase string, ok bool) {
	l := noteLexicon()
	kind := l.kindOf(t)
	of, first := map[*noteWords][]Cond{}, (*noteWords)(nil)
	with := d.r.IntN(2) == 0
	v := map[bool]int64{true: 1, false: 0}[with]
	for i, c := range t.Columns {
		if w, _, _ := l.words(kind, c.Says); c.Note && w != nil && len(w.Any.With.Train) > 0 && gt.alone(t, c.Says) {
			if of[w] = append(of[w], Cond{i, -1, Is, v}); first == nil && len(of[w]) > 1 {
				first = w
			}
		}
	}
	if where = of[first]; first == nil || gt.forms(t, kind, first) > len(where) {
		return nil, "", false
	}
	var means []string
	for _, c := range where {
		means = append(means, c.meant(t))
	}
	if with {
		where = []Cond{{where[0].Column, -1, Either, where}}
	}
	if n := len(t.rows(where)); n == 0 || n == len(t.Rows) {
		return nil, "", false
	}
	joined := strings.Join(means, map[bool]string{true: ", or ", false: ", and also "}[with])
	return where, d.say(first.Any, with, "", joined), true
}

// forms is how many notes of a form the things of a type have.
func (gt *GraphTables) forms(t *Table, kind string, of *noteWords) int {
	notes := map[string]bool{}
	for _, x := range gt.Graph.Things {
		for _, n := range x.Notes {
			if w, _, _ := noteLexicon().words(kind, n); x.Type == gt.types[t] && w == of {
				notes[n] = true
			}
		}
	}
	return len(notes)
}

// Bounds of the notes of an invented thing that people speak of in other words.
const (
	mostSaid   = 2 // forms of them for each type
	mostFilled = 3 // values of each form
)

// annotate gives the things of a type some notes of which people speak in other words.
func (g *Graph) annotate(r *rand.Rand, t *Table) {
	l := noteLexicon()
	kind, said := l.kindOf(t), 0
	groups := map[string]bool{}
	for _, at := range r.Perm(len(l.Notes)) {
		w := l.Notes[at]
		if said == mostSaid || !slices.Contains(strings.Fields(w.Of), kind) || groups[w.Group] {
			continue
		}
		said++
		groups[w.Group] = w.Group != ""
		notes := []string{w.Note}
		if m := noteSlot.FindStringSubmatch(w.Note); m != nil {
			notes = nil
			for _, i := range r.Perm(len(l.Fills[m[1]]))[:mostFilled] {
				notes = append(notes, strings.Replace(w.Note, m[0], l.Fills[m[1]][i], 1))
			}
		} else if w.Opposite != "" && r.IntN(2) == 0 {
			notes[0] = w.Opposite
		}
		for i := range g.Things {
			if g.Things[i].Type == t.One && r.IntN(5) < 2 {
				g.Things[i].Notes = append(g.Things[i].Notes, pick(r, notes))
			}
		}
	}
}
