package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// shelf is a state of a server whose reading tools show lists of things: what there is, and which call shows each
// table.
type shelf struct {
	*programs.World
	server string
	realm  *realm
	shown  map[*programs.Table]Call
	finds  *finding // a reading tool that takes a thing's name; nil: there is none
	views  *view    // a reading tool that takes a thing's key; nil: there is none
	split  string   // "" where each task has its own
	want   int
}

// Bounds of an invented state.
const (
	furnishCalls = 9
	furnishTries = 40
	perShelf     = 12
	mostShelves  = 20
	recordTries  = 4 // draws for one program that is wanted
)

// records makes candidates from programs over the things that reading tools list: questions whose answer is computed of
// what is listed, and changes by the tools that were seen to change it.
func (m *maker) records(ctx context.Context, n int) ([]*Candidate, error) {
	if n == 0 {
		return nil, nil
	}
	shelves, err := m.shelves(ctx, n)
	if err != nil || len(shelves) == 0 {
		return nil, err
	}
	if err := m.learnFinds(ctx, shelves); err != nil {
		return nil, err
	}
	if err := m.learnViews(ctx, shelves); err != nil {
		return nil, err
	}
	acts, err := m.learnActs(ctx, shelves)
	if err != nil {
		return nil, err
	}
	var list []*Candidate
	for i, s := range shelves {
		random := m.random("records", s.server, i)
		seen := map[string]bool{}
		want := int(overdrawn * float64(s.want))
		for try := 0; try < recordTries*want && len(seen) < want; try++ { // many draws come to nothing
			p, calls, noted := m.recordProgram(random, s, acts)
			if p == nil {
				continue
			}
			key := keyOf(calls) + p.Kind + strings.Join(p.Answer.Values, "\x00") + p.Key()
			if seen[key] {
				continue
			}
			seen[key] = true
			list = append(list, &Candidate{Kind: p.Kind, World: s.realm.index, Calls: calls, program: p, shelf: s,
				noted: noted, told: &told{Program: p, world: s.World}})
		}
	}
	return list, nil
}

// shelves are the states that programs take place in: what a server holds by itself, and invented ones.
func (m *maker) shelves(ctx context.Context, n int) (list []*shelf, err error) {
	if s := m.shelf(m.worlds[0]); s != nil {
		s.want = n / 2
		list = append(list, s)
		n -= s.want
	}
	for i := 0; n > 0 && i < mostShelves; i++ {
		r, err := m.furnish(ctx, i)
		if err != nil {
			return nil, err
		}
		if r == nil {
			break
		}
		s := m.shelf(r)
		if s == nil {
			continue
		}
		s.want, s.split = min(n, perShelf), scenario.Train
		switch i % 8 {
		case 1, 5: // early, so that a few states have a held-out one
			s.split = scenario.Test
		case 3:
			s.split = scenario.Validation
		}
		n -= s.want
		list = append(list, s)
	}
	return list, nil
}

// furnish makes a realm with several things in it: calls that create, one after the other in one session, with values
// as people give them. Another session must then look the same. It is nil where no tool creates.
func (m *maker) furnish(ctx context.Context, index int) (*realm, error) {
	base := m.worlds[0]
	r := &realm{index: len(m.worlds), known: values{slices.Clone(base.known.list)}}
	random := m.random("furnish", index)
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // the calls are made
	used := map[string]int{}
	see := func() (text string) {
		for _, look := range base.looks {
			seen, _ := m.tryOn(ctx, session, look)
			text += seen + "\x00"
		}
		return text
	}
	before := see()
	for try := 0; try < furnishTries && len(r.setup) < furnishCalls; try++ {
		s := m.nextWriter(used, 1)
		if s == nil || !s.creates() {
			break
		}
		used[s.Name]++
		arguments, ok := filler{random, s, &r.known}.arguments(random.IntN(3) == 0)
		if !ok || !s.takes(string(arguments)) {
			continue
		}
		c := Call{Tool: s.Name, Arguments: arguments}
		text, ok := m.tryOn(ctx, session, c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		after := see()
		if !ok || after == before {
			used[s.Name] += 2 // others first
			continue
		}
		before = after
		used[s.Name]-- // a tool that creates may create more
		r.setup = append(r.setup, c)
		r.known.took(c.Tool, c.Arguments)
		r.known.gave(c, text, 0)
		if len(r.setup)%3 == 0 {
			used[s.Name]++
		}
	}
	if len(r.setup) == 0 {
		return nil, nil
	}
	m.worlds = append(m.worlds, r)
	return r, m.look(ctx, r, m.bare())
}

// shelf reads the tables that the looks of a realm show; nil where they show none with two rows.
func (m *maker) shelf(r *realm) *shelf {
	s := &shelf{
		World: &programs.World{Name: fmt.Sprint("realm ", r.index)},
		realm: r,
		shown: map[*programs.Table]Call{},
	}
	for i, look := range r.looks {
		if look.key() != m.byName[look.Tool].bare().key() { // what is shown of one thing, nobody would know to be asked
			continue
		}
		for _, l := range programs.Listings(r.before[i].text) {
			if isPart(l.Name) || isPart(look.Tool) {
				continue
			}
			m.nameColumns(look.Tool, l.Records)
			t := programs.TableOf(listName(l.Name, m.byName[look.Tool]), l.Records)
			if t == nil || len(t.Rows) < 2 ||
				slices.ContainsFunc(s.Tables, func(o *programs.Table) bool { return o.Name == t.Name }) {
				continue
			}
			s.Tables, s.shown[t], s.server = append(s.Tables, t), look, m.byName[look.Tool].Server
		}
	}
	if len(s.Tables) == 0 {
		return nil
	}
	programs.Relate(s.Tables)
	programs.Understand(s.Tables)
	return s
}

// isPart reports whether a list has some things of another one, by its name or the tool's: recent_documents,
// closing_this_month.
func isPart(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains(strings.Fields("recent upcoming latest last next this today overdue top"), w)
	})
}

// finding is a call that shows one thing by its name, and what is related to it.
type finding struct {
	tool   *subject
	sample json.RawMessage
	at     string // where the name stands
	edges  bool   // it shows relations too
}

// call looks for a name.
func (f *finding) call(name string) Call {
	return Call{Tool: f.tool.Name, Arguments: withLeaf(f.sample, f.at, name)}
}

// learnFinds tries the reading tools with the name of a thing: of those that show all that is listed of it, the one
// with the shortest answer is how a stranger looks.
func (m *maker) learnFinds(ctx context.Context, shelves []*shelf) error {
	for _, s := range shelves {
		t := s.namedTable()
		if t == nil {
			continue
		}
		row := t.Rows[0]
		var plays []play
		var tools []finding
		for _, tool := range m.tools {
			if tool.Server != s.server || !tool.pure || !tool.needs() {
				continue
			}
			arguments, ok := filler{m.random("find", tool.Name), tool, &s.realm.known}.arguments(false)
			var leaves []leaf
			if arguments = firsts(arguments); ok {
				walk(nil, arguments, &leaves)
			}
			if len(leaves) != 1 || leaves[0].raw[0] != '"' {
				continue
			}
			f := finding{tool: tool, sample: arguments, at: leaves[0].pointer()}
			tools = append(tools, f)
			plays = append(plays, play{Setup: s.realm.setup, Calls: []Call{f.call(programs.Show(row[t.Label]))}})
		}
		got, err := m.playAndTell(ctx, "find", plays)
		if err != nil {
			return err
		}
		best := 0
		for i, p := range got {
			if p.Lost != "" || !p.Results[0].ok() || !showsRow(p.Results[0].Text, t, row) {
				continue
			}
			if n := len(p.Results[0].Text); s.finds == nil || n < best {
				tools[i].edges = strings.Contains(p.Results[0].Text, "relation")
				s.finds, best = &tools[i], n
			}
		}
	}
	return nil
}

// namedTable is the first table of a shelf whose things have names.
func (s *shelf) namedTable() *programs.Table {
	for _, t := range s.Tables {
		if _, _, _, edge := t.Edge(); !edge && t.Label >= 0 {
			return t
		}
	}
	return nil
}

// showsRow reports whether a text has all values of a row.
func showsRow(text string, t *programs.Table, row []any) bool {
	for i, v := range row {
		if v == nil || volatile(t.Columns[i].Name) {
			continue
		}
		for part := range strings.SplitSeq(programs.Show(v), programs.ListMark) {
			if !strings.Contains(text, part) {
				return false
			}
		}
	}
	return true
}

// recordProgram draws a question or a change over a shelf, with the calls of a stranger, and the look at a thing that
// shows a change which no list does.
func (m *maker) recordProgram(r *rand.Rand, s *shelf, acts []act) (*programs.Program, []Call, *noted) {
	var able []act
	for _, a := range acts {
		if a.fits(s) {
			able = append(able, a)
		}
	}
	if n := r.IntN(100); n < 42 && len(able) > 0 {
		a := pick(r, able)
		if a.does == actNote {
			return m.changeNote(r, s, a)
		}
		p, calls := m.change(r, s, a)
		if p == nil || r.IntN(6) > 0 {
			return p, calls, nil
		}
		q := m.question(r, s)
		if q == nil || s.tableByName(p.Slot("table")) == q.Tables[0] { // it might be asked of what has changed
			return p, calls, nil
		}
		return p.Behind(q), append(calls, s.reads(q)...), nil
	}
	if s.views != nil && r.IntN(4) == 0 {
		if p, calls := s.noteQuestion(r); p != nil {
			return p, calls, nil
		}
	}
	q := m.question(r, s)
	if q == nil {
		return nil, nil, nil
	}
	return q, s.reads(q), nil
}

// reads are the calls that show the tables of a question.
func (s *shelf) reads(p *programs.Program) (calls []Call) {
	if name := p.Slot("named"); name != "" && s.finds != nil {
		return []Call{s.finds.call(name)}
	}
	for _, t := range p.Tables {
		if c := s.shown[t]; !slices.ContainsFunc(calls, func(o Call) bool { return o.key() == c.key() }) {
			calls = append(calls, c)
		}
	}
	return calls
}

// question draws a question over the tables, or over the relations among things.
func (m *maker) question(r *rand.Rand, s *shelf) *programs.Program {
	t := pick(r, s.Tables)
	if from, to, kind, ok := t.Edge(); ok {
		p := edgeQuestion(r, t, from, to, kind)
		if s.finds != nil && !s.finds.edges {
			p.About("")
		}
		return p
	}
	if p := notesQuestion(r, t); p != nil && r.IntN(3) == 0 {
		return p
	}
	kinds := []string{programs.Lookup, programs.Lookup, programs.Count, programs.Both, programs.List, programs.List,
		programs.Best, programs.YesNo, programs.Missing, programs.Compare, programs.Most, programs.Leave,
		programs.Unknown}
	kind := pick(r, kinds)
	p := programs.Draw(r, &programs.World{Name: s.Name, Tables: []*programs.Table{t}, Listed: true}, kind)
	if p != nil && (kind == programs.Lookup || kind == programs.Unknown) && t == s.namedTable() {
		p.About(p.Slot("x"))
	}
	if p != nil && len(p.Answer.Values) == 1 && len(p.Answer.Values[0]) > 120 { // nobody has that copied
		return nil
	}
	return p
}

// notesQuestion asks what is noted of a thing, where a column holds several texts.
func notesQuestion(r *rand.Rand, t *programs.Table) *programs.Program {
	for i, c := range t.Columns {
		row := pick(r, t.Rows)
		if c.Several && t.NameOf(row) != "" && row[i] != nil && isNoted(c.Name) {
			slots := t.Slots(row)
			slots["named"] = slots["x"]
			return programs.NewQuestion(programs.Lookup, "notes", slots,
				programs.Answer{Form: "list", Values: strings.Split(programs.Show(row[i]), programs.ListMark)}, t)
		}
	}
	return nil
}

// isNoted reports whether a column has all that is noted of a thing: of tags and guests nobody would say so.
func isNoted(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains([]string{"observation", "note", "fact", "comment", "remark", "detail", "info"}, w)
	})
}

// edgeQuestion asks who is related to what.
func edgeQuestion(r *rand.Rand, t *programs.Table, from, to, kind int) *programs.Program {
	row := pick(r, t.Rows)
	slots := map[string]string{
		"rel":  relationPhrase(programs.Show(row[kind])),
		"x":    programs.Show(row[from]),
		"y":    programs.Show(row[to]),
		"ends": "entries",
		"one":  "relation",
		"many": "relations",
	}
	var sources, targets []string
	for _, o := range t.Rows {
		if !programs.Equal(o[kind], row[kind]) {
			continue
		}
		if programs.Equal(o[to], row[to]) {
			sources = append(sources, programs.Show(o[from]))
		}
		if programs.Equal(o[from], row[from]) {
			targets = append(targets, programs.Show(o[to]))
		}
	}
	kindOf := r.IntN(3)
	slots["named"] = slots["y"] // who is asked about is looked for
	if kindOf == 1 {
		slots["named"] = slots["x"]
	}
	switch kindOf {
	case 0:
		return programs.NewQuestion(programs.Join, "edge_from", slots, programs.Answer{Form: "list", Values: sources},
			t)
	case 1:
		return programs.NewQuestion(programs.Join, "edge_to", slots, programs.Answer{Form: "list", Values: targets}, t)
	}
	return programs.NewQuestion(programs.Count, "edge_count", slots,
		programs.Answer{Form: "number", Values: []string{fmt.Sprint(len(sources))}}, t)
}

// relationPhrase is how the type of a relation is said between two names: "works at", "is married to", "is a member
// of".
func relationPhrase(kind string) string {
	said := programs.Words(kind)
	first, _, _ := strings.Cut(said, " ")
	switch {
	case strings.HasSuffix(first, "ed"):
		return "is " + said
	case strings.HasSuffix(said, " of") && !strings.HasSuffix(first, "s"):
		return "is a " + said
	}
	return said
}
