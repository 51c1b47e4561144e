package programs

import (
	"fmt"
	"slices"
	"strings"
)

// chain asks for what stands in a relation to something that a named thing has a relation to: "Who leads the project
// that Ana works on?" The one in the middle is opened next.
func (gt *GraphTables) chain(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	first := pick(d.r, gt.Graph.Relations)
	x, m, leads := first.From, first.To, true
	if d.r.IntN(2) == 0 {
		x, m, leads = m, x, false
	}
	var next []Relation
	for _, r := range gt.Graph.Relations {
		if (r.From == m || r.To == m) && r.From != x && r.To != x {
			next = append(next, r)
		}
	}
	tx, tm := gt.Graph.Thing(x), gt.Graph.Thing(m)
	if len(next) == 0 || tx == nil || tm == nil || len(gt.ends(x, first.Type, leads)) != 1 ||
		!verbalOf(first.Type).sayable() || tm.Type == "" {
		return nil
	}
	r := pick(d.r, next)
	found := gt.ends(m, r.Type, r.From == m)
	if !verbalOf(r.Type).sayable() || len(found) > mostMembers || slices.Contains(found, x) {
		return nil
	}
	middle := gt.middle(d, x, tm, first.Type, leads)
	asks := gt.askEnd(d, middle, found, r.Type, r.From == m)
	if asks == "" || !sayable(x) {
		return nil
	}
	a := Answer{Form: "text", Values: found}
	if len(found) > 1 {
		a.Form = "list"
	}
	stated := func(r Relation) string { return r.From + " " + verbalOf(r.Type).said() + " " + r.To }
	p := &Program{Kind: Join, pattern: "asks", slots: map[string]string{"x": x, "asks": asks}, Answer: a}
	if one := gt.Graph.Thing(found[0]); one != nil && d.r.IntN(4) == 0 { // whether it is this one
		end := found[0]
		if d.r.IntN(2) == 0 {
			end = gt.another(d, one)
		}
		if end == "" || end == x || end == m || !sayable(end) {
			return nil
		}
		p.Kind, p.Answer = YesNo, Answer{Form: "yes_no", Values: []string{"No"}}
		if slices.Contains(found, end) {
			p.Answer.Values[0] = "Yes"
		}
		from, to := Relation{end, m, r.Type}, [2]string{end, middle}
		if r.From == m {
			from, to = Relation{m, end, r.Type}, [2]string{middle, end}
		}
		p.slots["y"], p.slots["asks"] = end, verbalOf(r.Type).does(to[0], to[1])
		p.verdict = stated(from)
	}
	lines := []string{stated(first)}
	for _, name := range found {
		if one := (Relation{m, name, r.Type}); r.From == m {
			lines = append(lines, stated(one))
		} else {
			lines = append(lines, stated(Relation{name, m, r.Type}))
		}
	}
	p.Work(lines...)
	g := &GraphProgram{Program: p, Named: []string{x}, Members: []string{m}, relations: []string{first.Type, r.Type},
		Opens: stated(first) + "."}
	return g
}

// linkProduct takes a price of a thing times a number of the one that it is linked with: the price a night of a hotel,
// times the nights in its city.
func (gt *GraphTables) linkProduct(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	r, leads := pick(d.r, gt.Graph.Relations), d.r.IntN(2) == 0
	x, m := gt.Graph.Thing(r.From), gt.Graph.Thing(r.To)
	if !leads {
		x, m = m, x
	}
	if x == nil || m == nil || !verbalOf(r.Type).sayable() || len(gt.ends(x.Name, r.Type, leads)) != 1 ||
		!sayable(x.Name) {
		return nil
	}
	a, price, noted := gt.figure(d, x, func(c Column) bool {
		return slices.ContainsFunc(strings.Fields("price cost fee rate rent ticket wage"), mentionsIn(c.caption()))
	})
	b, number, also := gt.figure(d, m, func(c Column) bool { return !mentionsIn(c.caption())("price") && !c.isYear() })
	if a == "" || b == "" || a == b {
		return nil
	}
	middle := gt.middle(d, x.Name, m, r.Type, leads)
	asks := strings.NewReplacer("{a}", a, "{b}", b, "{x}", x.Name, "{m}", middle).Replace(pick(d.r, []string{
		"What does {x} come to in all, with the {a} times the {b} of {m}?",
		"How much is the {a} of {x} times the {b} of {m}?",
		"What do I get if I multiply the {a} of {x} by the {b} of {m}?",
		"If the {a} of {x} is due for each of the {b} of {m}, what is that altogether?",
	}))
	due := price * number
	lines := []string{x.Name + ": " + noted, m.Name + ": " + also, times(number, b, price, due)}
	g := &GraphProgram{Named: []string{x.Name}, Members: []string{m.Name}, relations: []string{r.Type},
		Opens: r.From + " " + verbalOf(r.Type).said() + " " + r.To + "."}
	slots := map[string]string{"x": x.Name}
	if x2, m2, r2 := gt.alike(d, x, r, leads); m2 != nil && d.r.IntN(3) > 0 {
		called := func(caption string) func(Column) bool {
			return func(c Column) bool { return c.caption() == caption }
		}
		_, price2, noted2 := gt.figure(d, x2, called(a))
		_, number2, also2 := gt.figure(d, m2, called(b))
		if noted2 == "" || also2 == "" {
			return nil
		}
		asks = strings.NewReplacer("{a}", a, "{b}", b, "{x}", x.Name, "{y}", x2.Name, "{m}",
			singular(Words(m.Type))).Replace(pick(d.r, []string{
			"What do {x} and {y} come to together, each with its {a} times the {b} of its {m}?",
			"For {x} and {y}, take the {a} times the {b} of the {m} that it goes with. What is the sum?",
			"How much are {x} and {y} in all, if the {a} of each is due for each of the {b} of its {m}?"}))
		lines = append(lines, x2.Name+": "+noted2, m2.Name+": "+also2, times(number2, b, price2, price2*number2),
			fmt.Sprintf("%s + %s = %s", cents(due), cents(price2*number2), cents(due+price2*number2)))
		due += price2 * number2
		slots["y"] = x2.Name
		g.Named = append(g.Named, x2.Name)
		if g.Opens += " " + r2.From + " " + verbalOf(r2.Type).said() + " " + r2.To + "."; m2 != m {
			g.Members = append(g.Members, m2.Name)
		}
	}
	slots["asks"] = asks
	g.Program = &Program{Kind: Total, pattern: "asks", slots: slots,
		Answer: Answer{Form: "number", Values: []string{cents(due)}}}
	g.Work(lines...)
	return g
}

// cents writes an amount with two digits behind the point at most.
func cents(x float64) string { return Show(float64(int64(x*100+0.5)) / 100) }

// times is a line of a working: "3 nights x 80 = 240".
func times(n float64, of string, each, total float64) string {
	return Show(n) + " " + of + " x " + Show(each) + " = " + cents(total)
}

// alike is another thing of the type of one that has one relation of a type, too, with what that leads to; nil where
// there is none.
func (gt *GraphTables) alike(d *drawer, x *Thing, like Relation, leads bool) (other, end *Thing, r Relation) {
	for _, at := range d.r.Perm(len(gt.Graph.Relations)) {
		r = gt.Graph.Relations[at]
		name, to := r.From, r.To
		if !leads {
			name, to = to, name
		}
		other, end = gt.Graph.Thing(name), gt.Graph.Thing(to)
		if r.Type == like.Type && other != nil && end != nil && other.Type == x.Type && name != x.Name &&
			sayable(name) && len(gt.ends(name, r.Type, leads)) == 1 {
			return other, end, r
		}
	}
	return nil, nil, r
}

// mentionsIn matches words that stand in a text.
func mentionsIn(text string) func(word string) bool {
	return func(word string) bool { return mentions(word)(text) }
}

// figure is a number that is noted of a thing: what it is called, its value and the note. The name is "" where there is
// none.
func (gt *GraphTables) figure(d *drawer, x *Thing, want func(Column) bool) (name string, value float64, text string) {
	t := gt.tableOf(x.Type)
	if t == nil {
		return "", 0, ""
	}
	row := t.byKey(x.Name)
	columns := t.properties(func(c Column) bool { return isNumber(c) && want(c) })
	if len(columns) == 0 || row == nil {
		return "", 0, ""
	}
	i := pick(d.r, columns)
	v, ok := asFloat(row[i])
	if !ok || v <= 0 {
		return "", 0, ""
	}
	return t.Columns[i].caption(), v, gt.sources[t][i].value(row[i])
}

// ends are the things at the other end of the relations of a type that lead from a thing, or to it.
func (gt *GraphTables) ends(name, kind string, leads bool) (list []string) {
	for _, r := range gt.Graph.Relations {
		switch {
		case r.Type != kind:
		case leads && r.From == name:
			list = append(list, r.To)
		case !leads && r.To == name:
			list = append(list, r.From)
		}
	}
	return list
}

// middle names a thing by its relation to another: "the boss of Sam", "the client that Atlas is done for".
func (gt *GraphTables) middle(d *drawer, x string, m *Thing, kind string, leads bool) string {
	people := gt.areOfPeople(m.Type)
	if noun, by := roleOf(kind, !leads, people); noun != "" && noun != "person" && d.r.IntN(4) > 0 {
		return "the " + noun + " " + by + " " + x
	}
	who := map[bool]string{true: "who", false: "that"}[people]
	one := singular(Words(m.Type))
	if leads {
		return "the " + one + " " + ofOne(put(verbalOf(kind).these(who), x))
	}
	return "the " + one + " " + who + " " + verbalOf(kind).said() + " " + x
}

func (gt *GraphTables) areOfPeople(kind string) bool {
	return (&Table{One: singular(Words(kind)), Label: 0, Columns: []Column{{}}}).OfPeople()
}

// askEnd asks for the ends of a relation of what is named: "Who is the boss of ...?", "Which projects does ... lead?"
// "" where these are of several types.
func (gt *GraphTables) askEnd(d *drawer, of string, found []string, kind string, leads bool) string {
	types := map[string]bool{}
	for _, name := range found {
		if t := gt.Graph.Thing(name); t != nil {
			types[t.Type] = true
		}
	}
	t := gt.Graph.Thing(found[0])
	if len(types) != 1 || t == nil || t.Type == "" {
		return ""
	}
	v, people, one := verbalOf(kind), gt.areOfPeople(t.Type), singular(Words(t.Type))
	if noun, by := roleOf(kind, !leads, people); noun != "" && noun != "person" && d.r.IntN(4) > 0 {
		who := map[bool]string{true: "Who", false: "What"}[people]
		if len(found) > 1 {
			return who + " are the " + plural(noun) + " " + by + " " + of + "?"
		}
		return who + " is the " + noun + " " + by + " " + of + "?"
	}
	if leads {
		asked := "Which " + one
		if people {
			asked = "Who"
		}
		if len(found) > 1 {
			asked = "Which " + plural(one)
		}
		return put(strings.ReplaceAll(v.asks(asked), "{x}", "{v}"), of)
	}
	asked := "Which " + one + " "
	if people {
		asked = "Who "
	}
	return asked + v.said() + " " + of + "?"
}

// perGroup asks how many members each thing of a type has, in a form of its own.
func (gt *GraphTables) perGroup(d *drawer) *GraphProgram {
	hubs := slices.DeleteFunc(gt.ofOneKind(), func(h hub) bool { return gt.Graph.Thing(h.name).Type == "" })
	if len(hubs) == 0 {
		return nil
	}
	h := pick(d.r, hubs)
	kind := gt.Graph.Thing(h.name).Type
	var names, forms, values, lines []string
	for _, t := range gt.Graph.Things {
		if t.Type == kind {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	if len(names) < 2 || len(names) > mostMembers || !(Answer{Values: names}).isAlphabetical() {
		return nil
	}
	mark := pick(d.r, [][2]string{{"%s=%v", ", "}, {"%s: %v", "; "}, {"%s (%v)", ", "}, {"%s - %v", ", "}})
	for _, name := range names {
		of := gt.ends(name, h.kind, h.leads)
		if slices.ContainsFunc(of, func(m string) bool { return h.table.byKey(m) == nil }) {
			return nil
		}
		forms = append(forms, fmt.Sprintf(mark[0], name, "x"))
		values = append(values, fmt.Sprintf(mark[0], name, len(of)))
		lines = append(lines, name+": "+strings.Join(append(Numbered(of), fmt.Sprintf("so %d", len(of))), " - "))
	}
	form := strings.Join(forms, mark[1])
	if len(names) > 3 {
		form = strings.Join(forms[:2], mark[1]) + " and so on, in alphabetical order"
	}
	noun, _ := roleOf(h.kind, !h.leads, h.table.OfPeople())
	slots := map[string]string{"one": singular(Words(kind)), "many": plural(singular(Words(kind))), "v": form,
		"others": h.table.Many}
	if noun != "" && noun != "person" {
		slots["others"] = plural(noun)
	} else if gt.severalWays(h) { // "people" who work there, or who lead it?
		return nil
	}
	p := &Program{Kind: Most, pattern: "each_count", slots: slots,
		Answer: Answer{Form: "lines", Values: []string{strings.Join(values, mark[1])}}}
	p.Work(lines...)
	return &GraphProgram{Program: p, Types: []string{kind}, relations: []string{h.kind}}
}

// severalWays reports whether the members' type stands in other relations, too, to things of the hub's type.
func (gt *GraphTables) severalWays(h hub) bool {
	kind := gt.Graph.Thing(h.name).Type
	return slices.ContainsFunc(gt.Graph.Relations, func(r Relation) bool {
		from, to := gt.Graph.Thing(r.From), gt.Graph.Thing(r.To)
		if from == nil || to == nil || r.Type == h.kind {
			return false
		}
		return from.Type == kind && h.table.byKey(r.To) != nil || to.Type == kind && h.table.byKey(r.From) != nil
	})
}

// placesLeft takes the members of a hub from the number of places that it has.
func (gt *GraphTables) placesLeft(d *drawer) *GraphProgram {
	hubs := gt.ofOneKind()
	if len(hubs) == 0 {
		return nil
	}
	h := pick(d.r, hubs)
	places := strings.Fields("desks seats places beds chairs lockers spots rooms capacity tents boxes tickets slots " +
		"people berths keys parking")
	for _, text := range gt.Graph.Thing(h.name).Notes {
		f, v, ok := formOf(text)
		n, _ := asFloat(numberOf(v))
		noun := ""
		for _, w := range strings.Fields(strings.ToLower(f.before + f.after)) {
			if slices.Contains(places, w) {
				noun = w
			}
		}
		if !ok || noun == "" || n != float64(int(n)) || int(n) < len(h.members) {
			continue
		}
		if noun == "capacity" || noun == "people" {
			noun = "places"
		}
		slots := map[string]string{"x": h.name, "attr": noun}
		_, slots["others"] = gt.called(d, h)
		left := int(n) - len(h.members)
		p := &Program{Kind: Total, pattern: "places_left", slots: slots,
			Answer: Answer{Form: "number", Values: []string{fmt.Sprint(left)}}}
		p.Work(h.name+": "+text, Numbered(h.members)[0], fmt.Sprintf("%d - %d = %d", int(n), len(h.members), left))
		return &GraphProgram{Program: p, Named: []string{h.name}, relations: []string{h.kind}}
	}
	return nil
}

// keep has some changes of one thing say of another one of its type that it stays: nothing of that is to be looked at.
func (gt *GraphTables) keep(d *drawer, g *GraphProgram) {
	if len(g.Edits) == 0 || g.then != nil || len(g.Named) != 1 || len(g.Types)+len(g.Members) > 0 || d.r.IntN(5) > 0 {
		return
	}
	t := gt.Graph.Thing(g.Named[0])
	if t == nil {
		return
	}
	other := gt.another(d, t)
	if other == "" || !sayable(other) || slices.ContainsFunc(g.Edits, func(e Edit) bool {
		return slices.Contains([]string{e.Thing.Name, e.Relation.From, e.Relation.To}, other)
	}) || strings.Contains(g.Key(), other) {
		return
	}
	g.slots["keep"] = other
}
