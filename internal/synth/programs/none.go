package programs

import (
	"fmt"
	"slices"
	"strings"
)

// noneOf asks for things of which there are none: of a thing that has none, or by two conditions that nothing meets
// together. That nothing is found is then the answer, and no reason to look further: most look no more.
func (d *drawer) noneOf() *Program {
	t, where, phrase := d.drawFilter(2)
	var looks []Step
	reason := ""
	if d.r.IntN(2) == 0 {
		t, where, phrase, looks, reason = d.ofChildless()
	} else if t != nil {
		reason = d.apart(t, where)
		if len(where) == 2 && d.r.IntN(4) == 0 {
			looks = []Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, where[:1]),
				Why: "Nothing meets both conditions. I look at what meets the first one."}}
		}
	}
	if reason == "" {
		return nil
	}
	slots := d.about(t)
	slots["filter"] = phrase
	pattern := pick(d.r, []string{"count", "list", "list", "yes_no"})
	if len(looks) > 0 { // a look behind a count would hide what the server counts
		pattern = "list"
	}
	q := Query{Table: t, Where: where, Agg: "COUNT", Of: -1, Order: -1}
	a := Answer{Form: "number", Values: []string{"0"}}
	switch pattern {
	case "list":
		q.Agg, q.Column = "", t.Label
		a = Answer{Form: "none", Values: []string{fmt.Sprintf("None: there are no %s.",
			strings.TrimSpace(slots["many"]+" "+phrase))}}
	case "yes_no":
		a = Answer{Form: "yes_no", Values: []string{"No"}}
	}
	p := q.program(pattern, slots, a)
	if p.Result = nil; pattern != "list" {
		p.Result = []string{"0"}
	}
	p.Steps = append(p.Steps, looks...)
	switch {
	case len(looks) == 0 && (len(where) == 2 || !d.w.Listed):
		reason = foundNone
	case len(looks) > 0 && len(where) == 1:
		p.query = nil // the look shows no row of it
	}
	return p.Work(reason)
}

// foundNone is said of an empty result that is right.
const foundNone = "All that was asked for stands in the query, as the tables write it. It finds none: that is the " +
	"answer."

// noneToChange has all things of some sort changed or removed, of which there are none: nothing is changed then.
func (d *drawer) noneToChange() *Program {
	t, where, phrase := d.drawFilter(2)
	var looks []Step
	reason := ""
	if d.r.IntN(2) == 0 {
		t, where, phrase, looks, reason = d.ofChildless()
	}
	if t == nil || len(t.rows(where)) > 0 {
		return nil
	}
	slots := d.about(t)
	slots["filter"] = phrase
	p := &Program{pattern: "remove_all", slots: slots, Tables: (Query{Table: t, Where: where, Agg: "COUNT"}).tables(),
		Steps: append([]Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, where)}}, looks...),
		Answer: Answer{Form: "left", Values: []string{fmt.Sprintf("Nothing was changed: there are no %s.",
			strings.TrimSpace(slots["many"]+" "+phrase))}}}
	if d.r.IntN(3) > 0 {
		props := slices.DeleteFunc(t.properties(nil), func(i int) bool {
			return t.Columns[i].Ref != nil || slices.ContainsFunc(where, func(c Cond) bool { return i == c.Column })
		})
		if len(props) == 0 {
			return nil
		}
		i := pick(d.r, props)
		v := d.another(t, i, pick(d.r, t.Rows)[i])
		if v == nil {
			return nil
		}
		p.pattern, slots["attr"], slots["v"] = "set_all", t.Columns[i].caption(), t.Columns[i].show(v)
	}
	if len(looks) == 0 {
		reason = "The look finds none of them."
	}
	return p.Work(strings.TrimSuffix(reason, ": that is the answer.") + "\nSo there is nothing to change.")
}

// apart says of each row that meets the first of two conditions why it does not meet the second; "" where some row
// meets both, or there are too many to go through.
func (d *drawer) apart(t *Table, where []Cond) string {
	if len(where) != 2 || len(t.rows(where)) > 0 {
		return ""
	}
	if rows := t.rows(where[:1]); len(rows) == 0 || len(rows) > mostListed || where[1].Of >= 0 ||
		t.Columns[where[1].Column].Ref != nil {
		return ""
	}
	q := Query{Table: t, Where: where, Column: t.Label, Of: -1, Order: -1, shown: where[:1]}
	return q.Working()
}

// ofChildless draws a table and a thing that no row of it refers to: the condition, how it is said, in half a look for
// the thing, and what both looks tell. Nobody looks for the thing first: where some row refers to it nobody does, so
// that would tell the answer.
func (d *drawer) ofChildless() (t *Table, where []Cond, phrase string, looks []Step, reason string) {
	d.one, d.many, d.looked = "", "", nil // of what was drawn before
	if t = d.table(); t == nil {
		return nil, nil, "", nil, ""
	}
	refs := t.properties(func(c Column) bool {
		return c.Ref != nil && c.Ref != t && c.Ref.Label >= 0 && c.Ref.Columns[c.Ref.Label].Ref == nil
	})
	if len(refs) == 0 {
		return nil, nil, "", nil, ""
	}
	i := pick(d.r, refs)
	ref := t.Columns[i].Ref
	free := t.unused(i)
	if len(free) == 0 {
		return nil, nil, "", nil, ""
	}
	row := pick(d.r, free)
	if len(ref.rows([]Cond{ref.label(row)})) != 1 {
		return nil, nil, "", nil, ""
	}
	name := ref.rowLabel(row)
	if !d.w.Listed && d.r.IntN(2) == 0 {
		look, _ := d.before(ref, []Cond{ref.label(row)}, true)
		look.Why = "Nothing is found. I look whether " + name + " is there."
		looks = []Step{look}
	}
	return t, []Cond{{i, -1, Is, row[ref.Label]}}, put(t.Columns[i].withPhrase(), name), looks,
		fmt.Sprintf("%s is there and has no %s: that is the answer.", name, t.Many)
}

// unused are the things that a column could name, and names in no row.
func (t *Table) unused(i int) [][]any {
	ref := t.Columns[i].Ref
	return slices.DeleteFunc(slices.Clone(ref.Rows), func(row []any) bool {
		return len(t.counted(i, row[ref.Key])) > 0 || ref.rowLabel(row) == "" || !sayable(ref.rowLabel(row))
	})
}
