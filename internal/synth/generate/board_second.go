package generate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"hone/internal/synth/programs"
)

// Requests over lists in two messages, of which the second is understood by the first alone: "Make them all urgent."

// secondDraws are the ways to draw one. Each is tried several times: else most would be of those that seldom fail.
func (b *boarding) secondDraws() (draws []drawOf) {
	if b.edit == nil {
		return nil
	}
	ways := []drawOf{b.listThenChange, b.listThenChange, b.listThenChange, b.listThenChange, b.bestThenMore,
		b.bestThenMore, b.bestThenMore, b.askThenMore, b.askThenMore, b.askThenMore, b.changeThenMore, b.changeThenMore,
		b.changeThenSame}
	if slices.ContainsFunc(b.parts, func(p section) bool { return p.points && p.tick != nil }) {
		ways = append(ways, b.pointsThenTick)
	}
	for _, way := range ways {
		draws = append(draws, func(r *rand.Rand) *boardTask {
			for range 5 * drawTries {
				if t := way(r); t != nil {
					return t
				}
			}
			return nil
		})
	}
	return draws
}

// before puts a second message behind a task. What the first has looked at is not looked at again. It is nil where
// nothing is called for the second, or too much for both, or where the first message says what the second asks for.
func (t *boardTask) before(second *boardTask) *boardTask {
	if second == nil || second.Answer.Form == "text" && t.Mentions(second.Answer.Values[0]) {
		return nil
	}
	more := slices.DeleteFunc(second.reads, func(c Call) bool {
		return slices.ContainsFunc(t.reads, func(o Call) bool { return o.key() == c.key() })
	})
	later := len(more) + len(second.changes)
	if later == 0 || len(t.reads)+len(t.changes)+later > mostCalls {
		return nil
	}
	if len(t.changes) == 0 {
		t.reads = append(t.reads, more...)
	} else {
		t.changes = append(t.changes, more...)
	}
	t.changes = append(t.changes, second.changes...)
	t.Program = t.Before(second.Program, later)
	return t.joined(second)
}

// those are what people call several things that they were just told.
func those(r *rand.Rand, n int) string {
	if n == 2 {
		return pick(r, []string{"both", "both", "both of them", "them", "these two", "those two"})
	}
	return pick(r, []string{"them all", "all of them", "them", "all of these", "these", "those"})
}

// listThenChange asks which things meet a condition, or two, and then has each of them changed.
func (b *boarding) listThenChange(r *rand.Rand) *boardTask {
	t, rows, _ := b.some(r, programs.List, "list", 2, mostEach)
	if t == nil {
		return nil
	}
	t.Answer = programs.Answer{Form: "list", Values: b.names(rows)}
	if t = t.before(b.changeThose(r, rows)); t == nil {
		return nil
	}
	return b.sparing(r, t, rows)
}

// changeThose sets a property of things that were just listed, of which none has that value.
func (b *boarding) changeThose(r *rand.Rand, rows [][]any) *boardTask {
	d, ok := b.propertyDeed(r, rows[0])
	v := d.value
	if joins := d.Pattern == "do_join"; joins {
		v = d.Slots["v"]
		ok = ok && b.table.Columns[d.column].Ref == nil
	}
	if !ok || slices.ContainsFunc(rows, func(row []any) bool {
		has := parted(row[d.column])
		return slices.Contains(has, v) || b.columns[d.column].isFor() && len(has) > 1
	}) {
		return nil
	}
	slots := b.table.Slots(nil)
	maps.Copy(slots, d.Slots)
	slots["n"] = those(r, len(rows))
	second := &boardTask{Program: programs.NewAct(programs.SetAll, b.patternOf("all_", d), slots),
		after: map[string]map[string]string{}}
	if d.Pattern != "do_join" {
		b.findsNamed(second, nil, []int{d.column})
		for _, row := range rows {
			second.changes = append(second.changes, b.changeOf(b.key(row), d.argument)...)
			second.after[b.key(row)] = map[string]string{b.columns[d.column].name: v}
		}
		return second
	}
	var has [][]string
	for _, row := range rows {
		has = append(has, parted(row[d.column]))
	}
	b.become(second, rows, d.column, has, func(list []string) []string { return append(list, v) })
	second.changes[0].Why = second.TakeWorking()
	if !b.columns[d.column].hidden { // the list has shown what each has
		second.reads = nil
	}
	return second
}

// patternOf is the pattern by which a second message asks for a change: a state is said without its property.
func (b *boarding) patternOf(form string, d deed) string {
	name := strings.TrimPrefix(d.Pattern, "do_")
	if name == "set" && slices.Contains([]string{"status", "state", "stage"}, d.Slots["attr"]) {
		name = "mark"
	}
	return form + name
}

// bestThenMore asks for the first or the last of some things, and then goes on about that one.
func (b *boarding) bestThenMore(r *rand.Rand) *boardTask {
	t := b.askBest(r)
	if t == nil {
		return nil
	}
	row := b.onlyNamed([]programs.Cond{{Column: b.table.Label, Of: -1, Op: programs.Is, Value: t.Answer.Values[0]}})
	if row == nil || b.table.NameOf(row) == "" {
		return nil
	}
	return t.before(b.goOn(r, row))
}

// askThenMore asks something of a thing by its name, and then goes on about it.
func (b *boarding) askThenMore(r *rand.Rand) *boardTask {
	var t *boardTask
	switch asks := pick(r, []drawOf{nil, nil, b.askText, b.askLinks}); {
	case asks != nil:
		t = asks(r)
	default:
		t = b.drawOne(r, programs.Lookup)
	}
	if t == nil || t.Kind == programs.Unknown || t.Then() != nil {
		return nil
	}
	of, where, _ := t.Needs()
	var row []any
	if of == b.table {
		row = b.onlyNamed(where)
	} else if of == nil {
		row = b.viewedIn(t)
	}
	if row == nil || b.table.NameOf(row) == "" {
		return nil
	}
	return t.before(b.goOn(r, row))
}

// viewedIn is the thing that a task looks at last; nil where that is no view of one.
func (b *boarding) viewedIn(t *boardTask) []any {
	if b.view == nil || len(t.reads) == 0 {
		return nil
	}
	at := slices.IndexFunc(b.table.Rows, func(row []any) bool {
		return b.viewOf(row).key() == t.reads[len(t.reads)-1].key()
	})
	if at < 0 {
		return nil
	}
	return b.table.Rows[at]
}

// pointsThenTick asks which points of a thing are open, and then has one or two of them ticked.
func (b *boarding) pointsThenTick(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, ticks)
	if len(list) < 2 || !b.whole(row, p) {
		return nil
	}
	t := b.askPointsOf(r, row, slots, list, setup, false)
	d, ok := b.tickDeed(r, p, list)
	if t == nil || !ok {
		return nil
	}
	return t.before(b.changeThat(row, "that_does", []deed{d}))
}

// goOn asks something of a thing that was just spoken of, or has it changed.
func (b *boarding) goOn(r *rand.Rand, row []any) *boardTask {
	switch n := r.IntN(8); {
	case n == 0:
		return b.propertyOfThat(r, row)
	case n == 1:
		return b.linksOfThat(row)
	case n == 2:
		return b.sayThere(r, row)
	}
	n := 1 + r.IntN(3)/2
	if b.table.OfPeople() { // nobody calls them "it"
		n = 1
	}
	return b.changeThat(row, "that_does", b.moreDeeds(r, row, nil, n))
}

// changeThat makes all of some changes of a thing that was just spoken of. A single one has words of its own, unless it
// comes behind another change.
func (b *boarding) changeThat(row []any, pattern string, list []deed) *boardTask {
	if len(list) == 0 {
		return nil
	}
	slots := b.table.Slots(nil)
	act := programs.NewAct(severalEdits, pattern, slots).Does("does", saidDeeds(list)...)
	if len(list) == 1 && pattern == "that_does" {
		maps.Copy(slots, list[0].Slots)
		act = programs.NewAct(programs.Set, b.patternOf("that_", list[0]), slots)
	}
	act.Tables = []*programs.Table{b.table}
	second := &boardTask{Program: act}
	var lines []string
	for _, d := range list {
		if d.reads == "" {
			continue
		}
		if lines = append(lines, d.reads); d.column < 0 || b.columns[d.column].hidden {
			second.look(b.viewOf(row))
		}
	}
	b.does(second, row, list).changes[0].Why = strings.Join(lines, "\n")
	return second
}

// sayThere puts a comment or a note on a thing that was just spoken of.
func (b *boarding) sayThere(r *rand.Rand, row []any) *boardTask {
	able := b.remarks()
	if len(able) == 0 {
		return nil
	}
	p, slots := pick(r, able), b.table.Slots(nil)
	slots["attr"], slots["v"] = strings.TrimSuffix(words(p.name)[0], "s"), remark(r)
	return &boardTask{Program: programs.NewAct(programs.Set, "that_say", slots),
		said:    map[string]string{b.key(row): slots["v"]},
		changes: b.changeOf(b.key(row), member{p.name, p.texts(slots["v"])})}
}

// propertyOfThat asks for a property of a thing that was just spoken of, which its view alone shows.
func (b *boarding) propertyOfThat(r *rand.Rand, row []any) *boardTask {
	var able []int
	for i, c := range b.columns {
		if said := programs.Show(row[i]); c.hidden && said != "" && !strings.Contains(said, programs.ListMark) &&
			b.table.Columns[i].Ref == nil {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil
	}
	i, slots := pick(r, able), b.table.Slots(nil)
	slots["attr"] = strings.ToLower(b.table.Columns[i].Caption())
	answer := programs.Answer{Form: "text", Values: []string{programs.Show(row[i])}}
	second := &boardTask{Program: programs.NewQuestion(programs.Lookup, "that_of", slots, answer, b.table)}
	second.look(b.viewOf(row))
	return second
}

// linksOfThat asks what a thing that was just spoken of is linked to.
func (b *boarding) linksOfThat(row []any) *boardTask {
	p, ok := b.linkPart()
	to := b.linked(row, p)
	if !ok || len(to) == 0 {
		return nil
	}
	slots := b.table.Slots(nil)
	slots["rel"] = p.relation()
	answer := programs.Answer{Form: "list", Values: b.names(to)}
	second := &boardTask{Program: programs.NewQuestion(programs.Join, "that_link", slots, answer, b.table)}
	second.look(b.viewOf(row))
	return second
}

// changeThenMore changes a thing, and then something more about it.
func (b *boarding) changeThenMore(r *rand.Rand) *boardTask {
	row, slots := b.named(r)
	if row == nil || b.table.OfPeople() {
		return nil
	}
	list := b.moreDeeds(r, row, nil, 2+r.IntN(3)/2)
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].reads) < len(list[j].reads) })
	if len(list) < 2 {
		return nil
	}
	t := b.changeFirst(r, row, slots, list[0])
	if t == nil {
		return nil
	}
	return t.before(b.changeThat(row, "more_does", list[1:]))
}

// changeFirst makes one change of a thing that is said by its name; nil where that has no short words.
func (b *boarding) changeFirst(r *rand.Rand, row []any, slots map[string]string, d deed) *boardTask {
	said, ok := as("of_", []deed{d})
	if !ok || d.reads != "" {
		return nil
	}
	maps.Copy(slots, said[0].Slots)
	t := b.act(r, programs.NewAct(programs.Set, said[0].Pattern, slots), row, r.IntN(4) == 0)
	return b.does(t, row, []deed{d})
}

// changeThenSame changes a thing, and then has the same done to another one.
func (b *boarding) changeThenSame(r *rand.Rand) *boardTask {
	row, other, slots := b.two(r)
	if row == nil {
		return nil
	}
	list := b.moreDeeds(r, row, nil, 1)
	if len(list) == 0 || list[0].column < 0 {
		return nil
	}
	d, x := list[0], slots["y"]
	has := parted(other[d.column])
	if slices.Contains(has, d.value) || b.columns[d.column].isFor() && len(has) > 1 {
		return nil
	}
	delete(slots, "y")
	t := b.changeFirst(r, row, slots, d)
	if t == nil {
		return nil
	}
	same := b.table.Slots(nil)
	same["x"] = x
	second := &boardTask{Program: programs.NewAct(programs.Set, "that_same", same)}
	if second.shown = []string{programs.Show(other[b.table.Label])}; t.reads[0].key() != b.list.bare().key() {
		b.seek(r, second, other, x, false)
	}
	return t.before(b.does(second, other, []deed{d}))
}
