package generate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// finds adds the calls by which somebody finds what a program is about: the list, by what it can be asked for, and
// views of the things of which it does not show what is needed. It is false where that takes too many.
func (b *boarding) finds(r *rand.Rand, t *boardTask, p *programs.Program) bool {
	of, where, columns := p.Needs()
	if of == nil {
		return b.findsWithout(t, p)
	}
	if of != b.table {
		if kin := b.kinOf(of); kin != nil {
			return kin.finds(r, t, p)
		}
		t.look(b.listOf(of))
		return true
	}
	for _, c := range where { // "of Ana Berg": who that is, before what is hers
		if !b.columns[c.Column].hidden {
			b.findsNamed(t, nil, []int{c.Column})
		}
	}
	arguments, asked, open := b.filters(r, t, where)
	names := slices.ContainsFunc(arguments, func(m member) bool {
		return slices.ContainsFunc(arguments, func(o member) bool {
			return m.name == o.name && string(m.raw) != string(o.raw)
		})
	})
	list := b.list.filtered(arguments...)
	if names || !b.list.takes(string(list.Arguments)) {
		return false
	}
	for _, row := range b.table.Rows { // the list must show these and no others
		name := programs.Show(row[b.table.Label])
		if slices.ContainsFunc(b.table.Matching(asked), func(o []any) bool { return &o[0] == &row[0] }) {
			t.shown = append(t.shown, name)
		} else if len(asked) > 0 && len(t.reads) == 0 {
			t.hidden = append(t.hidden, name)
		}
	}
	if row := b.onlyNamed(where); row != nil && b.search != nil && r.IntN(2) == 0 && b.table.NameOf(row) != "" {
		t.look(b.searchFor(r, row, programs.Show(row[b.table.Label])))
		t.look(b.viewOf(row))
		return b.findsNamed(t, nil, columns)
	}
	t.look(list)
	listed := slices.Concat(asked, slices.DeleteFunc(slices.Clone(where), func(c programs.Cond) bool {
		return b.columns[c.Column].hidden || slices.ContainsFunc(asked, func(o programs.Cond) bool {
			return o.Column == c.Column && o.Op == c.Op && o.Of == c.Of
		})
	}))
	rows := b.table.Matching(listed)
	unseen := len(open) > 0
	if !unseen { // what is asked for of those that are found
		rows = b.table.Matching(where)
		unseen = slices.ContainsFunc(columns, func(i int) bool { return b.columns[i].hidden })
	}
	if len(rows) > mostViewed && unseen {
		return false
	}
	p.Show(asked)
	if unseen {
		p.Show(listed)
		for _, row := range rows {
			t.look(b.viewOf(row))
		}
	}
	return b.findsNamed(t, slices.DeleteFunc(slices.Clone(where), func(c programs.Cond) bool {
		return slices.ContainsFunc(asked, func(o programs.Cond) bool { return o.Column == c.Column })
	}), columns)
}

// filters are the arguments by which the list is asked for what meets conditions, which conditions those are, and the
// ones that views alone show. Some conditions that the list shows are not asked for.
func (b *boarding) filters(r *rand.Rand, t *boardTask, where []programs.Cond) (
	arguments []member, asked, open []programs.Cond,
) {
	ask := func(c programs.Cond, name string, value json.RawMessage) {
		arguments, asked = append(arguments, member{name, value}), append(asked, c)
	}
	for _, c := range where {
		column := b.columns[c.Column]
		ref, filter := b.table.Columns[c.Column].Ref, column.filter
		equals := filter != nil && c.Op == programs.Is && c.Of < 0
		switch {
		case c.Column == b.table.Label || c.Column == b.table.Key || !column.hidden && (c.Of >= 0 || r.IntN(8) == 0):
		case equals && ref != nil && filter.takesKey():
			if key := b.keyIn(c); key != nil {
				t.look(b.listOf(ref))
				ask(c, filter.name, filter.value(key))
			}
		case equals && filter.kind == "string":
			ask(c, filter.name, quote(b.spoken(c)))
		case equals && filter.kind == "array":
			ask(c, filter.name, filter.value(c.Value))
		case column.none != nil && c.Op == programs.Null:
			ask(c, column.none.name, json.RawMessage("true"))
		case column.hidden:
			open = append(open, c)
		}
	}
	return arguments, asked, open
}

// onlyNamed is the thing that a condition names, where there is no other one; nil where there is.
func (b *boarding) onlyNamed(where []programs.Cond) []any {
	if len(where) != 1 || where[0].Column != b.table.Label || where[0].Op != programs.Is {
		return nil
	}
	if rows := b.table.Matching(where); len(rows) == 1 {
		return rows[0]
	}
	return nil
}

// findsNamed adds the list of the things that properties name, where one of them is asked for.
func (b *boarding) findsNamed(t *boardTask, where []programs.Cond, columns []int) bool {
	for _, c := range where {
		columns = append(slices.Clone(columns), c.Column)
	}
	for _, i := range columns {
		if o := b.table.Columns[i].Ref; o != nil && o != b.table {
			t.look(b.listOf(o))
		}
	}
	return true
}

// usesUnshown reports whether a change or the answer of a task has a value that views alone show and no read has shown,
// or whether the request names a thing of another list that no read has shown.
func (b *boarding) usesUnshown(t *boardTask, got *Played) bool {
	if slices.Contains(refusals(), t.Kind) {
		return false
	}
	var shown strings.Builder
	for _, a := range got.Results[:min(len(t.reads), len(got.Results))] {
		shown.WriteString(a.Text + "\n")
	}
	used := slices.Clone(t.Result)
	for _, c := range t.changes {
		for _, l := range leavesOf(string(c.Arguments)) {
			used = append(used, l.text())
		}
	}
	for _, o := range append([]*boarding{b}, b.kin...) {
		for _, row := range o.table.Rows {
			name := programs.Show(row[o.table.Label])
			if o != b && t.Mentions(name) && !strings.Contains(shown.String(), name) {
				return true
			}
			for i, c := range o.columns {
				if v := programs.Show(row[i]); c.hidden && slices.Contains(used, v) && len(v) > 1 &&
					!strings.Contains(shown.String(), v) && !t.Mentions(v) {
					return true
				}
			}
		}
	}
	return false
}

// kinOf is the board of another table; nil where that has none.
func (b *boarding) kinOf(t *programs.Table) *boarding {
	if i := slices.IndexFunc(b.kin, func(o *boarding) bool { return o.table == t }); i >= 0 {
		return b.kin[i]
	}
	return nil
}

// takesKey reports whether a filter by what a property names takes its key, and not its name.
func (p *param) takesKey() bool {
	return p.kind == "integer" || p.kind == "number" || endsAlike(p.name, "id")
}

// keyIn is the key of the one thing that a condition names; nil where it names none, or several.
func (b *boarding) keyIn(c programs.Cond) any {
	of := b.table.Columns[c.Column].Ref
	named := programs.Cond{Column: of.Label, Of: -1, Op: programs.Is, Value: c.Value}
	if rows := of.Matching([]programs.Cond{named}); len(rows) == 1 {
		return rows[0][of.Key]
	}
	return nil
}

// spoken is the value of a condition as a filter takes it.
func (b *boarding) spoken(c programs.Cond) string { return programs.Show(c.Value) }

// listOf is the call that lists a table.
func (b *boarding) listOf(t *programs.Table) Call {
	if at := slices.Index(b.world.Tables, t); at > 0 {
		return b.others[at-1]
	}
	return b.list.bare()
}

// tableOf is the table that a program is about.
func (b *boarding) tableOf(p *programs.Program) *programs.Table {
	i := slices.IndexFunc(b.world.Tables, func(t *programs.Table) bool { return t.One == p.Slot("one") })
	return b.world.Tables[max(i, 0)]
}

// findsWithout adds the list for a program that is no query, where the list shows all that it needs.
func (b *boarding) findsWithout(t *boardTask, p *programs.Program) bool {
	able := []string{"insert", "insert_bare", "add_unless", "cannot", "set_nothing"}
	refused := []string{programs.Unknown, programs.AskBack, programs.Cannot}
	if slices.Contains(able, p.Pattern()) || slices.Contains(refused, p.Kind) {
		if p.Kind == programs.AskBack && b.archive != nil && !b.archive.hasVerb("delete", "remove") {
			p.Archives("archive") // as what can be done is said
		}
		if p.Kind == programs.Cannot {
			return true
		}
		t.look(b.listOf(b.tableOf(p)))
		for _, o := range p.Tables {
			if b.kinOf(o) != nil {
				t.look(b.listOf(o))
			}
		}
		if name := p.Slot("x"); p.Kind == programs.Unknown && name != "" { // the thing itself says nothing of it
			for _, row := range b.table.Rows {
				if programs.Show(row[b.table.Label]) == name || b.key(row) == name {
					t.look(b.viewOf(row))
				}
			}
		}
		return true
	}
	for _, o := range p.Tables { // what is computed over several lists
		t.look(b.listOf(o))
		for _, row := range o.Rows {
			t.shown = append(t.shown, programs.Show(row[o.Key]))
		}
	}
	return len(b.world.Tables) > 1 && len(p.Tables) > 0
}
