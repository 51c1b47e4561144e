package programs

import (
	"fmt"
	"slices"
	"strings"
)

// changeAndAsk is a change, and a question about what is there then.
func (d *drawer) changeAndAsk() *Program {
	switch d.r.IntN(4) {
	case 0:
		return d.adjustAndAsk()
	case 1:
		return d.setAndCount()
	}
	return d.setAndLookUp()
}

// keyConditions is the condition that finds a row by its key, else by its label.
func (t *Table) keyConditions(row []any) []Cond {
	if t.Key >= 0 {
		return []Cond{{t.Key, -1, Is, row[t.Key]}}
	}
	return []Cond{t.label(row)}
}

// adjustAndAsk adds to a number, or takes from it, and asks what it is then.
func (d *drawer) adjustAndAsk() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	props := t.properties(func(c Column) bool { return c.isQuantity() && !c.Cents })
	row := d.sole(t)
	if row == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	c := t.Columns[i]
	now, ok := row[i].(int64)
	by := int64(pick(d.r, []int{1, 1, 2, 2, 3, 4, 5, 10}))
	if !ok {
		return nil
	}
	pattern, sign, after := "raise", "+", now+by
	if d.r.IntN(2) == 0 && now > by {
		pattern, sign, after = "lower", "-", now-by
	}
	slots := d.about(t)
	said, where := d.naming(t, row)
	slots["x"], slots["attr"], slots["v"] = said, c.caption(), fmt.Sprint(by)
	p := &Program{pattern: pattern, slots: slots, Tables: tablesOf(t, where)}
	p.Steps = d.changing(t, where, true, func(where []Cond) Step {
		return update(t, i, fmt.Sprintf("%s %s %d", Ident(c.Name), sign, by), where)
	})
	q := Query{Table: t, Where: t.keyConditions(row), Column: i, Of: -1, Order: -1}
	p.Steps = append(p.Steps, Step{SQL: q.SQL()})
	p.then = &Program{pattern: "left", slots: slots,
		Answer: Answer{Form: "number", Values: []string{fmt.Sprint(after)}}}
	p.Result = []string{fmt.Sprint(after)}
	return p
}

// setAndCount changes a property of a named thing and asks how many things are so then, or how many are left that have
// no value.
func (d *drawer) setAndCount() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	props := t.properties(func(c Column) bool { return (c.Kind == Text || c.Ref != nil) && !c.Several })
	row := d.sole(t)
	if row == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	c := t.Columns[i]
	v := d.another(t, i, row[i])
	if v == nil || equal(v, row[i]) || t.hasOtherSpelling(i, v) {
		return nil
	}
	value, text, of := d.literalOf(c, v, row)
	if value == "" {
		return nil
	}
	slots := d.about(t)
	said, where := d.naming(t, row)
	slots["x"], slots["attr"], slots["v"] = said, c.caption(), text
	p := &Program{pattern: "set", slots: slots, Tables: tablesOf(t, where, of)}
	p.Steps = d.changing(t, where, true, func(where []Cond) Step { return update(t, i, value, where) })
	asked, filter := Cond{i, -1, Is, v}, put(c.withPhrase(), text)
	switch {
	case c.flags(v) && c.Yes != "":
		filter = c.flagPhrase(v)
	case c.Ref != nil:
		asked.Value = c.Ref.byKey(v)[c.Ref.Label]
	}
	if row[i] == nil && d.r.IntN(3) > 0 {
		if asked, filter = (Cond{i, -1, Null, nil}), "with no "+c.caption(); c.No != "" && !t.hasFlags(i) {
			filter = c.No
		}
	}
	if !d.isClear(t, asked, filter) {
		return nil
	}
	q := Query{Table: t, Where: []Cond{asked}, Agg: "COUNT", Of: -1, Order: -1}
	working := ""
	t.with(row, i, v, func() { p.Result, working = valueTexts(q.Run()), q.Working() })
	p.Steps = append(p.Steps, Step{SQL: q.SQL()})
	more := about(t)
	more["filter"] = filter
	p.then = &Program{pattern: "count", slots: more, Answer: Answer{Form: "number", Values: p.Result}}
	if d.w.Listed {
		p.then.Work(working)
	}
	return p
}

// with does something while a row has another value in a column.
func (t *Table) with(row []any, column int, v any, do func()) {
	was := row[column]
	row[column] = v
	defer func() { row[column] = was }()
	do()
}

// setAndLookUp changes one or two properties of a named thing and asks for another one of it.
func (d *drawer) setAndLookUp() *Program {
	first := d.set(false)
	if d.r.IntN(2) == 0 {
		first = d.setTwo()
	}
	if first == nil {
		return nil
	}
	t := first.Tables[0]
	row := t.rowOfChange(first)
	var props []int
	for _, i := range t.properties(func(c Column) bool { return !c.Several }) {
		said := t.Columns[i].caption()
		if said != first.slots["attr"] && said != first.slots["attr2"] && row != nil && t.show(i, row) != "" &&
			sayable(t.show(i, row)) {
			props = append(props, i)
		}
	}
	if len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	c := t.Columns[i]
	q := Query{Table: t, Where: t.keyConditions(row), Column: i, Of: -1, Order: -1}
	a := valueOf(q.shows(), t.value(row, i, -1))
	p := *first
	p.Steps = append(slices.Clone(first.Steps), Step{SQL: q.SQL()})
	p.Result = valueTexts(q.Run())
	if c.Ref != nil && !slices.Contains(p.Tables, c.Ref) {
		p.Tables = append(slices.Clone(p.Tables), c.Ref)
	}
	slots := about(t)
	slots["x"], slots["attr"] = first.slots["x"], c.caption()
	p.then = &Program{pattern: "lookup", slots: slots, Answer: a}
	return &p
}

// rowOfChange is the row that the last step of a change is about, by its key; nil where that is not said.
func (t *Table) rowOfChange(p *Program) []any {
	last := p.Steps[len(p.Steps)-1].SQL
	for _, row := range t.Rows {
		if t.Key >= 0 && strings.HasSuffix(last, filter(t, t.keyConditions(row))) {
			return row
		}
	}
	return nil
}

// sameAs gives a thing the value that another one has: "the same shift as Ana".
func (d *drawer) sameAs() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	a, b := d.sole(t), d.sole(t)
	props := t.properties(func(c Column) bool { return !c.Several && !c.Bool })
	if a == nil || b == nil || &a[0] == &b[0] || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	if b[i] == nil || a[i] != nil && equal(a[i], b[i]) || !sayable(b[i]) {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["y"], slots["attr"] = d.nameInRequest(t, a), d.nameInRequest(t, b), t.Columns[i].caption()
	look, where := d.before(t, []Cond{t.label(a)}, true)
	other, _ := d.before(t, []Cond{t.label(b)}, true)
	return &Program{
		pattern: "same_as",
		slots:   slots,
		Steps:   []Step{look, other, update(t, i, Literal(b[i]), where)},
		Tables:  []*Table{t},
	}
}

// onExtreme changes a property of the thing that has the greatest or least of a number or day, or deletes it.
func (d *drawer) onExtreme(remove bool) *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil || t.Key < 0 {
		return nil
	}
	orders := t.properties(isOrdered)
	if len(orders) == 0 {
		return nil
	}
	i, greatest := pick(d.r, orders), d.r.IntN(2) == 0
	q := Query{Table: t, Column: t.Key, Of: -1, Order: i, Desc: greatest, Limit: 1}
	if c, ok := d.class(t); ok {
		q.Where = []Cond{c}
	}
	if !d.clear(q) {
		return nil
	}
	row := t.byKey(q.Run()[0])
	c := t.Columns[i]
	slots := d.about(t)
	slots["super"] = end(c, greatest)
	slots["x"] = fmt.Sprintf("the %s with the %s %s", slots["one"], slots["super"], c.caption())
	if super := c.superlative(greatest); super != "" && d.r.IntN(3) > 0 {
		slots["x"] = "the " + super + " " + slots["one"]
	}
	find := Step{SQL: strings.Replace(q.SQL(), "SELECT "+q.column(t.Key, -1, false), "SELECT *", 1)}
	p := &Program{slots: slots, Tables: []*Table{t}}
	if remove {
		if d.w.refers(t, row) {
			return nil
		}
		p.pattern = "remove"
		p.Steps = []Step{find, {SQL: "DELETE FROM " + Ident(t.Name) + filter(t, t.keyConditions(row)), Writes: true}}
		return d.reportOn(p, t, [][]any{row})
	}
	props := slices.DeleteFunc(t.properties(nil), func(k int) bool { return k == i })
	if len(props) == 0 {
		return nil
	}
	k := pick(d.r, props)
	v := d.another(t, k, row[k])
	if v == nil || equal(v, row[k]) {
		return nil
	}
	value, said, of := d.literalOf(t.Columns[k], v, row)
	if value == "" {
		return nil
	}
	p.pattern, slots["attr"], slots["v"] = "set", t.Columns[k].caption(), said
	p.Steps = []Step{find, update(t, k, value, t.keyConditions(row))}
	p.Tables = tablesOf(t, nil, of)
	return d.reportOn(p, t, [][]any{row})
}

// end is how the greatest or least of a column is called: "the highest year" is nobody's word.
func end(c Column, greatest bool) string {
	if c.Kind == Date || c.Kind == Time || c.isYear() {
		return map[bool]string{true: "latest", false: "earliest"}[greatest]
	}
	return map[bool]string{true: "highest", false: "lowest"}[greatest]
}

// twoChanges are two changes in one message, each of a thing that is named in full, at times in the same table.
func (d *drawer) twoChanges() *Program {
	kinds := []string{Set, Set, Set, Adjust, Insert, Remove}
	first := (&drawer{r: d.r, w: d.w, plain: true}).draw(pick(d.r, kinds))
	second := (&drawer{r: d.r, w: d.w, plain: true}).draw(pick(d.r, kinds))
	if !first.isPlain() || !second.isPlain() {
		return nil
	}
	a, b := first.slots, second.slots
	if a["x"] == b["x"] && (a["attr"] == "" || b["attr"] == "" || a["attr"] == b["attr"]) ||
		a["x"] != b["x"] && (mentions(a["x"])(b["v"]+b["given"]) || mentions(b["x"])(a["v"]+a["given"])) {
		return nil
	}
	p := *first
	p.then, p.Free = second, first.Free || second.Free
	p.Steps = slices.Concat(first.Steps, second.Steps)
	p.Tables = slices.Clone(first.Tables)
	for _, t := range second.Tables {
		if !slices.Contains(p.Tables, t) {
			p.Tables = append(p.Tables, t)
		}
	}
	return &p
}

// isPlain reports whether a program is one change of one thing that is named in full.
func (p *Program) isPlain() bool {
	return p != nil && p.then == nil && p.slots["x"] != "" && p.slots["super"] == "" &&
		slices.Contains([]string{"set", "raise", "lower", "insert", "remove"}, p.pattern)
}
