package programs

import (
	"fmt"
	"slices"
	"strings"
)

// blank is what stands in a column where a row has no value: NULL, or an empty text in a column that has those alone.
// ok is false where each row has a value, since the column may then need one, and where both are there.
func (t *Table) blank(i int) (v any, ok bool) {
	null, empty := t.hasNone(i), slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] == "" })
	if empty {
		v = ""
	}
	return v, null != empty
}

// clearable are the columns whose value can be taken away.
func (t *Table) clearable() []int {
	return slices.DeleteFunc(t.properties(func(c Column) bool { return !c.Bool && !c.Note && !c.Several }),
		func(i int) bool {
			_, ok := t.blank(i)
			return !ok || t.hasFlags(i)
		})
}

// isBlank reports whether a value is none.
func isBlank(v any) bool { return v == nil || v == "" }

// clearOne takes away a property of a named thing: "Lin has no phone any more", "take Ana off the repair J-12".
func (d *drawer) clearOne() *Program {
	t := d.table()
	if t == nil || d.w.Listed || t.Columns[t.Label].Ref != nil {
		return nil
	}
	row, props := d.sole(t), t.clearable()
	if row == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	none, _ := t.blank(i)
	said, where := d.naming(t, row)
	if isBlank(row[i]) || d.asksItself(where, i) {
		return nil
	}
	c := t.Columns[i]
	slots, pattern := d.about(t), "clear"
	slots["x"], slots["attr"] = said, c.caption()
	if c.Ref != nil && d.r.IntN(3) > 0 {
		to := c.Ref.byKey(row[i])
		if to == nil || c.Ref.rowLabel(to) == "" || !sayable(c.Ref.rowLabel(to)) {
			return nil
		}
		pattern, slots["y"] = "clear_of", c.Ref.rowLabel(to)
	}
	p := &Program{
		pattern: pattern,
		slots:   slots,
		Steps: d.changing(t, where, true, func(where []Cond) Step {
			return update(t, i, Literal(none), where).does("%s of %s: from %s to %s",
				c.caption(), t.rowLabel(row), t.show(i, row), blankText(none))
		}),
		Tables: tablesOf(t, where),
	}
	if c.Ref != nil && !slices.Contains(p.Tables, c.Ref) {
		p.Tables = append(p.Tables, c.Ref)
	}
	return p
}

// blankText is how a plan names no value.
func blankText(v any) string {
	if v == nil {
		return "NULL"
	}
	return "an empty text"
}

// clearAll takes away a property of some things, which are often found by what they belong to: "everything of Ana's is
// nobody's now".
func (d *drawer) clearAll() *Program {
	if d.w.Listed {
		return nil
	}
	t, where, phrase := d.overFilter()
	if t == nil {
		return nil
	}
	props := t.clearable()
	if len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	rows := t.rows(where)
	none, _ := t.blank(i)
	if len(rows) == 0 || len(rows) > mostChanged || len(rows) == len(t.Rows) ||
		slices.ContainsFunc(where, func(c Cond) bool { return c.Column == i && c.Op.bare() }) ||
		!slices.ContainsFunc(rows, func(row []any) bool { return !isBlank(row[i]) }) {
		return nil
	}
	slots := d.about(t)
	slots["filter"], slots["attr"] = phrase, t.Columns[i].caption()
	p := &Program{
		pattern: "clear_all",
		slots:   slots,
		Steps: d.changing(t, where, false, func(where []Cond) Step {
			return update(t, i, Literal(none), where).does("%s of %s: to %s",
				t.Columns[i].caption(), t.names(rows), blankText(none))
		}),
		Tables: tablesOf(t, where),
	}
	return d.reportOn(p, t, rows)
}

// names are the names of rows, one after the other.
func (t *Table) names(rows [][]any) string { return strings.Join(labels(t, rows), ", ") }

// does says what a step changes, for the plan that stands before the first one.
func (s Step) does(format string, values ...any) Step {
	s.Does = fmt.Sprintf(format, values...)
	return s
}

// Plan is what is said before the first change: what each one does, one a line. "" where a step does not say it. What
// a second message asks for is not known by then.
func (p *Program) Plan() string {
	var lines []string
	for _, s := range p.Steps[:len(p.Steps)-p.later] {
		switch {
		case !s.Writes:
		case s.Does == "":
			return ""
		default:
			lines = append(lines, s.Does)
		}
	}
	if len(lines) > 1 {
		for i := range lines {
			lines[i] = fmt.Sprintf("%d. %s", i+1, lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// overFilter draws a table and conditions, half of the time on what its things belong to.
func (d *drawer) overFilter() (t *Table, where []Cond, phrase string) {
	if d.w.Listed || d.r.IntN(2) == 0 {
		return d.drawFilter(1 + d.r.IntN(2))
	}
	if t = d.table(); t == nil {
		return nil, nil, ""
	}
	refs := t.properties(func(c Column) bool {
		return c.Ref != nil && c.Ref.Label >= 0 && c.Ref.Columns[c.Ref.Label].Ref == nil
	})
	if len(refs) == 0 {
		return nil, nil, ""
	}
	i := pick(d.r, refs)
	c, phrase, ok := d.byProperty(t, i, pick(d.r, t.Rows))
	if !ok || !d.isClear(t, c, phrase) {
		return nil, nil, ""
	}
	where = []Cond{c}
	if d.r.IntN(2) == 0 { // first, else it is said of what they belong to
		also, said, ok := d.condition(t, i)
		if !ok || also.Of >= 0 {
			return nil, nil, ""
		}
		where = append(where, also)
		if said != "" {
			phrase = said + " and " + phrase
		}
	}
	return t, where, phrase
}
