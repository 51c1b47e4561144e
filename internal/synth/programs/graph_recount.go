package programs

import (
	"fmt"
	"slices"
	"strings"
)

// recount has some leave a hub and others come, and then asks how many are there: "Bo can't come to the fair, Cy and Di
// will. How many guests are there now?"
func (gt *GraphTables) recount(d *drawer) *GraphProgram {
	hubs := gt.ofOneKind()
	if len(hubs) == 0 {
		return nil
	}
	h := pick(d.r, hubs)
	var others []string
	for _, row := range h.table.Rows {
		name := Show(row[0])
		if !slices.Contains(h.members, name) && name != h.name && !gt.isTaken(h, name) {
			others = append(others, name)
		}
	}
	gone := pick(d.r, h.members)
	n := 1 + d.r.IntN(2)
	if len(others) < n || gt.severalWays(h) {
		return nil
	}
	d.r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	come := others[:n]
	if slices.ContainsFunc(append(slices.Clone(come), gone), func(name string) bool { return !sayable(name) }) {
		return nil
	}
	tie := func(do, name string) Edit {
		if h.leads {
			return relate(do, h.name, name, h.kind)
		}
		return relate(do, name, h.name, h.kind)
	}
	g := &GraphProgram{Named: []string{h.name}, relations: []string{h.kind}, Edits: []Edit{tie(RemoveRelation, gone)}}
	now := slices.DeleteFunc(slices.Clone(h.members), func(name string) bool { return name == gone })
	for _, name := range come {
		g.Edits, now = append(g.Edits, tie(AddRelation, name)), append(now, name)
	}
	slots := map[string]string{"x": h.name, "y": gone, "v": enumerate(come)}
	_, slots["others"] = gt.called(d, h)
	g.Program = &Program{Kind: Several, pattern: "recount", slots: slots,
		Answer: Answer{Form: "number", Values: []string{fmt.Sprint(len(now))}}}
	for i, e := range g.Edits {
		does := map[bool]string{true: "take out", false: "put in"}[i == 0]
		g.wishes = append(g.wishes,
			wishOf(does+" that {} "+verbalOf(h.kind).said()+" {}", e.Relation.From, e.Relation.To))
	}
	g.wishes = append(g.wishes, wishOf("how many {} there are", slots["others"]))
	g.Work("Before: "+Numbered(h.members)[0], "Out: "+gone+". In: "+strings.Join(come, ", ")+".",
		"Now: "+Numbered(now)[0]+fmt.Sprintf(", so %d", len(now)))
	return g
}

// isTaken reports whether a thing belongs elsewhere by the relation of a hub's members, of which each has one: nobody
// is in two offices then.
func (gt *GraphTables) isTaken(h hub, name string) bool {
	count := map[string]int{}
	for _, r := range gt.Graph.Relations {
		if r.Type == h.kind {
			count[map[bool]string{true: r.To, false: r.From}[h.leads]]++
		}
	}
	for _, n := range count {
		if n > 1 {
			return false
		}
	}
	return count[name] > 0
}
