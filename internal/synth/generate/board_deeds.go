package generate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// deed is one change of a thing among several that a request asks for in one sentence: an argument of the one call.
type deed struct {
	programs.Deed
	argument member
	column   int    // that it sets; -1: it changes a part
	value    string // what a view then says of the column
	holds    func(view string) bool
	free     string // a text that may be in other letters
	reads    string // what whoever makes it reads first, as a working has it; "" nothing
	copied   bool   // a view shows it as calls take it
}

// isFor reports whether a property says who does something.
func (c boardColumn) isFor() bool {
	return slices.ContainsFunc(words(c.name), func(w string) bool {
		return slices.Contains([]string{"assignee", "assignees", "owner", "owners"}, strings.ToLower(w))
	})
}

// parted are the single values of one that a table holds.
func parted(v any) []string {
	return slices.DeleteFunc(strings.Split(programs.Show(v), programs.ListMark), func(s string) bool { return s == "" })
}

// propertyDeed sets a property to a value that another thing has. Of a new thing the row is nil.
func (b *boarding) propertyDeed(r *rand.Rand, row []any) (d deed, ok bool) {
	i := r.IntN(len(b.columns))
	values := parted(pick(r, b.table.Rows)[i])
	if len(values) == 0 || isOwn(b.table, i) {
		return d, false
	}
	return b.deedOf(r, row, i, pick(r, values))
}

// deedOf sets a property to a value.
func (b *boarding) deedOf(r *rand.Rand, row []any, i int, v string) (d deed, ok bool) {
	c, column := b.columns[i], b.table.Columns[i]
	by, caption := c.edit, strings.ToLower(column.Caption())
	if row == nil {
		by = c.create
	}
	if by == nil || i == b.table.Key || i == b.table.Label {
		return d, false
	}
	var has []string
	if row != nil {
		has = parted(row[i])
	}
	if slices.Contains(has, v) || c.isFor() && len(has) > 1 {
		return d, false
	}
	d = deed{column: i, value: v, argument: member{by.name, by.value(v)}}
	said := v
	if column.Ref != nil {
		if said = programs.Show(column.Ref.LabelOf(v)); said == "" {
			return d, false
		}
	}
	if day, err := time.Parse(time.DateOnly, v); err == nil {
		said = day.Format(pick(r, []string{time.DateOnly, "2 January 2006", "2 Jan 2006", "January 2, 2006"}))
	}
	d.Deed = programs.Deed{Pattern: "do_set", Slots: map[string]string{"attr": caption, "v": said}}
	switch {
	case c.isFor():
		d.Pattern = "do_assign"
	case caption == "priority":
		d.Pattern = "do_rank"
	case slices.Contains(words(c.name), "due"):
		d.Pattern = "do_due"
	case by.kind == "array" && row != nil: // what is there stays
		now := append(slices.Clone(has), v)
		value, _ := json.Marshal(now) // of texts
		d.Pattern, d.argument.raw, d.value = "do_join", value, strings.Join(now, programs.ListMark)
		d.reads = caption + ": " + strings.Join(has, ", ")
		if !strings.HasSuffix(caption, "s") {
			d.Slots["attr"] += "s"
		}
	}
	return d, true
}

// closeDeed sets what says that a thing is done.
func (b *boarding) closeDeed(row []any) (d deed, ok bool) {
	f := b.finish
	if f == nil || row == nil || programs.Show(row[f.column]) == f.value {
		return d, false
	}
	p := b.columns[f.column].edit
	return deed{column: f.column, value: f.value, argument: member{p.name, p.value(f.value)},
		Deed: programs.Deed{Pattern: "do_close", Slots: map[string]string{"one": b.table.One}}}, true
}

// textDeed writes a text into a part.
func (b *boarding) textDeed(r *rand.Rand, row []any) (d deed, ok bool) {
	p, ok := b.textPart(r, func(p section) bool { return (p.set != nil || p.add != nil) && !p.listed })
	if !ok {
		return d, false
	}
	v := p.written(r)
	if p.set == nil || p.add != nil && r.IntN(2) == 0 {
		return b.addDeed(r, row, p, v), true
	}
	d = deed{column: -1, free: v, Deed: programs.Deed{Pattern: "do_write",
		Slots: map[string]string{"attr": b.called(r, p), "v": v}}}
	d.argument = member{p.set.name, p.set.texts(v)}
	d.holds = func(view string) bool { return partOf(view, p.title).says() == v }
	return d, true
}

// addDeed puts a text below what a part says.
func (b *boarding) addDeed(r *rand.Rand, row []any, p section, v string) deed {
	before := partOf(b.looks[b.key(row)], p.title).says()
	return deed{column: -1, free: v, argument: member{p.add.name, p.add.texts(v)},
		Deed: programs.Deed{Pattern: "do_add", Slots: map[string]string{"attr": b.called(r, p), "v": v}},
		holds: func(view string) bool {
			says := partOf(view, p.title).says()
			return strings.Contains(says, v) && strings.Contains(says, before)
		}}
}

// counted is a part as a word for several points: the "definition of done" has points.
func counted(part string) string {
	if strings.HasSuffix(part, "s") || strings.HasSuffix(part, "a") {
		return part
	}
	return part + " points"
}

// tickDeed ticks one or two open points of a list.
func (b *boarding) tickDeed(r *rand.Rand, p section, list []point) (d deed, ok bool) {
	now := slices.Clone(list)
	var said []string
	var at []int
	for _, i := range r.Perm(len(list)) {
		if !list[i].done && sole(list, list[i].text) && len(at) < 2 && (len(at) == 0 || r.IntN(2) == 0) {
			at, said, now[i].done = append(at, i+1), append(said, `"`+typed(r, list[i].text)+`"`), true
		}
	}
	slices.Sort(at)
	if len(at) == 0 || len(at) > 1 && p.tick.kind != "array" {
		return d, false
	}
	d = deed{column: -1, argument: member{p.tick.name, p.tick.numbers(at...)},
		Deed:  programs.Deed{Pattern: "do_tick", Slots: map[string]string{"v": strings.Join(said, " and ")}},
		reads: strings.Join(saidPoints(list), "\n")}
	d.holds = func(view string) bool { return slices.Equal(partOf(view, p.title).points(), now) }
	return d, true
}

// moreDeeds adds changes of other properties and parts until there are so many.
func (b *boarding) moreDeeds(r *rand.Rand, row []any, list []deed, n int) []deed {
	for range 8 * n {
		if len(list) >= n {
			break
		}
		d, ok := b.propertyDeed(r, row)
		if row != nil && r.IntN(3) == 0 {
			d, ok = b.textDeed(r, row)
		} else if n > 1 && r.IntN(6) == 0 {
			d, ok = b.closeDeed(row)
		}
		if ok && !slices.ContainsFunc(list, func(o deed) bool {
			return o.argument.name == d.argument.name || o.Slots["v"] == d.Slots["v"] ||
				o.Slots["attr"] != "" && o.Slots["attr"] == d.Slots["attr"]
		}) {
			list = append(list, d)
		}
	}
	return list
}

// does adds the call that makes all of some changes of a thing, and what its view must then say.
func (b *boarding) does(t *boardTask, row []any, list []deed) *boardTask {
	var arguments []member
	for _, d := range list {
		arguments = append(arguments, d.argument)
		if d.free != "" {
			t.free = append(t.free, d.free)
		}
		if d.column >= 0 && !d.copied {
			b.findsNamed(t, nil, []int{d.column})
		}
	}
	t.changes = append(t.changes, b.changeOf(b.key(row), arguments...)...)
	return b.seesOf(t, row, func(view string) bool {
		return !slices.ContainsFunc(list, func(d deed) bool {
			return d.holds != nil && !d.holds(view) ||
				d.column >= 0 && !sameSaid(b.saidOf(view, d.column), d.value)
		})
	})
}

// saidDeeds are changes as a request says them.
func saidDeeds(list []deed) (said []programs.Deed) {
	for _, d := range list {
		said = append(said, d.Deed)
	}
	return said
}

// editSeveral changes several things about one in one call: points are ticked, properties set, texts written. At times
// it is told what happened, and the tick follows from that.
func (b *boarding) editSeveral(r *rand.Rand) *boardTask {
	row, slots := b.named(r)
	var list []deed
	var setup []Call
	if r.IntN(2) == 0 {
		var p section
		var points []point
		if row, slots, p, points, setup = b.pointsOf(r, ticks); row == nil {
			return nil
		}
		d, ok := b.tickDeed(r, p, points)
		if !ok {
			return nil
		}
		list = append(list, d)
	}
	if row == nil {
		return nil
	}
	ticked := len(list) > 0
	if list = b.moreDeeds(r, row, list, 2+r.IntN(2)); len(list) < 2 {
		return nil
	}
	act, said := programs.NewAct(severalEdits, "edit_several", slots), saidDeeds(list)
	var reads []string
	for _, d := range list {
		if d.reads != "" {
			reads = append(reads, d.reads)
		}
	}
	if v := list[0].Slots["v"]; ticked && strings.Count(v, `"`) == 2 && r.IntN(2) == 0 {
		slots["v"], said = strings.Trim(v, `"`), said[1:]
		act = programs.NewAct(severalEdits, "edit_told", slots)
	}
	delete(slots, "attr")
	t := b.act(r, act.Does("does", said...).Work(reads...), row, len(reads) > 0 || r.IntN(2) == 0)
	t.setup = setup
	return b.does(t, row, list)
}

// pointsIf does one thing where all points are ticked, and another where one is open, which is then named.
func (b *boarding) pointsIf(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, ticks)
	if len(list) < 2 || !b.whole(row, p) {
		return nil
	}
	slots["attr"] = counted(slots["attr"])
	var open []string
	var at []int
	for i, one := range list {
		if !one.done {
			open, at = append(open, one.text), append(at, i+1)
		}
	}
	if len(at) > 0 && r.IntN(2) == 0 && (p.tick.kind == "array" || len(at) == 1) { // the session begins with all ticked
		setup = append(setup, b.changeOf(b.key(row), member{p.tick.name, p.tick.numbers(at...)})...)
		for i := range list {
			list[i].done = true
		}
		open = nil
	}
	ways := b.moreDeeds(r, row, nil, 2)
	if f := b.finish; f != nil && programs.Show(row[f.column]) != f.value { // it is done then
		c := b.columns[f.column]
		ways = slices.DeleteFunc(ways, func(d deed) bool { return d.column == f.column && d.value == f.value })
		ways = slices.Insert(ways, 0, deed{column: f.column, value: f.value,
			argument: member{c.edit.name, c.edit.value(f.value)},
			Deed: programs.Deed{Pattern: "do_set", Slots: map[string]string{
				"attr": strings.ToLower(b.table.Columns[f.column].Caption()), "v": f.value}}})
	}
	if len(ways) < 2 || slices.ContainsFunc(ways[:2], func(d deed) bool { return d.reads != "" }) {
		return nil
	}
	does := ways[:1]
	act := programs.NewAct(programs.ActIf, "points_if", slots)
	if len(open) > 0 {
		does = ways[1:2]
		act = programs.NewQuestion(programs.ActIf, "points_if", slots, programs.Answer{Form: "list", Values: open},
			b.table)
	}
	act.Does("does", ways[0].Deed).Does("else", ways[1].Deed).Work(saidPoints(list)...)
	t := b.act(r, act, row, true)
	t.setup = setup
	return b.does(t, row, does)
}
