package programs

import (
	"fmt"
	"slices"
	"strings"
)

// drawValues draws the values of a new row: columns, their literals, how they are said, and the tables looked into.
func (d *drawer) drawValues(t *Table) (columns, literals, said []string, tables []*Table, name string) {
	tables, d.gave = []*Table{t}, nil
	curt := d.r.IntN(2) == 0
	for i, c := range t.Columns {
		row := pick(d.r, t.Rows)
		switch {
		case i == t.Key && d.w.OwnKeys:
			continue
		case i == t.Key && i != t.Label && c.Kind == Text: // a code, which the person gives
			code := d.code(t, i)
			if code == "" {
				return nil, nil, nil, nil, ""
			}
			columns, literals, said =
				append(columns, Ident(c.Name)), append(literals, Literal(code)), append(said, c.caption()+" "+code)
			continue
		case i == t.Key && i != t.Label:
			if key, ok := t.next(); d.w.NoKeys && ok {
				columns, literals = append(columns, Ident(c.Name)), append(literals, Show(key))
			}
			continue
		case i == t.Label:
			v := d.fresh(t)
			if v == nil {
				return nil, nil, nil, nil, ""
			}
			if name = Show(v); len(c.Parts) == 2 {
				first, last, _ := strings.Cut(name, " ")
				columns = append(columns, Ident(t.Columns[c.Parts[0]].Name), Ident(t.Columns[c.Parts[1]].Name))
				literals = append(literals, Literal(first), Literal(last))
				continue
			}
			columns, literals = append(columns, Ident(c.Name)), append(literals, Literal(v))
			continue
		case slices.Contains(t.Columns[t.Label].Parts, i) || c.Note || c.Later:
			continue
		case row[i] == nil || !sayable(row[i]) || len(said) >= 2 && !c.Needed && d.r.IntN(3) == 0 &&
			(c.Kind != Date || t.hasNone(i)): // a day that each row has may be given by the store: today
			continue
		}
		v := row[i]
		if isNumber(c) || c.Bool {
			v = d.another(t, i, v)
		}
		literal, text := Literal(v), c.show(v)
		if c.Ref != nil {
			if free := t.unused(i); len(free) > 0 && d.r.IntN(3) == 0 { // its first one
				v = pick(d.r, free)[c.Ref.Key]
			}
			to := c.Ref.byKey(v)
			if to == nil || c.Ref.Columns[c.Ref.Label].Ref != nil || len(c.Ref.rows([]Cond{c.Ref.label(to)})) != 1 {
				continue
			}
			text = c.Ref.rowLabel(to)
			literal = c.Ref.keyOf(to)
			tables = append(tables, c.Ref)
		}
		as := c.caption() + " " + text
		if curt {
			as = t.bare(i, v, text)
		}
		columns, literals, said = append(columns, Ident(c.Name)), append(literals, literal), append(said, as)
		d.gave = append(d.gave, [2]string{c.caption(), text})
	}
	return columns, literals, said, tables, name
}

// code draws a code like those in a column, which no row has; "" where they are of another form.
func (d *drawer) code(t *Table, i int) string {
	for range tries {
		like := Show(pick(d.r, t.Rows)[i])
		at := strings.LastIndexByte(like, '-')
		if at <= 0 || at == len(like)-1 || strings.Trim(like[at+1:], "0123456789") != "" {
			return ""
		}
		code := fmt.Sprintf("%s%0*d", like[:at+1], len(like)-at-1, 10+d.r.IntN(890))
		if !slices.ContainsFunc(t.Rows, func(row []any) bool { return strings.EqualFold(Show(row[i]), code) }) {
			return code
		}
	}
	return ""
}

// next is the key after the greatest; ok is false where keys are no numbers.
func (t *Table) next() (key int64, ok bool) {
	for _, row := range t.Rows {
		n, is := row[t.Key].(int64)
		if !is {
			return 0, false
		}
		key = max(key, n)
	}
	return key + 1, true
}

// adding are the steps that add a row: where the store gives no keys, the greatest is looked up first.
func (d *drawer) adding(t *Table, columns, literals []string) (steps []Step) {
	if d.w.NoKeys && t.Key >= 0 && t.Key != t.Label {
		steps = append(
			steps,
			Step{SQL: fmt.Sprintf("SELECT MAX(%s) FROM %s", Ident(t.Columns[t.Key].Name), Ident(t.Name))},
		)
	}
	sql := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)",
		Ident(t.Name), strings.Join(columns, ", "), strings.Join(literals, ", "))
	return append(steps, Step{SQL: sql, Writes: true})
}

// fresh draws a label that no row has, of the form of those that are there.
func (d *drawer) fresh(t *Table) any {
	for range tries {
		a, b := t.rowLabel(pick(d.r, t.Rows)), t.rowLabel(pick(d.r, t.Rows))
		var v any
		if n, ok := t.Rows[0][t.Label].(int64); ok {
			v = n + int64(500+d.r.IntN(400))
		} else if x, y := strings.Fields(a), strings.Fields(b); len(t.Columns[t.Label].Parts) == 2 &&
			len(x)+len(y) != 4 {
			continue // where the first name ends is not said
		} else if len(x) > 1 && len(y) > 1 && !t.HasPersons() && (hasSmall(x) || hasSmall(y)) {
			v = x[0] + " " + pick(d.r, strings.Fields("Aurora Bellevue Meridian Panorama Nova"))
		} else if len(x) > 1 && len(y) > 1 {
			v = strings.Join(append(slices.Clone(x[:len(x)-1]), y[len(y)-1]), " ")
		} else if i := strings.LastIndexByte(a, '-'); i > 0 && i < len(a)-1 &&
			strings.Trim(a[i+1:], "0123456789") == "" {
			v = fmt.Sprintf("%s%d", a[:i+1], 100+d.r.IntN(900))
		} else if len(x) == 1 {
			v = newWord(d.r, t, a)
		}
		if v != nil && v != "" &&
			!slices.ContainsFunc(
				t.Rows,
				func(row []any) bool { return strings.EqualFold(Show(row[t.Label]), Show(v)) },
			) {
			return v
		}
	}
	return nil
}

func (d *drawer) insert() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	columns, literals, said, tables, name := d.drawValues(t)
	if name == "" || len(said) == 0 {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["given"] = name, enumerate(said)
	steps, look := d.adding(t, columns, literals), d.lookFirst(t, name)
	if len(look) > 0 {
		steps[0].Why = fmt.Sprintf("There is no %s yet.", name)
	}
	return &Program{pattern: "insert", slots: slots, given: d.gave, Steps: append(look, steps...), Tables: tables,
		Free: true}
}

// lookFirst looks whether a thing is there before it is added: what sounds like a new one is often a change of one that
// is there. There are no steps where names are no texts.
func (d *drawer) lookFirst(t *Table, name string) []Step {
	c := t.Columns[t.Label]
	if c.Kind != Text {
		return nil
	}
	op := Is
	if len(c.Parts) == 0 && !d.w.Cased && isASCII(name) && !strings.ContainsAny(name, `%_\\`) {
		op = Has
	}
	where := []Cond{{t.Label, -1, op, name}}
	if len(t.rows(where)) > 0 {
		return nil
	}
	return []Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, where)}}
}
