package programs

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

func (d *drawer) lookup() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several })
	row := d.sole(t)
	if row == nil || len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	if row[i] == nil || Show(row[i]) == "" {
		return nil
	}
	said, where := d.naming(t, row)
	if d.asksItself(where, i) || t.Columns[i].Note && equal(row[i], int64(0)) && d.r.IntN(3) > 0 { // few have a note
		return nil
	}
	q := Query{Table: t, Where: where, Column: i, Of: -1, Order: -1}
	slots := d.about(t)
	slots["x"], slots["attr"] = said, t.Columns[i].caption()
	if t.Columns[i].isStock() && d.r.IntN(2) == 0 { // "Is there any left?"
		asked := []string{"Is {x} still in stock?", "Do we still have {x} in stock?", "Is there any {x} left?",
			"Have we got any {x} left?"}
		slots["asks"] = strings.ReplaceAll(pick(d.r, asked), "{x}", said)
		return q.program("asks", slots,
			Answer{Form: "yes_no", Values: []string{map[bool]string{true: "Yes", false: "No"}[less(int64(0), row[i])]}})
	}
	if asks := t.Columns[i].Asks; asks != "" && d.r.IntN(4) > 0 { // "When was the patient admitted?"
		slots["asks"] = strings.ReplaceAll(asks, "{x}", slots["x"])
		return q.program("asks", slots, valueOf(t.Columns[i], row[i]))
	}
	return q.program("lookup", slots, valueOf(t.Columns[i], row[i]))
}

// asksItself reports whether a thing is named, or picked, by the very property that is asked for.
func (d *drawer) asksItself(where []Cond, column int) bool {
	if d.picked != nil {
		where = slices.Concat(where, d.picked.Where)
	}
	return slices.ContainsFunc(where, func(c Cond) bool { return c.Column == column })
}

func valueOf(c Column, v any) Answer {
	form := "text"
	switch {
	case c.flags(v):
		form = "yes_no"
	case isNumber(c):
		form = "number"
	}
	return Answer{Form: form, Values: []string{capital(c.show(v))}}
}

// capital has yes and no begin as a sentence does.
func capital(text string) string {
	if text == "yes" || text == "no" {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

func (d *drawer) join() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	refs := t.properties(func(c Column) bool { return c.Ref != nil })
	row := d.sole(t)
	if row == nil || len(refs) == 0 {
		return nil
	}
	i := pick(d.r, refs)
	c := t.Columns[i]
	to := c.Ref.byKey(row[i])
	if to == nil || c.Ref.rowLabel(to) == "" {
		return nil
	}
	slots := d.about(t)
	said, where := d.naming(t, row)
	if d.asksItself(where, i) {
		return nil
	}
	slots["x"], slots["ref"] = said, c.caption()
	q := Query{Table: t, Where: where, Column: i, Of: -1, Order: -1}
	if d.r.IntN(2) == 0 { // who it is
		if slots["asks"] = strings.ReplaceAll(c.Asks, "{x}", slots["x"]); c.Asks == "" {
			slots["asks"] = "Which " + c.Ref.One + " does " + slots["x"] + " belong to?"
		}
		return q.program("join_label", slots, valueOf(c.Ref.Columns[c.Ref.Label], to[c.Ref.Label]))
	}
	props := c.Ref.properties(func(o Column) bool { return o.Ref == nil })
	if len(props) == 0 {
		return nil
	}
	k := pick(d.r, props)
	if to[k] == nil || Show(to[k]) == "" {
		return nil
	}
	q.Of, slots["attr"], slots["refone"] = k, c.Ref.Columns[k].caption(), c.Ref.One
	if t.alias(i) != Ident(c.Ref.Name) { // "the member of a member" may be any
		slots["refone"] = c.caption()
	}
	return q.program("join", slots, valueOf(c.Ref.Columns[k], to[k]))
}

// drawFilter draws a table with n conditions and the phrase for them.
func (d *drawer) drawFilter(n int) (t *Table, where []Cond, phrase string) {
	if t = d.table(); t == nil {
		return nil, nil, ""
	}
	var used []int
	var texts []string
	if d.r.IntN(3) == 0 { // "the nurses without a phone"
		if c, ok := d.class(t); ok {
			where, used = append(where, c), append(used, c.Column)
		}
	}
	for range n {
		c, text, ok := d.condition(t, used...)
		if !ok {
			return nil, nil, ""
		}
		where, used, texts = append(where, c), append(used, c.Column), append(texts, text)
	}
	// what stands behind "by a doctor in Oslo" might be said of the doctor
	if last := where[len(where)-1]; n == 2 && where[len(where)-2].Of >= 0 && last.Of < 0 {
		slices.Reverse(texts)
	} else if n == 2 && last.Of < 0 && strings.HasPrefix(texts[0], "that are not ") && texts[1] != "" &&
		!strings.HasPrefix(texts[1], "that ") { // "not" might be said of both
		slices.Reverse(texts)
	}
	for _, text := range texts {
		if phrase != "" && text != "" {
			and := pick(d.r, []string{" and ", " that are also "})
			switch {
			case !refers(where) && startsRelative(phrase) && !startsRelative(text):
				phrase, text, and = text, phrase, " "
			case startsRelative(text) && !relatives.MatchString(phrase) && !refers(where):
				and = " " // "of high priority that nobody is assigned to"
			}
			phrase += and
			if strings.HasSuffix(phrase, " that are also ") && !startsPlain(text) {
				phrase = strings.TrimSuffix(phrase, " that are also ") + " and "
			}
		}
		phrase += text
	}
	return t, where, strings.ReplaceAll(phrase, "also that are", "that are")
}

// refers reports whether a condition is about what a thing refers to.
func refers(where []Cond) bool {
	return slices.ContainsFunc(where, func(c Cond) bool { return c.Of >= 0 })
}

// startsPlain reports whether "that are also" may stand before a phrase.
func startsPlain(phrase string) bool {
	word, _, _ := strings.Cut(phrase, " ")
	return !slices.Contains([]string{"that", "who", "with", "of", "whose", "where"}, word)
}

func (d *drawer) count(n int) *Program {
	t, where, phrase := d.drawFilter(n)
	if t == nil || len(t.rows(where)) == 0 && d.r.IntN(4) > 0 {
		return nil
	}
	q := Query{Table: t, Where: where, Agg: "COUNT", Of: -1, Order: -1}
	slots := d.about(t)
	slots["filter"] = phrase
	return q.program("count", slots, Answer{Form: "number", Values: valueTexts(q.Run())})
}

// mostListed bounds a list that is asked for.
const mostListed = 7

func (d *drawer) list(n int) *Program {
	t, where, phrase := d.drawFilter(n)
	if t == nil {
		return nil
	}
	if found := t.rows(where); len(found) == 0 || len(found) > mostListed {
		return nil
	}
	q := Query{Table: t, Where: where, Column: t.Label, Of: -1, Order: -1}
	slots := d.about(t)
	slots["filter"] = phrase
	if t.isNumbered() && d.r.IntN(4) > 0 {
		return d.listProperty(q, slots)
	}
	if d.r.IntN(3) == 0 {
		q.Order = t.Label
	}
	a := Answer{Form: "list", Values: valueTexts(q.Run())}
	a.Order = q.Order >= 0 && a.isASCII() && !slices.ContainsFunc(a.Values, func(v string) bool { // SQL sorts parts
		return len(t.Columns[t.Label].Parts) > 0 && strings.Count(v, " ") != 1
	}) && (t.Columns[t.Label].Kind != Text || a.isAlphabetical())
	if repeats(a.Values) || len(a.Values) != len(t.rows(where)) {
		return nil
	}
	p := q.program("list", slots, a)
	p.alphabetical = a.Order && t.Columns[t.Label].Kind == Text && t.Columns[t.Label].Ref == nil
	return p
}

// listProperty lists a property of things that have numbers for names: on which days somebody has late shifts.
func (d *drawer) listProperty(q Query, slots map[string]string) *Program {
	t := q.Table
	props := t.properties(func(c Column) bool {
		return !c.Several && !c.Bool && c.Kind != Number && (c.Ref == nil || len(c.Ref.Columns[c.Ref.Label].Parts) == 0)
	})
	if len(props) == 0 {
		return nil
	}
	q.Column = pick(d.r, props)
	if d.asksItself(q.Where, q.Column) {
		return nil
	}
	a := Answer{Form: "list", Values: valueTexts(q.Run())}
	if repeats(a.Values) || len(a.Values) != len(t.rows(q.Where)) {
		return nil
	}
	slots["attr"] = t.Columns[q.Column].caption()
	return q.program("list_of", slots, a)
}

// repeats reports whether values do not tell rows apart: one is empty, or there twice, or with spaces that nobody says.
func repeats(values []string) bool {
	for i, v := range values {
		if v == "" || v != strings.Join(strings.Fields(v), " ") || slices.Contains(values[:i], v) {
			return true
		}
	}
	return false
}

func (d *drawer) total() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(func(c Column) bool { return isNumber(c) && !c.isYear() })
	if len(props) == 0 {
		return nil
	}
	i := pick(d.r, props)
	q := Query{Table: t, Agg: pick(d.r, []string{"SUM", "SUM", "AVG", "MIN", "MAX"}), Column: i, Of: -1, Order: -1}
	if !t.Columns[i].isQuantity() {
		q.Agg = pick(d.r, []string{"MIN", "MAX"})
	}
	slots, ok := d.about(t), true
	if q.Where, ok = d.some(t, slots, i); !ok {
		return nil
	}
	if len(t.rows(q.Where)) < 2 {
		return nil
	}
	v := q.Run()[0]
	x, ok := asFloat(v)
	if !ok {
		return nil
	}
	slots["attr"] = t.Columns[i].caption()
	if q.Agg == "AVG" && math.Abs(x*100-math.Round(x*100)) > 1e-6 { // rounded as is said
		digits := d.r.IntN(3)
		scaled := x * math.Pow10(digits)
		if _, part := math.Modf(scaled); math.Abs(part-0.5) < 0.01 {
			return nil
		}
		slots["round"] = []string{"whole", "one_decimal", "two_decimals"}[digits]
		said := fmt.Sprintf("%.*f", digits, x)
		p := q.program("avg", slots, Answer{Form: "number", Values: []string{said}})
		sql := p.Steps[0].SQL
		at := strings.Index(sql, " FROM ")
		p.Steps[0].SQL = fmt.Sprintf("SELECT ROUND(%s, %d)%s",
			strings.TrimPrefix(sql[:at], "SELECT "), digits, sql[at:])
		p.Result = []string{trimFloat(math.Round(scaled) / math.Pow10(digits))}
		return p
	}
	p := q.program(strings.ToLower(q.Agg), slots, Answer{Form: "number", Values: []string{Show(v)}})
	if p.pattern == "sum" && !d.w.Listed {
		p.pattern, slots["attr"] = t.Columns[i].summed()
	}
	return p
}

// some narrows a table to some of its things, mostly: by a noun for a sort of them, by a condition, or by both. ok is
// false where what was drawn says nothing.
func (d *drawer) some(t *Table, slots map[string]string, not int) (where []Cond, ok bool) {
	if d.r.IntN(3) == 0 {
		if c, ok := d.class(t); ok && c.Column != not {
			where = append(where, c)
			d.narrow(slots, t, "")
		}
	}
	if d.r.IntN(5) > 1 {
		return where, true
	}
	c, phrase, ok := d.condition(t, not)
	if !ok || len(where) > 0 && c.Column == where[0].Column {
		return nil, false
	}
	d.narrow(slots, t, phrase)
	return append(where, c), true
}

// superlative is how the greatest, or least, of a column is asked for.
func (c Column) superlative(greatest bool) (adjective string) {
	if greatest {
		return c.Most
	}
	return c.Least
}

func (d *drawer) best() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(isOrdered)
	if len(props) == 0 {
		return nil
	}
	i, greatest := pick(d.r, props), d.r.IntN(2) == 0
	q := Query{Table: t, Column: t.Label, Of: -1, Order: i, Desc: greatest, Limit: 1}
	slots, ok := d.about(t), true
	if q.Where, ok = d.some(t, slots, i); !ok {
		return nil
	}
	if !d.clear(q) {
		return nil
	}
	c := t.Columns[i]
	slots["attr"], slots["end"] = c.caption(), end(c, greatest)
	pattern := "best"
	if slots["super"] = c.superlative(greatest); slots["super"] != "" && d.r.IntN(3) > 0 {
		pattern = "best_super"
	}
	p := q.program(pattern, slots, Answer{Form: "text", Values: valueTexts(q.Run())})
	if d.r.IntN(3) == 0 {
		return d.withValue(p, q)
	}
	return p
}

// clear reports whether the order has no tie where the limit cuts, or within.
func (d *drawer) clear(q Query) bool {
	limit := q.Limit
	q.Limit = 0
	labels := q.Run()
	q.Column = q.Order
	values := q.Run()
	if len(values) <= limit || repeats(valueTexts(labels)) {
		return false
	}
	for i := range limit {
		if equal(values[i], values[i+1]) {
			return false
		}
	}
	return true
}

func (d *drawer) top() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(isNumber)
	if len(props) == 0 {
		return nil
	}
	i, greatest := pick(d.r, props), d.r.IntN(3) > 0
	q := Query{Table: t, Column: t.Label, Of: -1, Order: i, Desc: greatest, Limit: 2 + d.r.IntN(3)}
	if c, ok := d.class(t); ok {
		q.Where = []Cond{c}
	}
	if !d.clear(q) {
		return nil
	}
	slots := d.about(t)
	slots["attr"], slots["n"] = t.Columns[i].caption(), []string{"two", "three", "four"}[q.Limit-2]
	slots["end"] = map[bool]string{true: "highest", false: "lowest"}[greatest]
	return q.program("top", slots, Answer{Form: "list", Values: valueTexts(q.Run()), Order: true})
}

// report lists things with a property of each, in a form that is stated.
func (d *drawer) report() *Program {
	t, where, phrase := d.drawFilter(1)
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	props := t.properties(isNumber)
	rows := t.rows(where)
	if len(props) == 0 || len(rows) == 0 || len(rows) > 5 {
		return nil
	}
	i := pick(d.r, props)
	rows = slices.Clone(rows)
	sort.SliceStable(rows, func(a, b int) bool { return less(rows[b][i], rows[a][i]) })
	var lines []string
	for k, row := range rows {
		if row[i] == nil || !sayable(row[i]) || k > 0 && equal(row[i], rows[k-1][i]) {
			return nil
		}
		lines = append(lines, t.rowLabel(row)+": "+t.Columns[i].show(row[i]))
	}
	q := Query{Table: t, Where: where, Column: t.Label, Of: -1, Order: i, Desc: true}
	sql := q.SQL()
	from := strings.Index(sql, " FROM ")
	column := t.selectExpr(i, "")
	if strings.Contains(sql, " JOIN ") {
		column = t.selectExpr(i, Ident(t.Name)+".")
	}
	slots := d.about(t)
	slots["filter"], slots["attr"] = phrase, t.Columns[i].caption()
	return &Program{
		pattern: "report",
		slots:   slots,
		Answer:  Answer{Form: "lines", Values: lines, Order: true},
		Steps:   []Step{{SQL: sql[:from] + ", " + column + sql[from:]}},
		Tables:  q.tables(),
		query:   &q,
	}
}

func (d *drawer) compare() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	props := t.properties(isNumber)
	a, b := d.sole(t), d.sole(t)
	if len(props) == 0 || a == nil || b == nil {
		return nil
	}
	i := pick(d.r, props)
	if t.rowLabel(a) == t.rowLabel(b) || a[i] == nil || b[i] == nil || equal(a[i], b[i]) {
		return nil
	}
	q := Query{Table: t, Where: []Cond{{t.Label, -1, Among, []any{t.value(a, t.Label, -1), t.value(b, t.Label, -1)}}},
		Column: t.Label, Of: -1, Order: i, Desc: true, Limit: 1}
	more := a
	if less(a[i], b[i]) {
		more = b
	}
	slots := d.about(t)
	slots["x"], slots["y"], slots["attr"] = d.nameInRequest(t, a), d.nameInRequest(t, b), t.Columns[i].caption()
	p := q.program("compare", slots, Answer{Form: "text", Values: []string{t.rowLabel(more)},
		Among: []string{t.rowLabel(a), t.rowLabel(b)}})
	label := q.column(t.Label, -1, t.Columns[t.Label].Ref != nil)
	if t.Columns[t.Label].Ref != nil {
		return nil
	}
	p.Steps = []Step{{SQL: fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s OR %s", label, Ident(t.Columns[i].Name),
		Ident(t.Name), t.test(t.Label, "", Is, a[t.Label]), t.test(t.Label, "", Is, b[t.Label]))}}
	p.Result = nil
	return p
}

func (d *drawer) yesNo() *Program {
	t, where, phrase := d.drawFilter(1 + d.r.IntN(2))
	if t == nil {
		return nil
	}
	n := len(t.rows(where))
	if n > 0 == (d.r.IntN(2) == 0) && n > 0 { // as often no as yes, where there is a no
		return nil
	}
	q := Query{Table: t, Where: where, Agg: "COUNT", Of: -1, Order: -1}
	slots := d.about(t)
	slots["filter"] = phrase
	answer := "No"
	if n > 0 {
		answer = "Yes"
	}
	return q.program("yes_no", slots, Answer{Form: "yes_no", Values: []string{answer}})
}

func (d *drawer) missing() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	if d.r.IntN(2) == 0 {
		props := t.properties(func(c Column) bool { return c.Ref == nil })
		props = slices.DeleteFunc(props, func(i int) bool {
			n := len(t.rows([]Cond{{i, -1, Null, nil}}))
			return n == 0 || n > mostListed || !d.isClear(t, Cond{i, -1, Null, nil}, "")
		})
		if len(props) == 0 {
			return nil
		}
		i := pick(d.r, props)
		q := Query{Table: t, Where: []Cond{{i, -1, Null, nil}}, Column: t.Label, Of: -1, Order: -1}
		if c, ok := d.class(t); ok && len(t.rows([]Cond{c, q.Where[0]})) > 0 {
			q.Where = append(q.Where, c)
		} else {
			d.one, d.many, d.looked = "", "", nil
		}
		slots := d.about(t)
		slots["attr"] = t.Columns[i].caption()
		pattern := "missing"
		if t.Columns[i].No != "" && !t.hasFlags(i) { // what it means that there is none
			pattern, slots["filter"] = "list", t.Columns[i].No
		}
		if a := (Answer{Form: "list", Values: valueTexts(q.Run())}); !repeats(a.Values) {
			return q.program(pattern, slots, a)
		}
		return nil
	}
	return d.unrelated(t)
}
