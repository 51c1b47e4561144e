package programs

import (
	"slices"
	"strconv"
	"strings"
)

// longestSaid bounds the letters of a value that a request says.
const longestSaid = 80

// sayable reports whether a request can say a value so that it is read as it is stored: a short text without line
// breaks or doubled spaces, and a number that two decimals write.
func sayable(v any) bool {
	text := Show(v)
	if x, ok := v.(float64); ok {
		said, err := strconv.ParseFloat(text, 64)
		return err == nil && said == x
	}
	spaced := slices.ContainsFunc([]string{" ?", " .", " ,", " :", " ;", " )"}, func(s string) bool {
		return strings.Contains(text, s)
	})
	return len(text) <= longestSaid && text == strings.Join(strings.Fields(text), " ") && !spaced &&
		!strings.ContainsAny(text, "{}")
}

// isClear reports whether a condition, said by a phrase or by a noun, can be meant of the rows that meet it alone: no
// value differs by its capitals only, nothing without a value might be meant by "not", and no two sorts have one noun.
func (d *drawer) isClear(t *Table, c Cond, phrase string) bool {
	of, i := t, c.Column
	if t.Columns[i].Ref != nil && !c.Op.bare() {
		if of, i = t.Columns[i].Ref, c.Of; i < 0 {
			i = of.Label
			if len(of.rows([]Cond{{i, -1, Is, c.Value}})) != 1 {
				return false
			}
		}
	}
	column := of.Columns[i]
	values, list := c.Value.([]any)
	switch {
	case c.Op.bare():
		return !slices.ContainsFunc(of.Rows, func(row []any) bool { return row[i] != nil && Show(row[i]) == "" })
	case column.Several && !d.w.Listed: // SQL compares the whole
		return false
	case c.Op == Within:
		return true
	case !list:
		values = []any{c.Value}
	}
	if slices.ContainsFunc(values, func(v any) bool { return !sayable(v) || of.hasOtherSpelling(i, v) }) {
		return false
	}
	switch {
	case c.Op == Not || column.flags(c.Value) && column.show(c.Value) == "no":
		return !of.hasNone(i)
	case column.Kind == Date: // a moment on that day is after the day in SQL
		return !slices.ContainsFunc(of.Rows, func(row []any) bool { return len(Show(row[i])) > len("2006-01-02") })
	case phrase == "":
		return !of.isNounOfTwo(i, c.Value)
	}
	return true
}

// hasOtherSpelling reports whether a text is there in other capitals or with other spaces.
func (t *Table) hasOtherSpelling(i int, v any) bool {
	text, ok := v.(string)
	return ok && slices.ContainsFunc(t.Rows, func(row []any) bool {
		other, ok := row[i].(string)
		return ok && other != text && strings.EqualFold(strings.Join(strings.Fields(other), " "), text)
	})
}

// isNounOfTwo reports whether the rows are also called by a value in another column: early shifts, and early for work.
func (t *Table) isNounOfTwo(i int, v any) bool {
	for k, o := range t.Columns {
		if k != i && o.Ref == nil && o.isClass() &&
			slices.ContainsFunc(t.Rows, func(row []any) bool { return strings.EqualFold(Show(row[k]), Show(v)) }) {
			return true
		}
	}
	return false
}

// hasNone reports whether a row has no value in a column.
func (t *Table) hasNone(i int) bool {
	return slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] == nil })
}

// hasFlags reports whether a column says yes and no.
func (t *Table) hasFlags(i int) bool {
	return slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] != nil && t.Columns[i].flags(row[i]) })
}

// tellApart takes from the columns of a table the phrases that two of them share, as two prices have "cheapest" and two
// references to rooms have "in {v}", and calls them by their whole names where they are called the same.
func (t *Table) tellApart() {
	said := map[string]int{}
	for _, c := range t.Columns {
		said[c.caption()]++
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if said[c.caption()] > 1 && c.Ref == nil && (c.Kind == Number || c.Kind == Date) {
			c.Says = strings.Join(spellOut(strings.Fields(Words(c.Name))), " ")
			c.More, c.Less, c.Most, c.Least, c.With, c.Asks = "", "", "", "", "", ""
		}
	}
	for _, phrase := range []func(*Column) *string{
		func(c *Column) *string { return &c.More }, func(c *Column) *string { return &c.Less },
		func(c *Column) *string { return &c.Most }, func(c *Column) *string { return &c.Least },
		func(c *Column) *string { return &c.Asks },
	} {
		n := map[string]int{}
		for i := range t.Columns {
			n[*phrase(&t.Columns[i])]++
		}
		for i := range t.Columns {
			if at := phrase(&t.Columns[i]); n[*at] > 1 {
				*at = ""
			}
		}
	}
	var shared []int
	for i := range t.Columns {
		for k := range t.Columns {
			if i != k && t.meet(i, k) {
				shared = append(shared, i)
				break
			}
		}
	}
	for _, i := range shared {
		c := &t.Columns[i]
		c.With = whose(c.caption(), "{v}")
	}
}

// meet reports whether two columns have one phrase for a value that both have.
func (t *Table) meet(i, k int) bool {
	a, b := t.Columns[i], t.Columns[k]
	if a.withPhrase() != b.withPhrase() || len(a.Parts)+len(b.Parts) > 0 {
		return false
	}
	values := map[string]bool{}
	for _, row := range t.Rows {
		values[t.show(i, row)] = true
	}
	delete(values, "")
	return slices.ContainsFunc(t.Rows, func(row []any) bool { return values[t.show(k, row)] })
}

// nameInRequest is how a request names a row: with its noun where a thing of another table has the name, too.
func (d *drawer) nameInRequest(t *Table, row []any) string {
	name := t.nameInRequest(row)
	if name == t.rowLabel(row) && d.isElsewhere(t, func(other string) bool { return strings.EqualFold(other, name) }) {
		return t.One + " " + name
	}
	return name
}

// isElsewhere reports whether a row of another table has a name of some sort.
func (d *drawer) isElsewhere(t *Table, like func(name string) bool) bool {
	return slices.ContainsFunc(d.w.Tables, func(o *Table) bool {
		return o != t && slices.ContainsFunc(o.Rows, func(row []any) bool { return like(o.rowLabel(row)) })
	})
}

// tells reports whether a value alone says which property it is of: a text that several rows have there, and none
// anywhere else.
func (t *Table) tells(i int, v any) bool {
	c := t.Columns[i]
	if text, is := v.(string); !is || len(text) < 3 || strings.Trim(text, "0123456789-") == "" ||
		c.Kind != Text || c.Ref != nil || c.Bool || c.Yes != "" ||
		c.Several || len(c.Parts) > 0 || i == t.Label || i == t.Key {
		return false
	}
	has := func(k int) (n int) {
		for _, row := range t.Rows {
			if strings.EqualFold(Show(row[k]), Show(v)) {
				n++
			}
		}
		return n
	}
	for k := range t.Columns {
		if k != i && has(k) > 0 {
			return false
		}
	}
	values := map[any]bool{}
	for _, row := range t.Rows {
		values[row[i]] = true
	}
	return has(i) > 0 && len(values) < len(t.Rows)
}

// isOnlyDay reports whether a column is the only one of its table that has days.
func (t *Table) isOnlyDay(i int) bool {
	return t.Columns[i].Kind == Date && !slices.ContainsFunc(t.Columns, func(c Column) bool {
		return c.Kind == Date && c.Name != t.Columns[i].Name
	})
}

// bare is a value as people say it who leave out of what it is, where it tells.
func (t *Table) bare(i int, v any, text string) string {
	if t.tells(i, v) {
		return text
	}
	return t.Columns[i].caption() + " " + text
}

// IsName reports whether a column has what a table's things are called, or a part of that.
func (t *Table) IsName(i int) bool {
	return t.Label >= 0 && (i == t.Label || slices.Contains(t.Columns[t.Label].Parts, i))
}

func (t *Table) hasKinds(i int) bool { return len(t.Kinds(i)) > 0 }

// Kinds are the values of such a column, in the order of the rows.
func (t *Table) Kinds(i int) (values []string) {
	c := t.Columns[i]
	if c.Kind != Text || c.Ref != nil || c.Several || len(c.Parts) > 0 || i == t.Label || i == t.Key {
		return nil
	}
	n := map[any]bool{}
	for _, row := range t.Rows {
		if !n[row[i]] && row[i] != nil {
			values = append(values, Show(row[i]))
		}
		n[row[i]] = true
	}
	if len(n) < 2 || len(n) > mostKinds || 2*len(n) > len(t.Rows)+1 {
		return nil
	}
	return values
}

// mostKinds is how many kinds a column has at most.
const mostKinds = 8
