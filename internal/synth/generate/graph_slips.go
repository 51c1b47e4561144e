package generate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// shareStray is the share of training programs in whose demonstration a search finds nothing, where one fits.
const shareStray = 0.4

// rung is a way out of a search that finds nothing. Each stands in demonstrations about as often as the others.
type rung int

const (
	toFewer rung = iota // of too many words some
	toOther             // of a word that is noted nowhere: another word of the request
	toAll               // all is read, wherever that is shown
	toFind              // of a short name that was opened: it is looked for
	rungs               // how many there are
)

// miss is a call that finds nothing, and how somebody goes on from there, with what is said of it.
type miss struct {
	call Call
	at   int // the number of the call in whose place it is made
	out  rung
	why  string
}

// stray puts one search that finds nothing before one that finds. The same is never asked again, nor another form of
// the same word. What is in the place of the next search says why. nil where no such search fits.
func (s *graphing) stray(r *rand.Rand, p *programs.GraphProgram, calls []Call) []Call {
	by := make([][]miss, rungs)
	for i := range calls {
		for _, m := range s.misses(p, calls, i) {
			by[m.out] = append(by[m.out], m)
		}
	}
	if others := by[toOther:]; len(slices.Concat(others...)) > 0 && r.IntN(4) > 0 {
		by = others // too many words fit nearly everywhere
	}
	by = slices.DeleteFunc(by, func(list []miss) bool { return len(list) == 0 })
	if len(by) == 0 {
		return nil
	}
	one := pick(r, pick(r, by))
	with := append(slices.Clone(calls[:one.at]), one.call)
	if one.out == toAll {
		p.TellMembers()
		all := *s.g.read
		all.Why = one.why
		return append(with, all)
	}
	next := calls[one.at]
	next.Why = one.why
	return append(append(with, next), calls[one.at+1:]...)
}

// missing collects the calls in the place of one that find nothing.
type missing struct {
	*graphing
	calls  []Call
	at     int
	words  []string // of the request, that nothing says
	misses []miss
}

// misses are the calls in the place of one that find nothing.
func (s *graphing) misses(p *programs.GraphProgram, calls []Call, at int) []miss {
	if s.g.find == nil {
		return nil
	}
	m := &missing{graphing: s, calls: calls, at: at, words: s.tables.Strangers(p)}
	if s.fits() {
		m.unknown(p, "")
	}
	if !m.ofKind(p) && !m.ofWord(p) {
		m.ofNames(p)
	}
	return m.misses
}

// is reports whether the call in whose place others stand is this one.
func (m *missing) is(c Call) bool { return m.calls[m.at].key() == c.key() }

func (m *missing) add(c Call, out rung, why string) {
	same := func(o Call) bool { return o.key() == c.key() }
	if c.Slip = slipEmpty; !slices.ContainsFunc(m.calls, same) &&
		!slices.ContainsFunc(m.misses, func(o miss) bool { return o.out == out && same(o.call) }) {
		m.misses = append(m.misses, miss{c, m.at, out, why})
	}
}

// text adds a search for a text that nothing says. Then all is read where that is shown.
func (m *missing) text(query string, out rung, why string) {
	query = strings.Join(strings.Fields(query), " ")
	if query == "" || len(m.tables.Graph.Saying(query)) > 0 {
		return
	}
	if m.fits() {
		out, why = toAll, fmt.Sprintf("The search for %q found nothing. Notes may have other words for it, so I read "+
			"them all and do not search for it again.", query)
	}
	m.add(m.g.find.texts(query), out, why)
}

// longer adds searches for texts of several words, after which fewer are looked for.
func (m *missing) longer(why string, queries ...string) {
	for _, query := range queries {
		if len(strings.Fields(query)) > 1 {
			m.text(query, toFewer, why)
		}
	}
}

// unknown adds searches for words of the request that nothing says. What is looked for next is another word of it: a
// model that is shown a form of the missed word goes on with forms of it in vain.
func (m *missing) unknown(p *programs.GraphProgram, next string) {
	for _, word := range m.words {
		if slices.ContainsFunc(p.Types, func(kind string) bool { // it has been found
			found := m.g.find.texts(kind).key()
			return programs.SameWord(kind, word) &&
				slices.ContainsFunc(m.calls[:m.at], func(c Call) bool { return c.key() == found })
		}) {
			continue
		}
		if m.fits() || p.SaysWord(next) && !programs.SameWord(word, next) {
			m.text(word, toOther, fmt.Sprintf(
				"The search for %q found nothing, so I do not repeat it. Another word of the request: %s.", word, next))
		}
	}
}

// ofKind stands in the place of a search for a kind; it reports whether that is one.
func (m *missing) ofKind(p *programs.GraphProgram) bool {
	filter := condition(p)
	for _, kind := range p.Types {
		if m.is(m.g.find.texts(kind)) {
			m.unknown(p, kind)
			m.longer(fmt.Sprintf("That is more than one note says. The kind alone: %s.", kind),
				kind+" "+filter, filter+" "+kind, filter)
			return true
		}
	}
	return false
}

// ofWord stands in the place of a search for a word that finds all that is asked for.
func (m *missing) ofWord(p *programs.GraphProgram) bool {
	word := m.tables.Word(p).Text
	if word == "" || !m.is(m.g.find.texts(word)) {
		return false
	}
	many, filter := p.Slot("many"), condition(p)
	m.unknown(p, word)
	m.longer(fmt.Sprintf("No note is in just these words. Fewer of them: %s.", word),
		filter, many+" "+filter, word+" "+many)
	return true
}

// ofNames stands in the place of a search for a thing by its name.
func (m *missing) ofNames(p *programs.GraphProgram) {
	for _, name := range p.Named {
		says := cmp.Or(p.Says(name), name)
		thing := m.tables.Graph.Thing(name)
		if thing == nil || !m.is(m.g.find.texts(says)) {
			continue
		}
		if m.g.open != nil && says != name && m.tables.Graph.Thing(says) == nil {
			m.add(m.g.open.texts(says), toFind,
				fmt.Sprintf("Nothing is called just %s. A search finds a part of a name, too: %s.", says, says))
		}
		m.unknown(p, says)
		m.longer(fmt.Sprintf("That finds nothing. The name alone: %s.", says),
			thing.Type+" "+says, says+" "+thing.Type, "the "+says)
	}
}

// condition is what a request asks of several things, without the words that join it.
func condition(p *programs.GraphProgram) string {
	filter := p.Slot("filter")
	for _, by := range []string{"that are ", "who are ", "that ", "who ", "with the ", "with a ", "with "} {
		if rest, ok := strings.CutPrefix(filter, by); ok {
			return rest
		}
	}
	return filter
}
