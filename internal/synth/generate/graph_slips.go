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
	toOne   rung = iota // of too many words one
	toOther             // of a word that is noted nowhere: another word of the request
	toKind              // the same: the kind of what is asked for
	toAll               // the same: all is read
	toFind              // of a short name that was opened: it is looked for
	toWhole             // the same: the whole name is known
	rungs               // how many there are
)

// miss is a call that finds nothing, and how somebody goes on from there, with what is said of it.
type miss struct {
	call Call
	at   int // the number of the call in whose place it is made
	out  rung
	why  string
}

// stray puts a search that finds nothing before one that finds; at times a longer one before it, too. The same is never
// asked again. What is in the place of the next search says why. nil where no such search fits.
func (s *graphing) stray(r *rand.Rand, p *programs.GraphProgram, calls []Call) []Call {
	by := make([][]miss, rungs)
	for i := range calls {
		for _, m := range s.misses(p, calls, i) {
			by[m.out] = append(by[m.out], m)
		}
	}
	longer := by[toOne]
	if !slices.ContainsFunc(by[toOther:], func(list []miss) bool { return len(list) > 0 }) || r.IntN(4) == 0 {
		by = by[:toOther]
	} else { // too many words fit nearly everywhere
		by = by[toOther:]
	}
	by = slices.DeleteFunc(by, func(list []miss) bool { return len(list) == 0 })
	if len(by) == 0 {
		return nil
	}
	one := pick(r, pick(r, by))
	with := slices.Clone(calls[:one.at])
	if longer = slices.DeleteFunc(longer, func(m miss) bool {
		return m.at != one.at || len(m.call.Arguments) <= len(one.call.Arguments)
	}); len(longer) > 0 && r.IntN(3) == 0 {
		with = append(with, pick(r, longer).call)
	}
	with = append(with, one.call)
	if one.out == toAll {
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
		m.unknown(toAll, "It may be in other words, so I read all that is noted.")
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

// text adds a search for a text that nothing says.
func (m *missing) text(query string, out rung, why string) {
	query = strings.Join(strings.Fields(query), " ")
	if query != "" && len(m.tables.Graph.Saying(query)) == 0 {
		m.add(m.g.find.texts(query), out, why)
	}
}

// longer adds searches for texts of several words, after which fewer are looked for.
func (m *missing) longer(why string, queries ...string) {
	for _, query := range queries {
		if len(strings.Fields(query)) > 1 {
			m.text(query, toOne, why)
		}
	}
}

// unknown adds searches for words of the request that nothing says.
func (m *missing) unknown(out rung, next string) {
	for _, word := range m.words {
		m.text(word, out, fmt.Sprintf("%q is noted nowhere, so I do not ask for it again. %s", word, next))
	}
}

// open adds the opening of a thing by what is not its name.
func (m *missing) open(name string, out rung, why string) {
	if m.g.open != nil && m.tables.Graph.Thing(name) == nil {
		m.add(m.g.open.texts(name), out, why)
	}
}

// ofKind stands in the place of a search for a kind; it reports whether that is one.
func (m *missing) ofKind(p *programs.GraphProgram) bool {
	many, filter := p.Slot("many"), condition(p)
	for _, kind := range p.Types {
		if m.is(m.g.find.texts(kind)) {
			m.unknown(toKind, fmt.Sprintf("The kind of what is asked for: %s.", kind))
			m.longer(fmt.Sprintf("That is more than one note says. The kind alone: %s.", kind),
				many+" "+filter, filter+" "+many, "all "+many, filter)
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
	m.unknown(toOther, fmt.Sprintf("Another word of the request: %s.", word))
	m.longer(fmt.Sprintf("Nothing is noted in just these words. Fewer of them: %s.", word),
		filter, many+" "+filter, word+" "+many)
	return true
}

// ofNames stands in the place of what finds or opens a thing by its name.
func (m *missing) ofNames(p *programs.GraphProgram) {
	for _, name := range p.Named {
		says := cmp.Or(p.Says(name), name)
		thing := m.tables.Graph.Thing(name)
		switch {
		case thing == nil:
		case m.is(m.g.find.texts(says)):
			if says != name {
				m.open(says, toFind,
					fmt.Sprintf("Nothing is called just %s. A search finds a part of a name, too: %s.", says, says))
			}
			m.unknown(toOther, fmt.Sprintf("Another word of the request: %s.", says))
			why := fmt.Sprintf("That finds nothing. The name alone: %s.", says)
			m.longer(why, thing.Type+" "+says, says+" "+thing.Type, "the "+says)
			if !strings.HasSuffix(says, "s") {
				m.text(says+"'s", toOne, why)
			}
		case m.g.open != nil && m.at > 0 && m.is(m.g.open.texts(name)):
			if first, _, several := strings.Cut(name, " "); several {
				m.open(first, toWhole, fmt.Sprintf("A thing is opened by its whole name alone: %s.", name))
			}
			if lower := strings.ToLower(name); lower != name {
				m.open(lower, toWhole, fmt.Sprintf("The name must be as it is noted: %s.", name))
			}
		}
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
