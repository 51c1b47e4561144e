package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// Kinds of what a tool does to a table.
const (
	actSet      = "set"
	actRemove   = "remove"
	actInsert   = "insert"
	actAppend   = "append"
	actUnappend = "unappend"
	actVerb     = "verb" // a change that no argument says: complete, archive
	actNote     = "note" // what the list does not show, and a view of the thing does
)

// act is what a tool was seen to do: which argument names the thing, and which says the new value. Arguments are named
// by their way in the JSON, as names/0.
type act struct {
	tool   *subject
	does   string
	table  string
	names  []string // of the table's columns
	key    int      // column of the thing that the argument at keyAt has
	keyAt  string   // "" for what is added
	column int      // that changes
	valAt  string   // of the new value
	label  string   // where the name of a new thing stands
	said   []string // other arguments of a new thing, by their way
	edge   bool
	sample json.RawMessage // arguments that worked
	value  param           // of a note
}

// learnTries is how many calls of a tool are made to learn what it changes, in each of the first learnShelves states.
const (
	learnTries   = 5
	learnShelves = 2
)

// learnActs calls the tools that change something, each on a copy of its own, and looks at what they changed.
func (m *maker) learnActs(ctx context.Context, shelves []*shelf) (acts []act, err error) {
	for i, s := range shelves[:min(learnShelves, len(shelves))] {
		var plays []play
		for _, t := range m.tools {
			if t.Server != s.server || t.pure || !t.mayTry() {
				continue
			}
			random := m.random("learn", t.Name, i)
			for range learnTries {
				arguments, ok := filler{random, t, &s.realm.known}.arguments(random.IntN(2) == 0)
				if arguments = firsts(arguments); ok && t.takes(string(arguments)) {
					plays = append(
						plays,
						play{
							Setup: s.realm.setup,
							Calls: []Call{{Tool: t.Name, Arguments: arguments}},
							Looks: s.realm.looks,
						},
					)
				}
			}
			plays = append(plays, m.oneAtATime(random, s, t)...)
		}
		got, err := m.playAndTell(ctx, "learn", plays)
		if err != nil {
			return nil, err
		}
		for k, p := range plays {
			if got[k].Lost != "" || !got[k].Results[0].ok() || len(got[k].Seen) != len(p.Looks) {
				continue
			}
			after := m.shelf(&realm{looks: s.realm.looks, before: asStable(got[k].Seen[:len(s.realm.looks)])})
			if after == nil {
				continue
			}
			a, ok := m.learnAct(s, after, p.Calls[0])
			if !ok && len(p.Looks) > len(s.realm.looks) {
				a, ok = m.learnNote(s, p.Calls[0], got[k].Seen[len(s.realm.looks)].Text)
			}
			if ok &&
				!slices.ContainsFunc(
					acts,
					func(o act) bool {
						return o.tool == a.tool && o.does == a.does && o.column == a.column &&
							o.value.name == a.value.name
					},
				) {
				acts = append(acts, a)
			}
		}
	}
	return acts, nil
}

// firsts are arguments with one entry in each list, so that a call does one thing.
func firsts(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) > 0 && raw[0] == '[':
		if list := listOf(raw); len(list) > 0 {
			return slices.Concat(json.RawMessage("["), firsts(list[0]), json.RawMessage("]"))
		}
	case len(raw) > 0 && raw[0] == '{':
		out := raw
		for _, mem := range members(raw) {
			out, _ = withMember(out, mem.name, firsts(mem.raw))
		}
		return out
	}
	return raw
}

func asStable(seen []Answered) (list []stable) {
	for _, a := range seen {
		list = append(list, stable{text: a.Text})
	}
	return list
}

// tableByName is a table of a shelf.
func (s *shelf) tableByName(name string) *programs.Table {
	at := slices.IndexFunc(s.Tables, func(t *programs.Table) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return s.Tables[at]
}

// learnAct tells what one call did, where it did one thing to one table.
func (m *maker) learnAct(before, after *shelf, c Call) (a act, ok bool) {
	var leaves []leaf
	walk(nil, c.Arguments, &leaves)
	at := func(v any) string {
		for _, l := range leaves {
			if v != nil && l.text() == programs.Show(v) {
				return l.pointer()
			}
		}
		return ""
	}
	a = act{tool: m.byName[c.Tool], column: -1, sample: c.Arguments}
	for _, t := range before.Tables {
		now := after.tableByName(t.Name)
		if now == nil ||
			!slices.EqualFunc(t.Columns, now.Columns, func(x, y programs.Column) bool { return x.Name == y.Name }) {
			continue
		}
		added, removed, changed := programs.Diff(t, now)
		if len(added)+len(removed)+len(changed) != 1 {
			continue
		}
		a.table, a.names = t.Name, columnNames(t)
		_, _, _, a.edge = t.Edge()
		switch {
		case len(added) == 1:
			a.does = actInsert
			if a.edge {
				a.said = pointers(leaves)
				return a, len(leaves) == 3
			}
			if t.Label < 0 {
				return a, false
			}
			if a.label = at(added[0][t.Label]); a.label == "" {
				return a, false
			}
			a.said = slices.DeleteFunc(pointers(leaves), func(p string) bool { return p == a.label })
			return a, true
		case len(removed) == 1:
			if a.does = actRemove; a.edge {
				return a, len(leaves) == 3
			}
			a.does = a.tool.takesAway()
			a.key, a.keyAt = keyOfRow(t, removed[0], at)
			return a, a.keyAt != "" && len(leaves) == 1
		}
		was, is := changed[0][0], changed[0][1]
		if a.key, a.keyAt = keyOfRow(t, was, at); a.keyAt == "" {
			return a, false
		}
		for i := range t.Columns {
			if programs.Equal(was[i], is[i]) || volatile(t.Columns[i].Name) {
				continue
			}
			switch {
			case len(leaves) == 2 && at(is[i]) != "" && at(is[i]) != a.keyAt:
				a.does, a.column, a.valAt = actSet, i, at(is[i])
				return a, true
			case len(leaves) == 2 && was[i] != nil &&
				strings.HasPrefix(programs.Show(is[i]), programs.Show(was[i])+programs.ListMark):
				if a.valAt = at(strings.TrimPrefix(programs.Show(is[i]),
					programs.Show(was[i])+programs.ListMark)); a.valAt != "" {
					a.does, a.column = actAppend, i
					return a, true
				}
			case len(leaves) == 2 && strings.HasPrefix(programs.Show(was[i]), programs.Show(is[i])+programs.ListMark):
				if a.valAt = at(strings.TrimPrefix(programs.Show(was[i]),
					programs.Show(is[i])+programs.ListMark)); a.valAt != "" {
					a.does, a.column = actUnappend, i
					return a, true
				}
			case len(leaves) == 1:
				a.does, a.column = actVerb, i
				return a, true
			}
		}
	}
	return a, false
}

// takesAway is what a tool does after which the list shows a thing no more: where no word of it says that it removes,
// the thing is done, or put away.
func (s *subject) takesAway() string {
	if s.destroys() {
		return actRemove
	}
	return actVerb
}

func columnNames(t *programs.Table) (list []string) {
	for _, c := range t.Columns {
		list = append(list, c.Name)
	}
	return list
}

// fits reports whether a shelf has the table that the tool changes, with the columns and the names that it was learnt
// of.
func (a act) fits(s *shelf) bool {
	t := s.tableByName(a.table)
	return t != nil && a.tool.Server == s.server && slices.Equal(a.names, columnNames(t)) && (a.edge || t.Label >= 0)
}

func pointers(leaves []leaf) (list []string) {
	for _, l := range leaves {
		list = append(list, l.pointer())
	}
	return list
}

// volatile reports whether a column says when something was done.
func volatile(name string) bool {
	w := words(name)
	return slices.ContainsFunc(w, func(x string) bool {
		return slices.Contains([]string{"updated", "created", "modified", "timestamp", "at", "version"}, x)
	})
}

// keyOfRow is the column of a row whose value an argument has: its key first, then its name.
func keyOfRow(t *programs.Table, row []any, at func(any) string) (column int, pointer string) {
	for _, i := range []int{t.Key, t.Label} {
		if i >= 0 {
			if pointer = at(row[i]); pointer != "" {
				return i, pointer
			}
		}
	}
	return -1, ""
}

// withLeaf puts a value in the place of a leaf of some arguments; a text stays a text.
func withLeaf(arguments json.RawMessage, pointer string, value any) json.RawMessage {
	var set func(raw json.RawMessage, path []string) json.RawMessage
	set = func(raw json.RawMessage, path []string) json.RawMessage {
		if len(path) == 0 {
			if raw[0] == '"' {
				return quote(programs.Show(value))
			}
			text, _ := json.Marshal(value) // a scalar
			return text
		}
		if raw[0] == '[' {
			list := listOf(raw)
			for i := range list {
				if fmt.Sprint(i) == path[0] {
					list[i] = set(list[i], path[1:])
				}
			}
			text, _ := json.Marshal(list) // of JSON
			return text
		}
		out := raw
		for _, mem := range members(raw) {
			if mem.name == path[0] {
				out, _ = withMember(out, mem.name, set(mem.raw, path[1:]))
			}
		}
		return out
	}
	return set(arguments, strings.Split(pointer, "/"))
}

// mostAtOnce bounds the calls by which all that match are changed.
const mostAtOnce = 4

// change draws a change by a tool that was seen to make it: the thing is found by its name, and the tool gets its key.
func (m *maker) change(r *rand.Rand, s *shelf, a act) (*programs.Program, []Call) {
	t := s.tableByName(a.table)
	look := s.shown[t]
	if a.edge {
		return m.changeEdge(r, s, t, a)
	}
	if a.does == actInsert {
		return m.insertRecord(r, s, t, a)
	}
	row := pick(r, t.Rows)
	if t.NameOf(row) == "" || row[a.key] == nil {
		return nil, nil
	}
	slots := t.Slots(row)
	slots["table"] = t.Name
	calls := []Call{}
	switch {
	case s.finds != nil && t == s.namedTable() && a.key == t.Label:
		calls = append(calls, s.finds.call(t.NameOf(row)))
	case a.key != t.Label: // its key is to be found
		calls = append(calls, look)
	}
	arguments := withLeaf(a.sample, a.keyAt, row[a.key])
	kind, pattern := programs.Set, "set"
	switch a.does {
	case actRemove:
		if r.IntN(3) == 0 {
			return m.changeAll(r, s, t, a, "remove_all", nil)
		}
		kind, pattern = programs.Remove, "remove"
	case actVerb:
		if slots["verb"] = verbOf(a.tool); slots["verb"] == "" {
			return nil, nil
		}
		if r.IntN(3) == 0 {
			return m.changeAll(r, s, t, a, "verb_all", slots)
		}
		pattern = "verb"
	case actAppend:
		pattern, slots["v"] = "append", programs.Fact(r)
		arguments = withLeaf(arguments, a.valAt, slots["v"])
	case actUnappend:
		kind, pattern = programs.Remove, "unappend"
		if slots["v"] = pick(r, strings.Split(programs.Show(row[a.column]), programs.ListMark)); slots["v"] == "" {
			return nil, nil
		}
		arguments = withLeaf(arguments, a.valAt, slots["v"])
	default:
		if r.IntN(4) == 0 {
			return m.setAll(r, s, t, a)
		}
		v := m.newValue(r, t, a, row)
		if v == nil {
			return nil, nil
		}
		slots["attr"], slots["v"] = programs.Words(t.Columns[a.column].Name), programs.Show(v)
		if w := words(t.Columns[a.column].Name); slices.Contains(w, "status") || slices.Contains(w, "state") {
			pattern = "mark"
		}
		arguments = withLeaf(arguments, a.valAt, v)
	}
	return programs.NewAct(kind, pattern, slots), append(calls, Call{Tool: a.tool.Name, Arguments: arguments})
}

// verbOf is the verb of a tool's name, "" where it begins with none that can be said alone.
func verbOf(s *subject) string {
	w := strings.Fields(wordsOfName(s.Name))
	if len(w) == 0 || !isVerb(w[0]) {
		return ""
	}
	return w[0]
}

// newValue is another value for a column: one that the schema names or that others have, else one as people give it.
func (m *maker) newValue(r *rand.Rand, t *programs.Table, a act, row []any) any {
	for _, p := range a.tool.schema.fields {
		if p.name == a.valAt && len(p.choices) > 0 {
			if v := textOf(pick(r, p.choices)); v != "" && v != programs.Show(row[a.column]) {
				return v
			}
			return nil
		}
	}
	if v, ok := programs.Natural(r, strings.Fields(t.One), t.Columns[a.column].Name); ok &&
		t.Columns[a.column].Kind != programs.Number {
		return v
	}
	v := pick(r, t.Rows)[a.column]
	if v == nil || programs.Equal(v, row[a.column]) {
		return nil
	}
	return v
}

// changeAll makes one change of all things that match.
func (m *maker) changeAll(
	r *rand.Rand,
	s *shelf,
	t *programs.Table,
	a act,
	pattern string,
	slots map[string]string,
) (*programs.Program, []Call) {
	q, all, ok := programs.Filter(r, s.World, t)
	if !ok || len(q.Rows()) > mostAtOnce {
		return nil, nil
	}
	rows := q.Rows()
	all["table"] = t.Name
	if slots != nil {
		all["verb"] = slots["verb"]
	}
	calls := []Call{s.shown[t]}
	for _, row := range rows {
		if row[a.key] == nil {
			return nil, nil
		}
		calls = append(calls, Call{Tool: a.tool.Name, Arguments: withLeaf(a.sample, a.keyAt, row[a.key])})
	}
	return programs.NewAct(programs.SetAll, pattern, all), because(q, calls)
}

// setAll gives a property of all things that match another value.
func (m *maker) setAll(r *rand.Rand, s *shelf, t *programs.Table, a act) (*programs.Program, []Call) {
	q, all, ok := programs.Filter(r, s.World, t)
	if !ok || len(q.Rows()) == 0 || len(q.Rows()) > mostAtOnce {
		return nil, nil
	}
	rows := q.Rows()
	v := m.newValue(r, t, a, rows[0])
	if v == nil {
		return nil, nil
	}
	all["table"], all["attr"], all["v"] = t.Name, programs.Words(t.Columns[a.column].Name), programs.Show(v)
	calls := []Call{s.shown[t]}
	for _, row := range rows {
		if row[a.key] == nil {
			return nil, nil
		}
		if !programs.Equal(row[a.column], v) {
			calls = append(calls, Call{Tool: a.tool.Name,
				Arguments: withLeaf(withLeaf(a.sample, a.keyAt, row[a.key]), a.valAt, v)})
		}
	}
	return programs.NewAct(programs.SetAll, "set_all", all), because(q, calls)
}

// because puts how the things are found before the first call that changes one.
func because(q programs.Query, calls []Call) []Call {
	if len(calls) > 1 {
		q.ByKey = true
		calls[1].Why = q.Working()
	}
	return calls
}

// insertRecord adds a thing with given values.
func (m *maker) insertRecord(r *rand.Rand, s *shelf, t *programs.Table, a act) (*programs.Program, []Call) {
	arguments, ok := filler{r, a.tool, &s.realm.known}.arguments(r.IntN(2) == 0)
	arguments = firsts(arguments)
	if !ok || !a.tool.takes(string(arguments)) {
		return nil, nil
	}
	var leaves []leaf
	walk(nil, arguments, &leaves)
	slots := t.Slots(nil)
	var given []string
	var pairs [][2]string
	for _, l := range leaves {
		switch {
		case l.pointer() == a.label:
			slots["x"] = l.text()
		case len(l.text()) < 80:
			given = append(given, programs.Words(l.name())+" "+l.text())
			pairs = append(pairs, [2]string{programs.Words(l.name()), l.text()})
		default:
			return nil, nil
		}
	}
	if slots["x"] == "" ||
		slices.ContainsFunc(t.Rows, func(row []any) bool { return programs.Show(row[t.Label]) == slots["x"] }) {
		return nil, nil
	}
	slots["table"], slots["given"] = t.Name, strings.Join(given, ", ")
	pattern := "insert"
	if len(given) == 0 {
		pattern = "insert_bare"
	}
	return programs.NewAct(programs.Insert, pattern, slots).Gives(pairs), []Call{
		{Tool: a.tool.Name, Arguments: arguments},
	}
}

// changeEdge relates two things, or takes a relation away.
func (m *maker) changeEdge(r *rand.Rand, s *shelf, t *programs.Table, a act) (*programs.Program, []Call) {
	from, to, kind, _ := t.Edge()
	row := slices.Clone(pick(r, t.Rows))
	if a.does == actInsert {
		row[to] = pick(r, t.Rows)[to]
		row[kind] = pick(r, t.Rows)[kind]
		if programs.Equal(row[from], row[to]) || slices.ContainsFunc(t.Rows, func(o []any) bool {
			return programs.Equal(o[from], row[from]) && programs.Equal(o[to], row[to]) &&
				programs.Equal(o[kind], row[kind])
		}) {
			return nil, nil
		}
	}
	var leaves []leaf
	walk(nil, a.sample, &leaves)
	arguments := a.sample
	for _, l := range leaves {
		for _, i := range []int{from, to, kind} {
			if l.name() == t.Columns[i].Name {
				arguments = withLeaf(arguments, l.pointer(), row[i])
			}
		}
	}
	slots := map[string]string{
		"x":     programs.Show(row[from]),
		"y":     programs.Show(row[to]),
		"rel":   relationPhrase(programs.Show(row[kind])),
		"table": t.Name,
	}
	pattern, what := "edge_add", programs.Insert
	if a.does == actRemove {
		pattern, what = "edge_remove", programs.Remove
	}
	calls := []Call{{Tool: a.tool.Name, Arguments: arguments}}
	if s.finds != nil {
		calls = append([]Call{s.finds.call(slots["x"])}, calls...)
	}
	return programs.NewAct(what, pattern, slots), calls
}
