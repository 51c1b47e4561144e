package programs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ofParent changes, or deletes, one of, or with SetAll some of, the things that belong to a named one: those that
// have a word, a day or a kind ("the transponder job of D-EAXY", "her shift on the 4th", "the jobs of Tom that are
// not done"). All of them are looked at first, one by one, and only those are changed.
func (d *drawer) ofParent(kind string) *Program {
	t := d.table()
	if t == nil || d.w.Listed {
		return nil
	}
	refs := t.properties(func(c Column) bool {
		return c.Ref != nil && c.Ref != t && c.Ref.Label >= 0 && c.Ref.Columns[c.Ref.Label].Ref == nil && c.Ref.Key >= 0
	})
	if len(refs) == 0 {
		return nil
	}
	i := pick(d.r, refs)
	c := t.Columns[i]
	parent := d.sole(c.Ref)
	if parent == nil {
		return nil
	}
	belongs := Cond{i, -1, Is, parent[c.Ref.Label]}
	all := t.rows([]Cond{belongs})
	if len(all) < 2 || len(all) > mostListed {
		return nil
	}
	of := put(c.withPhrase(), c.Ref.rowLabel(parent))
	cond, said, ok := d.among(t, i, all)
	meant := t.rows([]Cond{belongs, cond})
	one := len(meant) == 1
	if !ok || len(meant) == 0 || len(meant) == len(all) || one != (kind != SetAll) {
		return nil
	}
	slots := d.about(t)
	phrase := of
	if said != "" {
		and := " and "
		if strings.HasPrefix(said, "on ") || strings.HasPrefix(said, "whose ") || !strings.Contains(of, "with ") &&
			strings.HasPrefix(said, "with ") {
			and = " "
		}
		phrase += and + said
	}
	if slots["filter"] = phrase; one {
		slots["x"] = "the " + slots["one"] + " " + ofOne(phrase)
		if cond.Op == Has && said == "" {
			slots["x"] = "the " + Show(cond.Value) + " " + slots["one"] + " " + of
		}
		delete(slots, "filter")
	} else if said == "" && cond.Op == Has {
		return nil
	}
	look, _ := d.before(c.Ref, []Cond{c.Ref.label(parent)}, true)
	held := fmt.Sprintf("%s = %s", Ident(c.Name), Literal(parent[c.Ref.Key]))
	which := held + " AND " + t.test(cond.Column, "", cond.Op, cond.Value)
	p := &Program{slots: slots, Tables: []*Table{t, c.Ref}, Steps: []Step{look,
		{SQL: "SELECT * FROM " + Ident(t.Name) + " WHERE " + held}}}
	act, ok := d.onSome(p, t, i, cond.Column, meant, kind == Remove || kind == SetAll && d.r.IntN(5) == 0)
	if !ok {
		return nil
	}
	if p.pattern == "move_all" {
		slots["x"] = c.Ref.rowLabel(parent)
	}
	p.Steps = append(p.Steps, Step{SQL: act + " WHERE " + which, Writes: true}.does("%s", t.goThrough(all, cond)))
	return p
}

// among draws a condition that some of a few rows meet, and how it is said; "" where it is a word that stands before
// the noun, or a noun of its own.
func (d *drawer) among(t *Table, not int, rows [][]any) (c Cond, said string, ok bool) {
	columns := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several && !c.Bool && len(c.Parts) == 0 })
	columns = slices.DeleteFunc(append(columns, t.Label), func(i int) bool {
		return i == not || t.hasFlags(i) || t.Columns[i].Ref != nil || len(t.Columns[i].Parts) > 0
	})
	if len(columns) == 0 {
		return Cond{}, "", false
	}
	i := pick(d.r, columns)
	column, v := t.Columns[i], pick(d.r, rows)[i]
	switch {
	case v == nil || !sayable(v):
		return Cond{}, "", false
	case column.Kind == Text && !t.hasKinds(i):
		word := telling(Show(v))
		if word == "" || d.w.Cased {
			return Cond{}, "", false
		}
		has := func(row []any) bool {
			return slices.ContainsFunc(row, func(v any) bool { return mentions(word)(Show(v)) })
		}
		c := Cond{i, -1, Has, word}
		if slices.ContainsFunc(rows, func(row []any) bool { return has(row) != c.holds(t, row) }) {
			return Cond{}, "", false
		}
		proper := strings.ToLower(word) != word
		if proper && (i != t.Label || t.isOfPersons()) { // a part of somebody's name is no word for a thing
			return Cond{}, "", false
		}
		if proper || d.r.IntN(2) == 0 {
			return c, `with "` + word + `" in the ` + column.caption(), true
		}
		return c, "", true
	case t.hasKinds(i) && !t.hasNone(i) && d.r.IntN(2) == 0:
		c, said := Cond{i, -1, Not, v}, whose(column.caption(), "not "+Show(v))
		return c, said, d.isClear(t, c, said)
	case column.Kind == Date && len(Show(v)) == len("2006-01-02"):
		c, said := Cond{i, -1, Is, v}, whose(column.caption(), d.dateText(Show(v)))
		if t.isOnlyDay(i) && slices.Contains([]string{"date", "day", "on"}, lastWord(column.Name)) {
			said = "on " + d.dateText(Show(v))
		}
		return c, said, d.isClear(t, c, said)
	}
	if i == t.Label {
		return Cond{}, "", false
	}
	c, said, ok = d.comparisonOf(t, i)
	return c, said, ok && c.Of < 0 && d.isClear(t, c, said)
}

// telling is the last word of a text of several that says what it is about; "" where there is none.
func telling(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
	for _, word := range slices.Backward(words) {
		if len(words) > 1 && len(word) > 3 && isASCII(word) &&
			!slices.Contains(grammar(), strings.ToLower(word)) {
			return word
		}
	}
	return ""
}

// goThrough says of each row what it has in the column of a condition, and whether it is meant.
func (t *Table) goThrough(rows [][]any, c Cond) string {
	var list []string
	for _, row := range rows {
		line := t.rowName(row)
		if c.Column != t.Label {
			line += " " + cmp.Or(t.show(c.Column, row), "none")
		}
		list = append(list, line+": "+map[bool]string{true: "yes", false: "no"}[c.holds(t, row)])
	}
	return strings.Join(list, "; ")
}

// onSome draws what is done with rows of a parent, and words it: they are deleted, given to another one, or get another
// value.
func (d *drawer) onSome(p *Program, t *Table, of, not int, meant [][]any, remove bool) (sql string, ok bool) {
	slots, all := p.slots, ""
	if slots["x"] == "" {
		all = "_all"
	}
	if remove {
		if slices.ContainsFunc(meant, func(row []any) bool { return d.w.refers(t, row) }) {
			return "", false
		}
		p.pattern = "remove" + all
		return "DELETE FROM " + Ident(t.Name), true
	}
	props := slices.DeleteFunc(t.properties(nil), func(i int) bool { return i == not || i == of })
	if d.r.IntN(2) == 0 {
		props = []int{of}
	}
	if len(props) == 0 {
		return "", false
	}
	i := pick(d.r, props)
	v := d.another(t, i, meant[0][i])
	if v == nil || slices.ContainsFunc(meant, func(row []any) bool { return row[i] != nil && equal(row[i], v) }) {
		return "", false
	}
	value, said, to := d.literalOf(t.Columns[i], v, meant[0])
	if value == "" {
		return "", false
	}
	p.pattern, slots["attr"], slots["v"] = "set"+all, t.Columns[i].caption(), said
	if i == of && all != "" {
		p.pattern, slots["y"] = "move_all", said
	}
	if to != nil && !slices.Contains(p.Tables, to) {
		p.Tables = append(p.Tables, to)
	}
	return fmt.Sprintf("UPDATE %s SET %s = %s", Ident(t.Name), Ident(t.Columns[i].Name), value), true
}
