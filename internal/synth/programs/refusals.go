package programs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What is to be refused or asked back stands next to what can be done: in the same words, with one thing missing. Words
// alone must not tell the two apart, or a model learns to refuse by them.

// nobody asks for, or changes, a thing that is not there: whoever searches for it finds that.
func (d *drawer) nobody() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil || t.Columns[t.Label].Kind != Text || d.w.Cased || d.w.Listed {
		return nil
	}
	props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several })
	name, ok := d.fresh(t).(string)
	if !ok || len(props) == 0 || len(t.Columns[t.Label].Parts) > 0 || t.describes() ||
		strings.ContainsAny(name, `%_'\\`) {
		return nil
	}
	last := name[strings.LastIndexByte(name, ' ')+1:]
	search := []Cond{{t.Label, -1, Has, name}}
	slots := d.about(t)
	i := pick(d.r, props)
	slots["x"], slots["attr"] = name, t.Columns[i].caption()
	p := &Program{
		pattern: "lookup",
		slots:   slots,
		Tables:  []*Table{t},
		Steps:   []Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, search)}},
		Answer:  Answer{Form: "unknown", Values: []string{"There is no " + t.One + " called " + name + " on record."}},
	}
	if last != name && len(t.rows([]Cond{{t.Label, -1, Has, last}})) == 0 { // nor one by a part of the name
		p.Steps = append(p.Steps,
			Step{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, []Cond{{t.Label, -1, Has, last}})})
	}
	if v := d.another(t, i, nil); v != nil && d.r.IntN(2) == 0 {
		if _, said, _ := d.literalOf(t.Columns[i], v, t.Rows[0]); said != "" {
			p.pattern, slots["v"] = "set", said
		}
	}
	return p
}

// unknown is a request about a property that no table has: one that worlds of other businesses have, said as these say
// it. Whoever looks finds that it is not recorded.
func (d *drawer) unknown() *Program {
	kinds := []string{Lookup, Lookup, Best, Total, Compare, Count, Count, List, List, YesNo, Missing, Set, Set, SetAll,
		SetAll, Adjust, Both, Both}
	d.short = true
	p := d.draw(pick(d.r, kinds))
	if p == nil || !slices.Contains(append(conditional(), "lookup", "compare", "missing", "set", "raise", "lower",
		"raise_all", "lower_all"), p.pattern) {
		return nil
	}
	t, filter := p.Tables[0], slices.Contains(conditional(), p.pattern) && (p.slots["attr"] == "" || d.r.IntN(2) == 0)
	number := slices.Contains([]string{"best", "best_super", "sum", "avg", "min", "max", "compare", "raise", "lower",
		"raise_all", "lower_all"}, p.pattern)
	c, said, ok := d.foreign(t, number && !filter, filter)
	switch {
	case !ok || !filter && p.slots["attr"] == "" || p.then != nil || p.slots["round"] != "":
		return nil
	case filter: // the phrase that went may have named something
		p.slots["filter"], d.through, d.near = said, nil, false
		delete(p.slots, "x")
		delete(p.slots, "y")
	default:
		if p.slots["attr"] = c.caption(); p.pattern == "set" || p.pattern == "set_all" {
			p.slots["v"] = said
		}
	}
	if p.pattern == "best_super" && !filter {
		p.pattern = "best"
	}
	of := p.slots["x"]
	if of == "" || p.pattern == "compare" {
		of = "the " + p.slots["many"]
	}
	p.Steps, p.Result, p.Tables, p.alphabetical, p.Free = nil, nil, []*Table{t}, false, false
	p.query, p.working = nil, ""
	if !filter && !d.w.Listed && t.Label >= 0 { // all that is recorded of the thing is looked at
		for _, row := range t.rows([]Cond{{t.Label, -1, Is, p.slots["x"]}}) {
			look, _ := d.before(t, []Cond{t.label(row)}, true)
			p.Steps = []Step{look}
		}
	}
	p.Answer = Answer{Form: "unknown", Values: []string{"The " + c.caption() + " of " + of + " is not recorded."}}
	d.looked = nil
	return p
}

// foreign is a property that worlds of other businesses have and this one has not, nor anything that might tell it,
// with a value of it, or with a phrase for a condition on it. Held-out worlds are asked for what other held-out ones
// have.
func (d *drawer) foreign(t *Table, number, condition bool) (c Column, said string, ok bool) {
	all := domains()
	own := slices.IndexFunc(all, func(o domain) bool { return o.Name == d.w.Name })
	persons := t.isOfPersons()
	for range 4 * tries {
		index := d.r.IntN(len(all))
		from := pick(d.r, all[index].Tables)
		if index == own || IsHeldOut(index) != (own >= 0 && IsHeldOut(own)) || from.Link != "" ||
			slices.Contains([]string{"person", "anyone"}, from.Columns[0].sort()) != persons {
			continue
		}
		dc := pick(d.r, from.Columns[1:])
		if dc.Ref != "" {
			continue
		}
		c := dc.column()
		v := dc.draw(d.r, c)
		if v == nil || !sayable(v) || c.flags(v) || number && (!isNumber(c) || c.isYear()) || d.tells(c) {
			continue
		}
		switch said := c.show(v); {
		case !condition:
			return c, said, true
		case isOrdered(c) && d.r.IntN(3) > 0: // most conditions are no bounds
			continue
		case isOrdered(c) && d.r.IntN(2) == 0:
			return c, strings.ReplaceAll(c.morePhrase(), "{v}", said), true
		case isOrdered(c):
			return c, strings.ReplaceAll(c.lessPhrase(), "{v}", said), true
		default:
			return c, put(c.withPhrase(), said), true
		}
	}
	return Column{}, "", false
}

// tells reports whether a table has a column that is called as a property is, or that might stand for it.
func (d *drawer) tells(c Column) bool {
	words := slices.DeleteFunc(tokens(c.caption()+" "+Words(c.Name)), func(w token) bool {
		return slices.Contains(grammar(), w.word)
	})
	var alike []string
	for _, w := range words {
		alike = append(alike, like(w)...)
	}
	return slices.ContainsFunc(d.w.Tables, func(t *Table) bool {
		return slices.ContainsFunc(t.Columns, func(o Column) bool {
			there := tokens(o.caption() + " " + Words(o.Name) + " " + t.One)
			return there.any(alike) || slices.ContainsFunc(words, func(w token) bool {
				return there.hasStems(spoken{w})
			})
		})
	})
}

// isOfPersons reports whether a table's things are called as people are: by two words without a digit.
func (t *Table) isOfPersons() bool {
	return t.Label >= 0 && len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []any) bool {
		name := strings.Fields(t.rowLabel(row))
		return len(name) != 2 || strings.ContainsAny(t.rowLabel(row), "0123456789'&") ||
			strings.ToUpper(name[1][:1]) != name[1][:1]
	})
}

// askBack is a request that does not say which thing is meant, or what a value is to be, and is else worded as one that
// does: nothing on the server could tell.
func (d *drawer) askBack() *Program {
	d.short = true
	if d.r.IntN(3) == 0 {
		return d.ofSome()
	}
	kinds := []string{Set, Set, Set, Set, Adjust, Lookup, Join, Remove, ActIf, ActIf}
	n := d.r.IntN(len(kinds))
	p, patterns := d.draw(kinds[n]), []string{"lookup", "join", "set", "set_two", "raise", "lower", "remove", "set_if"}
	if n < 2 {
		patterns = []string{"set"}
	}
	if p == nil || !slices.Contains(patterns, p.pattern) {
		return nil
	}
	ask, what := "Which "+p.slots["one"]+" do you mean?", asksWhich(p.slots["one"], p.slots["many"])
	if n < 2 {
		ask = "What should the " + p.slots["attr"] + " of " + p.slots["x"] + " be?"
		what = asksValue(p.slots["attr"])
		p.pattern, p.slots["v"] = "set_nothing", ""
	} else {
		p.slots["x"] = "the " + p.slots["one"]
	}
	p.Steps, p.Tables, p.Result, d.looked = nil, nil, nil, nil
	p.Answer = Answer{Form: "question", Values: []string{ask}, For: what}
	return p
}

// ofSome asks for what belongs to a thing that is not named: "the patients treated by the doctor".
func (d *drawer) ofSome() *Program {
	p := d.draw(pick(d.r, []string{Count, List, YesNo, Total, Best, SetAll, Both}))
	if p == nil || !slices.Contains(conditional(), p.pattern) {
		return nil
	}
	refs := p.Tables[0].properties(func(c Column) bool {
		return c.Ref != nil && len(c.Ref.Rows) > 1 && strings.Contains(c.withPhrase(), "{v}")
	})
	if len(refs) == 0 {
		return nil
	}
	c := p.Tables[0].Columns[pick(d.r, refs)]
	one := "the " + c.Ref.One
	said := strings.NewReplacer("the {v} "+c.Ref.One, one, "the "+c.Ref.One+" {v}", one, c.Ref.One+" {v}", one,
		"the {v}", one, "{v}", one).
		Replace(c.withPhrase())
	said = strings.Replace(said, "with "+one+" as "+one, "of "+one, 1)
	if strings.Contains(p.slots["filter"], c.Ref.One) { // it says already which of them
		return nil
	}
	if before := p.slots["filter"]; before != "" { // what is there is said as well
		said = before + " and " + said
	}
	p.slots["filter"] = said
	p.Steps, p.Tables, p.Result, p.alphabetical, d.looked = nil, nil, nil, false, nil
	p.Answer = Answer{Form: "question", Values: []string{"Which " + c.Ref.One + " do you mean?"},
		For: asksWhich(c.Ref.One, c.Ref.Many)}
	return p
}

// conditional are the patterns of which a condition is a part.
func conditional() []string {
	return []string{"count", "list", "yes_no", "sum", "avg", "min", "max", "best", "best_super", "set_all",
		"remove_all"}
}

// slotTexts are the slots of a program in a split.
func (p *Program) slotTexts(split string) map[string]string {
	way, err := strconv.Atoi(p.slots["place"])
	if err != nil {
		return p.slots
	}
	slots, places := maps.Clone(p.slots), manners()["place"][split]
	slots["place"] = places[way%len(places)]
	if slots["x"] == "" { // things that are there
		slots["filter"] = strings.TrimSpace(slots["filter"] + " " + slots["place"])
	}
	return slots
}

// cannot asks of a thing that is there what no database does, in words of what one does: what is to be changed or known
// is somewhere else, or another deed is wanted.
func (d *drawer) cannot() *Program {
	persons := slices.DeleteFunc(slices.Clone(d.w.Tables), func(t *Table) bool { return !t.isOfPersons() })
	switch n := d.r.IntN(6); {
	case d.w.Listed && n < 2:
		return d.outside()
	case len(persons) == 0 || n < 3:
		return d.elsewhere()
	}
	t := pick(d.r, persons)
	row := d.sole(t)
	props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several && !c.Note })
	if row == nil || len(props) == 0 {
		return nil
	}
	deed := pick(d.r, [][2]string{
		{"tell {x} the {attr}", "send messages"},
		{"tell {x} that the {attr} has changed", "send messages"},
		{"ask {x} which {attr} it should be", "send messages"},
		{"give {x} the {attr} we have", "send messages"},
		{"let {x} have the {attr}", "send messages"},
		{"send {x} the {attr}", "send messages"},
		{"show {x} the {attr} in our records", "show anything to others"},
		{"call {x} about the {attr}", "make phone calls"},
		{"give {x} a ring about the {attr}", "make phone calls"},
		{"text {x} that the {attr} is settled", "send messages"},
		{"remind {x} by mail of the {attr}", "send messages"},
		{"transfer 20 euros to {x} and note the {attr}", "move money"},
		{"print the {attr} of {x} for me", "print"},
		{"find out from {x} what the {attr} is", "talk to people"},
		{"text {x} that we'll be late", "send messages"},
		{"mail {x} that the {attr} is settled", "send mail"},
		{"write to {x} and ask for the {attr}", "send messages"},
		{"phone {x} and ask about the {attr}", "make phone calls"},
		{"leave {x} a message about the {attr}", "send messages"},
		{"remind {x} tomorrow morning", "send reminders"},
	})
	slots := d.about(t)
	slots["x"] = t.nameInRequest(row)
	slots["verb"] = strings.NewReplacer("{x}", slots["x"], "{attr}",
		t.Columns[pick(d.r, props)].caption()).Replace(deed[0])
	return &Program{
		pattern: "cannot",
		slots:   slots,
		Answer:  Answer{Form: "cannot", Values: []string{"I can't do that: none of my tools can " + deed[1] + "."}},
	}
}

// outside asks for what holds in the world at this moment, and stands in no record: where somebody is, the weather.
func (d *drawer) outside() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	row := d.sole(t)
	if row == nil || isCodeName(t.rowLabel(row)) {
		return nil
	}
	asked := []string{"What do people on the web say about {x}?", "Was {x} in the news today?",
		"Is anybody talking about {x} at this moment?", "What was posted about {x} last night?"}
	places := strings.Fields("city town office site venue place hotel restaurant station airport country region park " +
		"garden farm building sight beach village island")
	switch {
	case slices.Contains(places, lastWord(t.One)):
		asked = []string{"Will it rain at {x} tomorrow?", "How warm is it at {x} right now?",
			"Is there much traffic on the way to {x} at the moment?", "Is it sunny at {x} today?",
			"How crowded is {x} right now?", "Do I need an umbrella for {x} this afternoon?"}
	case t.OfPeople():
		asked = []string{"Where is {x} right now?", "What is {x} doing at the moment?", "Is {x} awake yet?",
			"Has {x} left the house this morning?", "Is {x} on the phone just now?", "How does {x} feel today?"}
	}
	slots := d.about(t)
	slots["x"] = t.nameInRequest(row)
	slots["asks"] = strings.ReplaceAll(pick(d.r, asked), "{x}", slots["x"])
	return &Program{pattern: "asks", slots: slots, Answer: Answer{Form: "cannot",
		Values: []string{"I can't see that: my tools reach our own records alone, and these do not say it."}}}
}

// elsewhere is a request of what stands in another place than on the server.
func (d *drawer) elsewhere() *Program {
	d.short = true
	p := d.draw(pick(d.r, []string{Lookup, Set, Adjust, Remove, Count, List, Best, Total, SetAll, YesNo}))
	if p == nil || !slices.Contains(append(conditional(), "lookup", "set", "raise", "lower", "remove"), p.pattern) {
		return nil
	}
	p.slots["place"], p.Steps, p.Tables, p.Result, d.looked = strconv.Itoa(d.r.IntN(1000)), nil, nil, nil, nil
	p.Answer = Answer{Form: "cannot", Values: []string{"I can't do that: my tools reach our own records alone."}}
	return p
}
