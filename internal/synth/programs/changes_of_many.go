package programs

import (
	"fmt"
	"math"
	"slices"
)

// moveAll hands the things of one to another: "everything of Ana's that is open goes to Ben".
func (d *drawer) moveAll() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	refs := t.properties(func(c Column) bool {
		return c.Ref != nil && c.Ref != t && c.Ref.Label >= 0 && len(c.Ref.Rows) > 1 &&
			c.Ref.Columns[c.Ref.Label].Ref == nil
	})
	if len(refs) == 0 {
		return nil
	}
	i := pick(d.r, refs)
	c := t.Columns[i]
	from, to := d.sole(c.Ref), d.sole(c.Ref)
	if from == nil || to == nil || &from[0] == &to[0] {
		return nil
	}
	slots := d.about(t)
	where := []Cond{{i, -1, Is, from[c.Ref.Label]}}
	said := put(c.withPhrase(), c.Ref.rowLabel(from))
	if d.r.IntN(2) == 0 {
		more, phrase, ok := d.condition(t, i)
		if !ok {
			return nil
		}
		where = append(where, more)
		if slots = d.about(t); phrase != "" {
			said = together(said, phrase)
		}
	}
	if n := len(t.rows(where)); n == 0 || n > mostChanged {
		return nil
	}
	slots["filter"], slots["attr"] = said, c.caption()
	slots["x"], slots["y"] = c.Ref.rowLabel(from), c.Ref.rowLabel(to)
	p := &Program{
		pattern: "move_all",
		slots:   slots,
		Steps:   d.changing(t, where, false, func(where []Cond) Step { return update(t, i, c.Ref.keyOf(to), where) }),
		Tables:  tablesOf(t, where, c.Ref),
	}
	return d.reportOn(p, t, t.rows(where))
}

// fillMissing gives the things that have no value in a column one: "where no allergy is recorded, write none known".
func (d *drawer) fillMissing() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := slices.DeleteFunc(t.properties(func(c Column) bool { return !c.Several && !c.Bool }), func(i int) bool {
		return !t.hasNone(i) || t.hasFlags(i) || !d.isClear(t, Cond{i, -1, Null, nil}, "none")
	})
	if len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	c := t.Columns[i]
	where := []Cond{{i, -1, Null, nil}}
	if d.r.IntN(3) == 0 {
		if class, ok := d.class(t); ok && class.Column != i {
			where = append(where, class)
		} else {
			return nil
		}
	}
	rows := t.rows(where)
	if len(rows) == 0 || len(rows) > mostChanged || len(rows) == len(t.Rows) {
		return nil
	}
	literal, said, of := "", "", (*Table)(nil)
	if c.Ref == nil && c.Kind == Text && d.r.IntN(2) == 0 {
		said = pick(d.r, []string{"unknown", "none", "n/a", "not stated", "to be checked", "none known", "open"})
		literal = Literal(said)
	} else if v := d.another(t, i, nil); v != nil {
		literal, said, of = d.literalOf(c, v, rows[0])
	}
	if literal == "" {
		return nil
	}
	slots := d.about(t)
	slots["attr"], slots["v"], slots["filter"] = c.caption(), said, "with no "+c.caption()
	if c.No != "" && !t.hasFlags(i) {
		slots["filter"] = c.No
	}
	p := &Program{
		pattern: "fill",
		slots:   slots,
		Steps:   d.changing(t, where, false, func(where []Cond) Step { return update(t, i, literal, where) }),
		Tables:  tablesOf(t, where, of),
	}
	return d.reportOn(p, t, rows)
}

// percentAll raises or lowers a number of some things by a percentage, rounded to whole numbers.
func (d *drawer) percentAll() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(func(c Column) bool { return c.isQuantity() && !c.Cents })
	if len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	c, phrase, ok := d.condition(t, i)
	if !ok {
		return nil
	}
	slots, where := d.about(t), []Cond{c}
	d.narrow(slots, t, phrase)
	rows := t.rows(where)
	percent := pick(d.r, []int{5, 10, 15, 20, 25, 50})
	pattern, factor := "percent_up", 1+float64(percent)/100
	if d.r.IntN(3) == 0 {
		pattern, factor = "percent_down", 1-float64(percent)/100
	}
	if len(rows) == 0 || len(rows) > mostChanged || slices.ContainsFunc(rows, func(row []any) bool {
		x, ok := asFloat(row[i])
		_, part := math.Modf(x * factor)
		return !ok || x*factor < 1 || math.Abs(part-0.5) < 0.01 || math.Round(x*factor) == x // two ways to round
	}) {
		return nil
	}
	slots["attr"], slots["v"] = t.Columns[i].caption(), fmt.Sprint(percent)
	column := Ident(t.Columns[i].Name)
	return &Program{
		pattern: pattern,
		slots:   slots,
		Steps: d.changing(t, where, false, func(where []Cond) Step {
			return update(t, i, fmt.Sprintf("ROUND(%s * %s)", column, trimFloat(factor)), where)
		}),
		Tables: tablesOf(t, where),
	}
}

// removeWith deletes a thing and all that refers to it.
func (d *drawer) removeWith() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil || t.Key < 0 {
		return nil
	}
	from, column := d.onlyReferrer(t)
	row := d.sole(t)
	if from == nil || row == nil ||
		slices.ContainsFunc(d.w.Tables, func(o *Table) bool { return len(o.references(from)) > 0 }) {
		return nil
	}
	n := 0
	for _, o := range from.Rows {
		if o[column] != nil && equal(o[column], row[t.Key]) {
			n++
		}
	}
	if n == 0 || n > mostChanged {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["others"] = d.nameInRequest(t, row), from.Many
	look, where := d.before(t, []Cond{t.label(row)}, true)
	children := fmt.Sprintf(" FROM %s WHERE %s = %s",
		Ident(from.Name), Ident(from.Columns[column].Name), Literal(row[t.Key]))
	return &Program{
		pattern: "remove_with",
		slots:   slots,
		Steps: []Step{
			look,
			{SQL: "SELECT *" + children},
			Step{SQL: "DELETE" + children, Writes: true}.does("%d %s of %s: deleted", n, from.Many, t.rowLabel(row)),
			Step{SQL: "DELETE FROM " + Ident(t.Name) + filter(t, where), Writes: true}.
				does("%s: deleted from %s", t.rowLabel(row), t.Name),
		},
		Tables: []*Table{t, from},
	}
}

// onlyReferrer is the only table that refers to one, in one column.
func (d *drawer) onlyReferrer(t *Table) (from *Table, column int) {
	for _, o := range d.w.Tables {
		columns := o.references(t)
		switch {
		case len(columns) == 0:
		case len(columns) > 1 || from != nil || o == t:
			return nil, -1
		default:
			from, column = o, columns[0]
		}
	}
	return from, column
}

// removeUnreferred deletes the things to which nothing refers: customers without orders.
func (d *drawer) removeUnreferred() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil || t.Key < 0 {
		return nil
	}
	from, column := d.onlyReferrer(t)
	if from == nil {
		return nil
	}
	slots := d.about(t)
	var where []Cond
	if d.r.IntN(2) == 0 {
		c, phrase, ok := d.condition(t)
		if !ok || c.Of >= 0 || t.Columns[c.Column].Ref != nil { // one join is enough
			return nil
		}
		where = []Cond{c}
		d.narrow(slots, t, phrase)
	}
	rows := slices.DeleteFunc(slices.Clone(t.rows(where)), func(row []any) bool {
		return slices.ContainsFunc(from.Rows, func(o []any) bool {
			return o[column] != nil && equal(o[column], row[t.Key])
		})
	})
	if len(rows) == 0 || len(rows) > mostChanged || len(rows) == len(t.Rows) {
		return nil
	}
	slots["others"] = from.Many
	refers := Ident(from.Columns[column].Name)
	which := filter(t, where)
	if which == "" {
		which = " WHERE "
	} else {
		which += " AND "
	}
	which = fmt.Sprintf(" FROM %s%s%s NOT IN (SELECT %s FROM %s WHERE %s IS NOT NULL)",
		Ident(t.Name), which, Ident(t.Columns[t.Key].Name), refers, Ident(from.Name), refers)
	p := &Program{
		pattern: "remove_unrelated",
		slots:   slots,
		Steps:   []Step{{SQL: "SELECT *" + which}, {SQL: "DELETE" + which, Writes: true}},
		Tables:  []*Table{t, from},
	}
	return d.reportOn(p, t, rows)
}
