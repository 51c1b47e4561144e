package programs

import (
	"fmt"
	"slices"
)

// sumMany asks how many hours, seats or pieces some things come to: the sum of a column and not the number of rows.
func (d *drawer) sumMany() *Program {
	p := d.total()
	if p == nil || p.pattern != "sum_many" {
		return nil
	}
	return p
}

// oftenWorth is, half of the time, a sum of products where a world has such: few have.
func (d *drawer) oftenWorth() *Program {
	if d.w.Listed || d.short || d.r.IntN(2) == 0 {
		return nil
	}
	for range tries {
		one := &drawer{r: d.r, w: d.w, plain: d.plain}
		if p := one.worth(); p != nil {
			*d = *one
			return p
		}
	}
	return nil
}

// averagesOf asks which of two things has the higher mean over those that refer to it.
func (d *drawer) averagesOf() *Program {
	p := d.compareOf()
	if p == nil || p.pattern != "compare_avg" {
		return nil
	}
	return p
}

// averages asks which of two kinds of things has the higher mean of a number.
func (d *drawer) averages() *Program {
	t := d.table()
	if t == nil || d.w.Listed {
		return nil
	}
	kinds := slices.DeleteFunc(t.properties(nil), func(i int) bool {
		return !t.hasKinds(i) || t.hasFlags(i) || t.Columns[i].Ref != nil || t.Columns[i].Several
	})
	numbers := t.properties(Column.isQuantity)
	if len(kinds) == 0 || len(numbers) == 0 {
		return nil
	}
	k, i := pick(d.r, kinds), pick(d.r, numbers)
	a, b := pick(d.r, t.Rows)[k], pick(d.r, t.Rows)[k]
	if a == nil || b == nil || equal(a, b) || !sayable(a) || !sayable(b) ||
		mentions(Show(a))(Show(b)) || mentions(Show(b))(Show(a)) {
		return nil
	}
	mean := func(v any) float64 {
		is := []Cond{{k, -1, Is, v}}
		if len(t.rows(is)) < 2 || t.hasOtherSpelling(k, v) {
			return 0
		}
		x, _ := asFloat(Query{Table: t, Where: is, Agg: "AVG", Column: i, Of: -1, Order: -1}.Run()[0])
		return x
	}
	x, y := mean(a), mean(b)
	if x <= 0 || y <= 0 || min(x, y)/max(x, y) > 0.99 {
		return nil
	}
	more := a
	if y > x {
		more = b
	}
	c := t.Columns[k]
	slots := about(t)
	slots["attr"] = t.Columns[i].caption()
	slots["a"], slots["b"] = put(c.withPhrase(), Show(a)), put(c.withPhrase(), Show(b))
	label := t.columnExpr(k, "")
	return &Program{
		pattern: "compare_kinds",
		slots:   slots,
		Answer:  Answer{Form: "text", Values: []string{Show(more)}, Among: []string{Show(a), Show(b)}},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s, AVG(%s) AS mean FROM %s%s GROUP BY %s ORDER BY mean DESC", label,
			t.selectExpr(i, ""), Ident(t.Name), filter(t, []Cond{{k, -1, Among, []any{a, b}}}), label)}},
		Tables: []*Table{t},
	}
}
