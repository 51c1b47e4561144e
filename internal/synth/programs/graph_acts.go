package programs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kinds of programs that only graphs have.
const (
	noteOne     = "note"      // add, remove or replace a note
	noteMany    = "note_all"  // one note on all that match
	noteIf      = "note_if"   // a note, where nothing matches
	relink      = "relink"    // another end of a relation
	takeOver    = "take_over" // all relations of one thing go to another
	rename      = "rename"
	forget      = "forget" // a whole thing
	holds       = "holds"  // whether a relation does
	ensure      = "ensure" // that two things are in a relation to a third
	twoEdits    = "two_edits"
	twoNotes    = "two_notes" // of one thing
	tied        = "tied"      // a note of a thing, and a relation to it
	newTied     = "new_tied"  // a new thing, and its relation to another
	chosen      = "chosen"    // by a verdict on each: names, a number, a figure
	clearOut    = "clear_out" // the same: removal
	shifts      = "shift"     // a day or a time in a note
	senses      = "by_sense"  // a note that is told by what it is about
	likeMade    = "like_made" // a new thing as its peers are
	chains      = "chain"     // two relations in a row
	perGroup    = "per_group" // how many each has
	placesLeft  = "places_left"
	linkProduct = "link_product" // a price times a number of what it goes with
	recounts    = "recount"      // members of a hub that go and come, and then their number
	linkLike    = "link_like"    // an existing thing, told by a condition, where others stand
	winners     = "winner"       // something of the one that a condition, an extreme or a comparison tells
)

// GraphShares are how often each kind is drawn over a graph, in parts.
func GraphShares() map[string]int {
	shares := maps.Clone(Shares())
	maps.Copy(shares, map[string]int{Insert: 8, List: 8, Several: 10, Remove: 5,
		noteOne: 8, noteMany: 5, noteIf: 5, chosen: 32, clearOut: 6, forget: 9, shifts: 6, senses: 7, likeMade: 7,
		chains: 6, perGroup: 3, linkProduct: 8, placesLeft: 3, winners: 20, linkLike: 6, recounts: 8, Both: 3, YesNo: 3,
		relink: 9, takeOver: 3, rename: 9,
		holds: 5, ensure: 4, twoEdits: 8, twoNotes: 8, tied: 8, newTied: 6, Unknown: 7, AskBack: 7, Cannot: 2,
		TwoTables: 0})
	return shares
}

// GraphProgram is a program over a graph: what it changes there, and what somebody looks at first who has not seen it.
type GraphProgram struct {
	*Program
	Edits []Edit
	Named []string // things that are looked for by their names
	Types []string // whose things are all looked at
	// Members are opened together behind what is named, since its relations show them; Opens says who they are.
	Members []string
	Opens   string

	relations []string          // types of relations that it asks for
	short     map[string]string // how the request calls a thing, by its name
	wishes    []wish            // the changes that it asks for, where they are several
	ways      []string          // from what to what relations lead, by those that are there
}

// Draw draws a program of a kind, nil where the graph has none.
func (gt *GraphTables) Draw(r *rand.Rand, kind string) *GraphProgram {
	for range tries {
		var g *GraphProgram
		d := &drawer{r: r, w: gt.World}
		if way := gt.ways(kind); way != nil {
			g = way(d)
		} else if g = gt.drawn(d, kind); g != nil && g.Program == nil {
			return nil
		}
		if g == nil {
			continue
		}
		if after, ok := gt.Graph.Apply(g.Edits); ok && !gt.Graph.crowds(after) &&
			(len(g.Edits) == 0 || !after.Equal(gt.Graph)) {
			gt.judge(g)
			gt.direct(g)
			gt.keep(d, g)
			gt.nameEnds(g)
			gt.shorten(r, g)
			return g
		}
	}
	return nil
}

// ways are the drawers of kinds of which graphs alone have programs; nil of the others.
func (gt *GraphTables) ways(kind string) func(*drawer) *GraphProgram {
	choice := func(d *drawer) *GraphProgram { return gt.choice(d, kind) }
	return map[string]func(*drawer) *GraphProgram{noteOne: gt.noteOne, shifts: gt.shift, senses: gt.bySense,
		likeMade: gt.likeOthers, chains: gt.chain, perGroup: gt.perGroup, linkProduct: gt.linkProduct,
		placesLeft: gt.placesLeft, chosen: choice, noteMany: choice, noteIf: choice, clearOut: choice,
		recounts: gt.recount, linkLike: gt.linkLike, winners: gt.winner, relink: gt.relink, takeOver: gt.takeOver,
		rename: gt.rename, forget: gt.forget, holds: gt.holds, ensure: gt.ensure, twoEdits: gt.twoEdits,
		twoNotes: gt.twoNotes, tied: gt.tied, newTied: gt.insertTied}[kind]
}

// drawn is a program over tables that becomes one over the graph: nil where it cannot, and one without a program where
// the tables have none.
func (gt *GraphTables) drawn(d *drawer, kind string) *GraphProgram {
	if kind == Unknown && d.r.IntN(5) < 2 {
		return gt.unnoted(d)
	}
	g := &GraphProgram{Program: Draw(d.r, gt.World, kind)}
	if g.Program == nil {
		return g
	}
	if g.Answer.Form == "question" && len(g.Answer.Among) > 0 && d.r.IntN(2) == 0 {
		g.pattern, g.slots["v"] = "append", gt.remark(d, g.Tables[0])
	}
	if gt.setsNote(g.Program) || g.Made != nil { // a graph has no tables
		return nil
	}
	var ok bool
	if g.Edits, ok = gt.Edits(g.Program); !ok || !gt.finds(g) {
		return nil
	}
	gt.leaveOpen(g)
	return g
}

// finds says what is looked at first; false where what the request names cannot be found by that.
func (gt *GraphTables) finds(g *GraphProgram) bool {
	if g.Answer.Form == "cannot" { // no look helps
		return true
	}
	g.Named = slices.DeleteFunc(slices.Clone(g.through), func(name string) bool {
		return g.Answer.Form != "" && g.Result == nil && len(g.Steps) == 0 && g.Says(name) == "" // the request lost it
	})
	if g.Answer.Form == "question" && g.pattern != "set_nothing" { // which of them is meant?
		if kinds := gt.asked(g.Program); len(kinds) > 0 {
			g.Named, g.Types = nil, kinds
		}
		return true
	}
	if g.Program.near {
		return true
	}
	if q := g.picked; q != nil && slices.ContainsFunc(q.Where, func(c Cond) bool { // who asks for it has said it
		return slices.Contains([]string{g.slots["attr"], g.slots["attr2"]}, q.Table.Columns[c.Column].caption())
	}) {
		return false
	}
	for p := g.Program; p != nil; p = p.then {
		if p.Answer.Form == "cannot" {
			continue
		}
		if kinds := gt.asked(p); len(kinds) > 0 {
			g.Types = append(g.Types, kinds...)
			continue
		}
		named := false
		for _, slot := range []string{"x", "y"} {
			said := strings.TrimPrefix(p.slots[slot], "the ")
			if said == "" || slot == "y" && p.pattern == "move_all" {
				continue
			}
			name := p.means[said]
			if name == "" {
				name = gt.name(said, p.Tables)
			}
			if name != "" && p.picked != nil && p.means[said] != "" { // found among all of its kind
				named = true
				g.Types = append(g.Types, gt.types[p.picked.Table])
			} else if name != "" {
				named = true
				g.Named = append(g.Named, name)
			} else if slot == "x" && (slices.Contains([]string{"insert", "add_unless"}, p.pattern) ||
				p.Answer.Form == "unknown") {
				continue
			} else {
				return false
			}
		}
		if p.then != nil && p.then.pattern == "count" && len(p.then.Tables) == 0 && len(p.Tables) > 0 {
			named = false // it is counted among all of them
		}
		if p.pattern == "join" && len(g.Named) == 0 { // the one in the middle was picked among all of its kind
			named = false
		}
		if named && p.pattern != "add_unless" {
			if p.pattern == "join" {
				g.Named = append(g.Named, gt.referred(g.Named[len(g.Named)-1])...)
			}
			if !strings.HasPrefix(p.pattern, "compare_") {
				continue
			}
		}
		for i, t := range p.Tables {
			if i > 0 && p.shownByRelations(t) {
				continue
			}
			if kind := gt.types[t]; kind != "" && !slices.Contains(g.Types, kind) {
				g.Types = append(g.Types, kind)
			}
		}
	}
	return true
}

// leaveOpen has a question whether a thing is so, or does so, answered by "not noted" where nothing says so and nothing
// says otherwise: a missing note is no "No".
func (gt *GraphTables) leaveOpen(g *GraphProgram) {
	q := g.query
	if g.pattern != "asks" || g.Answer.Form != "yes_no" || q == nil || q.Agg != "" || !q.Table.Columns[q.Column].Note ||
		g.picked != nil || len(g.Named) == 0 || strings.Contains(g.slots["asks"], "noted as") {
		return
	}
	note, name := q.Table.Columns[q.Column].Says, g.subject()
	if t := gt.Graph.Thing(name); t == nil || slices.Contains(t.Notes, note) ||
		len(gt.near(t.Name, note)) > 0 {
		return
	}
	g.query = nil
	g.Work("Nothing about that is noted of " + name + ", neither so nor otherwise.")
	if g.Answer = (Answer{Form: "unknown", Values: []string{"That is not noted."}}); g.then == nil {
		g.Kind = Unknown
	}
}

// setsNote reports whether a request speaks of a note as of something that has a value: "the speaks Dutch of Ana".
func (gt *GraphTables) setsNote(p *Program) bool {
	for ; p != nil; p = p.then {
		if slices.ContainsFunc(gt.World.Tables, func(t *Table) bool {
			return slices.ContainsFunc(t.Columns, func(c Column) bool {
				return c.Note && p.slots["asks"] == "" &&
					slices.Contains([]string{p.slots["attr"], p.slots["attr2"], p.slots["one"]}, c.caption())
			})
		}) {
			return true
		}
	}
	return false
}

// shownByRelations reports whether all that a program needs of the things of a table are their names, which the
// relations of others show.
func (p *Program) shownByRelations(t *Table) bool {
	q := p.query
	if q == nil {
		return slices.Contains([]string{"insert", "add_unless", "missing", "unrelated", "most", "remove_unrelated"},
			p.pattern)
	}
	of := func(column, of int) bool { return of >= 0 && q.Table.Columns[column].Ref == t }
	return q.Table != t && !of(q.Column, q.Of) &&
		!slices.ContainsFunc(q.Where, func(c Cond) bool { return of(c.Column, c.Of) })
}

// name is the one thing that is meant by a name or a part of it; "" where none is, or several are.
func (gt *GraphTables) name(said string, tables []*Table) (name string) {
	for _, t := range tables {
		if t.Label != t.Key || gt.types[t] == "" {
			continue
		}
		for _, row := range t.Rows {
			switch has := Show(row[0]); {
			case strings.EqualFold(has, said):
				return has
			case !strings.Contains(strings.ToLower(has), strings.ToLower(said)):
			case name != "" && name != has:
				return ""
			default:
				name = has
			}
		}
	}
	return name
}

// referred are the things that one refers to.
func (gt *GraphTables) referred(name string) (names []string) {
	for _, t := range gt.World.Tables {
		row := t.byKey(name)
		if row == nil || t.Link != "" {
			continue
		}
		for i, c := range t.Columns {
			if c.Ref != nil && row[i] != nil {
				names = append(names, Show(row[i]))
			}
		}
	}
	return names
}

// thing draws a thing of a table with a name that no other has.
func (gt *GraphTables) thing(d *drawer) (t *Table, row []any) {
	if t = d.table(); t == nil {
		return nil, nil
	}
	return t, d.sole(t)
}

// remark draws a note for a thing that has it not: one that others of its kind have, or a new one.
func (gt *GraphTables) remark(d *drawer, t *Table) string {
	if d.r.IntN(2) == 0 {
		for i, c := range t.Columns {
			if c.Note && d.r.IntN(2) == 0 {
				return gt.sources[t][i].note
			}
		}
	}
	if t.One == "person" || t.OfPeople() && t.One != "client" && t.One != "customer" {
		return lowerFirst(Fact(d.r))
	}
	day := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	month := []string{"January", "March", "April", "June", "August", "September", "November"}
	return pick(d.r, []string{
		"checked in " + pick(d.r, month), "to be checked by " + pick(d.r, day), "waiting for an answer",
		"needs a second look", "ordered in " + pick(d.r, month), "ask again on " + pick(d.r, day), "much praised",
		"only until " + pick(d.r, month), "recently changed",
		"to be discussed on " + pick(d.r, day), "paid for until " + pick(d.r, month), "keep an eye on it",
		"not before " + pick(d.r, month), "new since " + pick(d.r, month),
	})
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// said are the slots of a thing: its whole name, or a part of it that names no other.
func (gt *GraphTables) said(d *drawer, t *Table, row []any) map[string]string {
	slots := about(t)
	slots["x"], _ = d.naming(t, row)
	if gt.name(strings.TrimPrefix(slots["x"], "the "), []*Table{t}) != Show(row[0]) {
		slots["x"] = Show(row[0])
	}
	return slots
}

func (gt *GraphTables) noteOne(d *drawer) *GraphProgram {
	t, row := gt.thing(d)
	if row == nil {
		return nil
	}
	name := Show(row[0])
	slots := gt.said(d, t, row)
	slots["v"] = gt.remark(d, t)
	has := gt.Graph.Thing(name).Notes
	g := &GraphProgram{Named: []string{name}}
	switch n := d.r.IntN(10); {
	case n < 4 || len(has) == 0:
		g.Program = &Program{Kind: Set, pattern: "append", slots: slots}
		g.wishes = []wish{wishOf(`note "{}" of {}`, slots["v"], slots["x"])}
		g.Edits = []Edit{note(AddNote, name, slots["v"])}
	case n < 7:
		slots["v"] = pick(d.r, has)
		g.Program = &Program{Kind: Remove, pattern: "unappend", slots: slots}
		g.wishes = []wish{wishOf(`take out "{}" of {}`, slots["v"], slots["x"])}
		g.Edits = []Edit{note(RemoveNote, name, slots["v"])}
	default:
		slots["old"] = pick(d.r, has)
		next, ok := renewed(d.r, slots["old"])
		if !ok {
			next = gt.sibling(d, gt.Graph.Thing(name), slots["old"])
		}
		if next == "" { // nothing of that sort could be there instead
			return nil
		}
		slots["v"] = next
		g.Program = &Program{Kind: Set, pattern: "note_replace", slots: slots}
		g.wishes = []wish{wishOf(`"{}" of {} becomes "{}"`, slots["old"], slots["x"], slots["v"])}
		g.Edits = []Edit{note(RemoveNote, name, slots["old"]), note(AddNote, name, slots["v"])}
	}
	return g
}

// likeValue is another value of the form of one: another day or month, or a number with other digits. What has none
// stays as it is.
func likeValue(r *rand.Rand, value string) string {
	if day, err := time.Parse(time.DateOnly, value); err == nil {
		return day.AddDate(0, 0, 1+r.IntN(20)).Format(time.DateOnly)
	}
	if month, err := time.Parse("2006-01", value); err == nil {
		return month.AddDate(0, 1+r.IntN(9), 0).Format("2006-01")
	}
	digits := []byte(value)
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] >= '0' && digits[i] <= '9' {
			digits[i] = '1' + byte(r.IntN(8))
			break
		}
	}
	return string(digits)
}

// relink gives a relation another end.
func (gt *GraphTables) relink(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	old := pick(d.r, gt.Graph.Relations)
	now := old
	slots := map[string]string{"x": old.From, "y": old.To, "rel": verbalOf(old.Type).said()}
	from, to := gt.Graph.Thing(old.From), gt.Graph.Thing(old.To)
	if from == nil || to == nil || !verbalOf(old.Type).sayable() {
		return nil
	}
	pattern := "edge_swap"
	if d.r.IntN(2) == 0 {
		now.From = gt.another(d, from)
		slots["v"] = now.From
	} else {
		pattern, now.To = "edge_retarget", gt.another(d, to)
		slots["v"] = now.To
	}
	if now.From == now.To || slots["v"] == "" || slices.Contains(gt.Graph.Relations, now) {
		return nil
	}
	if turned := gt.inverse(d, old.Type, to); turned != "" { // what leads from one end is said of the other
		slots["x"], slots["y"], slots["rel"] = old.To, old.From, turned
		pattern = map[string]string{"edge_swap": "edge_retarget", "edge_retarget": "edge_swap"}[pattern]
	}
	return &GraphProgram{
		Program: &Program{Kind: Correct, pattern: pattern, slots: slots},
		Edits: []Edit{relate(RemoveRelation, old.From, old.To, old.Type),
			relate(AddRelation, now.From, now.To, now.Type)},
		Named: []string{old.From, slots["v"]},
		wishes: []wish{wishOf("take out that {} "+verbalOf(old.Type).said()+" {}", old.From, old.To),
			wishOf("put in that {} "+verbalOf(old.Type).said()+" {}", now.From, now.To)},
	}
}

// holds asks whether a relation holds, and at times for one that does not.
func (gt *GraphTables) holds(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	one := pick(d.r, gt.Graph.Relations)
	v := verbalOf(one.Type)
	from, to := gt.Graph.Thing(one.From), gt.Graph.Thing(one.To)
	if from == nil || to == nil || !v.sayable() {
		return nil
	}
	if d.r.IntN(2) == 0 {
		one.To = gt.another(d, to)
	}
	if one.To == "" || one.To == one.From {
		return nil
	}
	answer := map[bool]string{true: "Yes", false: "No"}[slices.Contains(gt.Graph.Relations, one)]
	p := &Program{Kind: YesNo, pattern: "asks", Answer: Answer{Form: "yes_no", Values: []string{answer}},
		slots: map[string]string{"asks": v.does(one.From, one.To)}}
	var led []string
	for _, r := range gt.Graph.Relations {
		if r.From == one.From && r.Type == one.Type {
			led = append(led, r.To)
		}
	}
	stated := "Nothing says whom or what " + one.From + " " + v.said()
	if len(led) > 0 {
		stated = one.From + " " + v.said() + " " + enumerate(led)
	}
	p.verdict = one.From + " " + v.said() + " " + one.To
	p.Work(stated)
	return &GraphProgram{Program: p, Named: []string{one.From}, relations: []string{one.Type}}
}

// ensure adds a relation of one of two things to a third, where the other one has it already.
func (gt *GraphTables) ensure(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	one := pick(d.r, gt.Graph.Relations)
	from := gt.Graph.Thing(one.From)
	if from == nil || gt.Graph.Thing(one.To) == nil || !verbalOf(one.Type).sayable() {
		return nil
	}
	other := Relation{gt.another(d, from), one.To, one.Type}
	if other.From == "" || other.From == one.To || slices.Contains(gt.Graph.Relations, other) {
		return nil
	}
	x, v := one.From, other.From
	if d.r.IntN(2) == 0 {
		x, v = v, x
	}
	rel := verbalOf(one.Type).said()
	p := &Program{Kind: ActIf, pattern: "edge_ensure",
		slots: map[string]string{"x": x, "v": v, "y": one.To, "rel": rel}}
	p.Work(one.From+" "+rel+" "+one.To+" - noted", other.From+" "+rel+" "+one.To+" - not noted")
	return &GraphProgram{Program: p, Named: []string{one.To}, Edits: []Edit{{Do: AddRelation, Relation: other}},
		wishes: []wish{wishOf("see that each of {} and {} "+rel+" {}", x, v, one.To)}}
}

// twoEdits are two changes of different sorts in one request: of notes and of relations.
func (gt *GraphTables) twoEdits(d *drawer) *GraphProgram {
	ways := []func(*drawer) *GraphProgram{gt.noteOne, gt.relink, gt.ensure}
	i := d.r.IntN(len(ways))
	g, more := ways[i](d), ways[(i+1+d.r.IntN(len(ways)-1))%len(ways)](d)
	if g == nil || more == nil || contradict(g.Edits, more.Edits) {
		return nil
	}
	g.Kind, g.then = Several, more.Program
	g.Edits, g.Named = ordered(append(g.Edits, more.Edits...)), append(g.Named, more.Named...)
	g.wishes = append(g.wishes, more.wishes...)
	g.working = strings.TrimSpace(g.working + "\n" + more.TakeWorking()) // both before the first change
	return g
}

// contradict reports whether two changes may speak of the same relation: one takes out what the other wants there. They
// do where both are of relations at one thing.
func contradict(a, b []Edit) bool {
	return slices.ContainsFunc(a, func(x Edit) bool {
		return slices.ContainsFunc(b, func(y Edit) bool {
			ends := []string{y.Relation.From, y.Relation.To}
			return x.Relation.Type != "" && x.Relation.Type == y.Relation.Type &&
				(slices.Contains(ends, x.Relation.From) || slices.Contains(ends, x.Relation.To))
		})
	})
}

// another draws the name of another thing of the same type; "" where there is none.
func (gt *GraphTables) another(d *drawer, t *Thing) string {
	var names []string
	for _, o := range gt.Graph.Things {
		if o.Type == t.Type && o.Name != t.Name {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return pick(d.r, names)
}

// takeOver moves all relations of a type that lead from one thing to another thing, which at times then goes.
func (gt *GraphTables) takeOver(d *drawer) *GraphProgram {
	if len(gt.Graph.Relations) == 0 {
		return nil
	}
	one := pick(d.r, gt.Graph.Relations)
	from := gt.Graph.Thing(one.From)
	if from == nil || verbalOf(one.Type).noun != "" || !verbalOf(one.Type).sayable() {
		return nil
	}
	to := gt.another(d, from)
	g := &GraphProgram{Named: []string{from.Name, to}}
	for _, r := range gt.Graph.Relations {
		if r.From != from.Name || r.Type != one.Type {
			continue
		}
		if to == "" || r.To == to || slices.Contains(gt.Graph.Relations, Relation{to, r.To, r.Type}) {
			return nil
		}
		g.Edits = append(g.Edits, relate(RemoveRelation, r.From, r.To, r.Type), relate(AddRelation, to, r.To, r.Type))
	}
	if len(g.Edits) < 4 || len(g.Edits) > 2*mostChanged {
		return nil
	}
	g.Edits = ordered(g.Edits)
	g.Program = &Program{Kind: SetAll, pattern: "take_over",
		slots: map[string]string{"x": from.Name, "v": to, "rel": verbalOf(one.Type).said()}}
	return g
}
