package programs

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Op compares a column with a value.
type Op string

// The operations. Null and Valued take no value.
const (
	Is     Op = "="
	Above  Op = ">"
	Below  Op = "<"
	Null   Op = "IS NULL"
	Valued Op = "IS NOT NULL"
	Within Op = "LIKE" // of a date: in a month or year, which the value is the beginning of
	Among  Op = "IN"   // the value is a list
	Not    Op = "<>"
	Has    Op = "HAS" // a text that the value is a part of, whatever its capitals
	Either Op = "OR"  // the value is conditions, of which one is enough; no table of SQL is asked for it
)

// bare reports whether an operation takes no value: it is on a reference itself, and not on what that names.
func (o Op) bare() bool { return o == Null || o == Valued }

// Cond is one condition on a row. Of a column that refers to another table it is on the row named there: on its label,
// or on the column Of.
type Cond struct {
	Column int
	Of     int // column of the table referred to; -1: its label, or no reference
	Op     Op
	Value  any
}

// Query asks a table for one value of each row, or for a sum over rows.
type Query struct {
	Table *Table
	Where []Cond
	// Agg is COUNT, SUM, AVG, MIN, MAX, or "" for the rows' values of Column.
	Agg    string
	Column int
	Of     int // as of Cond; -1
	Order  int // column that sorts, -1: none
	Desc   bool
	Limit  int    // 0: all
	ByKey  bool   // its working names the key of each row, by which calls take it
	among  string // what the request calls the things, where the table has these alone
	shown  []Cond // what the rows before the reader were asked for by, as Program.Show says
	quoted bool   // its working says of each row what shows that, too
}

func (t *Table) value(row []any, column, of int) any {
	c := t.Columns[column]
	if c.Ref == nil {
		return row[column]
	}
	to := c.Ref.byKey(row[column])
	if to == nil {
		return nil
	}
	if of < 0 {
		of = c.Ref.Label
	}
	return to[of]
}

func (c Cond) holds(t *Table, row []any) bool {
	if c.Op == Either {
		return slices.ContainsFunc(c.Value.([]Cond), func(one Cond) bool { return one.holds(t, row) })
	}
	v := t.value(row, c.Column, c.Of)
	switch c.Op {
	case Null:
		return row[c.Column] == nil
	case Valued:
		return row[c.Column] != nil
	case Within:
		return v != nil && strings.HasPrefix(Show(v), Show(c.Value))
	case Among:
		list, _ := c.Value.([]any)
		return v != nil && slices.ContainsFunc(list, func(one any) bool { return equal(v, one) })
	case Has:
		return v != nil && strings.Contains(strings.ToLower(Show(v)), strings.ToLower(Show(c.Value)))
	case Is:
		if t.Columns[c.Column].Several && v != nil {
			return slices.Contains(strings.Split(Show(v), ListMark), Show(c.Value))
		}
		return v != nil && equal(v, c.Value)
	case Not:
		return v != nil && !equal(v, c.Value)
	case Above:
		return v != nil && less(c.Value, v)
	case AtLeast:
		return v != nil && !less(v, c.Value)
	case AtMost:
		return v != nil && !less(c.Value, v)
	case Between:
		ends := c.Value.([]any)
		return v != nil && !less(v, ends[0]) && !less(ends[1], v)
	}
	return v != nil && less(v, c.Value)
}

// Rows are those that meet the conditions.
func (q Query) Rows() [][]any { return q.Table.rows(q.Where) }

func (t *Table) rows(where []Cond) (list [][]any) {
	for _, row := range t.Rows {
		if !slices.ContainsFunc(where, func(c Cond) bool { return !c.holds(t, row) }) {
			list = append(list, row)
		}
	}
	return list
}

// sorted puts rows in the order that is asked for, without those that have no value there.
func (q Query) sorted(rows [][]any) [][]any {
	if q.Order < 0 {
		return rows
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row []any) bool { return q.Table.value(row, q.Order, -1) == nil })
	sort.SliceStable(rows, func(i, j int) bool {
		x, y := q.Table.value(rows[i], q.Order, -1), q.Table.value(rows[j], q.Order, -1)
		if q.Desc {
			x, y = y, x
		}
		return less(x, y)
	})
	return rows
}

// Run computes what the query comes to.
func (q Query) Run() (values []any) {
	rows := q.sorted(q.Table.rows(q.Where))
	if q.Agg == "COUNT" {
		return []any{int64(len(rows))}
	}
	for _, row := range rows {
		values = append(values, q.shows().units(q.Table.value(row, q.Column, q.Of)))
	}
	if q.Agg != "" {
		return aggregate(q.Agg, values)
	}
	if q.Limit > 0 && len(values) > q.Limit {
		values = values[:q.Limit]
	}
	return values
}

// shows is the column whose values the query asks for.
func (q Query) shows() Column {
	c := q.Table.Columns[q.Column]
	switch {
	case c.Ref == nil:
		return c
	case q.Of < 0:
		return c.Ref.Columns[c.Ref.Label]
	}
	return c.Ref.Columns[q.Of]
}

func aggregate(how string, values []any) []any {
	total, n, whole := 0.0, 0, true
	var least, most any
	for _, v := range values {
		x, ok := asFloat(v)
		if !ok {
			continue
		}
		if _, isInt := v.(int64); !isInt {
			whole = false
		}
		if n == 0 || less(v, least) {
			least = v
		}
		if n == 0 || less(most, v) {
			most = v
		}
		total, n = total+x, n+1
	}
	switch {
	case n == 0:
		return []any{nil}
	case how == "MIN":
		return []any{least}
	case how == "MAX":
		return []any{most}
	case how == "AVG":
		return []any{total / float64(n)}
	case whole:
		return []any{int64(total)}
	}
	return []any{total}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are names that SQL needs quoted.
var reserved = regexp.MustCompile(
	`(?i)^(?:order|group|table|select|from|where|index|user|values?|check|default|references?|desc|asc|limit|` +
		`all|and|or|not|null|primary|key|set|to|when|then|case|end|column)$`,
)

// Ident is a name as SQL writes it.
func Ident(name string) string {
	if plainName.MatchString(name) && !reserved.MatchString(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Literal is a value as SQL writes it.
func Literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case float64: // with all digits: it may be a key
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return Show(v)
}

// column is a column in SQL, behind its table where others are joined.
func (q Query) column(column, of int, joined bool) string {
	c := q.Table.Columns[column]
	if c.Ref != nil && of != keyItself {
		if of < 0 {
			of = c.Ref.Label
		}
		return c.Ref.columnExpr(of, q.Table.alias(column)+".")
	}
	if joined {
		return q.Table.columnExpr(column, Ident(q.Table.Name)+".")
	}
	return q.Table.columnExpr(column, "")
}

// alias is the name under which a query has the table that a column refers to: its own, or that of the column where
// this table is there already.
func (t *Table) alias(column int) string {
	c, same := t.Columns[column], 0
	for _, o := range t.Columns {
		if o.Ref == c.Ref {
			same++
		}
	}
	if c.Ref != t && same == 1 {
		return Ident(c.Ref.Name)
	}
	name := strings.ReplaceAll(Words(c.Name), " ", "_")
	if strings.EqualFold(name, t.Name) || strings.EqualFold(name, c.Ref.Name) {
		name += "_2"
	}
	return Ident(name)
}

// selectExpr is a column in SQL in the units that people say.
func (t *Table) selectExpr(column int, before string) string {
	text := t.columnExpr(column, before)
	if t.Columns[column].Cents {
		text += " / 100.0"
	}
	return text
}

// columnExpr is a column in SQL; of a name in parts, all of these.
func (t *Table) columnExpr(column int, before string) string {
	c := t.Columns[column]
	if len(c.Parts) == 0 {
		return before + Ident(c.Name)
	}
	var parts []string
	for _, i := range c.Parts {
		parts = append(parts, before+Ident(t.Columns[i].Name))
	}
	return strings.Join(parts, ", ")
}

// test is a comparison in SQL of a column, which stands behind before.
func (t *Table) test(column int, before string, op Op, value any) string {
	c := t.Columns[column]
	switch {
	case op.bare():
		return before + Ident(c.Name) + " " + string(op)
	case op == Within:
		return before + Ident(c.Name) + " LIKE " + Literal(Show(value)+"%")
	case op == Has:
		return before + Ident(c.Name) + " LIKE " + Literal("%"+Show(value)+"%")
	case op == Among:
		var list []string
		for _, one := range value.([]any) {
			list = append(list, Literal(one))
		}
		return before + Ident(c.Name) + " IN (" + strings.Join(list, ", ") + ")"
	case op == Between:
		ends := value.([]any)
		return before + Ident(c.Name) + " BETWEEN " + Literal(ends[0]) + " AND " + Literal(ends[1])
	case len(c.Parts) == 2 && op == Is:
		first, last := t.parts(column, value)
		return before + Ident(t.Columns[c.Parts[0]].Name) + " = " + Literal(first) +
			" AND " + before + Ident(t.Columns[c.Parts[1]].Name) + " = " + Literal(last)
	}
	return before + Ident(c.Name) + " " + string(op) + " " + Literal(value)
}

// parts are what stands in the two columns of a name: of a name that is there, whatever its spaces.
func (t *Table) parts(column int, name any) (first, last any) {
	of := t.Columns[column].Parts
	for _, row := range t.Rows {
		if row[column] != nil && equal(row[column], name) {
			return row[of[0]], row[of[1]]
		}
	}
	before, behind, _ := strings.Cut(Show(name), " ")
	return before, behind
}

// keyItself stands for Of where the reference is meant and not what it names.
const keyItself = -2

// SQL is the query as a stranger would write it who has seen the schema.
func (q Query) SQL() string {
	var joins []string
	join := func(column, of int) {
		if ref := q.Table.Columns[column].Ref; ref != nil && of != keyItself {
			named := q.Table.alias(column)
			as := named
			if named != Ident(ref.Name) {
				as = Ident(ref.Name) + " AS " + named
			}
			j := fmt.Sprintf(
				" JOIN %s ON %s.%s = %s.%s",
				as,
				Ident(q.Table.Name),
				Ident(q.Table.Columns[column].Name),
				named,
				Ident(ref.Columns[ref.Key].Name),
			)
			if !slices.Contains(joins, j) {
				joins = append(joins, j)
			}
		}
	}
	for _, c := range q.Where {
		if c.Op.bare() {
			join(c.Column, keyItself)
		} else {
			join(c.Column, c.Of)
		}
	}
	if q.Agg != "COUNT" {
		join(q.Column, q.Of)
	}
	if q.Order >= 0 {
		join(q.Order, -1)
	}
	what := "COUNT(*)"
	if q.Agg != "COUNT" {
		what = q.column(q.Column, q.Of, len(joins) > 0)
		if q.Agg != "" {
			what = q.Agg + "(" + what + ")"
		}
		if q.shows().Cents {
			what += " / 100.0"
		}
	}
	text := "SELECT " + what + " FROM " + Ident(q.Table.Name) + strings.Join(joins, "")
	text += q.where(len(joins) > 0)
	if q.Order >= 0 {
		text += " ORDER BY " + q.column(q.Order, -1, len(joins) > 0)
		if q.Desc {
			text += " DESC"
		}
	}
	if q.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	return text
}

func (q Query) where(joined bool) string {
	var parts []string
	for _, c := range q.Where {
		t, column, before := q.Table, c.Column, ""
		if ref := t.Columns[column].Ref; ref != nil && !c.Op.bare() {
			before = t.alias(column) + "."
			if t, column = ref, c.Of; column < 0 {
				column = ref.Label
			}
		} else if joined {
			before = Ident(t.Name) + "."
		}
		parts = append(parts, t.test(column, before, c.Op, c.Value))
	}
	if q.Order >= 0 && q.Limit > 0 {
		if slices.ContainsFunc(q.Table.Rows, func(row []any) bool { return row[q.Order] == nil }) {
			parts = append(parts, q.column(q.Order, keyItself, joined)+" IS NOT NULL")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

// filter are the conditions of a write, which joins nothing: a reference is looked up by what it names.
func filter(t *Table, where []Cond) string {
	var parts []string
	for _, c := range where {
		column := t.Columns[c.Column]
		if column.Ref == nil || c.Op.bare() {
			parts = append(parts, t.test(c.Column, "", c.Op, c.Value))
			continue
		}
		of := c.Of
		if of < 0 {
			of = column.Ref.Label
		}
		parts = append(
			parts,
			fmt.Sprintf(
				"%s IN (SELECT %s FROM %s WHERE %s)",
				Ident(column.Name),
				Ident(column.Ref.Columns[column.Ref.Key].Name),
				Ident(column.Ref.Name),
				column.Ref.test(of, "", c.Op, c.Value),
			),
		)
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

// Create are the statements that make a world's tables with their rows.
func (w *World) Create() (statements []string) {
	for _, t := range w.Tables {
		var columns []string
		for i, c := range t.Columns {
			if len(c.Parts) > 0 {
				continue
			}
			kind := "TEXT"
			if c.Kind == Number {
				kind = "INTEGER"
				if slices.ContainsFunc(t.Rows, func(row []any) bool { _, is := row[i].(float64); return is }) {
					kind = "REAL"
					if w.Strict {
						kind = "DOUBLE PRECISION"
					}
				}
			}
			if i == t.Key {
				kind += " PRIMARY KEY"
			}
			if c.Needed {
				kind += " NOT NULL"
			}
			if c.Ref != nil && !w.Strict {
				kind += fmt.Sprintf(" REFERENCES %s(%s)", Ident(c.Ref.Name), Ident(c.Ref.Columns[c.Ref.Key].Name))
			}
			columns = append(columns, Ident(c.Name)+" "+kind)
		}
		statements = append(statements, fmt.Sprintf("CREATE TABLE %s (%s)", Ident(t.Name), strings.Join(columns, ", ")))
	}
	for _, t := range w.Tables {
		var rows []string
		for _, row := range t.Rows {
			rows = append(rows, t.tuple(row))
		}
		statements = append(
			statements,
			fmt.Sprintf("INSERT INTO %s VALUES %s", Ident(t.Name), strings.Join(rows, ", ")),
		)
	}
	return statements
}

func (t *Table) tuple(row []any) string {
	var parts []string
	for i, v := range row {
		if len(t.Columns[i].Parts) == 0 {
			parts = append(parts, Literal(v))
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// State asks for all of a table, in an order that is the same whatever was done before. Without the key two ways to add
// a row come to the same; a key by which people name the row is said, and stays.
func (t *Table) State(withKey bool) string {
	var columns []string
	for i, c := range t.Columns {
		if (withKey || i != t.Key || i == t.Label || c.Kind == Text) && len(c.Parts) == 0 {
			columns = append(columns, Ident(c.Name))
		}
	}
	if len(columns) == 0 { // it is a key alone
		return t.State(true)
	}
	list := strings.Join(columns, ", ")
	return fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", list, Ident(t.Name), list)
}

// Needs are the conditions of a program on the things of its table, and the columns whose values it asks for, with the
// table; nil where it is no query.
func (p *Program) Needs() (t *Table, where []Cond, columns []int) {
	q := p.query
	if q == nil {
		return nil, nil, nil
	}
	if q.Agg != "COUNT" && q.Column != q.Table.Label {
		columns = append(columns, q.Column)
	}
	if q.Order >= 0 {
		columns = append(columns, q.Order)
	}
	return q.Table, q.Where, columns
}

// Matching are the rows that meet conditions.
func (t *Table) Matching(where []Cond) [][]any { return t.rows(where) }

// Then is the request behind a program, in the same message; nil where there is none.
func (p *Program) Then() *Program { return p.then }

// Archives has a program that removes things say so in the words of a tool: "archive". ok is false for others.
func (p *Program) Archives(verb string) (ok bool) {
	switch p.pattern {
	case "remove":
		p.pattern = "verb"
	case "remove_all":
		p.pattern = "verb_all"
	default:
		return false
	}
	p.slots["verb"] = verb
	return true
}
