package programs

import (
	"fmt"
	"strings"
)

// ofLinks draws, at times and where the world has tables of links, a program of a kind over one of them.
func (d *drawer) ofLinks(kind string) *Program {
	if len(d.links()) == 0 || d.r.IntN(3) > 0 {
		return nil
	}
	switch kind {
	case Count:
		return d.askForLinks(true)
	case List:
		return d.askForLinks(false)
	case Insert:
		return d.link()
	case Remove:
		return d.unlink()
	}
	return nil
}

// links are the tables whose rows state one thing of two others each.
func (d *drawer) links() (list []*Table) {
	for _, t := range d.w.Tables {
		if t.Link != "" {
			list = append(list, t)
		}
	}
	return list
}

// askForLinks asks for the things that a named one is linked with, or for their number. The phrase of a link's column
// stands behind the things of the other one: "plays" + "with {v} in the cast".
func (d *drawer) askForLinks(count bool) *Program {
	link := pick(d.r, d.links())
	of, by := 1, 2
	if d.r.IntN(2) == 0 {
		of, by = by, of
	}
	t, o := link.Columns[of].Ref, link.Columns[by].Ref
	row := d.sole(o)
	if row == nil {
		return nil
	}
	var names []string
	for _, one := range t.Rows {
		if link.states(of, one[t.Key], by, row[o.Key]) {
			names = append(names, t.rowLabel(one))
		}
	}
	slots := about(t)
	slots["filter"] = put(link.Columns[by].withPhrase(), o.rowLabel(row))
	d.through, d.near = append(d.through, o.rowLabel(row)), true
	what, a := t.columnExpr(t.Label, Ident(t.Name)+"."), Answer{Form: "list", Values: names}
	p := &Program{pattern: "list", Result: names}
	if count {
		p.pattern, what, a = "count", "COUNT(*)", Answer{Form: "number", Values: []string{fmt.Sprint(len(names))}}
		p.Result = a.Values
	} else if len(names) == 0 || len(names) > mostListed || repeats(names) {
		return nil
	}
	if d.w.Listed && d.r.IntN(2) == 0 { // with the relation's own words
		slots["rel"], slots["x"], slots["y"] = link.Link, o.rowLabel(row), o.rowLabel(row)
		switch {
		case of == 2 && !count:
			p.pattern = "edge_to"
		case of == 1 && t.OfPeople():
			p.pattern = map[bool]string{true: "edge_count", false: "edge_from"}[count]
		}
	}
	name := Ident(link.Name)
	sql := fmt.Sprintf("SELECT %s FROM %s JOIN %s ON %s.%s = %s.%s JOIN %s ON %s.%s = %s.%s WHERE %s ORDER BY %s.%s",
		what, Ident(t.Name), name, name, Ident(link.Columns[of].Name), Ident(t.Name), Ident(t.Columns[t.Key].Name),
		Ident(o.Name), name, Ident(link.Columns[by].Name), Ident(o.Name), Ident(o.Columns[o.Key].Name),
		o.test(o.Label, Ident(o.Name)+".", Is, row[o.Label]), Ident(t.Name), Ident(t.Columns[t.Key].Name))
	if count {
		sql, _, _ = strings.Cut(sql, " ORDER BY ")
	}
	p.slots, p.Answer, p.Steps, p.Tables = slots, a, []Step{{SQL: sql}}, []*Table{t, link, o}
	if d.w.Listed {
		p.Work(link.stated(of, names, o.rowLabel(row), count)...)
	}
	return p
}

// stated are the links of some things with one, in their direction, and the things counted.
func (t *Table) stated(of int, names []string, one string, count bool) (lines []string) {
	for _, name := range names {
		if of == 1 {
			lines = append(lines, name+" "+t.Link+" "+one)
		} else {
			lines = append(lines, one+" "+t.Link+" "+name)
		}
	}
	if count {
		lines = append(lines, Numbered(names)...)
	}
	return lines
}

// states reports whether a row links the things of two keys.
func (t *Table) states(a int, x any, b int, y any) bool {
	for _, row := range t.Rows {
		if equal(row[a], x) && equal(row[b], y) {
			return true
		}
	}
	return false
}

// pair draws a table of links with two things that it states something of, or does not.
func (d *drawer) pair(stated bool) (link *Table, first, second []any) {
	link = pick(d.r, d.links())
	a, b := link.Columns[1].Ref, link.Columns[2].Ref
	first, second = d.sole(a), d.sole(b)
	if first == nil || second == nil || d.w.Listed && a == b && equal(first[a.Key], second[b.Key]) ||
		link.states(1, first[a.Key], 2, second[b.Key]) != stated {
		return nil, nil, nil
	}
	return link, first, second
}

// stating are the slots that say what a link states.
func (t *Table) stating(first, second []any) map[string]string {
	slots := about(t)
	slots["x"], slots["rel"] = t.Columns[1].Ref.rowLabel(first), t.Link
	slots["y"] = t.Columns[2].Ref.rowLabel(second)
	return slots
}

// link states something of two things.
func (d *drawer) link() *Program {
	t, first, second := d.pair(false)
	if t == nil {
		return nil
	}
	a, b := t.Columns[1], t.Columns[2]
	columns, literals := []string{Ident(a.Name), Ident(b.Name)}, []string{a.Ref.keyOf(first), b.Ref.keyOf(second)}
	if key, ok := t.next(); d.w.NoKeys && ok {
		columns, literals = append(columns, Ident(t.Columns[t.Key].Name)), append(literals, Show(key))
	}
	return &Program{
		pattern: "edge_add",
		slots:   t.stating(first, second),
		Steps:   d.adding(t, columns, literals),
		Tables:  []*Table{t, a.Ref, b.Ref},
		Free:    true,
	}
}

// unlink takes back what is stated of two things.
func (d *drawer) unlink() *Program {
	for range tries { // few pairs of all are linked
		t, first, second := d.pair(true)
		if t == nil {
			continue
		}
		a, b := t.Columns[1], t.Columns[2]
		sql := fmt.Sprintf("DELETE FROM %s WHERE %s = %s AND %s = %s", Ident(t.Name),
			Ident(a.Name), a.Ref.keyOf(first), Ident(b.Name), b.Ref.keyOf(second))
		return &Program{
			pattern: "edge_remove",
			slots:   t.stating(first, second),
			Steps:   []Step{{SQL: sql, Writes: true}},
			Tables:  []*Table{t, a.Ref, b.Ref},
		}
	}
	return nil
}
