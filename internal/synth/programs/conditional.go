package programs

import (
	"cmp"
	"fmt"
	"slices"
)

// setWhen changes a property of a named thing only where another property of it is as the person says; with otherwise,
// it gets another value where it is not.
func (d *drawer) setWhen(otherwise bool) *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	row := d.sole(t)
	props := t.properties(nil)
	if row == nil || len(props) < 2 {
		return nil
	}
	d.r.Shuffle(len(props), func(i, j int) { props[i], props[j] = props[j], props[i] })
	i, k := props[0], props[1]
	c := t.Columns[i]
	holds, cond, left := d.clause(t, row, k)
	v, is := d.another(t, i, row[i]), holds
	if cond == "" || c.Bool || v == nil || equal(v, row[i]) {
		return nil
	}
	value, said, of := d.literalOf(c, v, row)
	if value == "" {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["attr"], slots["v"] = d.nameInRequest(t, row), c.caption(), said
	slots["attr2"], slots["rel"] = t.Columns[k].caption(), cond
	look, where := d.before(t, []Cond{t.label(row)}, true)
	p := &Program{pattern: "set_when", slots: slots, Steps: []Step{look}, Tables: tablesOf(t, where, of)}
	if ref := t.Columns[k].Ref; ref != nil && ref.byKey(row[k]) != nil && !d.w.Listed { // who it is now
		p.Steps = append(p.Steps, Step{SQL: "SELECT * FROM " + Ident(ref.Name) +
			filter(ref, ref.keyConditions(ref.byKey(row[k])))})
		p.Tables = tablesOf(t, where, of, ref)
	}
	if otherwise {
		other := d.another(t, i, v)
		if other == nil || equal(other, v) || equal(other, row[i]) {
			return nil
		}
		second, text, to := d.literalOf(c, other, row)
		if second == "" || to != of {
			return nil
		}
		p.pattern, slots["old"] = "set_either", text
		if !holds {
			value, holds = second, true
		}
	}
	if d.w.Listed {
		p.Work(fmt.Sprintf("Condition: %s %s. It is %s: %s", t.Columns[k].caption(), cond,
			cmp.Or(t.show(k, row), "not recorded"), map[bool]string{true: "holds", false: "fails"}[is]))
	}
	if holds {
		p.Steps = append(p.Steps, update(t, i, value, where))
	} else {
		p.Answer = Answer{Form: "left", Values: []string{"Nothing was changed: " + left}}
	}
	return p
}

// clause draws what a person may say of a property of a row, behind its name: "is above 40", "is not recorded". holds
// says whether that is so, and left what is so where it is not.
func (d *drawer) clause(t *Table, row []any, k int) (holds bool, cond, left string) {
	c, v := t.Columns[k], t.value(row, k, -1)
	if c.Several || c.Bool || t.hasFlags(k) {
		return false, "", ""
	}
	left = fmt.Sprintf("the %s of %s is %s.", c.caption(), t.nameInRequest(row), t.show(k, row))
	if v == nil || Show(v) == "" {
		left = fmt.Sprintf("no %s of %s is recorded.", c.caption(), t.nameInRequest(row))
	}
	if t.hasNone(k) && d.r.IntN(2) == 0 {
		if d.r.IntN(2) == 0 {
			return v == nil, "is not recorded", left
		}
		return v != nil, "is known", left
	}
	if v == nil || !sayable(v) {
		return false, "", ""
	}
	switch {
	case isNumber(c):
		bound := d.another(t, k, v)
		if d.r.IntN(2) == 0 {
			return less(bound, v), "is above " + c.show(bound), left
		}
		return less(v, bound), "is below " + c.show(bound), left
	case c.Kind == Date && len(Show(v)) == 10:
		bound := d.another(t, k, v)
		if bound == nil || len(Show(bound)) != 10 {
			return false, "", ""
		}
		if d.r.IntN(2) == 0 {
			return less(bound, v), "is after " + d.dateText(Show(bound)), left
		}
		return less(v, bound), "is before " + d.dateText(Show(bound)), left
	case c.Kind == Text || c.Ref != nil:
		said := t.show(k, row)
		if d.r.IntN(2) == 0 {
			other := pick(d.r, t.Rows)
			said = t.show(k, other)
		}
		if said == "" || t.hasOtherSpelling(k, said) || slices.Contains([]string{"yes", "no"}, said) {
			return false, "", ""
		}
		return said == t.show(k, row), "is " + said, left
	}
	return false, "", ""
}
