package programs

import (
	"slices"
	"strings"
)

// choice asks for, or changes, those of several things that meet one condition or two: all of a kind, or those at a
// hub, whose own notes are opened first. kind says what becomes of them.
func (gt *GraphTables) choice(d *drawer, kind string) *GraphProgram {
	g := &GraphProgram{Program: &Program{}}
	all := d.table()
	if all == nil {
		return nil
	}
	slots, pool := about(all), all
	if hubs := gt.ofOneKind(); len(hubs) > 0 && d.r.IntN(5) < 3 {
		h := pick(d.r, hubs)
		all, pool = h.table, h.only()
		slots = about(all)
		slots["one"], slots["many"] = gt.called(d, h)
		gt.look(g, h)
	} else {
		g.Types = []string{gt.types[all]}
	}
	q := Query{Table: pool, Column: 0, Of: -1, Order: -1}
	if pool != all {
		q.among = slots["many"]
	}
	ok := false
	if q.Where, slots["filter"], ok = gt.tests(d, pool); !ok {
		return nil
	}
	if startsRelative(slots["filter"]) && startsRelative(strings.TrimPrefix(slots["many"], all.Many+" ")) {
		if q.Where[0].Op == Either {
			return nil
		}
		slots["filter"] = "and " + slots["filter"]
	}
	g.slots, g.query, g.Tables, g.sayings = slots, &q, []*Table{all}, d.sayings
	names := labels(pool, q.Rows())
	if len(q.Rows()) == len(pool.Rows) || len(names) > mostListed || repeats(names) ||
		slices.ContainsFunc(names, func(n string) bool { return !sayable(n) }) {
		return nil
	}
	if act := map[string]func(*drawer, *GraphProgram, []string) bool{noteMany: gt.noteEach, noteIf: gt.noteUnless,
		clearOut: gt.clearOut, chosen: gt.ask, winners: gt.askWinner}[kind]; !act(d, g, names) {
		return nil
	}
	return g
}

// only is the table of the members, without the others.
func (h hub) only() *Table {
	t := *h.table
	t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(row []any) bool {
		return !slices.Contains(h.members, Show(row[0]))
	})
	return &t
}

// look says that a hub is looked for, and then its members are opened.
func (gt *GraphTables) look(g *GraphProgram, h hub) {
	g.Named, g.Members, g.relations = []string{h.name}, h.members, []string{h.kind}
	noun, _ := roleOf(h.kind, !h.leads, h.table.OfPeople())
	if noun = strings.TrimSpace(noun); noun == "" {
		noun = h.table.One
	}
	g.Opens = "By " + h.kind + ", the " + plural(noun) + " of " + h.name + ": " + strings.Join(h.members, ", ") + "."
}

// TellMembers has the working begin with who the members are, where all is read at once and no opening names them.
func (g *GraphProgram) TellMembers() {
	if !strings.Contains(g.own(), strings.TrimSuffix(g.Opens, ".")) {
		g.head = g.Opens
	}
}

// tests draw one condition, or two, on things: both must hold, or one is enough. ok is false where they say nothing.
func (gt *GraphTables) tests(d *drawer, t *Table) (where []Cond, phrase string, ok bool) {
	if d.r.IntN(5) == 0 {
		if where, phrase, ok = gt.anyOf(d, t); ok {
			return where, phrase, ok
		}
	}
	one, phrase, ok := gt.test(d, t, -1)
	if !ok || d.r.IntN(3) == 0 {
		return []Cond{one}, phrase, ok
	}
	two, more, ok := gt.test(d, t, one.Column)
	both := []Cond{one, two}
	switch {
	case !ok:
		return nil, "", false
	case one.excludes(t, two) && len(t.rows(both)) == 0: // nobody asks for what is open and closed
		return nil, "", false
	case d.r.IntN(3) > 0 && !strings.Contains(phrase+more, " or "): // fewer of these leave some out
		return []Cond{{one.Column, -1, Either, both}}, phrase + " or " + more, true
	}
	if strings.Contains(phrase+more, " or ") {
		return both, phrase + " and " + more, true
	}
	return both, together(phrase, more), true
}

// startsRelative reports whether a phrase needs "and" behind "who ...".
func startsRelative(phrase string) bool {
	return slices.Contains(strings.Fields("who whose that noted which where whom for to"), firstWord(phrase))
}

// excludes reports whether two conditions are notes that say the same thing otherwise: "pays within 14 days" and "pays
// within 30 days".
func (c Cond) excludes(t *Table, o Cond) bool {
	a, b := t.Columns[c.Column], t.Columns[o.Column]
	return a.Note && b.Note && equal(c.Value, int64(1)) && equal(o.Value, int64(1)) &&
		firstWord(a.Says) == firstWord(b.Says)
}

// test draws a condition on a property of some things: a note that is there or is not, a value, one of the other
// values, a bound, or no value at all. The phrase stands behind the plural, and says no other condition too.
func (gt *GraphTables) test(d *drawer, t *Table, not int) (c Cond, phrase string, ok bool) {
	columns := t.properties(func(c Column) bool { // who pays within 14 days pays within 30, too
		return c.Ref == nil && !c.Several && !(c.Note && strings.Contains(c.Says, " within "))
	})
	if columns = slices.DeleteFunc(columns, func(i int) bool { return i == not }); len(columns) == 0 {
		return c, "", false
	}
	if said := gt.spokenOf(t, columns); len(said) > 0 && d.r.IntN(5) < 3 {
		columns = said
	}
	i := pick(d.r, columns)
	column, v := t.Columns[i], pick(d.r, t.Rows)[i]
	c, who := Cond{i, -1, Is, v}, map[bool]string{true: "who", false: "that"}[t.OfPeople()]
	switch {
	case column.Note: // to have it is asked for as often as not to have it
		c.Value = int64(d.r.IntN(2))
		phrase = column.flagPhrase(c.Value)
		if d.r.IntN(4) > 0 && d.divides(t, c) {
			if said := gt.inOtherWords(d, t, c); said != "" {
				return c, said, true
			}
		}
		if !strings.Contains(phrase, column.Says) {
			d.sayings = append(d.sayings, saying{phrase, "", c.meant(t), true})
		}
	case v == nil:
		c.Op, phrase = Null, "without "+article(column.caption())
	case isOrdered(column):
		said := column.show(v)
		if column.Kind == Date {
			said = d.dateText(said)
		}
		c.Op, phrase = Above, put(column.morePhrase(), said)
		if d.r.IntN(2) == 0 {
			c.Op, phrase = Below, put(column.lessPhrase(), said)
		}
	default:
		values := t.values(i)
		if len(values) > mostStates+1 || len(values) == len(t.Rows) || t.hasNone(i) || !sayable(v) {
			return c, "", false
		}
		is := column.withPhrase() == "that are {v}"
		switch n := d.r.IntN(3); {
		case n == 0 && is:
			c.Op, phrase = Not, who+" are not "+Show(v)
		case n == 0:
			c.Op, phrase = Not, whose(column.caption(), "not "+Show(v))
		case is:
			phrase = who + " are " + Show(v)
		default:
			phrase = whose(column.caption(), Show(v))
		}
	}
	return c, phrase, phrase != "" && d.divides(t, c)
}

// ask asks for the names of what was chosen, how many there are, whether there are any, or for a figure of theirs.
func (gt *GraphTables) ask(d *drawer, g *GraphProgram, names []string) bool {
	q := g.query
	numbers := q.Table.properties(func(c Column) bool { return isNumber(c) && !c.isYear() })
	switch n := d.r.IntN(10); {
	case n < 2:
		q.Agg = "COUNT"
		g.Kind, g.pattern = Count, "count"
		g.Answer = Answer{Form: "number", Values: valueTexts(q.Run())}
	case n < 3:
		answer := map[bool]string{true: "Yes", false: "No"}[len(names) > 0]
		g.Kind, g.pattern, g.Answer = YesNo, "yes_no", Answer{Form: "yes_no", Values: []string{answer}}
	case n < 5 && len(numbers) > 0 && len(names) > 1:
		q.Column = pick(d.r, numbers)
		if q.Table.hasNone(q.Column) ||
			slices.ContainsFunc(q.parts(), func(c Cond) bool { return c.Column == q.Column }) {
			return false
		}
		g.slots["attr"] = q.Table.Columns[q.Column].caption()
		if d.r.IntN(2) == 0 {
			return gt.askExtreme(d, g)
		}
		q.Agg = "SUM"
		g.Kind, g.pattern = Total, "sum"
		g.Answer = Answer{Form: "number", Values: valueTexts(q.Run())}
	case n < 7 && gt.askValues(d, g, names):
	default:
		g.Kind, g.pattern, g.Answer = List, "list", Answer{Form: "list", Values: names}
		if len(names) == 0 {
			return false
		}
		gt.form(d, g)
	}
	return true
}

// askExtreme asks which of them has most, or least, of the property that the query shows.
func (gt *GraphTables) askExtreme(d *drawer, g *GraphProgram) bool {
	q := g.query
	greatest := d.r.IntN(2) == 0
	q.Order, q.Column, q.Desc, q.Limit = q.Column, 0, greatest, 1
	if !d.clear(*q) {
		return false
	}
	g.Kind, g.pattern, g.slots["end"] = Best, "best", end(q.Table.Columns[q.Order], greatest)
	g.Answer = Answer{Form: "text", Values: valueTexts(q.Run())}
	return true
}

// givenNames are the first words of names of two words each, where no two are the same.
func givenNames(names []string) (first []string, ok bool) {
	for _, name := range names {
		words := strings.Fields(name)
		if len(words) != 2 || !isASCII(name) {
			return nil, false
		}
		first = append(first, words[0])
	}
	return first, !repeats(first)
}

// noteEach puts one note on each of what was chosen.
func (gt *GraphTables) noteEach(d *drawer, g *GraphProgram, names []string) bool {
	v := gt.remark(d, g.Tables[0])
	for _, name := range names {
		g.Edits = append(g.Edits, note(AddNote, name, v))
	}
	g.Kind, g.pattern, g.slots["v"] = SetAll, "note_all", v
	return len(names) > 0 && len(names) <= mostChanged
}

// clearOut removes what was chosen, with its relations.
func (gt *GraphTables) clearOut(d *drawer, g *GraphProgram, names []string) bool {
	for _, name := range names {
		g.Edits = append(g.Edits, Edit{Do: RemoveThing, Thing: Thing{Name: name}})
	}
	g.Kind, g.pattern = SetAll, pick(d.r, []string{"remove_all", "forget_all"})
	return len(names) > 0 && len(names) <= mostChanged
}

// noteUnless puts a note on a thing where nothing was chosen: on the hub, or on a thing of its own.
func (gt *GraphTables) noteUnless(d *drawer, g *GraphProgram, names []string) bool {
	if len(names) > 0 && d.r.IntN(2) == 0 {
		return false
	}
	to := &Table{One: "thing", Label: -1}
	if len(g.Named) == 0 {
		t, row := gt.thing(d)
		if row == nil {
			return false
		}
		to, g.Named = t, []string{Show(row[0])}
	}
	x := g.Named[0]
	if t := gt.tableOf(gt.Graph.Thing(x).Type); t != nil {
		to = t
	}
	g.Kind, g.pattern = ActIf, "note_if"
	g.slots["x"], g.slots["v"] = x, gt.remark(d, to)
	if len(names) == 0 {
		g.Edits = []Edit{note(AddNote, x, g.slots["v"])}
		return true
	}
	is := map[bool]string{true: " is", false: " are"}[len(names) == 1]
	g.Answer = Answer{Form: "left",
		Values: []string{"Nothing was changed: " + enumerate(names[:min(3, len(names))]) + is + " there."}}
	return true
}
