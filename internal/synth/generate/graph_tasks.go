package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// graphing is a graph over which programs are played.
type graphing struct {
	setting
	seat
	g      *graphServer
	tables *programs.GraphTables
	asked  []programs.WrittenNote // requests that somebody wrote, in place of drawn ones
}

// leastOfGraph is how many things a graph must hold, so that tasks are made of it.
const leastOfGraph = 6

// graphPrograms makes tasks from programs over graphs: the server's own, and invented ones.
func (m *maker) graphPrograms(ctx context.Context) ([]draftOf, error) {
	servers, err := m.graphServers(ctx)
	if err != nil {
		return nil, err
	}
	return playAll(ctx, m, "programs over graphs", servers, m.graphings)
}

// graphings are the graphs of a server: what is there first, with half of the tasks, then invented ones.
func (m *maker) graphings(ctx context.Context, g *graphServer) (list []statePlays, err error) {
	used := map[string]bool{g.read.Tool: true}
	for _, t := range g.does {
		used[t.tool.Name] = true
	}
	for _, t := range []*graphTool{g.find, g.open} {
		if t != nil {
			used[t.tool.Name] = true
		}
	}
	m.asks[g.server] = used
	left := int(float64(m.N)/float64(len(m.player.servers()))*(1-m.shareOfRest(g.server, used)) + 0.5)
	add := func(s setting, tables *programs.GraphTables) {
		list = append(list, &graphing{s, seat{m: m, server: g.server, keeps: true}, g, tables, nil})
		left -= s.want
	}
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil {
		return nil, err
	}
	text, _ := m.tryOn(ctx, session, *g.read)
	_ = session.Close() // nothing was changed
	own := ""           // what is there: other graphs draw other ones beside them
	if graph, ok := g.graph(text); ok && len(graph.Things) >= leastOfGraph {
		tables := graph.Tables()
		own = text
		g.scale = float64(len(text)) / float64(graph.Size())
		add(setting{World: tables.World, realm: m.worlds[0], want: left / 2}, tables)
	}
	var empty []programs.Edit // what is there by itself goes
	if graph, ok := g.graph(text); ok {
		for _, t := range graph.Things {
			empty = append(empty, programs.Edit{Do: programs.RemoveThing, Thing: programs.Thing{Name: t.Name}})
		}
	}
	for _, s := range m.writtenGraphs(g, own, empty, m.written(left)) {
		list, left = append(list, s), left-s.want
	}
	random := m.random("graphs", g.server+own)
	order := businesses(random)
	for n := 0; left > 0; n++ {
		business := order[n%len(order)]
		graph := programs.Invent(random, business).Graph(random)
		calls, ok := g.calls(append(slices.Clone(empty), graph.Making()...))
		if !ok {
			break
		}
		tables := graph.Tables()
		if len(tables.Tables) == 0 {
			if n > 4*len(order) {
				break
			}
			continue
		}
		add(m.invented(tables.World, n, business, left, calls), tables)
	}
	return list, ctx.Err()
}

// writtenGraphs are the graphs of n requests that somebody wrote, of which each is shown whole where it is read.
func (m *maker) writtenGraphs(g *graphServer, own string, empty []programs.Edit, n int) (list []*graphing) {
	random := m.random("written", g.server+own)
	for i, w := range programs.WrittenGraphs() {
		s := &graphing{setting{World: &programs.World{Name: w.Name}, split: writtenSplit(i)},
			seat{m: m, server: g.server, keeps: true}, g, w.Graph.Tables(), shuffled(random, w.Tasks)}
		if s.fits() {
			list = append(list, s)
		}
	}
	for i, n := range writtenOf(random, n, list, func(s *graphing) (int, string) { return len(s.asked), s.split }) {
		if calls, ok := g.calls(append(slices.Clone(empty), list[i].tables.Graph.Making()...)); ok && n > 0 {
			list[i].want, list[i].realm = n, m.realmOf(calls)
		}
	}
	return slices.DeleteFunc(list, func(s *graphing) bool { return s.want == 0 })
}

// requests are those that somebody wrote, or drawn ones, nil where a draw came to nothing.
func (s *graphing) requests(r *rand.Rand) iter.Seq[programs.WrittenNote] {
	if s.asked != nil {
		return slices.Values(s.asked)
	}
	return func(yield func(programs.WrittenNote) bool) {
		for _, kind := range drawn(r, programs.GraphShares(), graphTries*s.want) {
			if !yield(programs.WrittenNote{GraphProgram: s.tables.Draw(r, kind)}) {
				return
			}
		}
	}
}

// graphTries is how many programs are drawn for one task: many come to nothing, and none of these is played.
const graphTries = 3

// tasks draws, plays and words the programs of one graph.
func (s *graphing) tasks(ctx context.Context, index int) (
	list []draftOf, reasons map[string]int, tried int, err error,
) {
	random := s.m.random("graph programs", s.Name, index)
	reasons = map[string]int{}
	seen := map[string]bool{}
	for q := range s.requests(random) {
		if len(list) == s.want {
			break
		}
		p := q.GraphProgram
		if p == nil || seen[p.Key()] || len(p.Answer.Values) == 1 && len(p.Answer.Values[0]) > 120 {
			continue
		}
		seen[p.Key()] = true
		changes, ok := s.g.calls(p.Edits)
		if !ok {
			continue
		}
		tried++
		c := s.candidate(s.m, p.Program)
		p.Speak(c.Split)
		var states []scenario.Check
		var why string
		if s.asked == nil {
			states, why, err = s.proveSomehow(ctx, random, p, c, changes)
		} else {
			c.Calls = append([]Call{explained(*s.g.read, q.Think)}, changes...)
			if len(changes) > 0 {
				c.Calls[1] = explained(c.Calls[1], q.Working)
			}
			states, why, err = s.prove(ctx, p, c, &graphLook{})
		}
		if err != nil {
			return nil, nil, 0, err
		}
		if why != "" {
			reasons[why]++
			continue
		}
		list = append(list, s.m.wordProgram(s.setting, c, states))
	}
	return list, reasons, tried, nil
}

// prove plays a program: the results must show what it is about, and the graph must then be what was computed.
func (s *graphing) prove(ctx context.Context, p *programs.GraphProgram, c *Candidate, f *graphLook) (
	states []scenario.Check, why string, err error,
) {
	want, ok := s.tables.Graph.Apply(p.Edits)
	if !ok {
		return nil, "a change cannot be made", nil
	}
	x := play{Setup: s.realm.setup, Calls: c.Calls, Looks: []Call{*s.g.read}}
	c.Proof = []string{x.name()}
	got, err := s.m.once(x, func() (*Played, error) { return s.play(ctx, x, len(p.Edits) > 0) })
	if err != nil {
		return nil, "", err
	}
	if why, err := s.m.fails(c.Calls, got, strayFound); why != "" {
		return nil, why, err
	}
	switch {
	case !s.shows(p, f, c.Calls, got):
		return nil, notShown, nil
	case !got.Seen[0].ok():
		return nil, "the graph is not shown", nil
	}
	is, ok := s.g.graph(got.Seen[0].Text)
	if !ok || !is.Equal(want) {
		return nil, "the graph is not as it was computed", nil
	}
	pattern := inAnyOrder(json.RawMessage(strings.TrimSpace(got.Seen[0].Text)))
	return []scenario.Check{{Type: scenario.StateCheck, Name: s.g.read.Tool, Arguments: s.g.read.Arguments,
		Matches: pattern}}, "", nil
}

// inAnyOrder is a pattern of a JSON text in which the entries of lists may stand in any order.
func inAnyOrder(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) > 0 && raw[0] == '{':
		list := members(raw)
		for i := range list {
			list[i].raw = inAnyOrder(list[i].raw)
		}
		return objectOf(list...)
	case len(raw) > 0 && raw[0] == '[':
		list := listOf(raw)
		for i := range list {
			list[i] = inAnyOrder(list[i])
		}
		all, _ := json.Marshal(list) // of JSON
		if len(list) < 2 {
			return all
		}
		return json.RawMessage(fmt.Sprintf(`{"$unordered":%s}`, all))
	}
	return raw
}

// play makes the calls, looks, and puts the folder back where something was changed.
func (s *graphing) play(ctx context.Context, x play, changes bool) (*Played, error) {
	got := &Played{}
	if !s.open(ctx, s.realm.setup, got) {
		return got, ctx.Err()
	}
	s.m.make(ctx, s.session, x.Calls, got)
	got.Seen = s.look(ctx, x.Looks)
	if got.Lost != "" || changes && !s.putBack(ctx) {
		s.close()
	}
	return got, ctx.Err()
}

// putBack makes the session's folder as it was, and reports whether the server then shows what it did.
func (s *graphing) putBack(ctx context.Context) bool {
	if len(s.before) == 0 || s.before.putBack(s.session.Dir(s.g.server)) != nil {
		return false
	}
	text, ok := s.m.tryOn(ctx, s.session, *s.g.read)
	is, also := s.g.graph(text)
	return ok && also && is.Equal(s.tables.Graph)
}
