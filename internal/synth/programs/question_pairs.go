package programs

import (
	"fmt"
	"slices"
	"strings"
)

// pairForms are the ways in which two values are written.
func pairForms() []string {
	return []string{"%s, %s", "%s, %s", "%s - %s", "%s: %s", "%s (%s)", "%s / %s"}
}

// part is one of the values that a pair asks for: a column, or one of the row that it refers to.
type part struct {
	column, of int
	said       string
}

// lookupTwo asks for two properties of a named thing. At times another thing's show how the answer is to read: "Who has
// plot 10, and what is their phone number? Answer like this: Ada Holt, 555-0101".
func (d *drawer) lookupTwo() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	row, parts := d.sole(t), t.askable()
	if row == nil || len(parts) < 2 {
		return nil
	}
	d.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	first, second := parts[0], parts[1]
	a, b := t.shows(row, first), t.shows(row, second)
	said, where := d.naming(t, row)
	if a == "" || b == "" || a == b || d.asksItself(where, first.column) || d.asksItself(where, second.column) {
		return nil
	}
	sql, ok := both(t, where, first, second)
	if !ok {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["attr"], slots["attr2"] = said, first.said, second.said
	how := d.showForm(t, slots, row, first, second)
	return &Program{
		pattern: "pair",
		slots:   slots,
		Steps:   []Step{{SQL: sql}},
		Tables:  Query{Table: t, Where: where, Column: first.column, Of: -1, Order: -1}.tables(),
		Answer:  Answer{Form: "pair", Values: []string{a, b}, How: how},
		Result:  []string{Show(t.value(row, first.column, first.of)), Show(t.value(row, second.column, second.of))},
		working: t.rowLabel(row) + ": " + t.quotes(row, first) + ", " + t.quotes(row, second),
	}
}

// showForm draws how two values are written, and the example that says it: another thing's; "" for none.
func (d *drawer) showForm(t *Table, slots map[string]string, row []any, first, second part) (how string) {
	other := pick(d.r, t.Rows)
	a, b := t.shows(other, first), t.shows(other, second)
	if d.r.IntN(3) == 0 || a == "" || b == "" || a == t.shows(row, first) || b == t.shows(row, second) {
		return ""
	}
	how = pick(d.r, pairForms())
	slots["like"] = fmt.Sprintf(how, a, b)
	return how
}

// withValue has a question for the greatest ask how much that is, too: "Which brand sells best? And how many is that?"
func (d *drawer) withValue(p *Program, q Query) *Program {
	t := q.Table
	label, value := part{column: t.Label, of: -1}, part{column: q.Order, of: -1}
	rows := t.rows(q.Where)
	if !isNumber(t.Columns[q.Order]) ||
		slices.ContainsFunc([]Column{t.Columns[t.Label], t.Columns[q.Order]}, func(c Column) bool {
			return c.Ref != nil || c.Cents || len(c.Parts) > 0
		}) {
		return p
	}
	at := slices.IndexFunc(rows, func(o []any) bool { return t.rowLabel(o) == p.Answer.Values[0] })
	sql, also, ok := strings.Cut(p.Steps[0].SQL, " FROM ")
	if at < 0 || !ok || t.shows(rows[at], value) == "" {
		return p
	}
	p.slots["also"] = "yes"
	p.Steps = []Step{{SQL: sql + ", " + q.column(q.Order, -1, strings.Contains(also, " JOIN ")) + " FROM " + also}}
	p.Answer = Answer{Form: "pair", Values: []string{p.Answer.Values[0], t.shows(rows[at], value)},
		How: d.showForm(t, p.slots, rows[at], label, value)}
	p.Result = []string{p.Answer.Values[0], Show(rows[at][q.Order])}
	return p
}

// askable are what a pair may ask of a table's things.
func (t *Table) askable() (list []part) {
	for _, i := range t.properties(func(c Column) bool {
		return !c.Several && !c.Bool && !c.Cents && len(c.Parts) == 0
	}) {
		c := t.Columns[i]
		if list = append(list, part{i, -1, c.caption()}); c.Ref == nil || c.Ref == t {
			continue
		}
		for _, k := range c.Ref.properties(func(o Column) bool {
			return o.Ref == nil && !o.Several && !o.Bool && !o.Cents && len(o.Parts) == 0
		}) {
			list = append(list, part{i, k, c.caption() + "'s " + c.Ref.Columns[k].caption()})
		}
	}
	return list
}

// shows is a part as people say it, "" where the row has none.
func (t *Table) shows(row []any, p part) string {
	if t.value(row, p.column, p.of) == nil {
		return ""
	}
	if p.of < 0 {
		return t.show(p.column, row)
	}
	ref := t.Columns[p.column].Ref
	return ref.Columns[p.of].show(ref.byKey(row[p.column])[p.of])
}

// quotes is a part in the row's words where these are kept, else its value.
func (t *Table) quotes(row []any, p part) string {
	c := t.Columns[p.column]
	if p.of >= 0 {
		return c.Ref.Columns[p.of].says(c.Ref, p.of, c.Ref.byKey(row[p.column]))
	}
	return c.says(t, p.column, row)
}

// both asks for two parts in one statement; ok is false where they are found in different ways.
func both(t *Table, where []Cond, first, second part) (sql string, ok bool) {
	ask := func(p part) (what, from string, _ bool) {
		text := Query{Table: t, Where: where, Column: p.column, Of: p.of, Order: -1}.SQL()
		return strings.Cut(strings.TrimPrefix(text, "SELECT "), " FROM ")
	}
	a, from, _ := ask(first)
	b, also, _ := ask(second)
	return "SELECT " + a + ", " + b + " FROM " + from, from == also && !strings.Contains(a, ",") &&
		!strings.Contains(b, ",")
}
