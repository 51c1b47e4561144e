package programs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/synth/written"
)

// What is to be refused or asked back stands next to what can be done: in the same words, with one thing missing. Words
// alone must not tell the two apart, or a model learns to refuse by them.

// besides puts a request that can be done before one that is refused, in a third: a person asks for two things, of
// which one is missing. Before a question back nothing is changed. Where tables are read as a whole, their readers do
// so.
func (d *drawer) besides(p *Program) *Program {
	if p == nil || p.then != nil || d.w.Listed && !d.w.Noted || d.detours() || d.r.IntN(3) > 0 {
		return p
	}
	kinds := []string{Lookup, Lookup, Join, Join, Both, List, Top, Best, YesNo, Missing, Compare, Most}
	if p.Answer.Form != "question" {
		kinds = append(kinds, Set, Set, Set, Insert, Insert, Insert, SetAll, SetAll, Adjust, ActIf)
	}
	for range tries {
		other := &drawer{r: d.r, w: d.w, short: true}
		first := other.draw(pick(d.r, kinds))
		if first != nil && first.then == nil && first.Made == nil && first.pattern != p.pattern && !other.detours() &&
			!(first.Changes() && first.slots["x"] != "" && first.slots["x"] == p.slots["x"]) {
			d.looked = append(other.looked, d.looked...)
			return behind(first, p)
		}
	}
	return p
}

// behind is a request that is refused behind one that can be done.
func behind(first, p *Program) *Program {
	both := *first
	both.then, both.Tables = p, slices.Clone(first.Tables)
	both.Steps = slices.Concat(first.Steps, p.Steps)
	if len(p.Steps) > 0 || first.Changes() { // the last step's result is compared
		both.Result = nil
	}
	for _, t := range p.Tables {
		if !slices.Contains(both.Tables, t) {
			both.Tables = append(both.Tables, t)
		}
	}
	return &both
}

// detours reports whether what was drawn is found by way of other things.
func (d *drawer) detours() bool { return d.near || d.picked != nil || len(d.through)+len(d.means) > 0 }

// nobody asks for, or changes, a thing that is not there: whoever searches for it finds that.
func (d *drawer) nobody() *Program {
	if d.w.Listed && !d.w.Noted {
		return nil
	}
	d.plain, d.short = true, true
	p := d.draw(pick(d.r, []string{Lookup, Lookup, Lookup, Join, Join, Set, Set, Set, Adjust, Remove, Remove, ActIf}))
	patterns := []string{"lookup", "asks", "join", "join_label", "set", "set_two", "raise", "lower", "remove", "set_if"}
	if p == nil || p.then != nil || !slices.Contains(patterns, p.pattern) {
		return nil
	}
	t := p.Tables[0]
	i := slices.IndexFunc(t.Rows, func(row []any) bool { return t.Label >= 0 && t.rowLabel(row) == p.slots["x"] })
	if i < 0 || t.Columns[t.Label].Ref != nil || t.Columns[t.Label].Kind != Text || d.w.Cased ||
		len(t.Columns[t.Label].Parts) > 0 || t.describes() {
		return nil
	}
	name, ok := d.fresh(t).(string)
	if !ok || strings.ContainsAny(name, `%_'\\`) || d.mayBeMeant(name) {
		return nil
	}
	p.slots["asks"] = strings.ReplaceAll(p.slots["asks"], p.slots["x"], name)
	p.slots["x"], p.slots["form"] = name, p.Answer.Form
	*p = Program{
		pattern: p.pattern,
		slots:   p.slots,
		Tables:  []*Table{t},
		Answer:  Answer{Form: "unknown", Values: []string{"There is no " + t.One + " called " + name + " on record."}},
	}
	*d = drawer{r: d.r, w: d.w, short: true}
	if d.w.Listed {
		return p
	}
	p.Steps = []Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, []Cond{{t.Label, -1, Has, name}})}}
	last := name[strings.LastIndexByte(name, ' ')+1:]
	if last != name && len(t.rows([]Cond{{t.Label, -1, Has, last}})) == 0 { // nor one by a part of the name
		p.Steps = append(p.Steps,
			Step{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, []Cond{{t.Label, -1, Has, last}}),
				Why: "Nothing has the whole name. I look for a part of it: " + last + "."})
	}
	for _, o := range d.w.Tables { // nor among others that have such names
		if o != t && o.Label >= 0 && o.HasPersons() == t.HasPersons() && o.Columns[o.Label].Kind == Text &&
			len(o.Columns[o.Label].Parts) == 0 && o.Columns[o.Label].Ref == nil && len(p.Tables) == 1 &&
			d.r.IntN(2) == 0 && len(o.rows([]Cond{{o.Label, -1, Has, last}})) == 0 {
			p.Tables = append(p.Tables, o)
			p.Steps = append(p.Steps,
				Step{SQL: "SELECT * FROM " + Ident(o.Name) + filter(o, []Cond{{o.Label, -1, Has, last}}),
					Why: "No " + t.One + " is called so. I look in " + o.Name + " as well."})
		}
	}
	return p.Work("No look has found it: that is the answer.")
}

// mayBeMeant reports whether a name is that of a thing, or one that was mistyped.
func (d *drawer) mayBeMeant(name string) bool {
	var names []string
	for _, t := range d.w.Tables {
		for _, row := range t.Rows {
			if t.Label >= 0 {
				names = append(names, strings.ToLower(t.rowLabel(row)))
			}
		}
	}
	return fault.NearestVerb(name, names) != ""
}

// unknown is a request about a property that no table has: one that worlds of other businesses have, said as these say
// it. Whoever looks finds that it is not recorded.
func (d *drawer) unknown() *Program {
	kinds := []string{Lookup, Lookup, Best, Total, Compare, Count, List, List, YesNo, Missing, Set, Set, SetAll,
		SetAll, Adjust, Both, Both, Both}
	d.short = true
	p := d.draw(pick(d.r, kinds))
	if p == nil || !slices.Contains(append(conditional(), "lookup", "compare", "missing", "set", "raise", "lower",
		"raise_all", "lower_all"), p.pattern) {
		return nil
	}
	form := p.Answer.Form
	t, filter := p.Tables[0], slices.Contains(conditional(), p.pattern) && (p.slots["attr"] == "" || d.r.IntN(2) == 0)
	number := slices.Contains([]string{"best", "best_super", "sum", "avg", "min", "max", "compare", "raise", "lower",
		"raise_all", "lower_all"}, p.pattern)
	c, said, ok := d.foreign(t, number && !filter, filter)
	switch {
	case !ok || !filter && p.slots["attr"] == "" || p.then != nil || p.slots["round"] != "":
		return nil
	case filter:
		switch before, _, _ := strings.Cut(p.slots["filter"], " and "); {
		case before == "" || strings.Contains(before, " between ") || strings.Contains(before, `"`) ||
			strings.Contains(" "+before, " no ") || d.r.IntN(4) == 0:
			d.through = nil // what went may have named something
		case strings.Contains(before, " not "): // which might be said of both
			said += " and " + before
		default:
			said = before + " and " + said
		}
		p.slots["filter"], d.near = said, false
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
	if p.pattern == "lookup" {
		form = map[bool]string{true: "number", false: "text"}[isNumber(c)]
	}
	p.slots["form"] = form
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
	d.looked, d.found = nil, nil
	if d.w.Listed {
		return p
	}
	return p.Work(fmt.Sprintf("%s has %s. None of them is the %s, and no other table has it.", t.Name, t.shown(),
		c.caption()))
}

// shown are the columns of a table as its rows show them: "id, name and price".
func (t *Table) shown() string {
	var list []string
	for _, c := range t.Columns {
		if len(c.Parts) == 0 {
			list = append(list, c.Name)
		}
	}
	return enumerate(list)
}

// foreign is a property that worlds of other businesses have and this one has not, nor anything that might tell it,
// with a value of it, or with a phrase for a condition on it. Held-out worlds are asked for what other held-out ones
// have.
func (d *drawer) foreign(t *Table, number, condition bool) (c Column, said string, ok bool) {
	all := domains()
	own := slices.IndexFunc(all, func(o domain) bool { return o.Name == d.w.Name })
	persons := t.isOfPersons()
	for range 8 * tries {
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
		alike = append(alike, otherWordsFor(w)...)
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

// otherNames are groups of words that people may use for one property. A group begins with the word that the others
// stand for.
var otherNames = sync.OnceValue(func() (groups []string) {
	written.Words("other_names", &groups)
	return groups
})

// otherWordsFor are the words that a column may have for a property that people call otherwise: a contact is a phone.
func otherWordsFor(w token) (words []string) {
	for _, group := range otherNames() {
		all := strings.Fields(Words(group))
		if !tokens(strings.Join(all, " ")).hasStems(spoken{w}) {
			continue
		}
		words = append(words, slices.DeleteFunc(all, func(one string) bool { // what many columns have
			return len(one) < 3 ||
				slices.Contains(strings.Fields("name number count code day date time title set"), one)
		})...)
	}
	return words
}

// HasPersons reports whether a table's things are persons, by its noun or by what they are called.
func (t *Table) HasPersons() bool { return t.OfPeople() || t.isOfPersons() }

// isOfPersons reports whether a table's things are called as people are: by two words without a digit.
func (t *Table) isOfPersons() bool {
	return t.Label >= 0 && len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []any) bool {
		name := strings.Fields(t.rowLabel(row))
		return len(name) != 2 || strings.ContainsAny(t.rowLabel(row), "0123456789&") ||
			strings.ToUpper(name[1][:1]) != name[1][:1]
	})
}

// askBack is a request that does not say which thing is meant, or what a value is to be, and is else worded as one that
// does: nothing on the server could tell. Few things of a world allow some of the ways, so each is tried again.
func (d *drawer) askBack() *Program {
	way := pick(d.r, []func(*drawer) *Program{(*drawer).severalFit, (*drawer).severalFit, (*drawer).ofSome,
		(*drawer).setNothing, (*drawer).unnamed})
	for range tries {
		one := &drawer{r: d.r, w: d.w, short: true}
		if p := way(one); p != nil {
			*d = *one
			return p
		}
	}
	return nil
}

// unnamed is a request about one thing that does not say which.
func (d *drawer) unnamed() *Program {
	p := d.draw(pick(d.r, []string{Set, Set, Adjust, Lookup, Lookup, Join, Join, Remove, ActIf}))
	patterns := []string{"lookup", "join", "set", "set_two", "raise", "lower", "remove", "set_if"}
	if p == nil || p.then != nil || !slices.Contains(patterns, p.pattern) {
		return nil
	}
	one := p.slots["one"]
	p.slots["x"], p.slots["form"] = "the "+one, p.Answer.Form
	return d.asks(p, "Which "+one+" do you mean?", asksWhich(one, p.slots["many"]))
}

// setNothing changes a property and says no value.
func (d *drawer) setNothing() *Program {
	p := d.draw(Set)
	if p == nil || p.pattern != "set" {
		return nil
	}
	p.pattern, p.slots["v"] = "set_nothing", ""
	return d.asks(p, "What should the "+p.slots["attr"]+" of "+p.slots["x"]+" be?", asksValue(p.slots["attr"]))
}

// asks makes a program one that comes to a question.
func (d *drawer) asks(p *Program, question, of string) *Program {
	p.Steps, p.Tables, p.Result, p.alphabetical, d.looked = nil, nil, nil, false, nil
	p.query, p.working, d.found, p.then = nil, "", nil, nil
	p.Answer = Answer{Form: "question", Values: []string{question}, For: of}
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
	said = strings.Replace(said, whose(c.caption(), one), "of "+one, 1)
	if strings.Contains(p.slots["filter"], c.Ref.One) { // it says already which of them
		return nil
	}
	if before := p.slots["filter"]; before != "" { // what is there is said as well
		said = before + " and " + said
	}
	p.slots["filter"], p.slots["form"] = said, p.Answer.Form
	return d.asks(p, "Which "+c.Ref.One+" do you mean?", asksWhich(c.Ref.One, c.Ref.Many))
}

// conditional are the patterns of which a condition is a part.
func conditional() []string {
	return []string{"count", "list", "yes_no", "sum", "avg", "min", "max", "best", "best_super", "set_all",
		"remove_all"}
}

// cannot has somebody else told or shown what the person may ask for: no tool reaches people.
func (d *drawer) cannot() *Program {
	if d.w.Listed && d.r.IntN(4) == 0 {
		return d.outside()
	}
	d.short = true
	p := d.draw(pick(d.r, []string{Lookup, Lookup, Join, Both, List, Missing, Best, Most}))
	if p == nil || p.then != nil {
		return nil
	}
	who := inventName(d.r, "person")
	persons := slices.DeleteFunc(slices.Clone(d.w.Tables), func(t *Table) bool {
		return !t.OfPeople() || !t.isOfPersons()
	})
	if len(persons) > 0 {
		t := pick(d.r, persons)
		who = t.rowLabel(pick(d.r, t.Rows))
	}
	if strings.Contains(p.slots["x"]+" "+p.slots["filter"], who) {
		return nil
	}
	*d = drawer{r: d.r, w: d.w, short: true}
	return p.ToOthers(who)
}

// ToOthers has what a question asks told or shown to somebody else, which no tool does; nil where not all splits have
// wordings that say to whom it is to be told.
func (p *Program) ToOthers(who string) *Program {
	slots := maps.Clone(p.slots)
	slots["to"] = who
	told := &Program{Kind: Cannot, pattern: p.pattern, slots: slots, Answer: Answer{Form: "cannot",
		Values: []string{"I can't do that: none of my tools can send messages, or show anything to others."}}}
	for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		if len(told.requests(split)) == 0 || slots["asks"] != "" {
			return nil
		}
	}
	return told
}

// toMe matches whom a request wants something told or shown.
var toMe = regexp.MustCompile(`(?i)\b(tell|show|read) me\b`)

// requests are the wordings of a program in a split: where somebody else is to be told, those that have "tell me".
func (p *Program) requests(split string) []string {
	all := wordings()[p.pattern][split]
	if p.slots["to"] == "" {
		return all
	}
	var told []string
	for _, wording := range all {
		if toMe.MatchString(wording) {
			told = append(told, toMe.ReplaceAllString(wording, "$1 {to}"))
		}
	}
	return told
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
	var asked []string
	places := strings.Fields("city town office site venue place hotel restaurant station airport country region park " +
		"garden farm building sight beach village island")
	switch {
	case slices.Contains(places, lastWord(t.One)):
		asked = []string{"How warm is it at {x} right now?", "Is it warm at {x} today?", "Is {x} full right now?"}
	case t.OfPeople() && t.isOfPersons():
		asked = []string{"Where is {x} right now?", "What is {x} doing right now?", "Is {x} at home today?"}
	default:
		return nil
	}
	slots := d.about(t)
	slots["x"] = t.nameInRequest(row)
	slots["asks"] = strings.ReplaceAll(pick(d.r, asked), "{x}", slots["x"])
	return &Program{pattern: "asks", slots: slots, Answer: Answer{Form: "cannot",
		Values: []string{"I can't see that: my tools reach our own records alone, and these do not say it."}}}
}
