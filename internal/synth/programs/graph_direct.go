package programs

import (
	"slices"
	"strings"
)

// direct says of each type of relation that comes from what to what it leads, by one that is there: that of the change
// itself, if one goes, else one at a thing that it is about.
func (gt *GraphTables) direct(g *GraphProgram) {
	if slices.Contains([]string{"rename", "respell", "respell_new"}, g.pattern) { // each goes on as it is
		return
	}
	var kinds []string
	for _, e := range g.Edits {
		if r := e.Relation; e.Do == AddRelation && !slices.Contains(kinds, r.Type) {
			kinds = append(kinds, r.Type)
			if like, ok := gt.alikeNoted(g, r); ok {
				g.ways = append(g.ways, gt.way(like))
			}
		}
	}
}

// alikeNoted is a relation that is noted, of the type of one and between things of its types.
func (gt *GraphTables) alikeNoted(g *GraphProgram, r Relation) (like Relation, ok bool) {
	kindOf := func(name string) string {
		if t := gt.Graph.Thing(name); t != nil {
			return t.Type
		}
		for _, e := range g.Edits {
			if e.Do == AddThing && e.Thing.Name == name {
				return e.Thing.Type
			}
		}
		return ""
	}
	near := func(o Relation) bool {
		about := slices.Concat(g.Named, g.Members)
		return slices.ContainsFunc(g.Edits, func(e Edit) bool { return e.Do == RemoveRelation && e.Relation == o }) ||
			slices.Contains(about, o.From) || slices.Contains(about, o.To)
	}
	for _, o := range gt.Graph.Relations {
		if o.Type == r.Type && kindOf(o.From) == kindOf(r.From) && kindOf(o.To) == kindOf(r.To) && (!ok || near(o)) {
			if like, ok = o, true; near(o) {
				break
			}
		}
	}
	return like, ok
}

// way says from what to what a relation leads: by the kinds of its ends, or by what it is called.
func (gt *GraphTables) way(r Relation) string {
	text := "as noted: from " + r.From + " to " + r.To + ", " + r.Type + ", so "
	from, to := gt.Graph.Thing(r.From), gt.Graph.Thing(r.To)
	if from != nil && to != nil && from.Type != to.Type && from.Type != "" && to.Type != "" {
		return text + "from the " + singular(Words(from.Type)) + " to the " + singular(Words(to.Type))
	}
	return text + "first the one that " + verbalOf(r.Type).said() + " the other"
}

// inverse says a relation of what it leads to: "belongs to" for "owns"; "" for half of them, and where nothing says it.
func (gt *GraphTables) inverse(d *drawer, kind string, to *Thing) string {
	list := inverses(kind, gt.areOfPeople(to.Type))
	if len(list) == 0 || d.r.IntN(2) == 0 {
		return ""
	}
	return pick(d.r, list)
}

// inverses are the ways to say a relation of what it leads to.
func inverses(kind string, people bool) (list []string) {
	v := verbalOf(kind)
	first, rest, _ := strings.Cut(v.words, " ")
	switch own := map[string][]string{"owns": {"belongs to", "is the property of"}, "leads": {"has as its lead"},
		"likes": {"appeals to"}, "includes": {"is a part of"}, "contains": {"is in"}}[v.words]; {
	case v.is && rest == "by":
		if verb := activeOf(first); verb != "" {
			list = append(list, verb)
		}
	case v.past && rest == "":
		list = append(list, "was "+first+" by")
	case isVerbAlone(first) && (rest == "" || rest == "after" || rest == "on"):
		if done := doneBy(first); done != "" {
			list = append(own, strings.TrimSpace("is "+done+" "+rest)+" by")
		}
	}
	if noun, by := roleOf(kind, false, people); noun != "" && by == "of" {
		list = append(list, "is the "+noun+" of")
	}
	return list
}

// doneBy is what is done by a verb of a third person: of "leads" it is "led". "" where nobody says it so.
func doneBy(verb string) string {
	irregular := map[string]string{"leads": "led", "teaches": "taught", "drives": "driven", "sells": "sold",
		"makes": "made", "keeps": "kept", "holds": "held", "knows": "known", "writes": "written", "wears": "worn",
		"grows": "grown", "feeds": "fed", "runs": "run", "sends": "sent"}
	regular := strings.Fields(`attends borrows coaches covers delivers employs follows handles helps hosts likes looks
		loves manages mentors needs offers opens organises organizes owns plays prefers provides rents repairs requires
		reviews serves sponsors studies supervises supplies trains treats uses visits works`)
	base := baseVerb(verb)
	switch {
	case irregular[verb] != "":
		return irregular[verb]
	case !slices.Contains(regular, verb):
		return ""
	case strings.HasSuffix(base, "e"):
		return base + "d"
	case strings.HasSuffix(base, "y") && !endsIn(base, "ay", "oy", "ey"):
		return base[:len(base)-1] + "ied"
	}
	return base + "ed"
}

// activeOf is the verb of a participle: of "led" it is "leads"; "" where there is none.
func activeOf(done string) string {
	for verb := range strings.FieldsSeq(`leads teaches drives sells makes keeps holds writes runs borrows coaches covers
		delivers employs handles hosts manages mentors organises owns plays provides rents repairs reviews serves
		sponsors supervises supplies trains treats uses visits`) {
		if doneBy(verb) == done {
			return verb
		}
	}
	return ""
}

// linkLike has a thing that is there stand where others of its kind do. It is told by a condition that it alone meets,
// and the relation by the others.
func (gt *GraphTables) linkLike(d *drawer) *GraphProgram {
	hubs := gt.ofOneKind()
	if len(hubs) == 0 {
		return nil
	}
	h := pick(d.r, hubs)
	where, phrase, ok := gt.tests(d, h.table)
	found := h.table.rows(where)
	if !ok || len(found) != 1 || slices.ContainsFunc(gt.Graph.Relations, func(r Relation) bool { // which of two?
		ends := []string{r.From, r.To}
		return r.Type != h.kind && slices.Contains(ends, h.name) &&
			slices.ContainsFunc(ends, func(n string) bool { return slices.Contains(h.members, n) })
	}) {
		return nil
	}
	name := Show(found[0][0])
	now := Relation{name, h.name, h.kind}
	if h.leads {
		now = Relation{h.name, name, h.kind}
	}
	if name == h.name || slices.Contains(h.members, name) || !sayable(name) || gt.isTaken(h, name) {
		return nil
	}
	slots := about(h.table)
	slots["filter"], slots["x"], slots["others"] = phrase, h.name, enumerate(h.members[:2])
	q := &Query{Table: h.table, Where: where, Column: 0, Of: -1, Order: -1}
	return &GraphProgram{Program: &Program{Kind: Set, pattern: "link_like", slots: slots, query: q,
		Tables: []*Table{h.table}, sayings: d.sayings}, Named: []string{h.name}, Types: []string{gt.types[h.table]},
		Edits: []Edit{{Do: AddRelation, Relation: now}}, relations: []string{h.kind}}
}
