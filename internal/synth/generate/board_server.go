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
	view    *subject   // nil: the list shows all that there is of a thing
	edit    *subject   // nil: nothing is changed
	editors []*subject // all that change one thing, the edit first
	create  *subject
	archive *subject
	keyed   string   // the parameter of these that has a thing's key
	listed  string   // the listing's name
	others  []Call   // show the other tables of its world
	besides []string // nouns of the tools that list other things
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
	if p := s.field(name); p != nil {
		return p
	}
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
	if slices.Contains([]string{"integer", "number", "boolean"}, p.kind) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quote(text)
}

// boards finds the servers with lists of things that tools change, in what a session of theirs begins with: a board for
// each such list.
func (m *maker) boards(ctx context.Context) (list []kindred, err error) {
	for _, server := range m.player.servers() {
		if m.asks[server] != nil {
			continue
		}
		session, err := m.player.open(ctx, m.player.from, nil)
		if err != nil { // who explores it says why
			return nil, ctx.Err()
		}
		k := m.boardsOf(ctx, session, server)
		_ = session.Close() // nothing was changed
		if len(k.states) > 0 {
			list = append(list, k)
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
}

// share reports whether two lists have a word in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
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

// viewed adds what views of the things show, and the tools that change them. It is nil where there are none of these,
// unless the list is to be asked all the same.
func (m *maker) viewed(ctx context.Context, session environment.Session, b *board, list *subject, t *programs.Table,
	text string, readable bool,
) *boardState {
	st := &boardState{board: b, table: t, text: text, looks: map[string]string{}, listed: len(t.Columns)}
	b.list, b.listed = list, t.Name
	key, name := programs.Show(t.Rows[0][t.Key]), programs.Show(t.Rows[0][t.Label])
	for _, s := range m.tools {
		field := s.keyField()
		if s.Server != b.server || field == "" || !s.mayTry() || b.isOfOthers(s) ||
			!s.ReadOnly && !s.hasVerb("view", "get", "show", "read", "open", "detail") {
			continue
		}
		said, ok := m.tryOn(ctx, session, s.keyed(key))
		if ok && strings.Contains(said, name) {
			b.view, b.keyed = s, field
			break
		}
	}
	if b.findTools(m, t); b.keyed == "" && !readable {
		return nil
	}
	st.table = t.Without(func(i int) bool { // of what no tool takes nobody speaks
		c := t.Columns[i]
		// a list may show those that are open
		idle := paramFor(list, c.Name) == nil && !b.isAsked(t, i) || isConstant(t, i)
		return i != t.Key && i != t.Label && c.Ref == nil && c.Says == "" &&
			(!isSaid(t, i) || b.mayEdit(c.Name) == nil && idle)
	})
	t = st.table
	for _, c := range t.Columns {
		b.columns = append(b.columns, boardColumn{name: c.Name})
	}
	m.addHidden(ctx, session, st)
	if b.create != nil && !b.gives(b.create) {
		b.create = nil
	}
	for i := range b.columns {
		c := &b.columns[i]
		t.Columns[i].Later = b.create != nil && paramFor(b.create, c.name) == nil
		c.edit, c.create, c.filter = paramFor(b.edit, c.name), paramFor(b.create, c.name), paramFor(b.list, c.name)
		if t.Columns[i].Says != "" && c.filter != nil && endsAlike(c.filter.name, "id") { // it takes no name
			c.filter = nil
		}
		for k, p := range b.list.schema.fields {
			if stem := words(c.name)[0]; p.kind == "boolean" &&
				strings.HasPrefix(p.name, "un"+stem[:min(5, len(stem))]) {
				c.none = &b.list.schema.fields[k]
			}
		}
	}
	return st
}

// isOfOthers reports whether a tool is called after other things that its server lists.
func (b *board) isOfOthers(s *subject) bool {
	return !sharesNoun(s, b.list) && share(nouns(s.Name), b.besides)
}

// isAsked reports whether people ask for a property that no tool changes: what a thing was made with, and amounts.
// Where a server lists one kind of things alone, they are pieces of work.
func (b *board) isAsked(t *programs.Table, i int) bool {
	rank := strings.Fields("ordinal order position index rank sort")
	return len(b.besides) > 0 && !share(words(t.Columns[i].Name), rank) &&
		(paramFor(b.create, t.Columns[i].Name) != nil || t.Columns[i].Kind != programs.Text)
}

// findTools finds the tools that change, make and remove the things of a list. Where none views them, they take the key
// under the name that the list has it.
func (b *board) findTools(m *maker, t *programs.Table) {
	var rest []*subject
	name := t.Columns[t.Key].Name
	for _, s := range m.tools {
		if s.Server != b.server || !s.mayTry() || s == b.view || s == b.list || !slices.ContainsFunc(nouns(s.Name),
			func(n string) bool {
				return slices.Contains(nouns(b.list.Name), n) || slices.Contains(nouns(b.list.Name), n+"s")
			}) {
			continue
		}
		changes := !s.ReadOnly && (!s.creates() || s.hasVerb("set", "put"))
		for _, p := range s.schema.fields {
			if b.keyed == "" && changes && p.required && p.mayBeKey() && endsAlike(p.name, name) &&
				!namesOther(t, p.name) {
				b.keyed = p.name
			}
		}
		rest = append(rest, s)
	}
	for _, s := range rest {
		switch key := b.keyOf(s); {
		case key != nil && b.takesKey(s) && len(s.schema.fields) > 2 && b.edit == nil:
			b.edit = s
		case b.takesKey(s) && s.hasVerb("archive", "delete", "remove") && b.archive == nil:
			b.archive = s
		case key == nil && s.creates() && b.create == nil && paramFor(s, t.Columns[t.Label].Name) != nil:
			b.create = s
		}
	}
	for _, s := range rest {
		if s == b.edit {
			b.editors = slices.Insert(b.editors, 0, s)
		} else if b.keyOf(s) != nil && !s.ReadOnly && len(s.schema.fields) > 1 &&
			!s.hasVerb("archive", "delete", "remove") && !needsOther(s, b.keyed, t) {
			b.editors = append(b.editors, s)
		}
	}
}

// namesOther reports whether a property of a table's things names something else.
func namesOther(t *programs.Table, name string) bool {
	return slices.ContainsFunc(t.Columns, func(c programs.Column) bool { return c.Name == name && c.Ref != nil })
}

// needsOther reports whether a tool must be told something that is no property of a table's things.
func needsOther(s *subject, keyed string, t *programs.Table) bool {
	return slices.ContainsFunc(s.schema.fields, func(p param) bool {
		return p.required && p.name != keyed && !slices.ContainsFunc(t.Columns, func(c programs.Column) bool {
			own := paramFor(s, c.Name)
			return own != nil && own.name == p.name
		})
	})
}

// gives reports whether a thing's properties are all that a tool must be told to make one.
func (b *board) gives(s *subject) bool {
	return !slices.ContainsFunc(s.schema.fields, func(p param) bool {
		return p.required && !slices.ContainsFunc(b.columns, func(c boardColumn) bool {
			own := paramFor(s, c.name)
			return own != nil && own.name == p.name
		})
	})
}

// endsAlike reports whether two names have the same last word, as task_id and id.
func endsAlike(a, b string) bool {
	one, two := words(a), words(b)
	return len(one) > 0 && len(two) > 0 && one[len(one)-1] == two[len(two)-1]
}

// takesKey reports whether the one thing that a tool must be told is a key.
func (b *board) takesKey(s *subject) bool { return b.keyed != "" && s.keyField() == b.keyed }

// keyOf is the parameter of a tool that has a thing's key; nil where there is none.
func (b *board) keyOf(s *subject) *param {
	if p := s.field(b.keyed); p != nil && p.required && p.mayBeKey() {
		return p
	}
	return nil
}

// mayEdit is the first parameter of the tools that change things which has a property; nil where none has.
func (b *board) mayEdit(name string) *param {
	for _, s := range b.editors {
		if p := paramFor(s, name); p != nil && p.name != b.keyed {
			return p
		}
	}
	return nil
}

// isSaid reports whether people name a property by its values: nobody does so with keys of other things, with the times
// that a server notes, or with texts that each thing has of its own.
func isSaid(t *programs.Table, column int) bool {
	said := words(t.Columns[column].Name)
	if len(said) == 0 || volatile(t.Columns[column].Name) || len(said) > 1 && said[len(said)-1] == "id" {
		return false
	}
	return !isOwn(t, column) || !slices.ContainsFunc(t.Rows, func(row []any) bool {
		return len(strings.Fields(programs.Show(row[column]))) > 3
	})
}

// isOwn reports whether each thing has another text in a column.
func isOwn(t *programs.Table, column int) bool {
	seen := map[string]bool{}
	for _, row := range t.Rows {
		text := programs.Show(row[column])
		if text != "" && seen[text] || strings.Contains(text, programs.ListMark) {
			return false
		}
		seen[text] = true
	}
	return t.Columns[column].Kind == programs.Text && len(t.Rows) > 1
}

// isConstant reports whether all rows have one value of a column.
func isConstant(t *programs.Table, column int) bool {
	return !slices.ContainsFunc(t.Rows, func(row []any) bool {
		return !programs.Equal(row[column], t.Rows[0][column])
	})
}

// mostOpened bounds the things of a list that are viewed one by one: of a longer one, what the list shows is all that
// is asked for.
const mostOpened = 120

// addHidden adds the properties that views alone show, where a tool takes them.
func (m *maker) addHidden(ctx context.Context, session environment.Session, st *boardState) {
	t := st.table
	var names []string
	said := make([]pairs, len(t.Rows))
	if st.view == nil {
		st.looks = st.recordsIn(m, st.text)
		return
	}
	if len(t.Rows) > mostOpened {
		for _, row := range t.Rows {
			st.looks[programs.Show(row[t.Key])] = ""
		}
		return
	}
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
				(st.mayEdit(name) != nil || paramFor(st.list, name) != nil) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c := programs.Column{Name: name, Kind: programs.Text}
		p := st.mayEdit(name)
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
		if t.Columns = append(t.Columns, c); !isSaid(t, len(t.Columns)-1) {
			t.Columns = t.Columns[:len(t.Columns)-1]
			for i := range t.Rows {
				t.Rows[i] = t.Rows[i][:len(t.Columns)]
			}
			continue
		}
		st.columns = append(st.columns, boardColumn{name: name, hidden: true})
	}
}

// recordsIn are the things that a list shows, by key, each as an object of JSON.
func (st *boardState) recordsIn(m *maker, text string) map[string]string {
	things := map[string]string{}
	for _, l := range programs.Listings(text) {
		if listName(l.Name, st.list) != st.board.listed {
			continue
		}
		m.nameColumns(st.list.Name, l.Records)
		for _, r := range l.Records {
			object := map[string]any{}
			key := ""
			for i, name := range r.Names {
				object[name] = r.Values[i]
				if said := programs.Show(r.Values[i]); name == st.table.Columns[st.table.Key].Name {
					key = said
				} else if strings.Contains(said, programs.ListMark) {
					object[name] = strings.Split(said, programs.ListMark)
				}
			}
			raw, _ := json.Marshal(object) // of scalars
			things[key] = string(raw)
		}
	}
	return things
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
		case slices.Contains(w, "stage"):
			c.With = "in the stage {v}"
		case slices.Contains(w, "company") && c.Ref == nil:
			c.With = "from {v}"
		}
	}
}
