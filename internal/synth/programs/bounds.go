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
	having := "with " + article(column.caption()) + " "
	if d.r.IntN(3) == 0 {
		other := t.value(pick(d.r, t.Rows), i, -1)
		if other == nil || len(Show(other)) != len(Show(v)) && day || equal(other, v) {
			return Cond{}, "", false
		}
		if less(other, v) {
			v, other = other, v
		}
		said := pick(d.r, []string{"between {a} and {b} inclusive", "from {a} to {b} inclusive",
			"between {a} and {b} (both included)"})
		return Cond{i, -1, Between, []any{v, other}},
			having + strings.NewReplacer("{a}", say(v), "{b}", say(other)).Replace(said), true
	}
	op := pick(d.r, []Op{AtLeast, AtMost})
	ways := map[Op][]string{
		AtLeast: {"of at least {v}", "of {v} or more", "of no less than {v}"},
		AtMost:  {"of at most {v}", "of {v} or less", "of no more than {v}"},
	}
	switch {
	case day:
		ways = map[Op][]string{AtLeast: {"of {v} or later", "on or after {v}", "no earlier than {v}"},
			AtMost: {"by {v}", "on or before {v}", "no later than {v}", "up to and including {v}"}}
	case column.isYear():
		ways = map[Op][]string{AtLeast: {"of {v} or later", "no earlier than {v}"},
			AtMost: {"of {v} or earlier", "no later than {v}"}}
	}
	return Cond{i, -1, op, v}, having + strings.ReplaceAll(pick(d.r, ways[op]), "{v}", say(v)), true
}
