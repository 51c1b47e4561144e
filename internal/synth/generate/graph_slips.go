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
	rungs
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

// misses are the calls in the place of one that find nothing.
func (s *graphing) misses(p *programs.GraphProgram, calls []Call, i int) (list []miss) {
	if s.g.find == nil {
		return nil
	}
	add := func(c Call, out rung, why string) {
		same := func(o Call) bool { return o.key() == c.key() }
		if c.Slip = slipEmpty; !slices.ContainsFunc(calls, same) &&
			!slices.ContainsFunc(list, func(m miss) bool { return m.out == out && same(m.call) }) {
			list = append(list, miss{c, i, out, why})
		}
	}
	text := func(query string, out rung, why string) {
		query = strings.Join(strings.Fields(query), " ")
		if query != "" && len(s.tables.Graph.Saying(query)) == 0 {
			add(s.g.find.texts(query), out, why)
		}
	}
	open := func(name string, out rung, why string) {
		if s.g.open != nil && s.tables.Graph.Thing(name) == nil {
			add(s.g.open.texts(name), out, why)
		}
	}
	strange := s.tables.Strangers(p)
	unknown := func(out rung, next string) {
		for _, word := range strange {
			text(word, out, fmt.Sprintf("%q is noted nowhere, so I do not ask for it again. %s", word, next))
		}
	}
	if s.fits() {
		unknown(toAll, "It may be in other words, so I read all that is noted.")
	}
	many, filter := p.Slot("many"), p.Slot("filter")
	for _, by := range []string{"that are ", "who are ", "that ", "who ", "with the ", "with a ", "with "} {
		if rest, ok := strings.CutPrefix(filter, by); ok {
			filter = rest
			break
		}
	}
	for _, kind := range p.Types {
		if calls[i].key() == s.g.find.texts(kind).key() {
			unknown(toKind, fmt.Sprintf("The kind of what is asked for: %s.", kind))
			why := fmt.Sprintf("That is more than one note says. The kind alone: %s.", kind)
			for _, query := range []string{many + " " + filter, filter + " " + many, "all " + many, filter} {
				if len(strings.Fields(query)) > 1 {
					text(query, toOne, why)
				}
			}
			return list
		}
	}
	if word := s.tables.Word(p).Text; word != "" && calls[i].key() == s.g.find.texts(word).key() {
		unknown(toOther, fmt.Sprintf("Another word of the request: %s.", word))
		why := fmt.Sprintf("Nothing is noted in just these words. Fewer of them: %s.", word)
		for _, query := range []string{filter, many + " " + filter, word + " " + many} {
			text(query, toOne, why)
		}
		return list
	}
	for _, name := range p.Named {
		says := cmp.Or(p.Says(name), name)
		thing := s.tables.Graph.Thing(name)
		switch {
		case thing == nil:
		case calls[i].key() == s.g.find.texts(says).key():
			if says != name {
				open(says, toFind,
					fmt.Sprintf("Nothing is called just %s. A search finds a part of a name, too: %s.", says, says))
			}
			unknown(toOther, fmt.Sprintf("Another word of the request: %s.", says))
			why := fmt.Sprintf("That finds nothing. The name alone: %s.", says)
			for _, query := range []string{thing.Type + " " + says, says + " " + thing.Type, "the " + says} {
				text(query, toOne, why)
			}
			if !strings.HasSuffix(says, "s") {
				text(says+"'s", toOne, why)
			}
		case s.g.open != nil && i > 0 && calls[i].key() == s.g.open.texts(name).key():
			if first, _, several := strings.Cut(name, " "); several {
				open(first, toWhole, fmt.Sprintf("A thing is opened by its whole name alone: %s.", name))
			}
			if lower := strings.ToLower(name); lower != name {
				open(lower, toWhole, fmt.Sprintf("The name must be as it is noted: %s.", name))
			}
		}
	}
	return list
}
