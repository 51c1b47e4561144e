package programs

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// product is what a thing comes to: a price times an amount, in one table, or an amount times the price of what it is
// an amount of.
type product struct {
	t             *Table
	amount, price int
	over          int // the reference to the table that has the price; -1: it is the same table
}

// isPrice reports whether a number is what one of something costs.
func (c Column) isPrice(words ...string) bool {
	return isNumber(c) && !c.isYear() && slices.ContainsFunc(strings.Fields(strings.ToLower(c.caption())),
		func(w string) bool { return slices.Contains(words, w) })
}

// isAmount reports whether a number is how much of something there is.
func (c Column) isAmount() bool {
	return !c.Cents && c.isPrice("stock", "hand", "quantity", "qty", "amount", "seats", "tickets", "nights", "hours",
		"kilos", "days", "months", "pieces", "bottles", "jars", "passengers", "copies", "units")
}

// isShare reports whether a number is a part of a hundred, which no amount is counted in.
func (c Column) isShare() bool {
	words := strings.Fields(strings.ToLower(c.caption() + " " + Words(c.Name)))
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"pct", "percent", "%"}, w)
	})
}

// product draws one that all rows have.
func (d *drawer) product() (p product, ok bool) {
	var all []product
	for _, t := range d.w.Tables {
		if t.Label < 0 || len(t.Rows) < 3 || t.Columns[t.Label].Ref != nil {
			continue
		}
		prices := t.properties(func(c Column) bool { return c.isPrice("price", "cost", "fee", "rate") && !c.isShare() })
		for _, i := range t.properties(Column.isAmount) {
			for _, k := range prices {
				if k != i {
					all = append(all, product{t, i, k, -1})
				}
			}
			if len(prices) > 0 || d.w.Listed { // which price is meant is else not said
				continue
			}
			for _, k := range t.properties(nil) {
				if c := t.Columns[k]; c.Ref != nil && c.Ref != t {
					for _, at := range c.Ref.properties(func(o Column) bool {
						return o.isPrice("price", "rate", "rent") && !o.isShare()
					}) {
						all = append(all, product{t, i, at, k})
					}
				}
			}
		}
	}
	if len(all) == 0 {
		return product{}, false
	}
	p = pick(d.r, all)
	return p, !slices.ContainsFunc(p.t.Rows, func(row []any) bool { _, ok := p.of(row); return !ok })
}

// of is what one row comes to.
func (p product) of(row []any) (x float64, ok bool) {
	ref, to := p.t, row
	if p.over >= 0 {
		if ref = p.t.Columns[p.over].Ref; ref.byKey(row[p.over]) == nil {
			return 0, false
		}
		to = ref.byKey(row[p.over])
	}
	a, one := asFloat(ref.Columns[p.price].units(to[p.price]))
	b, two := asFloat(row[p.amount])
	return a * b, one && two
}

// sql is the product in SQL, and the rest of the statement from its tables on.
func (p product) sql(q Query) (product, label, from string) {
	if q.Column = p.t.Label; p.over >= 0 {
		q.Column, q.Of = p.over, p.price
	}
	text := q.SQL()
	from = text[strings.Index(text, " FROM "):]
	before := ""
	if strings.Contains(from, " JOIN ") {
		before = Ident(p.t.Name) + "."
	}
	price := ""
	if p.over >= 0 {
		price = p.t.Columns[p.over].Ref.selectExpr(p.price, p.t.alias(p.over)+".")
	} else {
		price = p.t.selectExpr(p.price, before)
	}
	return price + " * " + p.t.columnExpr(p.amount, before), p.t.columnExpr(p.t.Label, before), from
}

// say puts into slots what is multiplied.
func (p product) say(slots map[string]string) {
	slots["v"] = p.t.Columns[p.amount].caption()
	if p.over < 0 {
		slots["attr"] = p.t.Columns[p.price].caption()
		return
	}
	c := p.t.Columns[p.over]
	slots["attr"] = c.Ref.Columns[p.price].caption() + " of the " + c.caption()
}

// tables are those that the product is in, and those of a query.
func (p product) tables(q Query) []*Table {
	list := q.tables()
	if p.over >= 0 && !slices.Contains(list, p.t.Columns[p.over].Ref) {
		list = append(list, p.t.Columns[p.over].Ref)
	}
	return list
}

// worth is the sum of a product: what all that is in stock costs.
func (d *drawer) worth() *Program {
	of, ok := d.product()
	if !ok {
		return nil
	}
	t := of.t
	slots := d.about(t)
	where, ok := d.some(t, slots, of.price)
	if of.over >= 0 { // a column of another table
		d.one, d.many, d.looked, slots = "", "", nil, about(t)
		where, ok = d.some(t, slots, of.over)
	}
	rows := t.rows(where)
	if !ok || len(rows) < 2 {
		return nil
	}
	total := 0.0
	for _, row := range rows {
		x, _ := of.of(row)
		total += x
	}
	of.say(slots)
	q := Query{Table: t, Where: where, Of: -1, Order: -1}
	product, _, from := of.sql(q)
	pattern := "worth"
	if slots["filter"] != "" {
		pattern = "worth_some"
	}
	switch c := t.Columns[of.amount]; { // what people call that has no times in it
	case of.over < 0 && c.isStock() && d.r.IntN(3) > 0:
		pattern = "stock_worth"
	case (slices.Contains([]string{"quantity", "amount", "tickets", "nights", "qty"}, lastWord(c.caption())) ||
		of.over >= 0 && lastWord(c.caption()) == "seats") && d.r.IntN(3) > 0:
		pattern = "turnover"
	}
	return &Program{
		pattern: pattern,
		slots:   slots,
		Answer:  Answer{Form: "number", Values: []string{trimFloat(total)}},
		Steps:   []Step{{SQL: "SELECT SUM(" + product + ")" + from}},
		Tables:  of.tables(Query{Table: t, Where: where, Agg: "COUNT", Order: -1}),
		Result:  []string{trimFloat(total)},
	}
}

// worthBest asks for the thing that comes to most, or to least.
func (d *drawer) worthBest() *Program {
	of, ok := d.product()
	if !ok || d.w.Listed {
		return nil
	}
	t := of.t
	slots := d.about(t)
	where, ok := d.some(t, slots, of.amount)
	rows := slices.Clone(t.rows(where))
	if !ok || len(rows) < 3 || repeats(t.labels(rows)) {
		return nil
	}
	sort.SliceStable(rows, func(i, j int) bool {
		x, _ := of.of(rows[i])
		y, _ := of.of(rows[j])
		return cmp.Compare(y, x) < 0
	})
	order := " DESC"
	if slots["end"] = "highest"; d.r.IntN(3) == 0 {
		slices.Reverse(rows)
		slots["end"], order = "lowest", ""
	}
	first, _ := of.of(rows[0])
	second, _ := of.of(rows[1])
	if max(first-second, second-first) < 0.01 {
		return nil
	}
	of.say(slots)
	q := Query{Table: t, Where: where, Of: -1, Order: -1}
	product, label, from := of.sql(q)
	return &Program{
		pattern: "worth_best",
		slots:   slots,
		Answer:  Answer{Form: "text", Values: []string{t.rowLabel(rows[0])}},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s, %s AS total%s ORDER BY total%s LIMIT 1", label, product, from,
			order)}},
		Tables: of.tables(Query{Table: t, Where: where, Agg: "COUNT", Order: -1}),
	}
}

// labels are the names of rows, "" for one that has none.
func (t *Table) labels(rows [][]any) (list []string) {
	for _, row := range rows {
		list = append(list, t.rowLabel(row))
	}
	return list
}

// mostGroups bounds the groups that are listed with a sum of each.
const mostGroups = 8

// sumEach lists what a number, or a product, comes to for each thing that others refer to, the greatest first.
func (d *drawer) sumEach() *Program {
	if d.w.Listed {
		return nil
	}
	t, from, column := d.children()
	if t == nil || len(t.Columns[t.Label].Parts) > 0 || repeats(t.labels(t.Rows)) {
		return nil
	}
	numbers := slices.DeleteFunc(from.properties(isNumber), func(i int) bool { return from.Columns[i].isYear() })
	of, isProduct := d.product()
	isProduct = isProduct && of.t == from && (of.over < 0 || of.over == column)
	if !isProduct && len(numbers) == 0 {
		return nil
	}
	slots, pattern := d.about(t), "sum_each"
	slots["others"] = from.Many
	q := Query{Table: from, Column: column, Of: -1, Order: -1}
	sql := q.SQL()
	what, value := "", of.of
	if isProduct {
		of.say(slots)
		pattern = "worth_each"
		if of.over >= 0 { // "the price of the book": the groups are the books
			slots["attr"] = t.Columns[of.price].caption()
		}
		what, _, _ = of.sql(Query{Table: from, Where: []Cond{{column, -1, Is, ""}}, Of: -1, Order: -1})
	} else {
		i := pick(d.r, numbers)
		slots["attr"] = from.Columns[i].caption()
		what = from.selectExpr(i, Ident(from.Name)+".")
		value = func(row []any) (float64, bool) { return asFloat(from.Columns[i].units(row[i])) }
	}
	names, sums, ok := gather(q.Run(), from.Rows, value)
	if !ok || len(names) < 2 || len(names) > mostGroups {
		return nil
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	var lines, result []string
	for k, name := range names {
		if k > 0 && sums[names[k-1]]-sums[name] < 0.01 {
			return nil
		}
		lines = append(lines, name+": "+trimFloat(sums[name]))
		result = append(result, name, trimFloat(sums[name]))
	}
	at := strings.Index(sql, " FROM ")
	label := strings.TrimPrefix(sql[:at], "SELECT ")
	return &Program{
		pattern: pattern,
		slots:   slots,
		Answer:  Answer{Form: "lines", Values: lines, Order: true},
		Steps: []Step{{SQL: fmt.Sprintf("SELECT %s, SUM(%s) AS total%s GROUP BY %s ORDER BY total DESC", label, what,
			sql[at:], label)}},
		Tables: q.tables(),
		Result: result,
	}
}

// gather adds a value of rows up by the names of their groups. ok is false where a row has none.
func gather(
	of []any, rows [][]any, value func([]any) (float64, bool),
) (names []string, sums map[string]float64, ok bool) {
	sums = map[string]float64{}
	for k, name := range of {
		if name == nil {
			continue
		}
		x, ok := value(rows[k])
		if !ok {
			return nil, nil, false
		}
		if !slices.Contains(names, Show(name)) {
			names = append(names, Show(name))
		}
		sums[Show(name)] += x
	}
	return names, sums, true
}

// havingOver lists the things of which a sum or mean over others is on one side of a bound, which one of them has.
func (d *drawer) havingOver() *Program {
	t, from, column := d.children()
	if t == nil || d.w.Listed || len(t.Columns[t.Label].Parts) > 0 || repeats(t.labels(t.Rows)) {
		return nil
	}
	numbers := slices.DeleteFunc(from.properties(isNumber), func(i int) bool {
		return from.Columns[i].isYear() || slices.ContainsFunc(from.Rows, func(row []any) bool {
			_, whole := row[i].(int64)
			return !whole
		}) || from.Columns[i].Cents
	})
	if len(numbers) == 0 {
		return nil
	}
	i := pick(d.r, numbers)
	q := Query{Table: from, Column: column, Of: -1, Order: -1}
	groups := q.Run()
	names, values, _ := gather(groups, from.Rows, func(row []any) (float64, bool) { return asFloat(row[i]) })
	agg, pattern := "SUM", "having_sum"
	if d.r.IntN(2) == 0 {
		agg, pattern = "AVG", "having_avg"
		_, counts, _ := gather(groups, from.Rows, func([]any) (float64, bool) { return 1, true })
		for _, name := range names {
			values[name] /= counts[name]
		}
	}
	if len(names) < 3 {
		return nil
	}
	bound := float64(int64(values[pick(d.r, names)]))
	way := pick(d.r, []struct {
		said, sign string
		holds      func(x float64) bool
	}{
		{"more than", ">", func(x float64) bool { return x > bound }},
		{"at least", ">=", func(x float64) bool { return x >= bound }},
		{"less than", "<", func(x float64) bool { return x < bound }},
		{"at most", "<=", func(x float64) bool { return x <= bound }},
	})
	met := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !way.holds(values[name]) })
	if len(met) == 0 || len(met) > mostListed || len(met) == len(names) || bound < 1 ||
		way.holds(0) && len(names) < len(t.Rows) { // what has nothing might be under the bound
		return nil
	}
	slices.Sort(met)
	slots := d.about(t)
	slots["others"], slots["attr"] = from.Many, from.Columns[i].caption()
	slots["bound"] = way.said + " " + trimFloat(bound)
	sql := q.SQL()
	label := strings.TrimPrefix(sql[:strings.Index(sql, " FROM ")], "SELECT ")
	return &Program{
		pattern: pattern,
		slots:   slots,
		Answer:  Answer{Form: "list", Values: met},
		Steps: []Step{{SQL: fmt.Sprintf("%s GROUP BY %s HAVING %s(%s) %s %s ORDER BY %s", sql, label, agg,
			from.columnExpr(i, Ident(from.Name)+"."), way.sign, trimFloat(bound), label)}},
		Tables: q.tables(),
		Result: met,
	}
}
