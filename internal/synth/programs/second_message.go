package programs

import (
	"fmt"
	"slices"
	"strings"
)

// Requests in two messages, of which the second is understood by the first alone: "And how many does that one have?"

// secondMessage draws one of them.
func (d *drawer) secondMessage() *Program {
	if d.w.Listed {
		return nil
	}
	way := pick(d.r, []func(*drawer) *Program{(*drawer).addThenAmend, (*drawer).addThenAmend,
		(*drawer).setThenOtherwise, (*drawer).setThenOtherwise, (*drawer).likewise, (*drawer).askThenGoOn,
		(*drawer).askThenGoOn, (*drawer).askThenGoOn, (*drawer).askThenGoOn})
	for range tries {
		one := &drawer{r: d.r, w: d.w}
		if p := way(one); p != nil {
			*d = *one
			return p
		}
	}
	return nil
}

// inTwo puts a second message behind a program, with the steps that it asks for.
func (p *Program) inTwo(then *Program, steps ...Step) *Program {
	both := *p
	both.Steps = slices.Concat(p.Steps, steps)
	both.Tables = slices.Clone(p.Tables)
	for _, t := range then.Tables {
		if !slices.Contains(both.Tables, t) {
			both.Tables = append(both.Tables, t)
		}
	}
	both.then, both.later, both.Result = then, len(steps), nil
	if then.Answer.Form != "" {
		both.Result = then.Result
	}
	return &both
}

// Before puts a second message behind a program that calls of other tools make, of which the last so many are its own.
func (p *Program) Before(second *Program, later int) *Program {
	both := p.Behind(second)
	both.Kind, both.later = Second, later
	return both
}

// Later is how many of the last steps are those of a second message.
func (p *Program) Later() int { return p.later }

// Recalled is the step by which a question was answered before the conversation goes on; nil: nothing was asked before.
func (p *Program) Recalled() *Step { return p.recalled }

// amends says, in a second message, that a property is another one than the first, whose change is was.
func (d *drawer) amends(
	t *Table, i int, old, x, was string, row []any, where []Cond,
) (then *Program, step Step) {
	c := t.Columns[i]
	for range tries {
		v := d.another(t, i, row[i])
		if v == nil || c.Bool {
			return nil, Step{}
		}
		value, said, of := d.literalOf(c, v, row)
		if value == "" || equal(v, row[i]) || said == old || c.Kind == Date && strings.Contains(was, value) {
			continue
		}
		slots := about(t)
		slots["attr"], slots["v"], slots["old"] = c.caption(), said, old
		then = &Program{pattern: "amend", slots: slots, Tables: tablesOf(t, nil, of),
			did: fmt.Sprintf("the %s of %s is %s now", c.caption(), x, said)}
		if old == "" {
			then.pattern = "amend_more"
		}
		step = update(t, i, value, where)
		step.Why = fmt.Sprintf("%s of %s: %s, not %s", c.caption(), x, said, old)
		if old == "" {
			step.Why = fmt.Sprintf("%s of %s: %s", c.caption(), x, said)
		}
		return then, step
	}
	return nil, Step{}
}

// addThenAmend adds a thing, and then says of it that a value is another one, or one that was not given.
func (d *drawer) addThenAmend() *Program {
	first := d.either(d.insert, d.insert, d.addNext)
	if first == nil {
		return nil
	}
	t := first.NewRowTable()
	props := t.properties(func(c Column) bool { return !c.Several && !c.Bool && !c.Note })
	if len(props) == 0 {
		return nil
	}
	i, old := pick(d.r, props), ""
	for _, g := range d.gave {
		if g[0] == t.Columns[i].caption() {
			old = g[1]
		}
	}
	like := slices.Clone(pick(d.r, t.Rows)) // stands for the new one
	if old == "" && d.r.IntN(2) == 0 {
		return nil // mostly what was said is wrong
	}
	name := first.slots["x"]
	var where []Cond
	var look []Step
	key, ok := int64(0), t.Key >= 0
	if ok {
		key, ok = t.next()
	}
	switch {
	case name != "":
		like[t.Label] = d.asLabel(t, name)
		if parts := t.Columns[t.Label].Parts; len(parts) == 2 {
			like[parts[0]], like[parts[1]], _ = strings.Cut(name, " ")
		}
		where = []Cond{t.label(like)}
	case ok:
		name = "the new " + t.One
		where = []Cond{{t.Key, -1, Is, key}}
		look = []Step{{SQL: fmt.Sprintf("SELECT * FROM %s ORDER BY %s DESC LIMIT 1", Ident(t.Name),
			Ident(t.Columns[t.Key].Name))}}
	default:
		return nil
	}
	then, step := d.amends(t, i, old, name, first.Steps[len(first.Steps)-1].SQL, like, where)
	if then == nil {
		return nil
	}
	return first.inTwo(then, append(look, step)...)
}

// setThenOtherwise sets a property, and then another value instead.
func (d *drawer) setThenOtherwise() *Program {
	first := d.set(false)
	if first == nil || first.pattern != "set" {
		return nil
	}
	t := first.Tables[0]
	row := t.rowOfChange(first)
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.caption() == first.slots["attr"] })
	if row == nil || i < 0 {
		return nil
	}
	then, step := d.amends(t, i, first.slots["v"], t.nameInRequest(row), first.Steps[len(first.Steps)-1].SQL, row,
		t.keyConditions(row))
	if then == nil {
		return nil
	}
	return first.inTwo(then, step)
}

// likewise changes a thing, or deletes it, and then has the same done to another one.
func (d *drawer) likewise() *Program {
	first := d.either(func() *Program { return d.set(false) }, d.remove)
	if first == nil {
		return nil
	}
	t := first.Tables[0]
	row, other := t.rowOfChange(first), d.sole(t)
	if row == nil || other == nil || &row[0] == &other[0] {
		return nil
	}
	slots := about(t)
	slots["x"] = d.nameInRequest(t, other)
	then := &Program{pattern: "likewise", slots: slots}
	look, where := d.before(t, []Cond{t.label(other)}, true)
	change := first.Steps[len(first.Steps)-1]
	if first.pattern == "remove" {
		if d.w.refers(t, other) {
			return nil
		}
		then.pattern, then.did = "likewise_remove", slots["x"]+" is deleted"
		change = Step{SQL: "DELETE FROM " + Ident(t.Name) + filter(t, where), Writes: true}
		return first.inTwo(then, look, change)
	}
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.caption() == first.slots["attr"] })
	set, _, ok := strings.Cut(strings.TrimPrefix(change.SQL, "UPDATE "+Ident(t.Name)+" SET "), " WHERE ")
	if i < 0 || !ok || t.hasFlags(i) ||
		strings.Contains(set, "SELECT") || // of what another table has, the statement goes on
		t.has(i, other, first.slots["v"]) {
		return nil
	}
	then.did = fmt.Sprintf("the %s of %s is %s now", first.slots["attr"], slots["x"], first.slots["v"])
	change = Step{SQL: "UPDATE " + Ident(t.Name) + " SET " + set + filter(t, where), Writes: true}
	return first.inTwo(then, look, change)
}

// has reports whether a row has a value already, as people say it.
func (t *Table) has(i int, row []any, said string) bool {
	return row[i] != nil && (t.show(i, row) == said || t.Columns[i].Kind == Date)
}

// found is the one thing that the answer of a question names.
func (p *Program) found() (t *Table, row []any) {
	if p.Answer.Form != "text" || len(p.Answer.Values) != 1 {
		return nil, nil
	}
	for _, o := range p.Tables {
		for _, r := range o.Rows {
			if o.Label < 0 || o.rowLabel(r) != p.Answer.Values[0] {
				continue
			}
			if row != nil || o.Columns[o.Label].Ref != nil {
				return nil, nil
			}
			t, row = o, r
		}
	}
	return t, row
}

// askThenGoOn asks for a thing, and then something of it, or a change. At times it was asked in a conversation before
// in which no table was looked at.
func (d *drawer) askThenGoOn() *Program {
	first := d.either(d.best, d.best, d.best, d.join, d.join, d.most)
	if first == nil || len(first.Steps) == 0 {
		return nil
	}
	looked := d.looked
	t, row := first.found()
	if t == nil {
		return nil
	}
	then, steps := d.goOn(t, row)
	if then == nil {
		return nil
	}
	if first.Steps = append(looked, first.Steps...); d.r.IntN(3) > 0 {
		first.recalled, first.Steps = &first.Steps[len(first.Steps)-1], nil
	}
	d.looked = nil
	return first.inTwo(then, steps...)
}

// goOn asks something of a thing that was just named, or has it changed.
func (d *drawer) goOn(t *Table, row []any) (then *Program, steps []Step) {
	slots := about(t)
	named := Cond{t.Label, -1, Is, t.value(row, t.Label, -1)}
	asks := func(pattern string, q Query, form string) (*Program, []Step) {
		a := Answer{Form: form, Values: valueTexts(q.Run())}
		x, is := asFloat(q.Run()[0])
		if len(a.Values) != 1 || a.Values[0] == "" || !sayable(a.Values[0]) || is && x <= 0 {
			return nil, nil
		}
		return &Program{pattern: pattern, slots: slots, Tables: q.tables(), Answer: a, Result: a.Values},
			[]Step{{SQL: q.SQL()}}
	}
	switch n := d.r.IntN(7); {
	case n < 4:
		from, column := d.referrer(t)
		if from == nil || len(t.Columns[t.Label].Parts) > 0 || len(d.rowsOf(from, column, t, row)) == 0 {
			return nil, nil
		}
		slots["others"] = from.referring(column)
		q := Query{Table: from, Where: []Cond{{column, -1, Is, named.Value}}, Agg: "COUNT", Of: -1, Order: -1}
		counts := from.properties(func(c Column) bool {
			return isNumber(c) && !c.isYear() && c.sumPattern() == "sum_many"
		})
		if len(counts) > 0 && d.r.IntN(2) == 0 {
			q.Agg, q.Column = "SUM", pick(d.r, counts)
			_, slots["attr"] = from.Columns[q.Column].summed()
			return asks("sum_that", q, "number")
		}
		return asks("count_that", q, "number")
	case n == 4:
		props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several && !c.Bool })
		if len(props) == 0 {
			return nil, nil
		}
		i := pick(d.r, props)
		slots["attr"] = t.Columns[i].caption()
		q := Query{Table: t, Where: []Cond{named}, Column: i, Of: -1, Order: -1}
		if then, steps = asks("of_that", q, "text"); then != nil {
			then.Answer = valueOf(q.shows(), t.value(row, i, -1))
		}
		return then, steps
	}
	look, where := d.before(t, []Cond{named}, true)
	if len(where) == 0 {
		return nil, nil
	}
	props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several && !c.Bool })
	if d.r.IntN(3) == 0 || len(props) == 0 {
		if d.w.refers(t, row) {
			return nil, nil
		}
		return &Program{pattern: "remove_that", slots: slots, Tables: []*Table{t},
				did: t.nameInRequest(row) + " is deleted"},
			[]Step{look, {SQL: "DELETE FROM " + Ident(t.Name) + filter(t, where), Writes: true}}
	}
	i := pick(d.r, props)
	v := d.another(t, i, row[i])
	if v == nil || equal(v, row[i]) {
		return nil, nil
	}
	value, said, _ := d.literalOf(t.Columns[i], v, row)
	slots["attr"], slots["v"] = t.Columns[i].caption(), said
	return &Program{pattern: "set_that", slots: slots, Tables: []*Table{t},
			did: fmt.Sprintf("the %s of %s is %s now", slots["attr"], t.nameInRequest(row), said)},
		[]Step{look, update(t, i, value, where)}
}

// rowsOf are the rows that refer to one of another table.
func (d *drawer) rowsOf(from *Table, column int, t *Table, row []any) (rows [][]any) {
	for _, o := range from.Rows {
		if o[column] != nil && equal(o[column], row[t.Key]) {
			rows = append(rows, o)
		}
	}
	return rows
}
