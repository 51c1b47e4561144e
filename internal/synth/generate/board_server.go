package generate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/synth/programs"
)

// board is a server that lists things with keys and names, shows one by its key and changes its properties: a tracker.
type board struct {
	server  string
	list    *subject
	view    *subject
	edit    *subject // nil: nothing is changed
	create  *subject
	archive *subject
	listed  string // the listing's name
	others  []Call // show tables whose things properties name
	columns []boardColumn
}

// boardColumn is a property: whether the list shows it, and which parameters of the tools have it.
type boardColumn struct {
	name                 string
	hidden               bool // a view alone shows it
	edit, create, filter *param
	none                 *param // of the list: those without a value
}

// leastOfBoard is how many things a list must show, so that tasks are made of it.
const leastOfBoard = 5

// paramFor is the parameter of a tool that has a property: of its name, or one that begins with it, as dueDate.
func paramFor(s *subject, name string) *param {
	if s == nil {
		return nil
	}
	want := words(name)
	for i := range s.schema.fields {
		if p := &s.schema.fields[i]; len(want) > 0 && len(words(p.name)) <= 2 && words(p.name)[0] == want[0] &&
			(len(words(p.name)) == 1 || slices.Contains([]string{"date", "name", "id", "label"}, words(p.name)[1])) {
			return p
		}
	}
	return nil
}

// value is a property's value as a parameter takes it; nil is nothing.
func (p *param) value(v any) json.RawMessage {
	text := programs.Show(v)
	switch {
	case p.kind == "array" || p.items != nil:
		list := []string{}
		if text != "" {
			list = strings.Split(text, programs.ListMark)
		}
		raw, _ := json.Marshal(list) // of texts
		return raw
	case v == nil:
		return json.RawMessage("null")
	}
	if spelt := p.spelt(text); spelt != "" {
		text = spelt
	}
	return quote(text)
}

// boards finds the servers with a list, a view and an edit of things, in what a session of theirs begins with.
func (m *maker) boards(ctx context.Context) (list []*boardState, err error) {
	for _, server := range m.player.servers() {
		if m.asks[server] != nil {
			continue
		}
		session, err := m.player.open(ctx, m.player.from, nil)
		if err != nil { // who explores it says why
			return nil, ctx.Err()
		}
		s := m.board(ctx, session, server)
		if s != nil {
			s.elsewhere = m.listedElsewhere(ctx, session, s)
		}
		_ = session.Close() // nothing was changed
		if s != nil {
			list = append(list, s)
		}
	}
	return list, ctx.Err()
}

// boardState is a board with what it shows.
type boardState struct {
	*board
	world  *programs.World
	table  *programs.Table
	text   string            // of the list
	looks  map[string]string // views, by key
	listed int               // columns that the list shows
	// what its server lists besides, by the nouns of the tools that do
	elsewhere []string
}

// listedElsewhere are the nouns of tools that list things of a tracker's server which are none of its own.
func (m *maker) listedElsewhere(ctx context.Context, session environment.Session, b *boardState) (about []string) {
	for _, s := range m.lists(b.server) {
		if s == b.list || share(nouns(s.Name), nouns(b.list.Name)) ||
			slices.ContainsFunc(b.others, func(c Call) bool { return c.Tool == s.Name }) {
			continue
		}
		text, ok := m.tryOn(ctx, session, s.bare())
		if ok && slices.ContainsFunc(thingsIn(programs.Listings(text), s),
			func(t *programs.Table) bool { return len(t.Rows) >= leastOfBoard }) {
			about = append(about, nouns(s.Name)...)
		}
	}
	return about
}

// share reports whether two lists have a word in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
}

// board looks at what a server shows; nil where it is none.
func (m *maker) board(ctx context.Context, session environment.Session, server string) *boardState {
	b := &board{server: server}
	for _, s := range m.lists(server) {
		text, ok := m.tryOn(ctx, session, s.bare())
		if !ok {
			continue
		}
		listings := programs.Listings(text)
		for _, l := range listings {
			m.nameColumns(s.Name, l.Records)
		}
		for _, t := range thingsIn(listings, s) {
			if len(t.Rows) < leastOfBoard {
				continue
			}
			if st := m.viewed(ctx, session, b, s, t, text); st != nil {
				return st
			}
		}
	}
	return nil
}

// thingsIn are the tables that a list shows whose things have keys and names.
func thingsIn(listings []programs.Listing, s *subject) (tables []*programs.Table) {
	for _, l := range listings {
		if t := programs.TableOf(listName(l.Name, s), l.Records); t != nil && t.Key >= 0 && t.Label >= 0 &&
			t.Key != t.Label {
			tables = append(tables, t)
		}
	}
	return tables
}

// listName is what a list's things are called: by its key, or by the tool's name.
func listName(name string, s *subject) string {
	if name == "" || slices.Contains([]string{"result", "results", "items", "data", "content", "list"},
		strings.ToLower(name)) {
		return strings.Join(nouns(s.Name), "_")
	}
	return name
}

// viewed adds what views of the things show, and the tools that change them.
func (m *maker) viewed(ctx context.Context, session environment.Session, b *board, list *subject, t *programs.Table,
	text string,
) *boardState {
	st := &boardState{board: b, table: t, text: text, looks: map[string]string{}, listed: len(t.Columns)}
	b.list, b.listed = list, t.Name
	key, name := programs.Show(t.Rows[0][t.Key]), programs.Show(t.Rows[0][t.Label])
	for _, s := range m.tools {
		field := s.keyField()
		if s.Server != b.server || field == "" || !s.mayTry() ||
			!s.ReadOnly && !s.hasVerb("view", "get", "show", "read", "open", "detail") {
			continue
		}
		said, ok := m.tryOn(ctx, session, s.keyed(key))
		if ok && strings.Contains(said, name) {
			b.view = s
			break
		}
	}
	if b.view == nil {
		return nil
	}
	for _, s := range m.tools {
		if s.Server != b.server || !s.mayTry() || s == b.view || !slices.ContainsFunc(nouns(s.Name),
			func(n string) bool {
				return slices.Contains(nouns(list.Name), n) || slices.Contains(nouns(list.Name), n+"s")
			}) {
			continue
		}
		switch field := s.keyField(); {
		case field == b.view.keyField() && len(s.schema.fields) > 2 && b.edit == nil:
			b.edit = s
		case field == b.view.keyField() && s.hasVerb("archive", "delete", "remove") && b.archive == nil:
			b.archive = s
		case field != "" && field != b.view.keyField() && s.creates() && b.create == nil:
			b.create = s
		}
	}
	st.table = t.Without(func(i int) bool { // of what no tool takes nobody speaks
		c := t.Columns[i]
		return i != t.Key && i != t.Label && paramFor(b.edit, c.Name) == nil &&
			(paramFor(list, c.Name) == nil || isConstant(t, i)) // a list may show those alone that are open
	})
	t = st.table
	for _, c := range t.Columns {
		b.columns = append(b.columns, boardColumn{name: c.Name})
	}
	m.addHidden(ctx, session, st)
	for i := range b.columns {
		c := &b.columns[i]
		c.edit, c.create, c.filter = paramFor(b.edit, c.name), paramFor(b.create, c.name), paramFor(b.list, c.name)
		for k, p := range b.list.schema.fields {
			if stem := words(c.name)[0]; p.kind == "boolean" &&
				strings.HasPrefix(p.name, "un"+stem[:min(5, len(stem))]) {
				c.none = &b.list.schema.fields[k]
			}
		}
	}
	st.world = &programs.World{Name: "board", Tables: []*programs.Table{t}, Listed: true, OwnKeys: true}
	m.addNamed(ctx, session, st)
	programs.Understand(st.world.Tables)
	st.phrases()
	return st
}

// isConstant reports whether all rows have one value of a column.
func isConstant(t *programs.Table, column int) bool {
	return !slices.ContainsFunc(t.Rows, func(row []any) bool {
		return !programs.Equal(row[column], t.Rows[0][column])
	})
}

// addHidden adds the properties that views alone show, where a tool takes them.
func (m *maker) addHidden(ctx context.Context, session environment.Session, st *boardState) {
	t := st.table
	var names []string
	said := make([]pairs, len(t.Rows))
	for i, row := range t.Rows {
		key := programs.Show(row[t.Key])
		text, ok := m.tryOn(ctx, session, st.view.keyed(key))
		if !ok {
			continue
		}
		st.looks[key], said[i] = text, pairsOf(text)
		for name := range said[i] {
			listed := slices.ContainsFunc(t.Columns, func(c programs.Column) bool {
				return strings.EqualFold(c.Name, name)
			})
			if !listed && !slices.Contains(names, name) && name != "ordinal" &&
				(paramFor(st.edit, name) != nil || paramFor(st.list, name) != nil) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c := programs.Column{Name: name, Kind: programs.Text}
		p := paramFor(st.edit, name)
		c.Several = p != nil && (p.kind == "array" || p.items != nil)
		for i := range t.Rows {
			var v any
			if text := said[i][name]; text != "" {
				if v = text; c.Several {
					v = strings.Join(strings.Split(text, ", "), programs.ListMark)
				}
			}
			t.Rows[i] = append(t.Rows[i], v)
		}
		c.Several = c.Several && slices.ContainsFunc(t.Rows, func(row []any) bool {
			return strings.Contains(programs.Show(row[len(row)-1]), programs.ListMark)
		})
		t.Columns = append(t.Columns, c)
		st.columns = append(st.columns, boardColumn{name: name, hidden: true})
	}
}

// addNamed adds the tables whose things properties name by a key that nobody says: "m-0" is a milestone.
func (m *maker) addNamed(ctx context.Context, session environment.Session, st *boardState) {
	for _, s := range m.lists(st.server) {
		if s == st.list {
			continue
		}
		text, ok := m.tryOn(ctx, session, s.bare())
		if !ok {
			continue
		}
		for _, o := range thingsIn(programs.Listings(text), s) {
			for i := range st.table.Columns {
				if st.columns[i].hidden && st.table.Names(i, o) {
					st.table.Columns[i].Ref = o
					if !slices.Contains(st.world.Tables, o) {
						st.world.Tables, st.others = append(st.world.Tables, o), append(st.others, s.bare())
					}
				}
			}
		}
	}
}

// phrases are how people speak of what trackers note.
func (st *boardState) phrases() {
	for i := range st.table.Columns {
		c := &st.table.Columns[i]
		switch w := words(c.Name); {
		case slices.Contains(w, "assignee") || slices.Contains(w, "assignees"):
			c.With, c.Asks = "assigned to {v}", "Who is {x} assigned to?"
			c.No, c.Yes = "that nobody is assigned to", "that are assigned to somebody"
		case slices.Contains(w, "label") || slices.Contains(w, "labels") || slices.Contains(w, "tags"):
			c.With = "labelled {v}"
		case slices.Contains(w, "priority"):
			c.With = "of {v} priority"
		case slices.Contains(w, "due"):
			c.No = "without a due date"
		case slices.Contains(w, "status"):
			c.With = "with the status {v}"
		}
	}
}
