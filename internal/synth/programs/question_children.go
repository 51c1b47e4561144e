package programs

import (
	"fmt"
	"slices"
	"strings"
)

// children draws a table whose things have names, and another that refers to it in one column.
func (d *drawer) children() (t, from *Table, column int) {
	if t = d.table(); t == nil || t.Columns[t.Label].Ref != nil {
		return nil, nil, -1
	}
	if from, column = d.referrer(t); from == nil {
		return nil, nil, -1
	}
	return t, from, column
}

// sumOf is a number over the things of a named one: the hours of all work orders of a mechanic that are open.
func (d *drawer) sumOf() *Program {
	t, from, column := d.children()
	if t == nil {
		return nil
	}
	row := d.sole(t)
	numbers := from.properties(Column.isQuantity)
	if row == nil || len(numbers) == 0 {
		return nil
	}
	i := pick(d.r, numbers)
	q := Query{Table: from, Where: []Cond{{column, -1, Is, row[t.Label]}},
		Agg: pick(d.r, []string{"SUM", "SUM", "SUM", "AVG", "MAX"}), Column: i, Of: -1, Order: -1}
	slots := d.about(from)
	filter := put(from.Columns[column].withPhrase(), t.rowLabel(row))
	if d.r.IntN(2) == 0 {
		c, phrase, ok := d.condition(from, column, i)
		if !ok {
			return nil
		}
		if slots = d.about(from); phrase != "" {
			filter = together(filter, phrase)
		}
		q.Where = append(q.Where, c)
	}
	v := q.Run()[0]
	if x, ok := asFloat(v); !ok || !sayable(v) || x == 0 || q.Agg == "AVG" && !sayable(x) ||
		len(from.rows(q.Where)) < 2 {
		return nil
	}
	slots["filter"], slots["attr"] = filter, from.Columns[i].caption()
	p := q.program(strings.ToLower(q.Agg), slots, Answer{Form: "number", Values: []string{Show(v)}})
	if p.pattern == "sum" {
		p.pattern, slots["attr"] = from.Columns[i].summed()
	}
	if !slices.Contains(p.Tables, t) {
		p.Tables = append(p.Tables, t)
	}
	return p
}

// having lists the things that more than some number of others refer to.
func (d *drawer) having() *Program {
	t, from, column := d.children()
	if t == nil || repeats(valueTexts((Query{Table: t, Column: t.Label, Of: -1, Order: -1}).Run())) {
		return nil
	}
	q := Query{Table: from, Column: column, Of: -1, Order: -1}
	counts := map[string]int{}
	for _, v := range q.Run() {
		counts[Show(v)]++
	}
	bound := 1 + d.r.IntN(3)
	var names []string
	for _, row := range t.Rows {
		if counts[t.rowLabel(row)] > bound {
			names = append(names, t.rowLabel(row))
		}
	}
	if len(names) == 0 || len(names) > mostListed || len(names) == len(t.Rows) {
		return nil
	}
	slices.Sort(names)
	sql := q.SQL()
	at := strings.Index(sql, " FROM ")
	label := strings.TrimPrefix(sql[:at], "SELECT ")
	slots := d.about(t)
	slots["others"], slots["n"] = from.referring(column), []string{"one", "two", "three"}[bound-1]
	p := &Program{
		pattern: "having",
		slots:   slots,
		Answer:  Answer{Form: "list", Values: names},
		Steps: []Step{
			{SQL: fmt.Sprintf("%s GROUP BY %s HAVING COUNT(*) > %d ORDER BY %s", sql, label, bound, label)},
		},
		Tables: q.tables(),
		Result: names,
	}
	if d.w.Listed {
		p.Work(q.gathered()...)
	}
	return p
}

// compareOf asks which of two has more things, or a greater sum or mean over them.
func (d *drawer) compareOf() *Program {
	t, from, column := d.children()
	if t == nil {
		return nil
	}
	a, b := d.sole(t), d.sole(t)
	if a == nil || b == nil || &a[0] == &b[0] {
		return nil
	}
	agg, i := pick(d.r, []string{"COUNT", "SUM", "AVG"}), -1
	if agg != "COUNT" {
		numbers := from.properties(Column.isQuantity)
		if len(numbers) == 0 {
			return nil
		}
		i = pick(d.r, numbers)
	}
	over := func(row []any) float64 {
		q := Query{Table: from, Where: []Cond{{column, -1, Is, row[t.Label]}}, Agg: agg, Column: max(i, 0),
			Of: -1, Order: -1}
		x, _ := asFloat(q.Run()[0])
		return x
	}
	x, y := over(a), over(b)
	if x == y || x == 0 || y == 0 || min(x, y)/max(x, y) > 0.999 {
		return nil
	}
	more := a
	if y > x {
		more = b
	}
	named := Query{Table: from, Column: column, Of: -1, Order: -1,
		Where: []Cond{{column, -1, Among, []any{a[t.Label], b[t.Label]}}}}
	if len(t.Columns[t.Label].Parts) > 0 {
		return nil
	}
	sql := named.SQL()
	at := strings.Index(sql, " FROM ")
	label := strings.TrimPrefix(sql[:at], "SELECT ")
	what := "COUNT(*)"
	slots := d.about(t)
	slots["x"], slots["y"], slots["others"] = d.nameInRequest(t, a), d.nameInRequest(t, b), from.referring(column)
	if i >= 0 {
		what = fmt.Sprintf("%s(%s)", agg, from.selectExpr(i, Ident(from.Name)+"."))
		slots["attr"] = from.Columns[i].caption()
	}
	p := &Program{
		pattern: "compare_" + strings.ToLower(agg),
		slots:   slots,
		Answer: Answer{Form: "text", Values: []string{t.rowLabel(more)},
			Among: []string{t.rowLabel(a), t.rowLabel(b)}},
		Steps: []Step{
			{SQL: fmt.Sprintf("%s, %s AS n%s GROUP BY %s ORDER BY n DESC", sql[:at], what, sql[at:], label)},
		},
		Tables: named.tables(),
	}
	if d.w.Listed && agg == "COUNT" {
		p.Work(named.gathered()...)
	}
	return p
}

// against lists the things of which one number is above, or below, another one of theirs: parts below their reorder
// level.
func (d *drawer) against() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	numbers := t.properties(func(c Column) bool { return isNumber(c) && !c.Bool && !c.isYear() })
	if len(numbers) < 2 {
		return nil
	}
	d.r.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	i, k := numbers[0], numbers[1]
	if t.Columns[i].Cents != t.Columns[k].Cents {
		return nil
	}
	sign, pattern := ">", "above_other"
	if d.r.IntN(2) == 0 {
		sign, pattern = "<", "below_other"
	}
	var names []string
	for _, row := range t.Rows {
		if row[i] != nil && row[k] != nil &&
			(sign == ">" && less(row[k], row[i]) || sign == "<" && less(row[i], row[k])) {
			names = append(names, t.rowLabel(row))
		}
	}
	if len(names) == 0 || len(names) > mostListed || len(names) == len(t.Rows) || repeats(names) {
		return nil
	}
	slots := d.about(t)
	slots["attr"], slots["attr2"] = t.Columns[i].caption(), t.Columns[k].caption()
	return &Program{
		pattern: pattern,
		slots:   slots,
		Answer:  Answer{Form: "list", Values: names},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s FROM %s WHERE %s %s %s", t.columnExpr(t.Label, ""), Ident(t.Name),
			Ident(t.Columns[i].Name), sign, Ident(t.Columns[k].Name))}},
		Tables: []*Table{t},
	}
}
