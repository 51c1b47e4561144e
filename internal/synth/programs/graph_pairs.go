package programs

import (
	"math/rand/v2"
	"slices"
)

// twoNotes takes out two notes of a thing, replaces both, or replaces both by one.
func (gt *GraphTables) twoNotes(d *drawer) *GraphProgram {
	t, row := gt.thing(d)
	if row == nil {
		return nil
	}
	name := Show(row[0])
	has := slices.Clone(gt.Graph.Thing(name).Notes)
	if len(has) < 2 {
		return nil
	}
	d.r.Shuffle(len(has), func(i, j int) { has[i], has[j] = has[j], has[i] })
	slots := gt.said(d, t, row)
	slots["old"], slots["a"] = has[0], has[1]
	x := slots["x"]
	p := &Program{Kind: Set, slots: slots}
	g := &GraphProgram{Program: p, Named: []string{name},
		Edits: []Edit{note(RemoveNote, name, has[0]), note(RemoveNote, name, has[1])}}
	out := wishOf(`take out "{}" and "{}" of {}`, has[0], has[1], x)
	switch d.r.IntN(3) {
	case 0:
		p.Kind, p.pattern = Remove, "notes_drop"
		g.wishes = []wish{wishOf(`take out "{}" of {}`, has[0], x), wishOf(`"{}"`, has[1])}
	case 1:
		p.pattern, slots["v"] = "notes_merge", gt.remark(d, t)
		g.Edits = append(g.Edits, note(AddNote, name, slots["v"]))
		g.wishes = []wish{out, wishOf(`add "{}"`, slots["v"])}
	default:
		first, ok := renewed(d.r, has[0])
		second, also := renewed(d.r, has[1])
		if !ok || !also && d.r.IntN(2) == 0 {
			return nil
		}
		if !also {
			second = gt.remark(d, t)
		}
		p.pattern, slots["v"], slots["b"] = "notes_renew", first, second
		g.Edits = append(g.Edits, note(AddNote, name, first), note(AddNote, name, second))
		g.wishes = []wish{out, wishOf(`add "{}" and "{}"`, first, second)}
	}
	return g
}

// renewed is a note with another value: "rent 1300" for "rent 1200".
func renewed(r *rand.Rand, text string) (string, bool) {
	f, v, ok := formOf(text)
	other := likeValue(r, v)
	return f.before + other + f.after, ok && other != v
}

// tied changes a note of a thing and a relation to it in one request: both come, or others take their places.
func (gt *GraphTables) tied(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	old := pick(d.r, gt.Graph.Relations)
	v := verbalOf(old.Type)
	from, to := gt.Graph.Thing(old.From), gt.Graph.Thing(old.To)
	if from == nil || to == nil || !v.sayable() || len(to.Notes) == 0 {
		return nil
	}
	now := Relation{gt.another(d, from), old.To, old.Type}
	if now.From == "" || now.From == now.To || slices.Contains(gt.Graph.Relations, now) {
		return nil
	}
	slots := map[string]string{"x": to.Name, "v": now.From, "rel": v.said()}
	put := wishOf("put in that {} "+v.said()+" {}", now.From, to.Name)
	g := &GraphProgram{Program: &Program{Kind: Set, pattern: "tie_and_note", slots: slots},
		Named: []string{to.Name, now.From}}
	t := gt.tableOf(to.Type)
	if t == nil {
		return nil
	}
	if d.r.IntN(3) == 0 {
		slots["a"] = gt.remark(d, t)
		g.Edits = []Edit{note(AddNote, to.Name, slots["a"]), relate(AddRelation, now.From, now.To, now.Type)}
		g.wishes = []wish{wishOf(`note "{}" of {}`, slots["a"], to.Name), put}
		return g
	}
	slots["old"], slots["y"] = pick(d.r, to.Notes), old.From
	next, ok := renewed(d.r, slots["old"])
	if !ok {
		next = gt.sibling(d, to, slots["old"])
	}
	if next == "" {
		return nil
	}
	slots["a"], g.pattern = next, "tie_and_note_swap"
	g.Edits = []Edit{note(RemoveNote, to.Name, slots["old"]), note(AddNote, to.Name, next),
		relate(RemoveRelation, old.From, old.To, old.Type), relate(AddRelation, now.From, now.To, now.Type)}
	g.wishes = []wish{wishOf(`"{}" of {} becomes "{}"`, slots["old"], to.Name, next),
		wishOf("take out that {} "+v.said()+" {}", old.From, old.To), put}
	return g
}

// sibling is a note of another thing of the kind that says the same property otherwise: "status: active" for
// "status: on hold". "" where there is none.
func (gt *GraphTables) sibling(d *drawer, thing *Thing, note string) string {
	for _, at := range d.r.Perm(len(gt.Graph.Things)) {
		o := gt.Graph.Things[at]
		if o.Type != thing.Type || o.Name == thing.Name {
			continue
		}
		for _, n := range o.Notes {
			if n != note && firstWord(n) == firstWord(note) && !slices.Contains(thing.Notes, n) {
				return n
			}
		}
	}
	return ""
}

// tableOf is the table of the things of a type; nil where there is none.
func (gt *GraphTables) tableOf(kind string) *Table {
	for _, t := range gt.World.Tables {
		if kind != "" && gt.types[t] == kind { // tables of relations have no type
			return t
		}
	}
	return nil
}

// insertTied makes a thing with two notes and a relation to one that is there: "Pepper is a new pet, Jonas owns it".
func (gt *GraphTables) insertTied(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	like := pick(d.r, gt.Graph.Relations)
	v := verbalOf(like.Type)
	if gt.Graph.Thing(like.From) == nil || gt.Graph.Thing(like.To) == nil || !v.sayable() || like.From == like.To {
		return nil
	}
	model, now := gt.Graph.Thing(like.To), like
	leads := d.r.IntN(2) == 0
	if leads {
		model = gt.Graph.Thing(like.From)
	}
	t := gt.tableOf(model.Type)
	if t == nil {
		return nil
	}
	name, ok := d.fresh(t).(string)
	if !ok || gt.Graph.Thing(name) != nil {
		return nil
	}
	other := like.From
	if now.To = name; leads {
		now, other = Relation{name, like.To, like.Type}, like.To
	}
	first, second := gt.remark(d, t), gt.remark(d, t)
	for _, n := range model.Notes { // in the style of others
		if text, ok := renewed(d.r, n); ok {
			first = text
		}
	}
	if first == second {
		return nil
	}
	slots := about(t)
	slots["x"], slots["old"], slots["v"] = name, first, second
	slots["a"], slots["b"], slots["rel"] = now.From, now.To, v.said()
	if turned := gt.inverse(d, like.Type, gt.Graph.Thing(like.To)); turned != "" {
		slots["a"], slots["b"], slots["rel"] = now.To, now.From, turned
	}
	return &GraphProgram{
		Program: &Program{Kind: Insert, pattern: "insert_tied", slots: slots},
		Edits: []Edit{{Do: AddThing, Thing: Thing{name, model.Type, []string{first, second}}},
			relate(AddRelation, now.From, now.To, now.Type)},
		Named: []string{other},
		wishes: []wish{wishOf(`make {} with "{}" and "{}"`, name, first, second),
			wishOf("put in that {} "+v.said()+" {}", now.From, now.To)},
	}
}
