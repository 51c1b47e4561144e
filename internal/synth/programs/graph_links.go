package programs

import (
	"slices"
	"strings"
)

// verbal is how the type of a relation is said: "works_on", "based_in", "borrowed", "parent_of".
type verbal struct {
	words string
	is    bool   // a state: is based in
	noun  string // of "parent_of"
	past  bool   // borrowed
}

func verbalOf(kind string) verbal {
	words := Words(kind)
	first, rest, _ := strings.Cut(words, " ")
	last := lastWord(words)
	place := slices.Contains(strings.Fields("in at for by to on from with of into"), last)
	switch noun, ok := strings.CutSuffix(words, " of"); {
	case ok && !isVerbAlone(first) && !isPast(first):
		return verbal{words: words, noun: noun}
	case isPast(first) && place && rest != "":
		return verbal{words: words, is: true}
	case isPast(first):
		return verbal{words: words, past: true}
	}
	return verbal{words: words}
}

// sayable reports whether the type is a verb that can be said in other forms.
func (v verbal) sayable() bool {
	first := firstWord(v.words)
	return v.noun != "" || v.is || v.past || isVerbAlone(first) || slices.Contains([]string{"is", "has"}, first)
}

// owned is what a thing has by a relation: of "has_doctor" the doctor, and nothing of "has_earned".
func (v verbal) owned() string {
	owned, ok := strings.CutPrefix(v.words, "has ")
	if !ok || isPast(firstWord(owned)) {
		return ""
	}
	return owned
}

// said is the relation between two names: "works on", "is based in", "is a parent of".
func (v verbal) said() string {
	switch {
	case v.owned() != "":
		return "has the " + v.owned()
	case v.noun != "":
		return "is " + article(v.noun) + " of"
	case v.is:
		return "is " + v.words
	}
	return v.words
}

// those stands behind the plural of the things that a relation leads from: "who work on {v}".
func (v verbal) those(who string) string {
	first, rest, _ := strings.Cut(v.words, " ")
	switch {
	case v.owned() != "":
		return whose(rest, "{v}")
	case v.noun != "":
		return who + " are " + plural(v.noun) + " of {v}"
	case v.is:
		return v.words + " {v}"
	case v.past:
		return who + " have " + v.words + " {v}"
	case first == "is":
		return who + " are " + rest + " {v}"
	}
	return strings.Join(strings.Fields(who+" "+baseVerb(first)+" "+rest+" {v}"), " ")
}

// these stands behind the plural of the things that a relation leads to: "that {v} works on".
func (v verbal) these(who string) string {
	switch {
	case v.noun != "":
		return "whose " + v.noun + " is {v}"
	case v.is:
		return who + " {v} is " + v.words
	case v.past:
		return who + " {v} has " + v.words
	}
	return who + " {v} " + v.words
}

// theirs stands behind what several things are related to: "they work on".
func (v verbal) theirs() string {
	first, rest, _ := strings.Cut(v.words, " ")
	switch {
	case v.noun != "":
		return "of whom they are " + plural(v.noun)
	case v.is:
		return "they are " + v.words
	case v.past:
		return "they have " + v.words
	case first == "is":
		return "they are " + rest
	}
	return strings.TrimSpace("they " + baseVerb(first) + " " + rest)
}

// asks for what a relation leads to from a thing: "Which office is {x} based in?"
func (v verbal) asks(what string) string {
	first, rest, _ := strings.Cut(v.words, " ")
	switch {
	case v.noun != "":
		return what + " is {x} " + article(v.noun) + " of?"
	case v.is:
		return what + " is {x} " + v.words + "?"
	case v.past:
		return what + " has {x} " + v.words + "?"
	case first == "is":
		return what + " is {x} " + rest + "?"
	}
	return strings.Join(strings.Fields(what+" does {x} "+baseVerb(first)+" "+rest), " ") + "?"
}

// does asks whether a relation holds: "Does Ana work on Beacon?"
func (v verbal) does(x, y string) string {
	first, rest, _ := strings.Cut(v.words, " ")
	switch {
	case v.owned() != "":
		return "Does " + x + " have the " + rest + " " + y + "?"
	case first == "has":
		return "Has " + x + " " + rest + " " + y + "?"
	case v.noun != "":
		return "Is " + x + " " + article(v.noun) + " of " + y + "?"
	case v.is:
		return "Is " + x + " " + v.words + " " + y + "?"
	case v.past:
		return "Has " + x + " " + v.words + " " + y + "?"
	case first == "is":
		return "Is " + x + " " + rest + " " + y + "?"
	}
	return strings.Join(strings.Fields("Does "+x+" "+baseVerb(first)+" "+rest+" "+y), " ") + "?"
}

// addRelations makes references of relations that lead from each thing of a table to one of another, and tables of
// links of the others.
func (gt *GraphTables) addRelations() {
	tables := slices.Clone(gt.World.Tables)
	var kinds []string
	for _, r := range gt.Graph.Relations {
		if !slices.Contains(kinds, r.Type) {
			kinds = append(kinds, r.Type)
		}
	}
	for _, kind := range kinds {
		for _, from := range tables {
			for _, to := range tables {
				gt.addRelation(kind, from, to)
			}
		}
	}
}

func (gt *GraphTables) addRelation(kind string, from, to *Table) {
	v := verbalOf(kind)
	leads := map[string][]string{}
	n := 0
	for _, r := range gt.Graph.Relations {
		if r.Type == kind && from.byKey(r.From) != nil && to.byKey(r.To) != nil {
			leads[r.From] = append(leads[r.From], r.To)
			n++
		}
	}
	single := !slices.ContainsFunc(from.Rows, func(row []any) bool { return len(leads[Show(row[0])]) > 1 })
	if n < 2 || !v.sayable() {
		return
	}
	asked := "Which " + to.One
	if to.OfPeople() {
		asked = "Who"
	}
	who := map[bool]string{true: "who", false: "that"}
	caption := to.One
	taken := slices.ContainsFunc(from.Columns, func(c Column) bool { return c.Says == caption })
	c := Column{Name: Words(kind), Says: caption, Kind: Text, Ref: to, With: v.those(who[from.OfPeople()]),
		Asks: v.asks(asked)}
	owned := v.owned()
	owns := owned != ""
	if owns {
		c.Says, c.With = owned, whose(owned, "{v}")
		c.Asks = map[bool]string{true: "Who", false: "What"}[to.OfPeople()] + " is the " + owned + " of {x}?"
		taken = slices.ContainsFunc(from.Columns, func(o Column) bool { return o.Says == owned })
	}
	if single && from != to && v.noun == "" && !v.past && (owns || !to.OfPeople()) && !taken && 2*n > len(from.Rows) {
		c.Name = strings.ReplaceAll(c.Name, " ", "_")
		from.Columns, gt.sources[from] = append(from.Columns, c), append(gt.sources[from], source{relation: kind})
		at := len(from.Columns) - 1
		from.Columns[at].quote = func(row []any) string {
			if row[at] == nil {
				return "no " + c.Says
			}
			return v.said() + " " + Show(row[at])
		}
		for i, row := range from.Rows {
			var value any
			if list := leads[Show(row[0])]; len(list) > 0 {
				value = list[0]
			}
			from.Rows[i] = append(row, value)
		}
		return
	}
	link := &Table{
		Name: strings.ReplaceAll(Words(kind), " ", "_") + "_" + from.Name + "_" + to.Name, One: "relation",
		Many: "relations", Key: 0, Label: -1, Link: v.said(),
		Columns: []Column{{Name: "n", Kind: Number}, {Name: "source", Ref: from, With: v.these(who[to.OfPeople()]),
			Says: from.Many + " " + put(v.those(who[from.OfPeople()]), "it")},
			{Name: "target", Ref: to, With: v.those(who[from.OfPeople()]),
				Says: to.Many + " " + v.theirs()}},
	}
	for _, r := range gt.Graph.Relations {
		if r.Type == kind && from.byKey(r.From) != nil && to.byKey(r.To) != nil {
			link.Rows = append(link.Rows, []any{int64(len(link.Rows) + 1), r.From, r.To})
		}
	}
	gt.World.Tables = append(gt.World.Tables, link)
	gt.sources[link] = []source{{}, {relation: kind}, {relation: kind}}
}

// linked is the condition that things stand in a relation to a named one: "people who attend the school fair".
func (d *drawer) linked(t *Table) (Cond, string, bool) {
	var able [][2]int // a table of links, and the column of it that names things of t
	links := d.links()
	for i, link := range links {
		for _, of := range []int{1, 2} {
			if link.Columns[of].Ref == t {
				able = append(able, [2]int{i, of})
			}
		}
	}
	if !d.w.Listed || len(able) == 0 || t.Label != t.Key {
		return Cond{}, "", false
	}
	at := pick(d.r, able)
	link, of, by := links[at[0]], at[1], 3-at[1]
	o := link.Columns[by].Ref
	row := d.sole(o)
	if row == nil {
		return Cond{}, "", false
	}
	var names []any
	for _, l := range link.Rows {
		if equal(l[by], row[o.Key]) {
			names = append(names, l[of])
		}
	}
	if len(names) < 2 {
		return Cond{}, "", false
	}
	d.through = append(d.through, o.rowLabel(row))
	return Cond{t.Label, -1, Among, names}, put(link.Columns[by].withPhrase(), o.rowLabel(row)), true
}

// byRelation names a row by a relation that it alone has to another thing: "the person who leads Beacon".
func (d *drawer) byRelation(t *Table, row []any) (said string, ok bool) {
	for range 6 {
		link := pick(d.r, d.links())
		of := 1 + d.r.IntN(2)
		other := link.Columns[3-of].Ref
		if link.Columns[of].Ref != t || len(link.Rows) == 0 {
			continue
		}
		one := pick(d.r, link.Rows)
		n := 0
		for _, l := range link.Rows {
			if equal(l[3-of], one[3-of]) {
				n++
			}
		}
		name := other.rowLabel(other.byKey(one[3-of]))
		if n != 1 || !equal(one[of], row[t.Key]) || name == "" {
			continue
		}
		said = "the " + t.One + " " + ofOne(put(link.Columns[3-of].withPhrase(), name))
		if of == 1 { // in the singular
			said = "the " + t.One + map[bool]string{true: " who ", false: " that "}[t.OfPeople()] +
				link.Link + " " + name
		}
		if d.means == nil {
			d.means = map[string]string{}
		}
		d.means[strings.TrimPrefix(said, "the ")] = t.rowLabel(row)
		d.through = append(d.through, name)
		return said, true
	}
	return "", false
}

// namesNote reports whether a program speaks of a note as of a property: people ask whether it is there, add it or
// remove it.
func (p *Program) namesNote() bool {
	if p.then != nil && p.then.namesNote() {
		return true
	}
	for _, t := range p.Tables {
		for _, c := range t.Columns {
			if c.Note && p.slots["asks"] == "" && (p.slots["attr"] == c.caption() || p.slots["attr2"] == c.caption() ||
				p.slots["one"] == c.caption()) {
				return true
			}
		}
	}
	return false
}
