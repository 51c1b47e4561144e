package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// What an edit does to a graph.
const (
	AddThing       = "add thing"
	RemoveThing    = "remove thing" // and its relations
	AddNote        = "add note"
	RemoveNote     = "remove note"
	AddRelation    = "add relation"
	RemoveRelation = "remove relation"
)

// Edit is one change of a graph.
type Edit struct {
	Do       string
	Thing    Thing // the new one, or one with the name and the note
	Relation Relation
}

func note(do, name, text string) Edit {
	return Edit{Do: do, Thing: Thing{Name: name, Notes: []string{text}}}
}

func relate(do, from, to, kind string) Edit { return Edit{Do: do, Relation: Relation{from, to, kind}} }

// Apply makes edits; ok is false where one does not fit: what is to be removed is not there, or what is added is.
func (g Graph) Apply(edits []Edit) (after Graph, ok bool) {
	after = g.Clone()
	for _, e := range edits {
		t := after.Thing(e.Thing.Name)
		at := slices.Index(after.Relations, e.Relation)
		switch e.Do {
		case AddThing:
			if t != nil {
				return after, false
			}
			after.Things = append(after.Things, Thing{e.Thing.Name, e.Thing.Type, slices.Clone(e.Thing.Notes)})
		case RemoveThing:
			if t == nil {
				return after, false
			}
			after.Things = slices.DeleteFunc(after.Things, func(o Thing) bool { return o.Name == e.Thing.Name })
			after.Relations = slices.DeleteFunc(after.Relations,
				func(r Relation) bool { return r.From == e.Thing.Name || r.To == e.Thing.Name })
		case AddNote:
			if t == nil || slices.Contains(t.Notes, e.Thing.Notes[0]) {
				return after, false
			}
			t.Notes = append(t.Notes, e.Thing.Notes[0])
		case RemoveNote:
			if t == nil || !slices.Contains(t.Notes, e.Thing.Notes[0]) {
				return after, false
			}
			t.Notes = slices.DeleteFunc(t.Notes, func(n string) bool { return n == e.Thing.Notes[0] })
		case AddRelation:
			if at >= 0 || after.Thing(e.Relation.From) == nil || after.Thing(e.Relation.To) == nil {
				return after, false
			}
			after.Relations = append(after.Relations, e.Relation)
		case RemoveRelation:
			if at < 0 {
				return after, false
			}
			after.Relations = slices.Delete(after.Relations, at, at+1)
		}
	}
	return after, true
}

// crowds reports whether what comes gives a thing a second one of what each has once so far: a second home, a second
// driver of a trip. Such a request is wrong, or means that the first one goes. Who owns one thing each may own more.
func (g Graph) crowds(after Graph) bool {
	most := func(list []Relation, kind string, end func(Relation) string) (most, n int) {
		count := map[string]int{}
		for _, r := range list {
			if r.Type == kind {
				n++
				count[end(r)]++
				most = max(most, count[end(r)])
			}
		}
		return most, n
	}
	from, to := func(r Relation) string { return r.From }, func(r Relation) string { return r.To }
	return slices.ContainsFunc(after.Relations, func(r Relation) bool {
		if slices.Contains(g.Relations, r) {
			return false
		}
		leads, _ := most(g.Relations, r.Type, from)
		led, n := most(g.Relations, r.Type, to)
		now, _ := most(after.Relations, r.Type, from)
		also, _ := most(after.Relations, r.Type, to)
		v := verbalOf(r.Type)
		return leads == 1 && (led > 1 || v.is || v.owned() != "") && now > 1 || led == 1 && n >= fewAlike && also > 1
	})
}

// fewAlike is of how many relations one can tell that each leads to another thing, and not by chance.
const fewAlike = 3

// ordered are edits in the order in which people make them: what goes with a thing before the thing itself goes, and
// behind one that comes.
func ordered(edits []Edit) (list []Edit) {
	for _, do := range []string{AddThing, RemoveNote, AddNote, RemoveRelation, AddRelation, RemoveThing} {
		for _, e := range edits {
			if e.Do == do {
				list = append(list, e)
			}
		}
	}
	return list
}

// Edits are what the statements of a program come to in the graph; ok is false where that cannot be said.
func (gt *GraphTables) Edits(p *Program) (edits []Edit, ok bool) {
	if !p.Changes() {
		return nil, true
	}
	after, err := gt.World.After(p)
	if err != nil {
		return nil, false
	}
	for k, t := range gt.World.Tables {
		for i, row := range t.Rows {
			now, kept := after[k][int64(i)+1]
			if edits, ok = gt.changed(edits, t, row, now, kept); !ok {
				return nil, false
			}
		}
		for n := int64(len(t.Rows)) + 1; after[k][n] != nil; n++ {
			edits = gt.added(edits, t, after[k][n])
		}
	}
	gone := map[string]bool{}
	for _, e := range edits {
		if e.Do == RemoveThing {
			gone[e.Thing.Name] = true
		}
	}
	edits = slices.DeleteFunc(edits, func(e Edit) bool { // it goes with the thing
		return e.Do == RemoveRelation && (gone[e.Relation.From] || gone[e.Relation.To])
	})
	return ordered(edits), len(edits) > 0
}

func (gt *GraphTables) changed(edits []Edit, t *Table, row, now []any, kept bool) ([]Edit, bool) {
	name := Show(row[0])
	if t.Link != "" {
		if !kept {
			return append(edits, relate(RemoveRelation, Show(row[1]), Show(row[2]), gt.sources[t][1].relation)), true
		}
		return edits, slices.EqualFunc(row, now, equal)
	}
	if !kept {
		return append(edits, Edit{Do: RemoveThing, Thing: Thing{Name: name}}), true
	}
	for i, s := range gt.sources[t] {
		if equal(row[i], now[i]) {
			continue
		}
		switch {
		case i == 0:
			return edits, false
		case s.note != "":
			edits = append(edits,
				note(map[bool]string{true: AddNote, false: RemoveNote}[equal(now[i], int64(1))], name, s.note))
			continue
		}
		if row[i] != nil {
			edits = append(edits, s.edit(false, name, row[i]))
		}
		if now[i] != nil {
			edits = append(edits, s.edit(true, name, now[i]))
		}
	}
	return edits, true
}

// edit adds a value to what a thing says, or takes it away.
func (s source) edit(add bool, name string, v any) Edit {
	if s.relation != "" {
		return relate(map[bool]string{true: AddRelation, false: RemoveRelation}[add], name, Show(v), s.relation)
	}
	return note(map[bool]string{true: AddNote, false: RemoveNote}[add], name, s.value(v))
}

func (gt *GraphTables) added(edits []Edit, t *Table, row []any) []Edit {
	if t.Link != "" {
		return append(edits, relate(AddRelation, Show(row[1]), Show(row[2]), gt.sources[t][1].relation))
	}
	thing := Thing{Name: Show(row[0]), Type: gt.types[t]}
	var more []Edit
	for i, s := range gt.sources[t] {
		switch {
		case i == 0 || row[i] == nil:
		case s.note != "":
			if equal(row[i], int64(1)) {
				thing.Notes = append(thing.Notes, s.note)
			}
		case s.relation != "":
			more = append(more, s.edit(true, thing.Name, row[i]))
		default:
			thing.Notes = append(thing.Notes, s.value(row[i]))
		}
	}
	return append(append(edits, Edit{Do: AddThing, Thing: thing}), more...)
}

// TypeOf is the type of the things of a table; "" of one of links.
func (gt *GraphTables) TypeOf(t *Table) string { return gt.types[t] }

// Making are the edits that make a graph of nothing.
func (g Graph) Making() (edits []Edit) {
	for _, t := range g.Things {
		edits = append(edits, Edit{Do: AddThing, Thing: t})
	}
	for _, r := range g.Relations {
		edits = append(edits, Edit{Do: AddRelation, Relation: r})
	}
	return edits
}

// Equal reports whether two graphs hold the same, in whatever order.
func (g Graph) Equal(o Graph) bool {
	sorted := func(g Graph) (things, relations []string) {
		for _, t := range g.Things {
			notes := slices.Sorted(slices.Values(t.Notes))
			things = append(things, strings.Join(append([]string{t.Name, t.Type}, notes...), "\x00"))
		}
		for _, r := range g.Relations {
			relations = append(relations, r.From+"\x00"+r.To+"\x00"+r.Type)
		}
		slices.Sort(things)
		slices.Sort(relations)
		return things, relations
	}
	things, relations := sorted(g)
	others, also := sorted(o)
	return slices.Equal(things, others) && slices.Equal(relations, also)
}

// rename makes a thing anew under another name, or one that is spelt otherwise, with its notes and relations, and
// removes the old one.
func (gt *GraphTables) rename(d *drawer) *GraphProgram {
	t, row := gt.thing(d)
	if row == nil {
		return nil
	}
	old := gt.Graph.Thing(Show(row[0]))
	name, ok := d.fresh(t).(string)
	if first, last, two := strings.Cut(old.Name, " "); two && t.HasPersons() { // who marries keeps the first name
		if i := strings.LastIndexByte(name, ' '); i >= 0 && name[i+1:] != last {
			name = first + name[i:]
		} else {
			ok = false
		}
	}
	pattern := "rename"
	if other := respelt(d.r, old.Name); other != "" && d.r.IntN(5) < 3 {
		name, ok, pattern = other, true, "respell"
	}
	if !ok || gt.Graph.Thing(name) != nil {
		return nil
	}
	g := &GraphProgram{Named: []string{old.Name}, Edits: []Edit{
		{Do: AddThing, Thing: Thing{name, old.Type, old.Notes}}}}
	for _, r := range gt.Graph.Relations {
		switch old.Name {
		case r.From:
			g.Edits = append(g.Edits, relate(AddRelation, name, r.To, r.Type))
		case r.To:
			g.Edits = append(g.Edits, relate(AddRelation, r.From, name, r.Type))
		}
	}
	g.Edits = append(g.Edits, Edit{Do: RemoveThing, Thing: Thing{Name: old.Name}})
	if len(g.Edits) > mostChanged {
		return nil
	}
	g.Program = &Program{Kind: Set, pattern: pattern, slots: map[string]string{"x": old.Name, "v": name}}
	if pattern == "respell" && d.r.IntN(2) == 0 { // the old name is for the reader to find
		g.pattern, g.Named, g.Types = "respell_new", nil, []string{old.Type}
		delete(g.slots, "x")
	}
	g.Work("Old name -> new name: " + old.Name + " -> " + name)
	return g
}

// respelt is a name with one letter that people mistake for another; "" where it has none.
func respelt(r *rand.Rand, name string) string {
	if !isASCII(name) || strings.ContainsAny(name, "0123456789") {
		return ""
	}
	swaps := []string{"i", "y", "y", "i", "nn", "n", "n", "nn", "ll", "l", "l", "ll", "tt", "t", "t", "tt", "r", "rr",
		"rr", "r", "s", "ss", "k", "ck", "ph", "f", "f", "ff", "v", "w"}
	const vowels = "aeiou"
	for _, n := range r.Perm(len(swaps) / 2) {
		was, now := swaps[2*n], swaps[2*n+1]
		i := strings.LastIndex(name, was)
		end := i + len(was)
		if i < 1 || end == len(name) || name[i-1] == ' ' || name[end] == ' ' {
			continue
		}
		after := strings.IndexByte(vowels, name[end]) >= 0
		if was == "i" && !after || was == "y" && !after || // a consonant stands between vowels
			len(was+now) > 2 && after && strings.IndexByte(vowels, name[i-1]) >= 0 {
			return name[:i] + now + name[end:]
		}
	}
	return ""
}

// forget removes a whole thing, which a request names, at times by what it is: "the cat".
func (gt *GraphTables) forget(d *drawer) *GraphProgram {
	thing := gt.Graph.Things[d.r.IntN(len(gt.Graph.Things))]
	if !sayable(thing.Name) {
		return nil
	}
	g := &GraphProgram{Program: &Program{Kind: Remove, pattern: "forget", slots: map[string]string{"x": thing.Name}},
		Named: []string{thing.Name}, Edits: []Edit{{Do: RemoveThing, Thing: Thing{Name: thing.Name}}}}
	if noun := gt.noun(&thing); noun != "" && d.r.IntN(2) == 0 {
		g.slots["x"], g.short = "the "+noun, map[string]string{thing.Name: noun}
	}
	return g
}

// noun is a word that says what a thing is, as the last one of "grey tabby cat", and that nothing else says; "" where
// there is none.
func (gt *GraphTables) noun(thing *Thing) string {
	for _, text := range thing.Notes {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		last := words[len(words)-1]
		if len(words) > 3 || isVerbAlone(words[0]) || isPast(words[0]) || slices.Contains(states(), words[0]) ||
			strings.ContainsAny(text, ":,") || !gt.tellsOf(thing, text, last) || len(gt.Graph.Saying(last)) != 1 {
			continue
		}
		return last
	}
	return ""
}
