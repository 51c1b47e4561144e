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
const shareStray = 0.32

// miss is a call that finds nothing, and what somebody says who goes on from there.
type miss struct {
	call Call
	why  string
}

// stray puts a search that finds nothing, or two, before one that finds: more words than are noted, a kind in the
// plural, a short name that is opened as if it were the whole one. What is in the place of the next search says why. At
// times somebody then reads all. nil where no such search fits.
func (s *graphing) stray(r *rand.Rand, p *programs.GraphProgram, calls []Call) []Call {
	for _, i := range r.Perm(len(calls)) {
		list := s.misses(p, calls, i)
		if len(list) == 0 {
			continue
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(len(list), 1+r.IntN(4)/3)]
		next := calls[i]
		next.Why = list[len(list)-1].why
		with := slices.Clone(calls[:i])
		for _, x := range list {
			with = append(with, x.call)
		}
		if i == 0 && r.IntN(5) == 0 && s.fits() {
			all := *s.g.read
			all.Why = "That finds nothing, so I read all that is noted."
			return append(with, all)
		}
		return append(append(with, next), calls[i+1:]...)
	}
	return nil
}

// misses are the calls in the place of one that find nothing.
func (s *graphing) misses(p *programs.GraphProgram, calls []Call, i int) (list []miss) {
	if s.g.find == nil {
		return nil
	}
	text := func(query, why string) {
		query = strings.Join(strings.Fields(query), " ")
		if c := s.g.find.texts(query); query != "" && len(s.tables.Graph.Saying(query)) == 0 {
			c.Slip = slipEmpty
			list = append(list, miss{c, why})
		}
	}
	open := func(name, why string) {
		if s.g.open == nil || s.tables.Graph.Thing(name) != nil {
			return
		}
		c := s.g.open.texts(name)
		c.Slip = slipEmpty
		list = append(list, miss{c, why})
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
			why := fmt.Sprintf("That finds nothing. The kind alone, in one word: %s.", kind)
			text(many, why)
			text(many+" "+filter, why)
			text(filter+" "+many, why)
			text("all "+many, why)
			text(filter, why)
			return list
		}
	}
	if word := s.tables.Word(p).Text; word != "" && calls[i].key() == s.g.find.texts(word).key() {
		why := fmt.Sprintf("Nothing is noted in these words. Fewer of them: %s.", word)
		text(filter, why)
		text(many+" "+filter, why)
		text(word+" "+many, why)
		return list
	}
	for _, name := range p.Named {
		says := cmp.Or(p.Says(name), name)
		kind := s.tables.Graph.Thing(name)
		switch {
		case kind == nil:
		case calls[i].key() == s.g.find.texts(says).key():
			if says != name {
				open(says, fmt.Sprintf("No thing has just this name. A search finds a part of one, too: %s.", says))
			}
			why := fmt.Sprintf("That finds nothing. The name alone: %s.", says)
			text(kind.Type+" "+says, why)
			text(says+" "+kind.Type, why)
			text("the "+says, why)
			if !strings.HasSuffix(says, "s") {
				text(says+"'s", why)
			}
		case s.g.open != nil && i > 0 && calls[i].key() == s.g.open.texts(name).key():
			first, _, several := strings.Cut(name, " ")
			if several {
				open(first, fmt.Sprintf("A thing is opened by its whole name alone: %s.", name))
			}
			if lower := strings.ToLower(name); lower != name {
				open(lower, fmt.Sprintf("The name must be as it is noted: %s.", name))
			}
		}
	}
	return list
}
