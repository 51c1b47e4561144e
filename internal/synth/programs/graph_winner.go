package programs

import (
	"slices"
	"strings"
)

// winner asks for a property, or a relation, of one thing that a condition, an extreme or a comparison of two tells
// first: "Which of the hotels costs least? Who looks after that hotel?"
func (gt *GraphTables) winner(d *drawer) *GraphProgram {
	if d.r.IntN(2) == 0 {
		return gt.choice(d, winners)
	}
	t, g := d.table(), &GraphProgram{Program: &Program{}}
	if t == nil {
		return nil
	}
	pool := t
	g.slots = about(t)
	if hubs := gt.ofOneKind(); len(hubs) > 0 && d.r.IntN(2) == 0 {
		h := pick(d.r, hubs)
		t, pool = h.table, h.only()
		g.slots = about(t)
		g.slots["one"], g.slots["many"] = gt.called(d, h)
		gt.look(g, h)
	} else if d.r.IntN(3) == 0 {
		x, y := d.sole(t), d.sole(t)
		if x == nil || y == nil || equal(x[0], y[0]) {
			return nil
		}
		h := hub{table: t, members: []string{Show(x[0]), Show(y[0])}}
		pool, g.Named = h.only(), h.members
		g.slots["x"], g.slots["y"] = h.members[0], h.members[1]
	} else {
		g.Types = []string{gt.types[t]}
	}
	g.query, g.Tables = &Query{Table: pool, Column: 0, Of: -1, Order: -1}, []*Table{t}
	if !gt.askWinner(d, g, labels(pool, pool.Rows)) {
		return nil
	}
	return g
}

// askWinner asks something of the only thing that was chosen, or of the first or last of several.
func (gt *GraphTables) askWinner(d *drawer, g *GraphProgram, names []string) bool {
	q := g.query
	taken := []int{0}
	for _, c := range q.parts() {
		taken = append(taken, c.Column)
	}
	switch {
	case len(names) == 0:
		return false
	case len(names) == 1:
		g.pattern = "winner_one"
	default:
		ordered := q.Table.properties(func(c Column) bool { return isOrdered(c) && c.Ref == nil })
		if len(ordered) == 0 {
			return false
		}
		i, greatest := pick(d.r, ordered), d.r.IntN(2) == 0
		if slices.Contains(taken, i) || q.Table.hasNone(i) {
			return false
		}
		q.Order, q.Desc, q.Limit = i, greatest, 1
		if !d.clear(*q) {
			return false
		}
		taken = append(taken, i)
		g.pattern, g.slots["super"] = "winner", q.Table.Columns[i].atEnd(greatest)
		if g.slots["x"] != "" {
			g.pattern, g.slots["super"] = "winner_two", q.Table.Columns[i].comparative(greatest)
		}
	}
	name := valueTexts(q.Run())[0]
	return gt.askOf(d, g, name, taken)
}

// atEnd tells the first or the last one by a property.
func (c Column) atEnd(greatest bool) string {
	if most := c.superlative(greatest); most != "" {
		return "the " + most + " one"
	}
	return "the one with the " + end(c, greatest) + " " + c.caption()
}

// comparative tells one of two by a property.
func (c Column) comparative(greatest bool) string {
	switch {
	case c.Most == "most expensive":
		return map[bool]string{true: "the more expensive one", false: "the cheaper one"}[greatest]
	case c.Most == "youngest":
		return map[bool]string{true: "the younger one", false: "the older one"}[greatest]
	case c.Kind == Date || c.Kind == Time || c.isYear():
		return "the one with the " + map[bool]string{true: "later ", false: "earlier "}[greatest] + c.caption()
	}
	return "the one with the " + map[bool]string{true: "higher ", false: "lower "}[greatest] + c.caption()
}

// askOf asks for a property of a thing that has been told, but for some, or for what it stands in a relation to.
func (gt *GraphTables) askOf(d *drawer, g *GraphProgram, name string, but []int) bool {
	t := g.Tables[0]
	row := t.byKey(name)
	if row == nil {
		return false
	}
	that := "that " + t.One
	if t.OfPeople() {
		that = "that person"
	}
	if d.r.IntN(5) < 2 {
		able := t.properties(func(c Column) bool { return c.Ref == nil && !c.Note && !c.Bool && !c.Several })
		able = slices.DeleteFunc(able, func(i int) bool {
			return slices.Contains(but, i) || row[i] == nil || !sayable(row[i])
		})
		if len(able) == 0 {
			return false
		}
		i := pick(d.r, able)
		c := t.Columns[i]
		asks, value := strings.ReplaceAll(c.Asks, "{x}", that), Show(row[i])
		if asks == "" {
			asks = "What is the " + c.caption() + " of " + that + "?"
		}
		g.Kind, g.Answer = Join, Answer{Form: "text", Values: []string{value}}
		if isNumber(c) {
			g.Answer.Form = "number"
		}
		g.verdict = "So it is " + name + ": " + c.says(t, i, row)
		if c.Kind == Date && d.r.IntN(2) == 0 {
			asks, g.Answer = "In which year is the "+c.caption()+" of "+that+"?",
				Answer{Form: "number", Values: []string{value[:4]}}
			g.verdict += "\nAs asked: " + value + " -> " + value[:4]
		}
		g.slots["asks"] = asks
		return true
	}
	var able []Relation
	for _, r := range gt.Graph.Relations {
		if (r.From == name || r.To == name) && r.From != r.To && verbalOf(r.Type).sayable() {
			able = append(able, r)
		}
	}
	if len(able) == 0 {
		return false
	}
	r := pick(d.r, able)
	found := gt.ends(name, r.Type, r.From == name)
	named := func(n string) bool { return slices.Contains(g.Named, n) }
	if len(found) > mostMembers || slices.ContainsFunc(found, named) {
		return false
	}
	if g.slots["asks"] = gt.askEnd(d, that, found, r.Type, r.From == name); g.slots["asks"] == "" {
		return false
	}
	g.Kind, g.Answer = Join, Answer{Form: "text", Values: found}
	if len(found) > 1 {
		g.Answer.Form = "list"
	}
	g.verdict = "So it is " + name + "."
	for _, end := range found {
		one := Relation{name, end, r.Type}
		if r.To == name {
			one.From, one.To = end, name
		}
		g.verdict += "\n" + one.From + " " + verbalOf(one.Type).said() + " " + one.To
	}
	g.relations = append(g.relations, r.Type)
	gt.form(d, g)
	return true
}

// form has names be asked for by their first words, or in the order of the alphabet, and the working say what becomes
// of them.
func (gt *GraphTables) form(d *drawer, g *GraphProgram) {
	names, line := g.Answer.Values, ""
	t := gt.Graph.Thing(names[0])
	if first, ok := givenNames(names); ok && t != nil && gt.areOfPeople(t.Type) && d.r.IntN(2) == 0 {
		var parts []string
		for i, name := range names {
			parts = append(parts, name+" -> "+first[i])
		}
		g.slots["first"], g.Answer.Values, line = "yes", first, "As asked: "+strings.Join(parts, ", ")
	}
	sorted := Answer{Form: g.Answer.Form, Values: slices.Sorted(slices.Values(g.Answer.Values))}
	if len(names) > 1 && sorted.isASCII() && sorted.isAlphabetical() && d.r.IntN(2) == 0 {
		if g.slots["sort"], g.Answer = "yes", sorted; line != "" {
			line += "; sorted: " + joinValues(sorted)
		} else {
			line = "Sorted: " + joinValues(sorted)
		}
	}
	g.verdict = strings.TrimSpace(g.verdict + "\n" + line)
}

// askValues asks for each of what was chosen with a property of it, a line for each.
func (gt *GraphTables) askValues(d *drawer, g *GraphProgram, names []string) bool {
	q := g.query
	able := q.Table.properties(func(c Column) bool { return c.Ref == nil && !c.Note && !c.Bool && !c.Several })
	if len(able) == 0 || len(names) < 2 || !(Answer{Values: names}).isASCII() {
		return false
	}
	i := pick(d.r, able)
	c := q.Table.Columns[i]
	form := pick(d.r, []string{"{x}: {v}", "{x}, {v}", "{x} - {v}", "{x} ({v})", "{x} = {v}"})
	line := func(name, value string) string { return strings.NewReplacer("{x}", name, "{v}", value).Replace(form) }
	var lines []string
	for _, row := range q.Rows() {
		if row[i] == nil || !sayable(row[i]) {
			return false
		}
		lines = append(lines, line(Show(row[0]), Show(row[i])))
	}
	if slices.Sort(lines); !(Answer{Values: lines}).isAlphabetical() {
		return false
	}
	g.Kind, g.pattern, g.slots["attr"] = List, "list_values", c.caption()
	g.slots["v"] = line("name", c.caption())
	g.Answer = Answer{Form: "lines", Values: lines}
	q.Column = i // the working says it
	return true
}
