package programs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// another draws a value for a column that differs from the one there: of those that others have, or near it.
func (d *drawer) another(t *Table, i int, not any) any {
	if t.Columns[i].Bool && not != nil {
		return map[bool]int64{true: 0, false: 1}[equal(not, int64(1))]
	}
	// a number that names is one of those
	if x, ok := asFloat(not); ok && t.Columns[i].Ref == nil && !t.Columns[i].Label {
		if _, whole := not.(int64); whole {
			return max(1, int64(x)+int64(pick(d.r, []int{-20, -5, -3, -2, -1, 1, 2, 3, 5, 10, 25, 50})))
		}
		return math.Abs(math.Round(100*(x+float64(pick(d.r, []int{-3, -2, -1, 1, 2, 5, 10}))))) / 100
	}
	if t.Columns[i].isReach() { // nobody gets what another one has
		return reachedAt(d.r, Show(not))
	}
	var values []any
	for _, row := range t.Rows {
		if row[i] != nil && Show(row[i]) != "" && sayable(row[i]) && !equal(row[i], not) {
			values = append(values, row[i])
		}
	}
	if len(values) == 0 {
		return nil
	}
	return pick(d.r, values)
}

// isReach reports whether a text says how a person is reached: by mail or by phone.
func (c Column) isReach() bool {
	said := strings.Fields(Words(c.Name))
	return c.Kind == Text && c.Ref == nil && !c.Several && isContact(said) &&
		!slices.Contains([]string{"address", "url", "website"}, said[len(said)-1])
}

// reachedAt is another address or number of the form of one; nil where it has neither form.
func reachedAt(r *rand.Rand, old string) any {
	if _, domain, ok := strings.Cut(old, "@"); ok {
		return pick(r, []string{"office", "hello", "post", "mail", "info", "desk", "kontakt", "team"}) + "@" + domain
	}
	now := []byte(old)
	for i := max(0, len(now)-4); i < len(now); i++ {
		if now[i] >= '0' && now[i] <= '9' {
			now[i] = byte('0' + r.IntN(10))
		}
	}
	if string(now) == old {
		return nil
	}
	return string(now)
}

// keyOf is SQL for the key of a row that is named.
func (t *Table) keyOf(row []any) string {
	return fmt.Sprintf("(SELECT %s FROM %s WHERE %s)",
		Ident(t.Columns[t.Key].Name), Ident(t.Name), t.test(t.Label, "", Is, row[t.Label]))
}

// update is a statement that sets one column where some conditions hold.
func update(t *Table, column int, value string, where []Cond) Step {
	set := Ident(t.Columns[column].Name) + " = " + value
	return Step{SQL: "UPDATE " + Ident(t.Name) + " SET " + set + filter(t, where), Writes: true}
}

func (d *drawer) setOne() *Program { return d.set(false) }

// set changes one property of a named thing; twice where the person corrects themself, of which the second holds.
func (d *drawer) set(corrected bool) *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	props := t.properties(nil)
	row := d.sole(t)
	if row == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	c := t.Columns[i]
	v := d.another(t, i, row[i])
	if v == nil || equal(v, row[i]) {
		return nil
	}
	slots := d.about(t)
	said, where := d.naming(t, row)
	value, text, to := d.literalOf(c, v, row)
	if value == "" {
		return nil
	}
	slots["x"], slots["attr"], slots["v"] = said, c.caption(), text
	tables := tablesOf(t, where, to)
	pattern := "set"
	who, state, is := strings.Cut(c.flagPhrase(v), " are ")
	// nobody sets "the works saturdays of Ana to yes"
	if flag := c.Bool || c.flags(v); flag && (corrected || !is || strings.Contains(who, " ")) {
		return nil
	} else if flag {
		pattern, slots["v"] = "set_value", state
	}
	if corrected {
		other := d.another(t, i, v)
		if other == nil || equal(other, v) || equal(other, row[i]) {
			return nil
		}
		if pattern, slots["old"] = "correct", c.show(other); c.Ref != nil {
			if slots["old"] = c.Ref.rowLabel(c.Ref.byKey(other)); slots["old"] == "" {
				return nil
			}
		}
	} else if t.tells(i, v) && c.isClass() && d.r.IntN(2) == 0 {
		pattern = "set_value"
	}
	return &Program{
		pattern: pattern,
		slots:   slots,
		Steps: d.changing(t, where, true, func(where []Cond) Step {
			return update(t, i, value, where)
		}),
		Tables: tables,
	}
}

// literalOf is a value as it is written into a column: its SQL, how it is said, and the table that it names a row of.
// The SQL is "" where it cannot be said.
func (d *drawer) literalOf(c Column, v any, row []any) (sql, said string, of *Table) {
	if c.Ref == nil {
		if said = c.show(v); c.Kind == Date {
			said = d.dateText(said)
		}
		return Literal(v), said, nil
	}
	to := c.Ref.byKey(v)
	if to == nil || &to[0] == &row[0] || c.Ref.rowLabel(to) == "" || !sayable(c.Ref.rowLabel(to)) ||
		c.Ref.Columns[c.Ref.Label].Ref != nil ||
		len(c.Ref.rows([]Cond{c.Ref.label(to)})) != 1 {
		return "", "", nil
	}
	return c.Ref.keyOf(to), c.Ref.rowLabel(to), c.Ref
}

// tablesOf are the tables that a change of some rows looks into: theirs, those of the conditions, and others.
func tablesOf(t *Table, where []Cond, others ...*Table) []*Table {
	tables := (Query{Table: t, Where: where, Agg: "COUNT", Of: -1, Order: -1}).tables()
	for _, o := range others {
		if o != nil && !slices.Contains(tables, o) {
			tables = append(tables, o)
		}
	}
	return tables
}

// changing are the steps of a change: a look at the rows that it is about, and the change.
func (d *drawer) changing(t *Table, where []Cond, named bool, change func([]Cond) Step) []Step {
	look, exact := d.before(t, where, named)
	q := d.those(t, where)
	d.found = &q
	step := change(exact)
	if rows := t.rows(where); step.Does == "" && !named && len(rows) <= mostChanged {
		step = step.does("%d %s: %s", len(rows), map[bool]string{true: t.One, false: t.Many}[len(rows) == 1],
			t.names(rows))
	}
	return []Step{look, step}
}

// setTwo changes two properties of a named thing in one request.
func (d *drawer) setTwo() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	props := t.properties(nil)
	row := d.sole(t)
	if row == nil || len(props) < 2 {
		return nil
	}
	d.r.Shuffle(len(props), func(i, j int) { props[i], props[j] = props[j], props[i] })
	slots, sets := d.about(t), []string{}
	named, where := d.naming(t, row)
	slots["x"] = named
	tables := tablesOf(t, where)
	for k, i := range props[:2] {
		c := t.Columns[i]
		v := d.another(t, i, row[i])
		if v == nil || equal(v, row[i]) {
			return nil
		}
		value, said, to := d.literalOf(c, v, row)
		if value == "" {
			return nil
		}
		if to != nil && !slices.Contains(tables, to) {
			tables = append(tables, to)
		}
		slots[[]string{"attr", "attr2"}[k]], slots[[]string{"v", "v2"}[k]] = c.caption(), said
		sets = append(sets, Ident(c.Name)+" = "+value)
	}
	return &Program{pattern: "set_two", slots: slots, Tables: tables,
		Steps: d.changing(t, where, true, func(where []Cond) Step {
			return Step{SQL: "UPDATE " + Ident(t.Name) + " SET " + strings.Join(sets, ", ") + filter(t, where),
				Writes: true}
		})}
}

// exchange swaps a property of two named things: "Swap the shifts of Ana and Ben."
func (d *drawer) exchange() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil || len(t.Columns[t.Label].Parts) > 0 {
		return nil
	}
	a, b := d.sole(t), d.sole(t)
	props := t.properties(func(c Column) bool { return !c.Several && !c.Bool && len(c.Parts) == 0 })
	if a == nil || b == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	if a[i] == nil || b[i] == nil || equal(a[i], b[i]) {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["y"], slots["attr"] = d.nameInRequest(t, a), d.nameInRequest(t, b), t.Columns[i].caption()
	look, first := d.before(t, []Cond{t.label(a)}, true)
	also, second := d.before(t, []Cond{t.label(b)}, true)
	return &Program{pattern: "exchange", slots: slots, Tables: tablesOf(t, first), Steps: []Step{look, also,
		update(t, i, Literal(b[i]), first).does("%s of %s: to %s", t.Columns[i].caption(), t.rowLabel(a), t.show(i, b)),
		update(t, i, Literal(a[i]), second).
			does("%s of %s: to %s", t.Columns[i].caption(), t.rowLabel(b), t.show(i, a))}}
}

// mostChanged bounds what one request changes.
const mostChanged = 8

func (d *drawer) setAll() *Program {
	t, where, phrase := d.overFilter()
	if t == nil {
		return nil
	}
	props := slices.DeleteFunc(
		t.properties(nil),
		func(i int) bool {
			return slices.ContainsFunc(where, func(c Cond) bool { return i == c.Column }) || t.Columns[i].Ref != nil ||
				t.Columns[i].isReach() // each has an address of their own
		},
	)
	rows := t.rows(where)
	if len(props) == 0 || len(rows) == 0 || len(rows) > mostChanged {
		return nil
	}
	i := pick(d.r, props)
	v := d.another(t, i, rows[0][i])
	if v == nil {
		return nil
	}
	slots := d.about(t)
	slots["filter"], slots["attr"], slots["v"] = phrase, t.Columns[i].caption(), t.Columns[i].show(v)
	p := &Program{
		pattern: "set_all",
		slots:   slots,
		Steps: d.changing(t, where, false, func(where []Cond) Step {
			return update(t, i, Literal(v), where)
		}),
		Tables: (Query{Table: t, Where: where, Agg: "COUNT"}).tables(),
	}
	return d.reportOn(p, t, rows)
}

func (d *drawer) adjust() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(Column.isQuantity)
	if len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	slots := d.about(t)
	var where []Cond
	if d.r.IntN(2) == 0 {
		row := d.sole(t)
		if row == nil || row[i] == nil || t.Columns[t.Label].Ref != nil {
			return nil
		}
		slots["x"], where = d.naming(t, row)
	} else {
		c, phrase, ok := d.condition(t, i)
		if !ok {
			return nil
		}
		where = []Cond{c}
		d.narrow(slots, t, phrase)
	}
	tables := tablesOf(t, where)
	rows := t.rows(where)
	if len(rows) == 0 || len(rows) > mostChanged ||
		slices.ContainsFunc(rows, func(row []any) bool { _, ok := asFloat(row[i]); return !ok }) {
		return nil
	}
	said := int64(pick(d.r, []int{1, 2, 3, 5, 10}))
	by := said
	if t.Columns[i].Cents {
		by *= 100
	}
	up := d.r.IntN(3) > 0
	sign := "+"
	if !up {
		sign = "-"
		if slices.ContainsFunc(rows, func(row []any) bool { x, _ := asFloat(row[i]); return x < float64(by) }) {
			return nil
		}
	}
	slots["attr"], slots["v"] = t.Columns[i].caption(), Show(said)
	pattern := map[bool]string{true: "raise", false: "lower"}[up]
	if slots["x"] == "" {
		pattern += "_all"
	}
	column := Ident(t.Columns[i].Name)
	return &Program{
		pattern: pattern,
		slots:   slots,
		Steps: d.changing(t, where, slots["x"] != "", func(where []Cond) Step {
			return update(t, i, column+" "+sign+" "+Show(by), where)
		}),
		Tables: tables,
	}
}

func enumerate(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// actIf adds a thing, or removes one, only where there is none, or one, as the person says.
func (d *drawer) actIf() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	slots := d.about(t)
	if d.r.IntN(2) == 0 { // a thing by its name: added unless it is there
		columns, literals, said, tables, name := d.drawValues(t)
		if name == "" || len(said) == 0 {
			return nil
		}
		there := d.r.IntN(2) == 0
		row := d.sole(t)
		if there {
			if row == nil {
				return nil
			}
			name = t.rowLabel(row)
		}
		q := Query{Table: t, Where: []Cond{{t.Label, -1, Is, d.asLabel(t, name)}}, Agg: "COUNT", Of: -1, Order: -1}
		slots["x"], slots["given"] = name, enumerate(said)
		p := &Program{
			pattern: "add_unless",
			slots:   slots,
			given:   d.gave,
			Steps:   []Step{{SQL: q.SQL()}},
			Tables:  tables,
			Free:    true,
			Result:  valueTexts(q.Run()),
		}
		if there {
			p.Answer = Answer{Form: "left", Values: []string{"Nothing was changed: " + name + " is already there."}}
		} else {
			p.Steps = append(p.Steps, d.adding(t, columns, literals)...)
			p.Result = nil
		}
		return p
	}
	// A property that is changed only where it is beyond a bound.
	props := t.properties(isNumber)
	row := d.sole(t)
	if row == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	x, ok := asFloat(row[i])
	if !ok || x < 2 {
		return nil
	}
	bound := d.another(t, i, row[i])
	v := d.another(t, i, bound)
	if bound == nil || v == nil || equal(bound, row[i]) || equal(v, row[i]) {
		return nil
	}
	said, where := d.naming(t, row)
	q := Query{Table: t, Where: where, Column: i, Of: -1, Order: -1}
	c := t.Columns[i]
	slots["x"], slots["attr"], slots["bound"], slots["v"] = said, c.caption(), c.show(bound), c.show(v)
	p := &Program{
		pattern: "set_if",
		slots:   slots,
		Steps:   []Step{{SQL: q.SQL()}},
		Tables:  q.tables(),
		Result:  valueTexts(q.Run()),
	}
	if less(row[i], bound) {
		p.Steps = append(p.Steps, update(t, i, Literal(v), q.Where))
	} else {
		p.Answer = Answer{Form: "left", Values: []string{
			fmt.Sprintf("Nothing was changed: the %s of %s is %s.", slots["attr"], slots["x"], c.show(row[i]))}}
	}
	return p
}

// asLabel is a name as a value of the label's kind.
func (d *drawer) asLabel(t *Table, name string) any {
	for _, row := range t.Rows {
		if t.rowLabel(row) == name {
			return row[t.Label]
		}
	}
	if _, ok := t.Rows[0][t.Label].(int64); ok {
		var n int64
		_, _ = fmt.Sscan(name, &n) // made of digits
		return n
	}
	return name
}

// several are a change and something else in one message. What is asked behind a change is asked of another table, or
// of the world as it is then.
func (d *drawer) several() *Program {
	first := d.draw(pick(d.r, []string{Set, Set, Insert, Remove, Count, Lookup, Best}))
	other := &drawer{r: d.r, w: d.w} // what the first made of a value is no noun for the second
	second := other.draw(pick(d.r, []string{Set, Count, Lookup, Best, YesNo, Set, Insert}))
	if first == nil || second == nil || first.then != nil || second.then != nil || second.Made != nil ||
		first.Answer.Form != "" && second.Answer.Form != "" && first.pattern == second.pattern {
		return nil
	}
	shared := slices.ContainsFunc(second.Tables, func(t *Table) bool { return slices.Contains(first.Tables, t) })
	if shared && (first.Changes() || second.Changes()) { // one might change what the other means
		return nil
	}
	p := *first
	p.then, p.Free = second, first.Free || second.Free
	p.Steps = slices.Concat(first.Steps, other.looked, second.Steps)
	for _, t := range second.Tables {
		if !slices.Contains(p.Tables, t) {
			p.Tables = append(p.Tables, t)
		}
	}
	p.Result = second.Result
	if second.Answer.Form == "" {
		p.Result = first.Result
	}
	if first.Changes() != second.Changes() ||
		first.Answer.Form != "" && second.Answer.Form != "" { // results of two reads are compared one by one elsewhere
		p.Result = nil
	}
	return &p
}
