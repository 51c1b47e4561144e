package programs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	mostGone    = 24  // rows that are gone through one by one
	mostWorking = 900 // bytes
)

// Working is how somebody comes to the answer who has the rows before them: what each says of the conditions, and what
// is counted or added up. "" where a statement computes it, or there is nothing to find.
//
//	Ghent: confirmed, 450 - yes
//	Rouen: open, 350 - no
//	Lille: confirmed, 600 - yes
//	450 + 600 = 1050
func (p *Program) Working() string {
	text := p.own()
	if p.later > 0 {
		text = ""
	}
	if p.then != nil && !p.then.Changes() {
		text = strings.TrimSpace(text + "\n" + p.then.Working())
	}
	if len(text) > mostWorking {
		text = ""
	}
	return strings.TrimSpace(p.remark + "\n" + text)
}

// First is the working of the first of two messages, which is answered before the second.
func (p *Program) First() string {
	if text := p.own(); p.later > 0 && len(text) <= mostWorking {
		return text
	}
	return ""
}

// Remark sets what is said before the working: of what was read in vain.
func (p *Program) Remark(text string) { p.remark = text }

// own is the working without that of what stands behind it.
func (p *Program) own() string {
	text := p.working
	if p.query != nil {
		text = p.query.Working()
	}
	if refused := p.Answer.Form == "unknown" || p.Answer.Form == "cannot"; p.picked != nil && !refused {
		text = strings.TrimSpace(p.picked.Working() + "\n" + text)
	}
	if text != "" && p.verdict != "" {
		text += "\n" + p.verdict
	}
	return strings.TrimSpace(strings.TrimSpace(p.mappings()+"\n"+p.head) + "\n" + text)
}

// Work sets the working of a program that is no query.
func (p *Program) Work(lines ...string) *Program {
	p.working = strings.Join(lines, "\n")
	return p
}

// TakeWorking is the working where it stands before something else than the answer: it is then no more the answer's.
func (p *Program) TakeWorking() string {
	text := p.own()
	p.query, p.picked, p.working, p.head, p.verdict, p.sayings = nil, nil, "", "", "", nil
	if len(text) > mostWorking {
		return ""
	}
	return text
}

// Show says by which conditions the rows were asked for that are before the reader: the working goes through those
// alone.
func (p *Program) Show(by []Cond) {
	if p.query != nil {
		q := *p.query
		q.shown, p.query = by, &q
	}
}

// computes says that a statement does the work of a program.
func (p *Program) computes() {
	for ; p != nil; p = p.then {
		p.query = nil
	}
}

// those asks for the names of the rows that meet some conditions.
func (d *drawer) those(t *Table, where []Cond) Query {
	return Query{Table: t, Where: where, Column: t.Label, Of: -1, Order: -1}
}

// Working goes through the rows. Where one is named, the others are not looked at.
func (q Query) Working() string {
	t, found := q.Table, q.Table.rows(q.Where)
	named := slices.ContainsFunc(q.Where, func(c Cond) bool {
		return (c.Column == t.Label || c.Column == t.Key) && c.Of < 0 && slices.Contains([]Op{Is, Has, Among}, c.Op)
	})
	rows, tells := found, false
	if shown := t.rows(q.shown); len(q.Where) > len(q.shown) && !named && len(shown) <= mostGone {
		rows, tells = shown, true
	}
	if len(rows) > mostGone {
		return ""
	}
	var lines []string
	yes, no := " - yes", " - no"
	noted := tells && slices.ContainsFunc(q.Where, func(c Cond) bool { return t.Columns[c.Column].quote != nil })
	if noted {
		lines, yes, no = []string{q.wanted()}, " - hit", " - no hit"
	}
	for _, row := range rows {
		line, said := t.rowName(row), q.says(row)
		if said == "" && !tells {
			continue
		}
		if q.ByKey && t.Key >= 0 && t.Key != t.Label {
			line += " (" + Show(row[t.Key]) + ")"
		}
		if said != "" {
			line += ": " + said
		}
		if tells {
			holds := !slices.ContainsFunc(q.Where, func(c Cond) bool { return !c.holds(t, row) })
			line += map[bool]string{true: yes, false: no}[holds]
		}
		lines = append(lines, line)
	}
	if noted && (q.Agg == "" || len(found) == 0) {
		lines = append(lines, hits(labels(t, found)))
	}
	return strings.Join(append(lines, q.sum(found)...), "\n")
}

// parts are the conditions, with those of which one is enough each for itself.
func (q Query) parts() (list []Cond) {
	for _, c := range q.Where {
		if c.Op == Either {
			list = append(list, c.Value.([]Cond)...)
			continue
		}
		list = append(list, c)
	}
	return list
}

// wanted says first what counts as a hit, so that a verdict is of that and not of the words of a note: "Wanted: status
// not on hold, so active or finished." It repeats all that is asked for, also what has been searched by.
func (q Query) wanted() string {
	var list []string
	for _, c := range q.Where {
		list = append(list, c.wants(q.Table))
	}
	text := "Wanted: "
	if q.among != "" {
		text += q.among + ": "
	}
	return text + strings.Join(list, ", and also ") + "."
}

// hits are the things that meet what was wanted.
func hits(names []string) string {
	if len(names) == 0 {
		return "Hits: none."
	}
	return "Hits: " + strings.Join(names, ", ") + "."
}

// wants says a condition as a value that is looked for. What is not to be has what may be behind it.
func (c Cond) wants(t *Table) string {
	if c.Op == Either {
		var list []string
		for _, one := range c.Value.([]Cond) {
			list = append(list, one.wants(t))
		}
		return strings.Join(list, ", or ") + " (one of them is enough)"
	}
	column := t.Columns[c.Column]
	name := column.caption()
	if column.Ref != nil && c.Of >= 0 {
		name += " with " + article(column.Ref.Columns[c.Of].caption())
	}
	list, _ := c.Value.([]any)
	switch {
	case column.Note:
		return map[bool]string{true: "", false: "without "}[equal(c.Value, int64(1))] + `"` + column.Says + `"`
	case c.Op == Null:
		return "no " + name
	case c.Op == Valued:
		return article(name)
	case c.Op == Among:
		return name + " " + strings.Join(valueTexts(list), " or ")
	case c.Op == Between:
		return fmt.Sprintf("%s from %s to %s", name, Show(list[0]), Show(list[1]))
	case c.Op == Not:
		others := slices.DeleteFunc(t.values(c.Column), func(v string) bool { return v == Show(c.Value) })
		if len(others) == 0 || len(others) > mostStates {
			return name + " not " + Show(c.Value)
		}
		return name + " not " + Show(c.Value) + ", so " + strings.Join(others, " or ")
	}
	by := map[Op]string{Above: "over ", AtLeast: "at least ", Below: "under ", AtMost: "at most ", Within: "in "}
	return name + " " + by[c.Op] + Show(c.Value)
}

// mostStates bounds the values that are said in the place of one that is not to be.
const mostStates = 4

// values are those of a column, each once, in the order of the alphabet.
func (t *Table) values(column int) (values []string) {
	for _, row := range t.Rows {
		if v := row[column]; v != nil && !slices.Contains(values, Show(v)) {
			values = append(values, Show(v))
		}
	}
	slices.Sort(values)
	return values
}

// says is what a row says of the conditions, of the order and of what is asked for.
func (q Query) says(row []any) string {
	t := q.Table
	var said []string
	told := map[[2]int]bool{} // by column and that of the row it refers to
	say := func(column, of int) {
		c := t.Columns[column]
		if column == t.Label && of < 0 || told[[2]int{column, of}] {
			return
		}
		told[[2]int{column, of}] = true
		v := c.says(t, column, row)
		if c.Ref != nil {
			if to := c.Ref.byKey(row[column]); of >= 0 && to != nil {
				v += " " + cmp.Or(c.Ref.Columns[of].says(c.Ref, of, to), "none")
			}
		}
		if strings.TrimSpace(v) == "" {
			v = "none"
		}
		for part := range strings.SplitSeq(v, ", ") {
			if c.quote == nil || !slices.Contains(said, part) { // two notes may have the same next to them
				said = append(said, part)
			}
		}
	}
	for _, c := range q.parts() {
		if q.quoted || !slices.ContainsFunc(q.shown,
			func(o Cond) bool { return o.Column == c.Column && o.Of == c.Of && o.Op == c.Op }) {
			say(c.Column, c.Of)
		}
	}
	if q.Order >= 0 {
		say(q.Order, -1)
	}
	if q.Agg != "COUNT" {
		say(q.Column, q.Of)
	}
	return strings.Join(said, ", ")
}

// says is what a row says of a column: its words where these are kept, else the value.
func (c Column) says(t *Table, column int, row []any) string {
	switch {
	case c.quote != nil:
		return c.quote(row)
	case c.Ref != nil:
		return t.show(column, row)
	}
	return c.show(row[column])
}

// sum is what the rows that were found come to: their number, their sum, or the first ones in order.
func (q Query) sum(found [][]any) []string {
	if q.Agg == "" && q.Order >= 0 {
		return q.inOrder(found)
	}
	switch q.Agg {
	case "COUNT":
		return Numbered(labels(q.Table, found))
	case "SUM", "AVG":
		return q.added(found)
	}
	return nil
}

// inOrder are the first rows with what sorts them, and the one behind them, so that the answer is read off.
func (q Query) inOrder(found [][]any) []string {
	rows := q.sorted(found)
	if len(rows) < 2 {
		return nil
	}
	if q.Order == q.Table.Label {
		return []string{"Sorted: " + strings.Join(labels(q.Table, rows), ", ")}
	}
	if q.Limit > 0 {
		rows = rows[:min(len(rows), q.Limit+1)]
	}
	var list []string
	for _, row := range rows {
		list = append(list, q.Table.rowName(row)+" "+q.Table.Columns[q.Order].says(q.Table, q.Order, row))
	}
	return []string{"In order: " + strings.Join(list, ", ")}
}

func labels(t *Table, rows [][]any) (list []string) {
	for _, row := range rows {
		list = append(list, t.rowName(row))
	}
	return list
}

// rowName is how a working names a row: by its label, else by its key, else by its number in the table.
func (t *Table) rowName(row []any) string {
	if name := t.rowLabel(row); strings.TrimSpace(name) != "" {
		return name
	}
	if t.Key >= 0 && Show(row[t.Key]) != "" {
		return Show(row[t.Key])
	}
	return fmt.Sprint("row ", 1+slices.IndexFunc(t.Rows, func(o []any) bool { return &o[0] == &row[0] }))
}

// Numbered counts things: "1 Ghent, 2 Lille". Of none it is nothing.
func Numbered(things []string) []string {
	if len(things) == 0 {
		return nil
	}
	var parts []string
	for i, thing := range things {
		parts = append(parts, fmt.Sprint(i+1, " ", thing))
	}
	return []string{strings.Join(parts, ", ")}
}

// added adds the values up one after the other, and divides them for a mean. Nothing is added where values have more
// digits than are shown: what is written would not come to their sum.
func (q Query) added(rows [][]any) (lines []string) {
	total, n := any(nil), 0
	for _, row := range rows {
		v := q.shows().units(q.Table.value(row, q.Column, q.Of))
		x, ok := asFloat(v)
		if !ok {
			continue
		}
		if math.Abs(x*100-math.Round(x*100)) > 1e-6 {
			return nil
		}
		if n++; n == 1 {
			total = v
			continue
		}
		next := aggregate("SUM", []any{total, v})[0]
		lines = append(lines, fmt.Sprintf("%s + %s = %s", Show(total), Show(v), Show(next)))
		total = next
	}
	if x, _ := asFloat(total); q.Agg == "AVG" && n > 1 {
		lines = append(lines, fmt.Sprintf("%s / %d = %s", Show(total), n, Show(x/float64(n))))
	}
	return lines
}
