package programs

import (
	"slices"
	"strings"
)

// hub is a thing to which others of one kind stand in one relation: an event and those who attend it.
type hub struct {
	name    string
	kind    string   // of the relation
	leads   bool     // it leads to the others, and not from them
	members []string // by the order of the graph
	table   *Table   // of the members
}

// Bounds of the things at one hub, for a request about them.
const (
	leastMembers = 2
	mostMembers  = 12
)

// hubs are all of a graph, in the order of its relations.
func (gt *GraphTables) hubs() (list []hub) {
	type end struct {
		name, kind string
		leads      bool
	}
	places := map[end]int{}
	for _, leads := range []bool{false, true} {
		for _, r := range gt.Graph.Relations {
			name, member := r.To, r.From
			if leads {
				name, member = r.From, r.To
			}
			at, known := places[end{name, r.Type, leads}]
			if !known {
				at = len(list)
				places[end{name, r.Type, leads}] = at
				list = append(list, hub{name: name, kind: r.Type, leads: leads})
			}
			list[at].members = append(list[at].members, member)
		}
	}
	return slices.DeleteFunc(list, func(h hub) bool {
		return len(h.members) < leastMembers || len(h.members) > mostMembers || !verbalOf(h.kind).sayable() ||
			!sayable(h.name) || gt.Graph.Thing(h.name) == nil
	})
}

// ofOneKind are those hubs whose members are all of one table.
func (gt *GraphTables) ofOneKind() (list []hub) {
	rows := map[*Table]map[string]bool{} // by their keys
	for _, h := range gt.hubs() {
		if first := gt.Graph.Thing(h.members[0]); first != nil {
			h.table = gt.tableOf(first.Type)
		}
		if h.table == nil {
			continue
		}
		if rows[h.table] == nil {
			rows[h.table] = map[string]bool{}
			for _, row := range h.table.Rows {
				rows[h.table][Show(row[h.table.Key])] = true
			}
		}
		if !slices.ContainsFunc(h.members, func(m string) bool { return !rows[h.table][m] }) {
			list = append(list, h)
		}
	}
	return list
}

// called is what the members of a hub are called: by a noun that the relation has for them, "guests of the party", or
// by the relation itself, "people who attend the party".
func (gt *GraphTables) called(d *drawer, h hub) (one, many string) {
	t := h.table
	if noun, by := roleOf(h.kind, !h.leads, t.OfPeople()); noun != "" && d.r.IntN(4) > 0 {
		return noun + " " + by + " " + h.name, plural(noun) + " " + by + " " + h.name
	}
	who := map[bool]string{true: "who", false: "that"}[t.OfPeople()]
	v := verbalOf(h.kind)
	phrase := v.those(who)
	if h.leads {
		phrase = v.these(who)
	}
	phrase = put(phrase, h.name)
	return t.One + " " + ofOne(phrase), t.Many + " " + phrase
}

// roleOf is the noun for what stands at an end of a relation, with the word before the other end: of "attends" the
// guest of something. "" where there is none. Most are nouns for people alone.
func roleOf(kind string, from, people bool) (noun, by string) {
	v := verbalOf(kind)
	words := v.words
	passive := ""
	if first, rest, _ := strings.Cut(words, " "); v.is && rest == "by" {
		passive = first // what is led by somebody has a lead
	}
	role := ""
	for _, r := range roles() {
		active := slices.Contains(r.verbs, words)
		if active || passive != "" && slices.Contains(r.verbs, "past "+passive) {
			if role = r.to; from == active {
				role = r.from
			}
		}
	}
	switch {
	case role == "" && v.noun != "" && from:
		role = v.noun + " of"
	case role == "" && v.owned() != "" && !from:
		role = v.owned() + " of"
	}
	noun, by = role, "of"
	if at := strings.LastIndexByte(role, ' '); at > 0 {
		noun, by = role[:at], role[at+1:]
	}
	if !people && v.noun == "" && v.owned() == "" &&
		!slices.Contains([]string{"supplier", "sponsor", "employer", "host", "child"}, noun) {
		return "", ""
	}
	return noun, by
}

// role are the nouns for both ends of some relations, by what these are called.
type role struct {
	verbs    []string // as the relation is said; "past led" is "led by"
	from, to string
}

func roles() []role {
	of := func(from, to string, verbs ...string) role { return role{verbs, from, to} }
	return []role{
		of("guest of", "", "attends", "invited to", "is invited to", "comes to"),
		of("lead of", "", "leads", "past led"), of("manager of", "", "manages", "past managed"),
		of("report of", "boss of", "reports to", "works under"), of("boss of", "report of", "boss of", "manager of"),
		of("mentor of", "mentee of", "mentors", "mentor of", "past mentored"),
		of("teacher of", "pupil of", "teaches", "teacher of", "past taught"),
		of("trainer of", "trainee of", "trains", "trainer of", "past trained"),
		of("coach of", "", "coaches", "past coached"), of("", "patient of", "treats"),
		of("", "patient of", "past treated"), of("supervisor of", "", "supervises", "past supervised"),
		of("employee of", "employer of", "works for", "employed by", "is employed by"),
		of("employer of", "employee of", "employs"), of("person at", "", "works at", "based at", "is based at"),
		of("person on", "", "works on", "assigned to", "helps with"),
		of("person in", "", "based in", "works in", "sits in"),
		of("resident of", "", "lives in", "lives at"),
		of("member of", "", "belongs to", "member of", "plays with", "joined"),
		of("owner of", "", "owns", "past owned"), of("borrower of", "", "borrowed", "borrows", "past borrowed"),
		of("host of", "", "hosts", "past hosted"), of("speaker at", "", "speaks at", "presents at"),
		of("player in", "", "plays in", "plays for"), of("singer in", "", "sings in"),
		of("supplier of", "", "supplies", "delivers", "past supplied", "past delivered"),
		of("visitor of", "", "visits", "visited"), of("guest at", "", "stays at", "stays in", "booked at"),
		of("student at", "", "studies at"), of("participant in", "", "takes part in", "enrolled in", "signed up for",
			"registered for", "competes in", "down for"),
		of("volunteer at", "", "volunteers at"), of("performer at", "", "performs at", "plays at"),
		of("driver of", "", "drives", "past driven"), of("user of", "", "uses", "past used"),
		of("author of", "", "wrote", "writes", "past written"), of("founder of", "", "founded", "past founded"),
		of("organiser of", "", "organises", "organizes", "past organised", "past organized"),
		of("tenant of", "landlord of", "rents from"), of("tenant of", "", "rents", "past rented"),
		of("sponsor of", "", "sponsors", "past sponsored"), of("spouse of", "spouse of", "married to", "is married to"),
		of("parent of", "child of", "parent of", "mother of", "father of"),
		of("child of", "parent of", "child of", "son of", "daughter of"),
		of("reviewer of", "", "reviews", "past reviewed"), of("buyer of", "", "bought", "buys", "past bought"),
	}
}
