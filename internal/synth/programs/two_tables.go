package programs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Changes of two tables in one request. Both rows are looked at before, and the plan names both changes.

// handOver gives all that belongs to a thing to another one, and deletes it: "Ana leaves; Ben takes her repairs over".
// Where the reference may be empty, it is emptied at times: nobody has them then.
func (d *drawer) handOver() *Program {
	t := d.table()
	if t == nil || d.w.Listed || t.Columns[t.Label].Ref != nil || t.Key < 0 || d.r.IntN(2) == 0 { // most stay
		return nil
	}
	from, column := d.onlyReferrer(t)
	gone, heir := d.sole(t), d.sole(t)
	if from == nil || gone == nil || heir == nil || &gone[0] == &heir[0] {
		return nil
	}
	belongs := []Cond{{column, -1, Is, gone[t.Label]}}
	rows := from.rows(belongs)
	if len(rows) == 0 || len(rows) > mostChanged {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["y"], slots["others"] = d.nameInRequest(t, gone), d.nameInRequest(t, heir), from.Many
	look, where := d.before(t, []Cond{t.label(gone)}, true)
	refers := Ident(from.Columns[column].Name)
	held := fmt.Sprintf(" WHERE %s = %s", refers, Literal(gone[t.Key]))
	p := &Program{pattern: "hand_over", slots: slots, Tables: []*Table{t, from}, Steps: []Step{look}}
	to, whose := Literal(heir[t.Key]), t.rowLabel(heir)
	if none, ok := from.blank(column); ok && d.r.IntN(3) > 0 {
		p.pattern, slots["y"], slots["attr"] = "leave_without", "", from.Columns[column].caption()
		to, whose = Literal(none), blankText(none)
	} else {
		other, _ := d.before(t, []Cond{t.label(heir)}, true)
		p.Steps = append(p.Steps, other)
	}
	p.Steps = append(p.Steps,
		Step{SQL: "SELECT * FROM " + Ident(from.Name) + held},
		Step{SQL: "UPDATE " + Ident(from.Name) + " SET " + refers + " = " + to + held, Writes: true}.
			does("%s of %s: from %s to %s", from.Columns[column].caption(), from.names(rows), t.rowLabel(gone), whose),
		Step{SQL: "DELETE FROM " + Ident(t.Name) + filter(t, where), Writes: true}.
			does("%s: deleted from %s", t.rowLabel(gone), t.Name))
	return p
}

// pairOf draws a thing that is named, and the thing of another table that it refers to.
func (d *drawer) pairOf() (from *Table, row []any, column int, to []any) {
	from = d.table()
	if from == nil || d.w.Listed || from.Columns[from.Label].Ref != nil {
		return nil, nil, -1, nil
	}
	refs := from.properties(func(c Column) bool { return c.Ref != nil && c.Ref != from && c.Ref.Label >= 0 })
	if row = d.sole(from); row == nil || len(refs) == 0 {
		return nil, nil, -1, nil
	}
	column = pick(d.r, refs)
	if to = from.Columns[column].Ref.byKey(row[column]); to == nil {
		return nil, nil, -1, nil
	}
	return from, row, column, to
}

// second is the change of the thing that another one refers to: what is said of it, and the step.
func (d *drawer) second(t *Table, row []any, slots map[string]string) (step Step, ok bool) {
	props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several && !c.isYear() && !c.Bool })
	if len(props) == 0 {
		return Step{}, false
	}
	i := pick(d.r, props)
	v := d.another(t, i, row[i])
	if v == nil || equal(v, row[i]) || t.hasFlags(i) {
		return Step{}, false
	}
	sql, said, _ := d.literalOf(t.Columns[i], v, row)
	slots["attr2"], slots["v2"] = t.Columns[i].caption(), said
	return update(t, i, sql, t.keyConditions(row)).
		does("%s of %s: to %s", t.Columns[i].caption(), t.rowLabel(row), t.Columns[i].show(v)), sql != ""
}

// setBoth changes a thing and the thing that it refers to: "The repair J-3 is done, and its car is blue now."
func (d *drawer) setBoth() *Program {
	from, row, column, to := d.pairOf()
	if from == nil {
		return nil
	}
	c, t := from.Columns[column], from.Columns[column].Ref
	slots := map[string]string{}
	first, ok := d.second(from, row, slots)
	if !ok {
		return nil
	}
	slots["attr"], slots["v"] = slots["attr2"], slots["v2"]
	second, ok := d.second(t, to, slots)
	if !ok {
		return nil
	}
	slots["one"], slots["many"], slots["ref"] = from.One, from.Many, c.caption()
	slots["x"] = d.nameInRequest(from, row)
	look, _ := d.before(from, []Cond{from.label(row)}, true)
	d.concerns = row
	return &Program{
		pattern: "set_both",
		slots:   slots,
		Steps: []Step{look, {SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, t.keyConditions(to))},
			first, second},
		Tables: []*Table{from, t},
	}
}

// removeAndCount deletes a thing and changes a number of what it referred to: "The sale was a mistake, remove it and
// put the bike back."
func (d *drawer) removeAndCount() *Program {
	from, row, column, to := d.pairOf()
	if from == nil || from.Key < 0 || d.w.refers(from, row) {
		return nil
	}
	c, t := from.Columns[column], from.Columns[column].Ref
	slots := about(from)
	pattern := ""
	count, up, ok := Step{}, false, false
	if stock, flow := t.stock(), from.flow(); stock >= 0 && flow != 0 { // what was taken comes back
		pattern = map[bool]string{true: "undo_out", false: "undo_in"}[flow < 0]
		count, _, ok = d.counting(t, to, stock, from.amount(row), flow < 0, slots)
	} else {
		count, up, ok = d.counted(t, to, slots)
		pattern = map[bool]string{true: "remove_raise", false: "remove_lower"}[up]
	}
	if !ok {
		return nil
	}
	d.concerns = row
	slots["x"], slots["ref"] = d.nameInRequest(from, row), c.caption()
	look, where := d.before(from, []Cond{from.label(row)}, true)
	return &Program{
		pattern: pattern,
		slots:   slots,
		Steps: []Step{look, {SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, t.keyConditions(to))},
			Step{SQL: "DELETE FROM " + Ident(from.Name) + filter(from, where), Writes: true}.
				does("%s: deleted from %s", from.rowLabel(row), from.Name), count},
		Tables: []*Table{from, t},
	}
}

// rowOf is a new row as far as its literals say it: numbers, and the keys of what it refers to.
func (t *Table) rowOf(columns, literals []string) []any {
	row := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		at := slices.Index(columns, Ident(c.Name))
		if at < 0 {
			continue
		}
		if n, err := strconv.ParseInt(literals[at], 10, 64); err == nil {
			row[i] = n
		}
		if c.Ref != nil {
			for _, o := range c.Ref.Rows {
				if c.Ref.keyOf(o) == literals[at] {
					row[i] = o[c.Ref.Key]
				}
			}
		}
	}
	return row
}

// addAndChange adds a thing and changes what it refers to: "Book the sale and take the bike off the stock."
func (d *drawer) addAndChange() *Program {
	from, _, column, _ := d.pairOf()
	if from == nil {
		return nil
	}
	columns, literals, said, tables, name := d.drawValues(from)
	next := from.isNumbered() && !d.w.NoKeys && d.r.IntN(3) > 0 // by the store
	if label := slices.Index(columns, Ident(from.Columns[from.Label].Name)); next && label >= 0 {
		name = "the new " + from.One
		columns, literals = slices.Delete(columns, label, label+1), slices.Delete(literals, label, label+1)
	}
	c, t := from.Columns[column], from.Columns[column].Ref
	at := slices.Index(columns, Ident(c.Name))
	if name == "" || at < 0 || t.Columns[t.Label].Ref != nil {
		return nil
	}
	named := slices.IndexFunc(t.Rows, func(row []any) bool { return t.keyOf(row) == literals[at] })
	if named < 0 {
		return nil
	}
	to := t.Rows[named]
	slots := about(from)
	pattern, ok, up := "add_set", false, false
	var change Step
	d.concerns = from.rowOf(columns, literals)
	if stock, flow := t.stock(), from.flow(); stock >= 0 && flow != 0 {
		change, _, ok = d.counting(t, to, stock, from.amount(d.concerns), flow > 0, slots)
		pattern = map[bool]string{true: "add_in", false: "add_out"}[flow > 0]
		if !next {
			said = append([]string{from.Columns[from.Label].caption() + " " + name}, said...)
		}
	} else if !next && d.r.IntN(3) == 0 {
		change, ok = d.second(t, to, slots)
		slots["attr"], slots["v"] = slots["attr2"], slots["v2"]
	} else {
		change, up, ok = d.counted(t, to, slots)
		pattern = map[bool]string{true: "add_raise", false: "add_lower"}[up]
		if next {
			pattern = strings.Replace(pattern, "add_", "add_next_", 1)
		}
	}
	if !ok {
		return nil
	}
	slots["x"], slots["given"], slots["ref"] = name, enumerate(said), c.caption()
	look, _ := d.before(t, []Cond{t.label(to)}, true)
	literals[at] = Literal(to[t.Key])
	steps := d.adding(from, columns, literals)
	last := len(steps) - 1
	steps[last] = steps[last].does("%s: new in %s, with %s", name, from.Name, slots["given"])
	return &Program{
		pattern: pattern,
		slots:   slots,
		given:   d.gave,
		Free:    true,
		Steps:   slices.Concat([]Step{look}, steps, []Step{change}),
		Tables:  tables,
	}
}
