package programs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mostOf asks for the thing whose things have the greatest sum of a number: the department with the most hours of
// staff.
func (d *drawer) mostOf() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	from, column := d.referrer(t)
	if from == nil || repeats(valueTexts((Query{Table: t, Column: t.Label, Of: -1, Order: -1}).Run())) {
		return nil
	}
	numbers := from.properties(Column.isQuantity)
	if len(numbers) == 0 {
		return nil
	}
	i := pick(d.r, numbers)
	q := Query{Table: from, Column: column, Of: -1, Order: -1}
	names := q.Run()
	sums, order, of := map[string]float64{}, []string{}, map[string]string{}
	for k, name := range names {
		x, ok := asFloat(from.Columns[i].units(from.Rows[k][i]))
		if name == nil || !ok {
			return nil
		}
		one := Show(name)
		before, seen := sums[one]
		if sums[one] += x; !seen {
			order, of[one] = append(order, one), one+": "+from.rowName(from.Rows[k])+" "+trimFloat(x)
			continue
		}
		of[one] += fmt.Sprintf(", %s %s, %s + %s = %s", from.rowName(from.Rows[k]), trimFloat(x), trimFloat(before),
			trimFloat(x), trimFloat(sums[one]))
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	if len(order) < 2 || sums[order[0]]-sums[order[1]] < 0.01 || sums[order[0]] <= 0 { // nothing might be more
		return nil
	}
	sql := q.SQL()
	at := strings.Index(sql, " FROM ")
	label := strings.TrimPrefix(sql[:at], "SELECT ")
	slots := d.about(t)
	slots["others"], slots["attr"] = from.Many, from.Columns[i].caption()
	p := &Program{
		pattern: "most_of",
		slots:   slots,
		Answer:  Answer{Form: "text", Values: order[:1]},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s, SUM(%s) AS total%s GROUP BY %s ORDER BY total DESC LIMIT 1",
			label, from.selectExpr(i, Ident(from.Name)+"."), sql[at:], label)}},
		Tables: q.tables(),
		Result: []string{order[0], trimFloat(sums[order[0]])},
	}
	if d.w.Listed {
		var lines []string
		for _, name := range order {
			lines = append(lines, of[name])
		}
		p.Work(lines...)
	}
	return p
}
