package programs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Questions over the links of two or three tables, and figures of groups.

// isQuantity reports whether it makes sense to raise a number by another one, or to take a mean: nobody adds floors.
func (c Column) isQuantity() bool {
	return isNumber(c) && !c.isYear() && !c.Bool && !slices.Contains([]string{"floor", "level", "storey", "priority",
		"rank", "zone", "shelf", "tier", "grade", "position", "version"}, c.caption())
}

// isSummable reports whether numbers of several things come to something.
func (c Column) isSummable() bool {
	return c.isQuantity() && !c.isShare() && !slices.Contains([]string{"floor", "level", "age", "priority",
		"rank", "rate", "size", "score", "rating", "temperature", "depth", "height", "version"}, lastWord(c.caption()))
}

// linkedPair draws a table whose things refer to others, and the reference. Neither table is read under another name.
func (d *drawer) linkedPair() (t *Table, column int, to *Table) {
	if t = d.table(); t == nil || d.w.Listed {
		return nil, -1, nil
	}
	refs := t.properties(func(c Column) bool { return c.Ref != nil })
	refs = slices.DeleteFunc(refs, func(i int) bool {
		to := t.Columns[i].Ref
		return to.Label < 0 || to.Columns[to.Label].Ref != nil || t.alias(i) != Ident(to.Name)
	})
	if len(refs) == 0 {
		return nil, -1, nil
	}
	column = pick(d.r, refs)
	return t, column, t.Columns[column].Ref
}

// mostBy asks for the value of a property that most things share through what they refer to, or that has the greatest
// sum over them: which brand of bike has the most sales.
func (d *drawer) mostBy() *Program {
	t, column, to := d.linkedPair()
	if t == nil {
		return nil
	}
	var kinds []int
	for i := range to.Columns {
		if to.hasKinds(i) && !to.hasNone(i) && !to.hasFlags(i) {
			kinds = append(kinds, i)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	k := pick(d.r, kinds)
	q := Query{Table: t, Column: column, Of: k, Order: -1}
	slots := map[string]string{"one": to.One, "many": to.Many, "others": t.Many, "attr": to.Columns[k].caption()}
	pattern, what, value := "most_by", "COUNT(*)", func([]any) (float64, bool) { return 1, true }
	numbers := t.properties(Column.isSummable)
	if len(numbers) > 0 && d.r.IntN(2) == 0 {
		i := pick(d.r, numbers)
		pattern, slots["v"] = "most_by_sum", t.Columns[i].caption()
		what = "SUM(" + t.selectExpr(i, Ident(t.Name)+".") + ")"
		value = func(row []any) (float64, bool) { return asFloat(t.Columns[i].units(row[i])) }
	}
	names, sums, ok := gather(q.Run(), t.Rows, value)
	if !ok || len(names) < 2 || slices.Contains(names, "") {
		return nil
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	if sums[names[0]]-sums[names[1]] < 0.01 || sums[names[0]] <= 0 {
		return nil
	}
	sql := q.SQL()
	at := strings.Index(sql, " FROM ")
	label := strings.TrimPrefix(sql[:at], "SELECT ")
	return &Program{
		pattern: pattern,
		slots:   slots,
		Answer:  Answer{Form: "text", Values: names[:1]},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s, %s AS n%s GROUP BY %s ORDER BY n DESC LIMIT 1",
			label, what, sql[at:], label)}},
		Tables: q.tables(),
		Result: []string{names[0], trimFloat(sums[names[0]])},
	}
}

// across lists, or counts, the things of one table that those of a second one lead to from a named thing of a third:
// which mechanics there are among the work orders of an aircraft.
func (d *drawer) across() *Program {
	t, by, from := d.linkedPair()
	if t == nil {
		return nil
	}
	ends := t.properties(func(c Column) bool { return c.Ref != nil && c.Ref != from && c.Ref != t && c.Ref.Label >= 0 })
	row := d.sole(from)
	if len(ends) == 0 || row == nil {
		return nil
	}
	k := pick(d.r, ends)
	to := t.Columns[k].Ref
	if to.Columns[to.Label].Ref != nil || t.alias(k) != Ident(to.Name) || repeats(to.labels(to.Rows)) ||
		len(to.Columns[to.Label].Parts) > 0 {
		return nil
	}
	q := Query{Table: t, Where: []Cond{{by, -1, Is, row[from.Label]}}, Column: k, Of: -1, Order: -1}
	var names []string
	for _, v := range q.Run() {
		if name := Show(v); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || len(names) > mostListed {
		return nil
	}
	slots := map[string]string{"one": t.One, "many": t.Many, "ends": to.Many, "ref": t.Columns[k].caption(),
		"filter": put(t.Columns[by].withPhrase(), from.rowLabel(row))}
	sql := "SELECT DISTINCT " + strings.TrimPrefix(q.SQL(), "SELECT ")
	p := &Program{pattern: "across", slots: slots, Answer: Answer{Form: "list", Values: names}, Tables: q.tables(),
		Steps: []Step{{SQL: sql}}, Result: names}
	if d.r.IntN(3) == 0 {
		at := strings.Index(sql, " FROM ")
		p.pattern, p.Answer = "across_count", Answer{Form: "number", Values: []string{fmt.Sprint(len(names))}}
		p.Steps[0].SQL = "SELECT COUNT(DISTINCT " + strings.TrimPrefix(sql[:at], "SELECT DISTINCT ") + ")" + sql[at:]
		p.Result = p.Answer.Values
	}
	return p
}

// overTwo draws a table, one that it refers to, and one that this refers to.
func (d *drawer) overTwo() (t *Table, first int, middle *Table, second int, end *Table) {
	t, first, middle = d.linkedPair()
	if t == nil {
		return nil, -1, nil, -1, nil
	}
	refs := middle.properties(func(c Column) bool {
		return c.Ref != nil && c.Ref != t && c.Ref != middle && c.Ref.Label >= 0 &&
			c.Ref.Columns[c.Ref.Label].Ref == nil
	})
	refs = slices.DeleteFunc(refs, func(i int) bool {
		return middle.alias(i) != Ident(middle.Columns[i].Ref.Name) || len(t.references(middle.Columns[i].Ref)) > 0
	})
	if len(refs) == 0 {
		return nil, -1, nil, -1, nil
	}
	second = pick(d.r, refs)
	return t, first, middle, second, middle.Columns[second].Ref
}

// joins are the tables of overTwo in SQL.
func (t *Table) joins(first, second int) string {
	link := func(from *Table, i int) string {
		to := from.Columns[i].Ref
		return fmt.Sprintf(" JOIN %s ON %s.%s = %s.%s", Ident(to.Name), Ident(from.Name), Ident(from.Columns[i].Name),
			Ident(to.Name), Ident(to.Columns[to.Key].Name))
	}
	return " FROM " + Ident(t.Name) + link(t, first) + link(t.Columns[first].Ref, second)
}

// joinTwo asks for what is two references away from a named thing: the hangar of the aircraft of a work order.
func (d *drawer) joinTwo() *Program {
	t, first, middle, second, end := d.overTwo()
	if t == nil || len(t.Columns[t.Label].Parts) > 0 || len(end.Columns[end.Label].Parts) > 0 ||
		t.Columns[t.Label].Ref != nil {
		return nil
	}
	row := d.sole(t)
	if row == nil {
		return nil
	}
	to := middle.byKey(row[first])
	if to == nil || end.byKey(to[second]) == nil {
		return nil
	}
	name := end.rowLabel(end.byKey(to[second]))
	if name == "" {
		return nil
	}
	slots := about(t)
	slots["x"], slots["ref"], slots["refone"] = d.nameInRequest(t, row), t.Columns[first].caption(), middle.One
	slots["attr"] = middle.Columns[second].caption()
	return &Program{
		pattern: "join",
		slots:   slots,
		Answer:  Answer{Form: "text", Values: []string{name}},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s%s WHERE %s", end.columnExpr(end.Label, Ident(end.Name)+"."),
			t.joins(first, second), t.test(t.Label, Ident(t.Name)+".", Is, row[t.Label]))}},
		Tables: []*Table{t, middle, end},
		Result: []string{name},
	}
}

// countTwo counts, lists or adds up the things that belong to those that belong to a named one: the work orders of
// aircraft in a hangar.
func (d *drawer) countTwo() *Program {
	t, first, middle, second, end := d.overTwo()
	if t == nil {
		return nil
	}
	row := d.sole(end)
	if row == nil || len(end.rows([]Cond{end.label(row)})) != 1 {
		return nil
	}
	var rows [][]any
	for _, o := range t.Rows {
		if to := middle.byKey(o[first]); to != nil && to[second] != nil && equal(to[second], row[end.Key]) {
			rows = append(rows, o)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	c := t.Columns[first]
	of := c.withPhrase()
	for _, noun := range []string{middle.One, c.caption()} { // "of the bike {v}" is "of bikes by Kestrel" then
		of = strings.ReplaceAll(of, "the "+noun+" {v}", "{v}")
	}
	of = strings.Replace(of, "the {v}", "{v}", 1)
	slots := about(t)
	slots["filter"] = put(of, middle.Many+" "+put(middle.Columns[second].withPhrase(), end.rowLabel(row)))
	p := &Program{slots: slots, Tables: []*Table{t, middle, end}}
	ask := func(what string) {
		p.Steps = []Step{{SQL: fmt.Sprintf("SELECT %s%s WHERE %s", what, t.joins(first, second),
			end.test(end.Label, Ident(end.Name)+".", Is, row[end.Label]))}}
	}
	numbers := t.properties(Column.isSummable)
	names := t.labels(rows)
	switch n := d.r.IntN(3); {
	case n == 0 && len(numbers) > 0 && len(rows) > 1:
		i := pick(d.r, numbers)
		sum := 0.0
		for _, o := range rows {
			x, ok := asFloat(t.Columns[i].units(o[i]))
			if !ok {
				return nil
			}
			sum += x
		}
		p.pattern, slots["attr"] = t.Columns[i].summed()
		p.Answer = Answer{Form: "number", Values: []string{trimFloat(sum)}}
		ask("SUM(" + t.selectExpr(i, Ident(t.Name)+".") + ")")
	case n == 1 && len(rows) <= mostListed && !repeats(names) && !slices.Contains(names, "") &&
		t.Columns[t.Label].Ref == nil && len(t.Columns[t.Label].Parts) == 0:
		p.pattern, p.Answer = "list", Answer{Form: "list", Values: names}
		ask(t.columnExpr(t.Label, Ident(t.Name)+"."))
	default:
		p.pattern, p.Answer = "count", Answer{Form: "number", Values: []string{fmt.Sprint(len(rows))}}
		ask("COUNT(*)")
	}
	p.Result = p.Answer.Values
	return p
}

// sumPattern is how a sum of a column is asked for: of what is counted, as hours, by "how many".
func (c Column) sumPattern() string {
	last := lastWord(c.caption())
	if c.Cents || !endsIn(last, "s") || endsIn(last, "ss", "us", "is") || strings.Contains(c.caption(), " in ") ||
		strings.Contains(c.caption(), " per ") {
		return "sum"
	}
	return "sum_many"
}

// summed is that pattern, and what the column is called in it: nobody asks "how many number of jars".
func (c Column) summed() (pattern, said string) {
	if pattern, said = c.sumPattern(), c.caption(); pattern == "sum_many" {
		said = strings.TrimPrefix(said, "number of ")
	}
	return pattern, said
}

// isRoom reports whether a number says how much there is room for.
func (c Column) isRoom() bool {
	return !c.Cents && c.isPrice("capacity", "slots", "beds", "seats", "places", "spaces", "spots", "stalls", "berths",
		"bays", "desks", "size", "participants", "maximum", "limit")
}

// room asks how much room a thing has left, or which have none, or some: a number of it against the count of what
// refers to it.
func (d *drawer) room() *Program {
	t, from, column := d.children()
	if t == nil || d.w.Listed || len(t.Columns[t.Label].Parts) > 0 || repeats(t.labels(t.Rows)) {
		return nil
	}
	rooms := t.properties(Column.isRoom)
	if len(rooms) == 0 {
		return nil
	}
	i := pick(d.r, rooms)
	left := func(row []any) (n int64, ok bool) {
		n, ok = row[i].(int64)
		return n - int64(len(from.counted(column, row[t.Key]))), ok
	}
	if slices.ContainsFunc(t.Rows, func(row []any) bool { _, ok := left(row); return !ok }) {
		return nil
	}
	slots := d.about(t)
	slots["others"], slots["attr"] = from.referring(column), t.Columns[i].caption()
	number := Ident(t.Name) + "." + Ident(t.Columns[i].Name)
	taken := fmt.Sprintf("(SELECT COUNT(*) FROM %s WHERE %s.%s = %s.%s)", Ident(from.Name), Ident(from.Name),
		Ident(from.Columns[column].Name), Ident(t.Name), Ident(t.Columns[t.Key].Name))
	p := &Program{slots: slots, Tables: []*Table{t, from}}
	if row := d.sole(t); row != nil && d.r.IntN(2) == 0 {
		n, _ := left(row)
		if n < 0 {
			return nil
		}
		p.pattern, slots["x"] = "room_left", d.nameInRequest(t, row)
		p.Answer = Answer{Form: "number", Values: []string{fmt.Sprint(n)}}
		p.Steps = []Step{{SQL: fmt.Sprintf("SELECT %s - %s AS left_over FROM %s WHERE %s", number, taken, Ident(t.Name),
			t.test(t.Label, "", Is, row[t.Label]))}}
		p.Result = p.Answer.Values
		return p
	}
	way := pick(d.r, []struct {
		pattern, sign string
		holds         func(n int64) bool
	}{
		{"room_some", ">", func(n int64) bool { return n > 0 }},
		{"room_over", "<", func(n int64) bool { return n < 0 }},
		{"room_none", "<=", func(n int64) bool { return n <= 0 }},
	})
	var names []string
	for _, row := range t.Rows {
		if n, _ := left(row); way.holds(n) {
			names = append(names, t.rowLabel(row))
		}
	}
	if len(names) == 0 || len(names) > mostListed || len(names) == len(t.Rows) {
		return nil
	}
	p.pattern, p.Answer, p.Result = way.pattern, Answer{Form: "list", Values: names}, names
	p.Steps = []Step{{SQL: fmt.Sprintf("SELECT %s FROM %s WHERE %s %s %s", t.columnExpr(t.Label, ""), Ident(t.Name),
		number, way.sign, taken)}}
	return p
}

// countEach says of each thing how many others refer to it, or of each value of a property how many things have it, in
// one line of a form that the request states: "North (3); South (1)".
func (d *drawer) countEach() *Program {
	t := d.table()
	if t == nil || d.w.Listed {
		return nil
	}
	counts := map[string]int{}
	slots := map[string]string{}
	p := &Program{pattern: "count_of_each", slots: slots, Tables: []*Table{t}}
	from, column := d.referrer(t)
	if from != nil && d.r.IntN(2) == 0 && t.Columns[t.Label].Ref == nil && len(t.Columns[t.Label].Parts) == 0 &&
		!repeats(t.labels(t.Rows)) {
		for _, row := range t.Rows {
			n := len(from.counted(column, row[t.Key]))
			if n == 0 { // whether those with none are to be said is anybody's guess
				return nil
			}
			counts[t.rowLabel(row)] = n
		}
		slots["one"], slots["many"], slots["others"] = t.One, t.Many, from.referring(column)
		p.Tables = append(p.Tables, from)
		label := t.columnExpr(t.Label, Ident(t.Name)+".")
		refers := Ident(from.Name) + "." + Ident(from.Columns[column].Name)
		p.Steps = []Step{{SQL: fmt.Sprintf("SELECT %s, COUNT(%s) AS n FROM %s LEFT JOIN %s ON %s = %s.%s GROUP BY %s "+
			"ORDER BY %s", label, refers, Ident(t.Name), Ident(from.Name), refers, Ident(t.Name),
			Ident(t.Columns[t.Key].Name), label, label)}}
	} else {
		props := t.properties(nil)
		props = slices.DeleteFunc(props, func(i int) bool { return !t.hasKinds(i) || t.hasNone(i) || t.hasFlags(i) })
		if len(props) == 0 {
			return nil
		}
		i := pick(d.r, props)
		for _, row := range t.Rows {
			counts[Show(row[i])]++
		}
		name := t.columnExpr(i, "")
		slots["one"], slots["others"] = t.Columns[i].caption(), t.Many
		slots["many"] = plural(slots["one"])
		p.Steps = []Step{{SQL: fmt.Sprintf("SELECT %s, COUNT(*) AS n FROM %s GROUP BY %s ORDER BY %s", name,
			Ident(t.Name), name, name)}}
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) < 2 || len(names) > mostGroups || slices.Contains(names, "") ||
		!(Answer{Values: names}).isASCII() || !(Answer{Values: names}).isAlphabetical() ||
		strings.ContainsAny(strings.Join(names, ""), ";()") {
		return nil
	}
	form := pick(d.r, []struct{ said, one, between string }{
		{"NAME (NUMBER); NAME (NUMBER)", "%s (%d)", "; "}, {"NAME: NUMBER, NAME: NUMBER", "%s: %d", ", "},
		{"NAME = NUMBER; NAME = NUMBER", "%s = %d", "; "}, {"NUMBER NAME / NUMBER NAME", "%[2]d %[1]s", " / "},
	})
	slots["given"] = form.said
	var said []string
	for _, name := range names {
		said = append(said, fmt.Sprintf(form.one, name, counts[name]))
		p.Result = append(p.Result, name, fmt.Sprint(counts[name]))
	}
	p.Answer = Answer{Form: "lines", Values: []string{strings.Join(said, form.between)}}
	return p
}
