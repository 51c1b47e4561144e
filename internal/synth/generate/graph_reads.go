package generate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// Reasons for which a program over a graph is played anew, with other calls.
const (
	notShown   = "what is looked at does not show what it is about"
	strayFound = "a search that is to find nothing finds something"
)

// graphLook is how somebody finds what a program is about.
type graphLook struct {
	calls  []Call
	things []string // that the results must show
}

// proveSomehow proves a program by calls that show what it is about: at first with what is drawn for it, then without
// searches that go astray, and where a result is too long to be shown, with things opened in parts.
func (s *graphing) proveSomehow(
	ctx context.Context, r *rand.Rand, p *programs.GraphProgram, c *Candidate, changes []Call,
) (states []scenario.Check, why string, err error) {
	f := s.finds(r, p)
	if refuses := []string{programs.Cannot, programs.AskBack}; len(f.calls)+len(changes) == 0 &&
		!slices.Contains(refuses, p.Kind) {
		return nil, "nothing is to be looked at", nil
	}
	plan := p.Wishes() // before the first change
	if len(changes) > 0 && len(f.calls) > 0 {
		plan = strings.TrimSpace(plan + "\n" + p.TakePlan())
	}
	ways := [][]Call{f.calls}
	if c.Split == scenario.Train && r.Float64() < shareStray {
		if with := s.stray(r, p, f.calls); with != nil {
			ways = [][]Call{with, f.calls}
		}
	}
	ways = append(ways, s.searches(p), s.inParts(p, f))
	for i, reads := range ways {
		if len(reads) == 0 && i > 0 {
			continue
		}
		c.Calls = append(slices.Clone(reads), changes...)
		if at := len(reads); len(changes) > 0 {
			c.Calls[at].Why = plan
		} else if at = slices.IndexFunc(c.Calls, func(x Call) bool { return !isSlip(x) }); at >= 0 { // that is learnt
			c.Calls[at].Why = strings.TrimSpace(plan + "\n" + c.Calls[at].Why)
		}
		states, why, err = s.prove(ctx, p, c, f)
		if err != nil || why != notShown && why != strayFound {
			break
		}
	}
	return states, why, err
}

// One in so many programs over a short graph looks for things all the same: of those about one thing, and of those
// about more. Of changes that a small model made, 5 of 7 passed after all was read, and 5 of 23 without.
const (
	searchesOneIn     = 8
	searchesManyOneIn = 16
)

// mostSearches is how many things or types are looked for one by one; for more all is read.
const mostSearches = 3

// finds are the calls by which somebody finds what a program is about: the things that are named, by their names, and
// all of a type, or those that say a word. Where all is short it is mostly read by one call, so that nobody has to know
// the words in which things are noted.
func (s *graphing) finds(r *rand.Rand, p *programs.GraphProgram) *graphLook {
	f := &graphLook{things: slices.Concat(p.Named, p.Members)}
	for _, t := range s.tables.Graph.Things {
		if slices.Contains(p.Types, t.Type) {
			f.things = append(f.things, t.Name)
		}
	}
	n := len(p.Named) + len(p.Types)
	if n == 0 { // there is nothing to look for
		return f
	}
	oneIn := searchesOneIn
	if n > 1 || len(p.Types)+len(p.Members) > 0 {
		oneIn = searchesManyOneIn
	}
	if s.g.find == nil || s.g.open == nil && len(p.Members) > 0 ||
		(n > mostSearches || r.IntN(oneIn) > 0) && s.fits() {
		p.TellMembers()
		f.calls = []Call{*s.g.read}
		return f
	}
	if calls := s.looksForNew(r, p); calls != nil {
		if f.calls = calls; len(calls) == 1 {
			f.things = nil
		}
		return f
	}
	if r.IntN(3) > 0 {
		if word := s.tables.Word(p); word.Text != "" {
			p.ShowFound(word)
			f.things, f.calls = word.Names, []Call{s.g.find.texts(word.Text)}
			return f
		}
	}
	f.calls = s.searches(p)
	return f
}

// looksForNew are searches for a thing that is to be made: where it is there, that is all; where nothing is found, it
// is new, and others of its kind show how such things are noted. nil where none is made, and for half of those.
func (s *graphing) looksForNew(r *rand.Rand, p *programs.GraphProgram) []Call {
	name := p.NewName()
	if name == "" || r.IntN(2) == 0 {
		return nil
	}
	first := s.g.find.texts(name)
	switch {
	case s.tables.Graph.Thing(name) != nil:
		return []Call{first}
	case len(s.tables.Graph.Saying(name)) > 0:
		return nil
	}
	calls := s.searches(p)
	if len(calls) == 0 || calls[0].key() == first.key() {
		return nil
	}
	calls[0].Why = fmt.Sprintf("Nothing is called %s yet, so it is new. Next I look at what it goes with.", name)
	return append([]Call{first}, calls...)
}

// fits reports whether all of the graph is shown, where it is read at once, by the bytes that the server took for what
// it held by itself.
func (s *graphing) fits() bool { return s.g.scale*float64(s.tables.Graph.Size()) <= float64(s.g.most) }

// searches look for each thing as the request names it, and for each type. What only a result has named is opened. nil
// where no tool finds anything.
func (s *graphing) searches(p *programs.GraphProgram) (calls []Call) {
	if s.g.find == nil {
		return nil
	}
	add := func(c Call) {
		if !slices.ContainsFunc(calls, func(o Call) bool { return o.key() == c.key() }) {
			calls = append(calls, c)
		}
	}
	var open []string
	for i, name := range slices.Compact(slices.Clone(p.Named)) {
		switch says := p.Says(name); {
		case i == 0 || s.g.open == nil || says != "" && says != name:
			add(s.g.find.texts(cmp.Or(says, name)))
		case !slices.Contains(open, name):
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		add(s.g.open.texts(open...))
	}
	if len(p.Members) > 0 && s.g.open != nil {
		c := s.g.open.texts(p.Members...)
		c.Why = p.Opens + " What is noted there shows when it is opened, all in one call."
		add(c)
	}
	for _, kind := range p.Types {
		add(s.g.find.texts(kind))
	}
	return calls
}

// inParts are the calls of a finding whose results are too long: what the things of a type are called is shown in
// spite of that, and they are opened in parts. nil where no part would be shorter.
func (s *graphing) inParts(p *programs.GraphProgram, f *graphLook) (calls []Call) {
	if s.g.open == nil || s.g.find == nil || len(f.things) < 2 {
		return nil
	}
	var part []string
	size := 0
	why := "The middle of the answer is left out, so I open these in parts."
	open := func() {
		c := s.g.open.texts(part...)
		c.Why, why = why, ""
		calls, part, size = append(calls, c), nil, 0
	}
	for _, name := range f.things {
		n := s.tables.Graph.Extent(name)
		if len(part) > 0 && size+n > s.g.most/4*3 {
			open()
		}
		part, size = append(part, name), size+n
	}
	open()
	if len(calls) > mostParts {
		return nil
	}
	return append(s.searches(p), calls...)
}

// mostParts bounds the parts in which things are opened.
const mostParts = 4

// shows reports whether the results show all that a program is about, where the middle of long ones is cut out, and
// name all that its working does.
func (s *graphing) shows(p *programs.GraphProgram, f *graphLook, calls []Call, got *Played) bool {
	var seen programs.Graph
	names := map[string]bool{}
	for i, r := range got.Results {
		if calls[i].Tool != s.g.read.Tool && (s.g.find == nil || calls[i].Tool != s.g.find.tool.Name) &&
			(s.g.open == nil || calls[i].Tool != s.g.open.tool.Name) {
			continue
		}
		if s.g.open != nil && calls[i].Tool == s.g.open.tool.Name && len(names) > 0 && calls[i].Slip == "" {
			for _, t := range s.tables.Graph.Things { // whoever opens a thing has heard of it
				if strings.Contains(string(calls[i].Arguments), string(quote(t.Name))) && !names[t.Name] &&
					p.Says(t.Name) == "" {
					return false
				}
			}
		}
		part := s.g.shown(r.Text)
		seen.Things, seen.Relations = append(seen.Things, part.Things...), append(seen.Relations, part.Relations...)
		for _, t := range part.Things {
			names[t.Name] = true
		}
		for _, x := range part.Relations {
			names[x.From], names[x.To] = true, true
		}
	}
	for _, name := range f.things {
		if s.tables.Graph.Thing(name) != nil && seen.Thing(name) == nil {
			return false
		}
	}
	for _, x := range s.tables.Needs(p, f.things) {
		if !slices.Contains(seen.Relations, x) {
			return false
		}
	}
	text := p.Working()
	for _, c := range calls {
		text += "\n" + c.Why
	}
	return !slices.ContainsFunc(s.tables.Graph.Things, func(t programs.Thing) bool {
		return !names[t.Name] && p.Says(t.Name) == "" && strings.Contains(text, t.Name)
	})
}

// shown is what a reader sees of a result.
func (g *graphServer) shown(text string) programs.Graph {
	half := max(0, g.most/2-40) // the mark where it was cut
	graph, _ := g.part(text, func(raw json.RawMessage) bool {
		return len(text) <= g.most || strings.Contains(text[:half], string(raw)) ||
			strings.Contains(text[len(text)-half:], string(raw))
	})
	return graph
}
