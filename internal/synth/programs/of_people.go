package programs

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// What people ask of their tables besides, and few programs have: a new name, names with a yes, a list with its number,
// surnames in order, a place that may be full, and parents that go with their children.

// renameOne gives a person another surname: "Ana Lund is now called Ana Roy".
func (d *drawer) renameOne() *Program {
	t := d.table()
	if t == nil || d.w.Listed || !t.isOfPersons() || !t.OfPeople() || t.Columns[t.Label].Ref != nil {
		return nil
	}
	row, other := d.sole(t), pick(d.r, t.Rows)
	if row == nil {
		return nil
	}
	first, last, _ := strings.Cut(t.rowLabel(row), " ")
	_, surname, _ := strings.Cut(t.rowLabel(other), " ")
	column, v := t.Label, first+" "+surname
	if parts := t.Columns[t.Label].Parts; len(parts) == 2 {
		column = parts[1]
	}
	if surname == last || d.isElsewhere(t, mentions(v)) || slices.Contains(t.labels(t.Rows), v) {
		return nil
	}
	value := v
	if column != t.Label {
		value = surname
	}
	slots := d.about(t)
	slots["x"], slots["v"] = d.nameInRequest(t, row), v
	return &Program{pattern: "called", slots: slots, Tables: []*Table{t},
		Steps: d.changing(t, []Cond{t.label(row)}, true, func(where []Cond) Step {
			return update(t, column, Literal(value), where).does("%s: called %s", t.rowLabel(row), v)
		})}
}

// yesWho asks whether there are things of some sort, and which.
func (d *drawer) yesWho() *Program {
	t, where, phrase := d.drawFilter(1 + d.r.IntN(2))
	if t == nil || t.Columns[t.Label].Ref != nil || t.isNumbered() {
		return nil
	}
	q := Query{Table: t, Where: where, Column: t.Label, Of: -1, Order: -1}
	names := valueTexts(q.Run())
	if len(names) == 0 || len(names) > 3 || repeats(names) {
		return nil
	}
	slots := d.about(t)
	slots["filter"] = phrase
	return q.program("yes_who", slots, Answer{Form: "yes_who", Values: names})
}

// listAndCount asks for the things of some sort, and for their number.
func (d *drawer) listAndCount() *Program {
	p := d.list(1)
	if p == nil || p.then != nil || p.Answer.Form != "list" || p.Answer.Order || len(p.Answer.Values) < 2 {
		return nil
	}
	p.then = &Program{pattern: "how_many", slots: map[string]string{"one": p.slots["one"], "many": p.slots["many"]},
		Answer: Answer{Form: "number", Values: []string{fmt.Sprint(len(p.Answer.Values))}}}
	return p.Work(Numbered(p.Answer.Values)...)
}

// bySurname lists people in the order of their surnames, which have a column of their own.
func (d *drawer) bySurname() *Program {
	t, where, phrase := d.drawFilter(1)
	if t == nil || d.w.Listed || len(t.Columns[t.Label].Parts) != 2 || refers(where) {
		return nil
	}
	rows := slices.Clone(t.rows(where))
	if len(rows) < 2 || len(rows) > mostListed {
		return nil
	}
	first, last := t.Columns[t.Label].Parts[0], t.Columns[t.Label].Parts[1]
	sort.Slice(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		return Show(a[last])+"\x00"+Show(a[first]) < Show(b[last])+"\x00"+Show(b[first])
	})
	q := Query{Table: t, Where: where, Column: t.Label, Of: -1, Order: -1}
	slots := d.about(t)
	slots["filter"], slots["surname"] = phrase, "surname"
	a := Answer{Form: "list", Values: t.labels(rows), Order: true}
	if !a.isASCII() || repeats(a.Values) {
		return nil
	}
	p := q.program("list", slots, a)
	before := ""
	if strings.Contains(p.Steps[0].SQL, " JOIN ") {
		before = Ident(t.Name) + "."
	}
	p.Steps[0].SQL += fmt.Sprintf(" ORDER BY %s, %s", t.columnExpr(last, before), t.columnExpr(first, before))
	p.Result = nil
	return p
}

// setIfRoom gives a thing to another one only where that has room: a number of it is above the count of what it has.
func (d *drawer) setIfRoom() *Program {
	t, from, column := d.children()
	if t == nil || d.w.Listed || len(t.Columns[t.Label].Parts) > 0 || from.Label < 0 ||
		from.Columns[from.Label].Ref != nil {
		return nil
	}
	rooms := t.properties(Column.isRoom)
	row, to := d.sole(from), d.sole(t)
	if len(rooms) == 0 || row == nil || to == nil || row[column] != nil && equal(row[column], to[t.Key]) {
		return nil
	}
	i := pick(d.r, rooms)
	limit, ok := to[i].(int64)
	if !ok {
		return nil
	}
	n := int64(len(from.counted(column, to[t.Key])))
	slots := about(from)
	slots["x"], slots["y"] = d.nameInRequest(from, row), d.nameInRequest(t, to)
	slots["attr"], slots["others"] = t.Columns[i].caption(), from.Many
	look, _ := d.before(t, []Cond{t.label(to)}, true)
	other, where := d.before(from, []Cond{from.label(row)}, true)
	held := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s = %s", Ident(from.Name), Ident(from.Columns[column].Name),
		Literal(to[t.Key]))
	p := &Program{pattern: "set_if_room", slots: slots, Tables: []*Table{t, from},
		Steps: []Step{look, {SQL: held}, other}}
	said := fmt.Sprintf("%s has %d %s (%s: %d)", t.rowLabel(to), n,
		map[bool]string{true: from.One, false: from.Many}[n == 1], t.Columns[i].caption(), limit)
	if n >= limit {
		p.Steps = p.Steps[:2]
		p.Answer = Answer{Form: "left", Values: []string{"Nothing was changed: " + said + "."}}
		return p
	}
	p.Steps = append(p.Steps, update(from, column, Literal(to[t.Key]), where).does("%s, so there is room.", said))
	return p
}

// removeAllWith deletes the things that meet a condition, and what refers to them before.
func (d *drawer) removeAllWith() *Program {
	t, where, phrase := d.drawFilter(1)
	if t == nil || d.w.Listed || t.Columns[t.Label].Ref != nil || t.Key < 0 || refers(where) {
		return nil
	}
	from, column := d.onlyReferrer(t)
	rows := t.rows(where)
	if from == nil || len(rows) < 2 || len(rows) > mostChanged || len(rows) == len(t.Rows) ||
		slices.ContainsFunc(d.w.Tables, func(o *Table) bool { return len(o.references(from)) > 0 }) {
		return nil
	}
	n := 0
	for _, row := range rows {
		n += len(from.counted(column, row[t.Key]))
	}
	if n == 0 || n > 2*mostChanged {
		return nil
	}
	slots := d.about(t)
	slots["filter"], slots["others"] = phrase, from.Many
	which := " FROM " + Ident(t.Name) + filter(t, where)
	children := fmt.Sprintf(" FROM %s WHERE %s IN (SELECT %s%s)", Ident(from.Name), Ident(from.Columns[column].Name),
		Ident(t.Columns[t.Key].Name), which)
	return &Program{pattern: "remove_all_with", slots: slots, Tables: tablesOf(t, where, from), Steps: []Step{
		{SQL: "SELECT *" + which}, {SQL: "SELECT *" + children},
		Step{SQL: "DELETE" + children, Writes: true}.does("%d %s of %s: deleted first", n, from.Many, t.names(rows)),
		Step{SQL: "DELETE" + which, Writes: true}.does("%d %s: deleted from %s", len(rows), t.Many, t.Name)}}
}
