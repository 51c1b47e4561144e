package programs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// referrer is another table that refers to one in one column, and that column.
func (d *drawer) referrer(t *Table) (from *Table, column int) {
	for _, o := range d.w.Tables {
		columns := o.references(t)
		if o != t && len(columns) == 1 && t.Key >= 0 && (from == nil || d.r.IntN(2) == 0) {
			from, column = o, columns[0]
		}
	}
	return from, column
}

// referring is what the things of a table are called by which one is counted: "orders", or of a table of links what
// these lead to, "people who work on it".
func (t *Table) referring(column int) string {
	if t.Link == "" || t.Columns[3-column].Says == "" {
		return t.Many
	}
	return t.Columns[3-column].Says
}

// references are the columns that refer to a table.
func (t *Table) references(to *Table) (columns []int) {
	for i, c := range t.Columns {
		if c.Ref == to {
			columns = append(columns, i)
		}
	}
	return columns
}

func (d *drawer) most() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	from, column := d.referrer(t)
	slots := d.about(t)
	var values []any
	label := ""
	q := Query{}
	if from != nil && t.Columns[t.Label].Ref == nil {
		// two of one name would be counted as one
		if repeats(valueTexts((Query{Table: t, Column: t.Label, Of: -1, Order: -1}).Run())) {
			return nil
		}
		q = Query{Table: from, Column: column, Of: -1, Order: -1}
		slots["others"] = from.referring(column)
	} else { // a property that is shared
		props := t.properties(func(c Column) bool { return c.Kind == Text && !c.Several })
		props = slices.DeleteFunc(props, func(i int) bool { // yes is no thing that has most
			return t.hasFlags(i) || slices.ContainsFunc(t.Rows, func(row []any) bool {
				return row[i] != nil && Show(row[i]) == "" || t.hasOtherSpelling(i, row[i])
			})
		})
		if len(props) == 0 {
			return nil
		}
		i := pick(d.r, props)
		q = Query{Table: t, Column: i, Of: -1, Order: -1}
		if slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] == nil }) { // no value is none of them
			q.Where = []Cond{{i, -1, Valued, nil}}
		}
		slots["one"], slots["others"] = t.Columns[i].caption(), t.Many
	}
	values = q.Run()
	counts, best := map[string]int{}, ""
	for _, v := range values {
		counts[Show(v)]++
	}
	delete(counts, "")
	for name, n := range counts {
		if best == "" || n > counts[best] || n == counts[best] && name < best {
			best = name
		}
	}
	for name, n := range counts {
		if name != best && n == counts[best] {
			return nil
		}
	}
	if len(counts) < 2 {
		return nil
	}
	sql := q.SQL()
	label = strings.TrimPrefix(sql[:strings.Index(sql, " FROM ")], "SELECT ")
	sql = fmt.Sprintf("SELECT %s, COUNT(*) AS n%s GROUP BY %s ORDER BY n DESC LIMIT 1",
		label, sql[strings.Index(sql, " FROM "):], label)
	p := &Program{
		pattern: "most",
		slots:   slots,
		Answer:  Answer{Form: "text", Values: []string{best}},
		Steps:   []Step{{SQL: sql}},
		Tables:  q.tables(),
		Result:  []string{best, Show(int64(counts[best]))},
	}
	if d.w.Listed {
		p.Work(q.gathered()...)
	}
	return p
}

// counted names the rows that refer to a key: those of a table of links by what they link with it.
func (t *Table) counted(column int, key any) (names []string) {
	for _, row := range t.Rows {
		if row[column] != nil && equal(row[column], key) {
			names = append(names, t.countName(column, row))
		}
	}
	return names
}

func (t *Table) countName(column int, row []any) string {
	if t.Link != "" {
		return t.show(3-column, row)
	}
	return t.rowName(row)
}

// gathered says of each value of a query's column what has it, and counts: "Atlas: 1 Ana, 2 Bo".
func (q Query) gathered() (lines []string) {
	of := map[string][]string{}
	for _, row := range q.Table.rows(q.Where) {
		if v := q.Table.value(row, q.Column, q.Of); v != nil && Show(v) != "" {
			of[Show(v)] = append(of[Show(v)], q.Table.countName(q.Column, row))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, name+": "+Numbered(of[name])[0])
	}
	return lines
}

// unrelated lists the things to which nothing of another table refers.
func (d *drawer) unrelated(t *Table) *Program {
	from, column := d.referrer(t)
	if from == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	var names, lines []string
	for _, row := range t.Rows {
		said := "none"
		if of := Numbered(from.counted(column, row[t.Key])); len(of) > 0 {
			said = of[0]
		} else {
			names = append(names, t.rowLabel(row))
		}
		lines = append(lines, t.rowLabel(row)+": "+said)
	}
	if len(names) == 0 || len(names) > mostListed || repeats(names) {
		return nil
	}
	slots := d.about(t)
	slots["others"] = from.referring(column)
	label := t.columnExpr(t.Label, "")
	refers := Ident(from.Columns[column].Name)
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE %s NOT IN (SELECT %s FROM %s WHERE %s IS NOT NULL)",
		label, Ident(t.Name), Ident(t.Columns[t.Key].Name), refers, Ident(from.Name), refers)
	p := &Program{
		pattern: "unrelated",
		slots:   slots,
		Answer:  Answer{Form: "list", Values: names},
		Steps:   []Step{{SQL: sql}},
		Tables:  []*Table{t, from},
		Result:  names,
	}
	if d.w.Listed {
		p.Work(lines...)
	}
	return p
}
