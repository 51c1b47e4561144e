package programs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Changes that are told as what happened, or that touch several things at once.

// lateDay draws a day for a column that is after all days of a row, where there is one of those that other rows have;
// nil: none is known.
func (d *drawer) lateDay(t *Table, i int, row []any) any {
	last := ""
	for k, c := range t.Columns {
		if c.Kind == Date && row[k] != nil {
			last = max(last, Show(row[k]))
		}
	}
	var days []any
	for _, o := range t.Rows {
		if day := Show(o[i]); len(day) == len(time.DateOnly) && day > last {
			days = append(days, o[i])
		}
	}
	if len(days) > 0 {
		return pick(d.r, days)
	}
	day, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return nil
	}
	return day.AddDate(0, 0, 1+d.r.IntN(12)).Format(time.DateOnly)
}

// isState reports whether a column has the few states of a table's things: "that are open".
func (t *Table) isState(i int) bool {
	c := t.Columns[i]
	return t.hasKinds(i) && !t.hasFlags(i) && (strings.HasPrefix(c.withPhrase(), "that are {v}") ||
		slices.Contains([]string{"status", "state", "stage", "outcome"}, lastWord(c.caption())))
}

// stateOf is the state that all things with a day in a column have, and no others.
func (t *Table) stateOf(s, day int) (state any, ok bool) {
	for _, row := range t.Rows {
		if row[day] != nil {
			state = row[s]
		}
	}
	return state, state != nil && !slices.ContainsFunc(t.Rows, func(row []any) bool {
		return (row[day] != nil) != (row[s] != nil && equal(row[s], state))
	})
}

// event gives a thing a state and the day that goes with it: "Work order 212 is done as of 3 May." Which states there
// are is looked at first.
func (d *drawer) event() *Program {
	t := d.table()
	if t == nil || d.w.Listed || t.Columns[t.Label].Ref != nil {
		return nil
	}
	states := slices.DeleteFunc(t.properties(nil), func(i int) bool { return !t.isState(i) })
	days := t.properties(func(c Column) bool { return c.Kind == Date && t.hasNone(t.at(c)) })
	row := d.sole(t)
	if row == nil || len(states) == 0 || len(days) == 0 {
		return nil
	}
	s, i := pick(d.r, states), pick(d.r, days)
	day := d.lateDay(t, i, row)
	var others []any // the states of those that have such a day
	for _, o := range t.Rows {
		if o[i] != nil && o[s] != nil && !equal(o[s], row[s]) && !t.hasOtherSpelling(s, o[s]) {
			others = append(others, o[s])
		}
	}
	if day == nil || len(others) == 0 {
		return nil
	}
	state := pick(d.r, others)
	slots := d.about(t)
	said, where := d.naming(t, row)
	slots["x"], slots["v"], slots["v2"] = said, Show(state), d.dateText(Show(day))
	slots["attr2"] = t.Columns[i].caption()
	pattern := "event_named"
	if t.tells(s, state) && len(days) == 1 && row[i] == nil {
		pattern = "event"
	}
	look, exact := d.before(t, where, true)
	d.looked = nil
	return &Program{pattern: pattern, slots: slots, Tables: tablesOf(t, where), Steps: []Step{
		{SQL: fmt.Sprintf("SELECT DISTINCT %s FROM %s", Ident(t.Columns[s].Name), Ident(t.Name))}, look,
		Step{SQL: fmt.Sprintf("UPDATE %s SET %s = %s, %s = %s%s", Ident(t.Name), Ident(t.Columns[s].Name),
			Literal(state), Ident(t.Columns[i].Name), Literal(day), filter(t, exact)), Writes: true}.
			does("%s: %s %s, %s %s", t.rowLabel(row), t.Columns[s].caption(), Show(state), t.Columns[i].caption(),
				Show(day))}}
}

// at is the number of a column.
func (t *Table) at(c Column) int {
	return slices.IndexFunc(t.Columns, func(o Column) bool { return o.Name == c.Name })
}

// told says what happened to what belongs to one or two things, and names no column of the day: "The repair of Ana Lund
// was finished on 3 May, cost 45." It is the only one of theirs that has no such day yet.
func (d *drawer) told() *Program {
	t := d.table()
	if t == nil || d.w.Listed || t.Key < 0 {
		return nil
	}
	days := t.properties(func(c Column) bool {
		done := participle(strings.Fields(Words(c.Name)))
		return c.Kind == Date && t.hasNone(t.at(c)) && done != "" && !endsIn(done, "ing") && done != "due"
	})
	refs := t.properties(func(c Column) bool {
		return c.Ref != nil && c.Ref != t && c.Ref.Label >= 0 && c.Ref.Columns[c.Ref.Label].Ref == nil && c.Ref.Key >= 0
	})
	if len(days) == 0 || len(refs) == 0 {
		return nil
	}
	i, row := pick(d.r, days), pick(d.r, t.Rows)
	d.r.Shuffle(len(refs), func(a, b int) { refs[a], refs[b] = refs[b], refs[a] })
	where := []Cond{{i, -1, Null, nil}}
	p := &Program{pattern: "told", Tables: []*Table{t}}
	var names, keys []string
	for _, k := range refs[:1+d.r.IntN(min(2, len(refs)))] {
		ref := t.Columns[k].Ref
		to := ref.byKey(row[k])
		if to == nil || ref.rowLabel(to) == "" || !sayable(ref.rowLabel(to)) ||
			len(ref.rows([]Cond{ref.label(to)})) != 1 {
			return nil
		}
		names = append(names, put(t.Columns[k].withPhrase(), ref.rowLabel(to)))
		where = append(where, Cond{k, -1, Is, ref.value(to, ref.Label, -1)})
		keys = append(keys, fmt.Sprintf("%s = %s", Ident(t.Columns[k].Name), Literal(row[k])))
		look, _ := d.before(ref, []Cond{ref.label(to)}, true)
		p.Steps, p.Tables = append(p.Steps, look), append(p.Tables, ref)
	}
	open := t.rows(where)
	day := d.lateDay(t, i, row)
	if len(open) != 1 || &open[0][0] != &row[0] || day == nil {
		return nil
	}
	slots := about(t)
	slices.SortStableFunc(names, func(a, b string) int { // "of the car V50 with Ana as the mechanic"
		with := map[bool]int{true: 1}
		return with[strings.HasPrefix(a, "with ")] - with[strings.HasPrefix(b, "with ")]
	})
	slots["x"], slots["v"] = "the "+t.One+" "+ofOne(strings.Join(names, " ")), d.dateText(Show(day))
	slots["verb"] = participle(strings.Fields(Words(t.Columns[i].Name)))
	sets := []string{Ident(t.Columns[i].Name) + " = " + Literal(day)}
	does := fmt.Sprintf("%s of %s: %s", t.Columns[i].caption(), t.rowName(row), Show(day))
	for s := range t.Columns {
		if !t.isState(s) {
			continue
		}
		state, ok := t.stateOf(s, i)
		if !ok || len(days) > 1 {
			return nil
		}
		p.Steps = append(p.Steps, Step{SQL: fmt.Sprintf("SELECT DISTINCT %s, %s FROM %s", Ident(t.Columns[s].Name),
			Ident(t.Columns[i].Name), Ident(t.Name))})
		sets = append(sets, Ident(t.Columns[s].Name)+" = "+Literal(state))
		does += fmt.Sprintf(", %s: %s", t.Columns[s].caption(), Show(state))
	}
	empty := t.properties(func(c Column) bool { return isNumber(c) && !c.isYear() && !c.Cents && row[t.at(c)] == nil })
	if len(empty) == 1 {
		if v := d.another(t, empty[0], nil); v != nil {
			c := t.Columns[empty[0]]
			p.pattern, slots["given"] = "told_with", c.caption()+" "+c.show(v)
			sets = append(sets, Ident(c.Name)+" = "+Literal(v))
			does += fmt.Sprintf(", %s: %s", c.caption(), c.show(v))
		}
	}
	p.slots = slots
	p.Steps = append(p.Steps,
		Step{SQL: fmt.Sprintf("SELECT * FROM %s WHERE %s", Ident(t.Name), strings.Join(keys, " AND "))},
		Step{SQL: "UPDATE " + Ident(t.Name) + " SET " + strings.Join(sets, ", ") + filter(t, t.keyConditions(row)),
			Writes: true}.does("%s", does))
	return p
}

// raiseAndLower changes a number of two things by different amounts: "North: slots up by 2. South: down by 1."
func (d *drawer) raiseAndLower() *Program {
	t := d.table()
	if t == nil || d.w.Listed || t.Columns[t.Label].Ref != nil {
		return nil
	}
	props := t.properties(func(c Column) bool { return c.isQuantity() && !c.Cents })
	a, b := d.sole(t), d.sole(t)
	if len(props) == 0 || a == nil || b == nil || &a[0] == &b[0] {
		return nil
	}
	i := pick(d.r, props)
	c := t.Columns[i]
	up, down := int64(1+d.r.IntN(9)), int64(1+d.r.IntN(9))
	x, one := a[i].(int64)
	y, two := b[i].(int64)
	if !one || !two || y < down || up == down {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["y"], slots["attr"] = d.nameInRequest(t, a), d.nameInRequest(t, b), c.caption()
	slots["v"], slots["v2"] = fmt.Sprint(up), fmt.Sprint(down)
	look, first := d.before(t, []Cond{t.label(a)}, true)
	also, second := d.before(t, []Cond{t.label(b)}, true)
	return &Program{pattern: "raise_lower", slots: slots, Tables: []*Table{t}, Steps: []Step{look, also,
		update(t, i, fmt.Sprintf("%s + %d", Ident(c.Name), up), first).
			does("%s of %s: %d + %d = %d", c.caption(), t.rowLabel(a), x, up, x+up),
		update(t, i, fmt.Sprintf("%s - %d", Ident(c.Name), down), second).
			does("%s of %s: %d - %d = %d", c.caption(), t.rowLabel(b), y, down, y-down)}}
}

// addIfNone adds a thing of some kind where there is none of it: "If there are no vans in Oslo, add one."
func (d *drawer) addIfNone() *Program {
	t := d.table()
	if t == nil || d.w.Listed || t.Columns[t.Label].Ref != nil {
		return nil
	}
	kinds := slices.DeleteFunc(t.properties(nil), func(i int) bool {
		c := t.Columns[i]
		isName := c.Ref != nil && c.Ref.Label >= 0 && c.Ref.Columns[c.Ref.Label].Ref == nil
		return !isName && !t.hasKinds(i) || t.hasFlags(i) || strings.Contains(c.withPhrase(), `"`)
	})
	if len(kinds) < 2 {
		return nil
	}
	d.r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var where []Cond
	var phrases, values []string
	for _, i := range kinds[:2] {
		row := pick(d.r, t.Rows)
		c := Cond{i, -1, Is, t.value(row, i, -1)}
		phrase := put(t.Columns[i].withPhrase(), t.show(i, row))
		value, _, _ := d.literalOf(t.Columns[i], row[i], row)
		if c.Value == nil || value == "" || !d.isClear(t, c, phrase) {
			return nil
		}
		where, phrases, values = append(where, c), append(phrases, phrase), append(values, value)
	}
	n := len(t.rows(where))
	if n > 0 && d.r.IntN(2) == 0 { // else mostly there are some
		return nil
	}
	columns, literals, said, tables, name := d.drawValues(t)
	if name == "" {
		return nil
	}
	for n, c := range where {
		at := slices.Index(columns, Ident(t.Columns[c.Column].Name))
		was := t.Columns[c.Column].caption()
		if at < 0 {
			return nil
		}
		literals[at] = values[n]
		for k, pair := range d.gave {
			if pair[0] == was {
				d.gave[k][1], said[k] = Show(c.Value), was+" "+Show(c.Value)
			}
		}
	}
	if len(said) != len(d.gave) {
		return nil
	}
	q := Query{Table: t, Where: where, Agg: "COUNT", Of: -1, Order: -1}
	slots := about(t)
	slots["filter"], slots["x"], slots["given"] = strings.Join(phrases, " and "), name, enumerate(said)
	p := &Program{pattern: "add_if_none", slots: slots, given: d.gave, Steps: []Step{{SQL: q.SQL()}}, Free: true,
		Tables: tablesOf(t, where, tables...)}
	if n > 0 {
		p.Result = valueTexts(q.Run())
		p.Answer = Answer{Form: "left", Values: []string{fmt.Sprintf("Nothing was changed: %d %s already there.", n,
			map[bool]string{true: "is", false: "are"}[n == 1])}}
		return p
	}
	p.Steps = append(p.Steps, d.adding(t, columns, literals)...)
	return p
}

// setWhenOf changes a thing only where a property of what it refers to is as the person says.
func (d *drawer) setWhenOf() *Program {
	t, row, column, to := d.pairOf()
	if t == nil {
		return nil
	}
	ref := t.Columns[column].Ref
	asked := ref.properties(func(c Column) bool { return c.Ref == nil })
	props := t.properties(nil)
	if len(asked) == 0 || len(props) < 2 || len(ref.Columns[ref.Label].Parts) > 0 {
		return nil
	}
	i, k := pick(d.r, props), pick(d.r, asked)
	c := t.Columns[i]
	holds, cond, left := d.clause(ref, to, k)
	v := d.another(t, i, row[i])
	if cond == "" || v == nil || equal(v, row[i]) || i == column {
		return nil
	}
	value, said, of := d.literalOf(c, v, row)
	if value == "" {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["attr"], slots["v"] = d.nameInRequest(t, row), c.caption(), said
	slots["ref"], slots["attr2"], slots["rel"] = t.Columns[column].caption(), ref.Columns[k].caption(), cond
	look, where := d.before(t, []Cond{t.label(row)}, true)
	p := &Program{pattern: "set_when_of", slots: slots, Tables: tablesOf(t, where, ref, of), Steps: []Step{look,
		{SQL: "SELECT * FROM " + Ident(ref.Name) + filter(ref, ref.keyConditions(to))}}}
	if !holds {
		p.Answer = Answer{Form: "left", Values: []string{"Nothing was changed: " + left}}
		return p
	}
	p.Steps = append(p.Steps, update(t, i, value, where))
	return p
}

// mostFitting is how many things a question back names.
const mostFitting = 5

// severalFit changes a thing that is named by what several have: a part of a name, or a kind. Whoever looks finds them,
// and asks which one is meant.
func (d *drawer) severalFit() *Program {
	t := d.table()
	if t == nil || d.w.Listed && !d.w.Noted || d.w.Cased || t.Columns[t.Label].Ref != nil || t.isNumbered() {
		return nil
	}
	row := d.sole(t)
	if row == nil || t.describes() {
		return nil
	}
	said, where := "", Cond{}
	if words := strings.Fields(t.rowLabel(row)); d.r.IntN(2) == 0 && len(words) > 1 {
		if said = pick(d.r, words); d.w.Noted && t.OfPeople() { // a last name is that of a family
			said = words[0]
		}
		where = Cond{t.Label, -1, Has, said}
		if parts := t.Columns[t.Label].Parts; len(parts) == 2 {
			where = Cond{pick(d.r, parts), -1, Is, nil}
			said = Show(row[where.Column])
			where.Value = said
		}
		if len(said) < 3 || !isASCII(said) || strings.ContainsAny(said, `%_'`) || said == strings.ToLower(said) ||
			d.isElsewhere(t, mentions(said)) {
			return nil
		}
	} else {
		kinds := slices.DeleteFunc(t.properties(nil), func(i int) bool { return !t.hasKinds(i) || t.hasFlags(i) })
		if len(kinds) == 0 {
			return nil
		}
		i := pick(d.r, kinds)
		where = Cond{i, -1, Is, row[i]}
		phrase := put(t.Columns[i].withPhrase(), t.show(i, row))
		if row[i] == nil || !d.isClear(t, where, phrase) {
			return nil
		}
		said = "the " + t.One + " " + ofOne(phrase)
		if c := t.Columns[i]; c.Ref == nil && c.isClass() && isWord(c.noun(row[i])) && !t.isNounOfTwo(i, row[i]) {
			one, _ := c.nouns(t, c.noun(row[i]))
			said = "the " + one
		}
	}
	rows := t.rows([]Cond{where})
	names := t.labels(rows)
	if where.Op == Has && slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(strings.Fields(name), said)
	}) {
		return nil // nobody means Ivana by Ana
	}
	if len(rows) < 2 || len(rows) > mostFitting || repeats(names) || slices.Contains(names, "") ||
		slices.ContainsFunc(names, func(name string) bool { return !sayable(name) || name == said }) {
		return nil
	}
	props := t.properties(func(c Column) bool { return !c.Several })
	props = slices.DeleteFunc(props, func(i int) bool { return i == where.Column })
	slots := d.about(t)
	pattern := "remove"
	if len(props) > 0 && d.r.IntN(4) > 0 {
		i := pick(d.r, props)
		v := d.another(t, i, row[i])
		if v == nil {
			return nil
		}
		if _, slots["v"], _ = d.literalOf(t.Columns[i], v, row); slots["v"] == "" {
			return nil
		}
		pattern, slots["attr"] = "set", t.Columns[i].caption()
	}
	slots["x"] = said
	d.looked = nil
	p := &Program{pattern: pattern, slots: slots, Tables: []*Table{t},
		Answer: Answer{Form: "question", Among: names, For: asksWhich(t.One, t.Many), Values: []string{
			fmt.Sprintf("There are %d: %s. Which one do you mean?", len(rows), enumerate(names))}}}
	if d.w.Listed {
		return p.Work(strings.TrimPrefix(said, "the ") + ": " + enumerate(names) + ". The request says no more of it.")
	}
	p.Steps = []Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, []Cond{where})}}
	return p
}

// addNext adds a thing to which the store gives its number.
func (d *drawer) addNext() *Program {
	t := d.table()
	if t == nil || d.w.Listed || d.w.NoKeys || !t.isNumbered() {
		return nil
	}
	columns, literals, said, tables, name := d.drawValues(t)
	at := slices.Index(columns, Ident(t.Columns[t.Label].Name))
	if name == "" || at < 0 || len(said) < 2 {
		return nil
	}
	slots := about(t)
	slots["given"] = enumerate(said)
	return &Program{pattern: "add_next", slots: slots, given: d.gave, Tables: tables, Free: true,
		Steps: d.adding(t, slices.Delete(columns, at, at+1), slices.Delete(literals, at, at+1))}
}
