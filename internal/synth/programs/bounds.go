package programs

import "strings"

// Bounds that are in themselves. A row that has the bound meets them, so that "at least" and "more than" tell rows
// apart: the bound is always the value of a row.
const (
	AtLeast Op = ">="
	AtMost  Op = "<="
	Between Op = "BETWEEN" // the value is a list of the least and the greatest
)

// isBound reports whether an operation compares by order.
func (o Op) isBound() bool {
	switch o {
	case Above, Below, AtLeast, AtMost, Between:
		return true
	}
	return false
}

// bounded draws a condition with a bound that is in itself, from the value of a row, and its phrase. ok is false where
// the column is said in no way that has one.
func (d *drawer) bounded(t *Table, i int, v any) (c Cond, phrase string, ok bool) {
	column := t.Columns[i]
	day := column.Kind == Date && len(Show(v)) == len("2006-01-02")
	if d.w.Listed || !day && column.Kind != Number {
		return Cond{}, "", false
	}
	say := func(v any) string {
		if day {
			return d.dateText(Show(v))
		}
		return column.show(v)
	}
	if d.r.IntN(3) == 0 {
		other := t.value(pick(d.r, t.Rows), i, -1)
		if other == nil || len(Show(other)) != len(Show(v)) && day || equal(other, v) {
			return Cond{}, "", false
		}
		if less(other, v) {
			v, other = other, v
		}
		said := pick(d.r, []string{"between {a} and {b} inclusive", "between {a} and {b} (both included)"})
		return Cond{i, -1, Between, []any{v, other}},
			column.boundPhrase(strings.NewReplacer("{a}", say(v), "{b}", say(other)).Replace(said)), true
	}
	op := pick(d.r, []Op{AtLeast, AtMost})
	ways := map[Op][]string{AtLeast: {"at least {v}", "{v} or more"}, AtMost: {"at most {v}", "{v} or less"}}
	switch {
	case day:
		ways = map[Op][]string{AtLeast: {"on or after {v}"}, AtMost: {"on or before {v}"}}
	case column.isYear():
		ways = map[Op][]string{AtLeast: {"in {v} or later"}, AtMost: {"in {v} or earlier"}}
	}
	return Cond{i, -1, op, v}, column.boundPhrase(strings.ReplaceAll(pick(d.r, ways[op]), "{v}", say(v))), true
}

// boundPhrase is what stands behind the plural where a column has a bound: "hired on or after 3 May", "built in 1980
// or later", "with 5 hours or more".
func (c Column) boundPhrase(bound string) string {
	phrase := c.withPhrase()
	if c.Kind == Date {
		if phrase = c.morePhrase(); !strings.Contains(phrase, "after {v}") || strings.Contains(phrase, " a day after") {
			phrase = whose(c.caption(), "after {v}")
		}
		return strings.ReplaceAll(phrase, "after {v}", bound)
	}
	for _, in := range []string{"in {v}", "from {v}"} { // a year
		if strings.HasSuffix(phrase, in) {
			return strings.TrimSuffix(phrase, in) + bound
		}
	}
	bound = strings.TrimPrefix(bound, "in ")
	for _, behind := range []string{" or more", " or less", " inclusive", " (both included)"} { // the unit
		if value, is := strings.CutSuffix(bound, behind); is {
			return strings.ReplaceAll(phrase, "{v}", value) + behind
		}
	}
	return strings.ReplaceAll(phrase, "{v}", bound)
}
