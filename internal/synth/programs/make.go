package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// NewAct is a change that a tool other than SQL makes, said by one of the patterns of the wordings.
func NewAct(kind, pattern string, slots map[string]string) *Program {
	return &Program{Kind: kind, pattern: pattern, slots: slots}
}

// Gives notes which properties of a new thing a program says, each with its value.
func (p *Program) Gives(list [][2]string) *Program {
	p.given = list
	return p
}

// NewQuestion is a question of which the answer is known.
func NewQuestion(kind, pattern string, slots map[string]string, a Answer, of ...*Table) *Program {
	return &Program{Kind: kind, pattern: pattern, slots: slots, Answer: a, Tables: of}
}

// Behind puts a second request behind a program, in one message.
func (p *Program) Behind(second *Program) *Program {
	both := *p
	both.Kind, both.then = Several, second
	for _, t := range second.Tables {
		if !slices.Contains(both.Tables, t) {
			both.Tables = append(slices.Clone(both.Tables), t)
		}
	}
	return &both
}

// Slots are what a table's things are called, and the name of a row.
func (t *Table) Slots(row []any) map[string]string {
	slots := about(t)
	if row != nil {
		slots["x"] = t.nameInRequest(row)
	}
	return slots
}

// NameOf is how people call a row, "" where it has no name or shares it with another.
func (t *Table) NameOf(row []any) string {
	name := t.rowLabel(row)
	for _, o := range t.Rows {
		if name != "" && t.rowLabel(o) == name && &o[0] != &row[0] {
			return ""
		}
	}
	return name
}

// Filter draws a query for what meets a condition, with the slots that say this: a phrase, or a noun.
func Filter(r *rand.Rand, w *World, t *Table) (q Query, slots map[string]string, ok bool) {
	d := &drawer{r: r, w: w}
	c, phrase, ok := d.condition(t, t.Label)
	if !ok {
		return Query{}, nil, false
	}
	slots = d.about(t)
	slots["filter"] = phrase
	return d.those(t, []Cond{c}), slots, true
}

// Edge says which columns of a table make its rows relations: from one thing to another, of a type. ok is false where
// they do not.
func (t *Table) Edge() (from, to, kind int, ok bool) {
	from, to, kind = -1, -1, -1
	for i, c := range t.Columns {
		words := strings.Fields(Words(c.Name))
		has := func(list ...string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
		}
		switch {
		case has("from", "source", "subject") && from < 0:
			from = i
		case has("to", "target", "object") && to < 0:
			to = i
		case has("type", "relation", "predicate", "kind") && kind < 0:
			kind = i
		}
	}
	return from, to, kind, from >= 0 && to >= 0 && kind >= 0
}

// Diff is what became of a table: rows that came, that went, and cells that changed, as pairs of rows.
func Diff(before, after *Table) (added, removed [][]any, changed [][2][]any) {
	same := func(a, b []any) bool { return slices.EqualFunc(a, b, equal) }
	id := before.Key
	if id < 0 {
		id = before.Label
	}
	for _, row := range after.Rows {
		if slices.ContainsFunc(before.Rows, func(o []any) bool { return same(o, row) }) {
			continue
		}
		at := -1
		if id >= 0 {
			at = slices.IndexFunc(before.Rows, func(o []any) bool { return equal(o[id], row[id]) })
		}
		if at >= 0 {
			changed = append(changed, [2][]any{before.Rows[at], row})
		} else {
			added = append(added, row)
		}
	}
	for _, row := range before.Rows {
		kept := slices.ContainsFunc(after.Rows, func(o []any) bool { return same(o, row) }) ||
			slices.ContainsFunc(changed, func(c [2][]any) bool { return &c[0][0] == &row[0] })
		if !kept {
			removed = append(removed, row)
		}
	}
	return added, removed, changed
}

// Equal reports whether two values are the same.
func Equal(a, b any) bool { return equal(a, b) }

// Slot is what a program's wording says in a place.
func (p *Program) Slot(name string) string { return p.slots[name] }

// Mentions reports whether what a request says has some text.
func (p *Program) Mentions(text string) bool {
	for _, said := range p.slots {
		if strings.Contains(said, text) {
			return true
		}
	}
	return p.then != nil && p.then.Mentions(text)
}

// Says reports whether each wording of a program's request has one of some slots.
func (p *Program) Says(slots ...string) bool {
	for _, by := range wordings()[p.pattern] {
		if slices.ContainsFunc(by, func(text string) bool {
			return !slices.ContainsFunc(slots, func(slot string) bool { return strings.Contains(text, "{"+slot+"}") })
		}) {
			return false
		}
	}
	return true
}

// About says that a question is about one thing of that name, by which it can be looked for; "" where it is not.
func (p *Program) About(name string) { p.slots["named"] = name }

// Pattern names the wordings of a program.
func (p *Program) Pattern() string { return p.pattern }

// In says where what a program is about stands, as a file.
func (p *Program) In(place string) { p.slots["in"] = place }

// Leave says that nothing may be changed.
func (p *Program) Leave() { p.slots["leave"] = "yes" }

// Like says the form that an answer is to have by an example, whose values are not the answer's.
func (p *Program) Like(form string) { p.slots["like"] = form }

// Retract has the person take the wish back in the same message. What is behind it still holds.
func (p *Program) Retract() { p.slots["taken"] = "yes" }

// Retracted reports whether the first wish of a message is taken back.
func (p *Program) Retracted() bool { return p.slots["taken"] != "" }

// What is what a wish is about, as the person who takes it back calls it; "" where it has no short name.
func (p *Program) What() string {
	for _, name := range []string{"x", "old", "item", "word", "name"} {
		if said := p.slots[name]; said != "" && len(said) <= 40 && p.slots["folder2"] == "" {
			return said
		}
	}
	if attr := p.slots["attr"]; attr != "" {
		return "the " + attr
	}
	return p.slots["file"]
}

// Cell is a text as the value that it writes: a number, a text, or nil where it says that there is none.
func Cell(text string) any { return cellOf(text) }

// Plain are the rows of a table as texts: what its things are called, then their other properties as people say them,
// without keys.
func (t *Table) Plain() (header []string, rows [][]string) {
	var columns []int
	if t.Label >= 0 {
		columns = append(columns, t.Label)
	}
	for i, c := range t.Columns {
		if i != t.Key && i != t.Label && len(c.Parts) == 0 &&
			(t.Label < 0 || !slices.Contains(t.Columns[t.Label].Parts, i)) {
			columns = append(columns, i)
		}
	}
	for _, i := range columns {
		header = append(header, strings.ReplaceAll(t.Columns[i].caption(), " ", "_"))
	}
	for _, row := range t.Rows {
		var cells []string
		for _, i := range columns {
			cells = append(cells, t.show(i, row))
		}
		rows = append(rows, cells)
	}
	return header, rows
}
