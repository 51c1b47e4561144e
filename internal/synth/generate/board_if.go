package generate

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// proviso is a condition on one property of a thing.
type proviso struct {
	pattern string
	slots   map[string]string
	column  int
	holds   bool
	row     []any  // the thing, as a session begins with it
	setup   []Call // makes it that
}

// has is what the thing has of the property.
func (p proviso) has() []string { return parted(p.row[p.column]) }

// working says what the thing has, and whether that is what was asked: "status: Open (done?) - no".
func (p proviso) working() string {
	asked := cmp.Or(p.slots["v"], "none")
	if p.pattern == "if_before" {
		asked = "before " + asked
	}
	return p.slots["attr"] + ": " + cmp.Or(strings.Join(p.has(), ", "), "none") + " (" + asked + "?) - " +
		map[bool]string{true: "yes", false: "no"}[p.holds]
}

// beginsWith has a session begin with another value of the property; nil: with none.
func (b *boarding) beginsWith(p *proviso, v any) {
	edit := b.columns[p.column].edit
	p.row = slices.Clone(p.row)
	p.row[p.column] = v
	p.setup = b.changeOf(b.key(p.row), member{edit.name, edit.value(v)})
}

// provisoOf draws a condition on a property of a thing.
func (b *boarding) provisoOf(r *rand.Rand, row []any) (p proviso, ok bool) {
	i := b.columnOf(r, func(i int) bool { return !isOwn(b.table, i) && b.table.Columns[i].Ref == nil })
	if i < 0 {
		return p, false
	}
	c, column := b.columns[i], b.table.Columns[i]
	p = proviso{column: i, row: row, slots: map[string]string{"attr": strings.ToLower(column.Caption())}}
	has := programs.Show(row[i])
	other := programs.Show(pick(r, b.table.Rows)[i])
	switch {
	case c.isFor() || has == "" || column.Kind == programs.Date && r.IntN(3) == 0:
		p.pattern = "if_none"
		if c.isFor() {
			p.pattern = "if_free"
		}
		if has != "" && c.edit.kind == "array" && r.IntN(2) == 0 {
			b.beginsWith(&p, nil)
		} else if has == "" && other != "" && r.IntN(3) == 0 {
			b.beginsWith(&p, other)
		}
		p.holds = len(p.has()) == 0
	case b.finish != nil && i == b.finish.column:
		p.pattern, p.slots["v"] = "if_done", strings.ToLower(b.finish.value)
		if p.holds = has == b.finish.value; !p.holds && r.IntN(3) == 0 {
			b.beginsWith(&p, b.finish.value)
			p.holds = true
		}
	case column.Kind == programs.Date:
		day, err := time.Parse(time.DateOnly, other)
		if err != nil || other == has || len(has) != len(other) {
			return p, false
		}
		p.pattern, p.holds = "if_before", has < other
		p.slots["v"] = day.Format(pick(r, []string{time.DateOnly, "2 January 2006", "2 Jan 2006", "January 2, 2006"}))
	case column.Kind == programs.Text && other != "" && len(parted(has)) == 1 && len(parted(other)) == 1 &&
		c.edit.kind != "array":
		v := pick(r, []string{has, other})
		p.pattern, p.slots["v"], p.holds = "if_is", v, v == has
	default:
		return p, false
	}
	return p, true
}

// way is what a request wants done in one of two cases: a change, or all is left as it is and something said.
type way struct {
	said   programs.Deed
	does   []deed
	answer programs.Answer
}

// leaves is a way that changes nothing. At times it wants to be told what the thing has of the condition's property, or
// of another one: whether it does so must not hang on how the condition comes out.
func (b *boarding) leaves(r *rand.Rand, p proviso) (w way) {
	at, pattern, tells := p.column, "leave_tell", r.IntN(3) > 0
	switch p.pattern {
	case "if_free":
		pattern = "leave_who"
	case "if_none":
	default:
		at = r.IntN(len(b.columns))
		known := at == p.column && p.pattern != "if_before" // the request says it itself
		tells = tells && !known && at != b.table.Key && at != b.table.Label && b.table.Columns[at].Ref == nil &&
			len(parted(p.row[at])) > 0
	}
	w.said = programs.Deed{Pattern: pattern, Slots: b.table.Slots(nil)}
	if tells {
		w.said.Slots["attr"] = strings.ToLower(b.table.Columns[at].Caption())
		w.answer = programs.Answer{Form: "told", Values: parted(p.row[at])} // that it was left may be said too
		return w
	}
	name := programs.Show(p.row[b.table.Label])
	said := name + " has the " + p.slots["attr"] + " " + programs.Enumerate(p.has())
	if len(p.has()) == 0 {
		said = name + " has no " + p.slots["attr"]
	}
	w.said.Pattern = "leave_all"
	w.answer = programs.Answer{Form: "left", Values: []string{"Nothing was changed: " + said + "."}}
	return w
}

// changes are ways that change something else than the condition's property, of different properties.
func (b *boarding) changes(r *rand.Rand, p proviso) (list []way) {
	for _, d := range b.moreDeeds(r, p.row, nil, 4) {
		if d.column != p.column && d.reads == "" {
			list = append(list, way{said: d.Deed, does: []deed{d}})
		}
	}
	return list
}

// waysOf draws what is to be done where a condition holds, and where it does not. What nobody does somebody may then
// do, and what has no day gets one.
func (b *boarding) waysOf(r *rand.Rand, p proviso) (does, otherwise way, ok bool) {
	left := b.leaves(r, p)
	if p.pattern == "if_free" || p.pattern == "if_none" {
		empty := slices.Clone(p.row)
		empty[p.column] = nil
		d, is := b.deedOf(r, empty, p.column, pick(r, b.valuesOf(p.column)))
		return way{said: d.Deed, does: []deed{d}}, left, is
	}
	list := b.changes(r, p)
	if r.IntN(2) == 0 {
		list = slices.Insert(list, min(len(list), r.IntN(2)), left)
	}
	if len(list) < 2 {
		return does, otherwise, false
	}
	return list[0], list[1], true
}

// ifThing does one thing where a property of a thing is as the request says, and another one, or nothing, where not.
func (b *boarding) ifThing(r *rand.Rand) *boardTask {
	row, slots := b.named(r)
	if row == nil {
		return nil
	}
	p, ok := b.provisoOf(r, row)
	if !ok {
		return nil
	}
	does, otherwise, ok := b.waysOf(r, p)
	if !ok {
		return nil
	}
	taken := does
	if !p.holds {
		taken = otherwise
	}
	maps.Copy(slots, p.slots)
	act := programs.NewAct(programs.ActIf, p.pattern, slots)
	if taken.answer.Form != "" {
		act = programs.NewQuestion(programs.ActIf, p.pattern, slots, taken.answer, b.table)
	}
	act.Does("does", does.said).Does("else", otherwise.said)
	t := b.act(r, act.Work(p.working()), row, true)
	if t.setup = p.setup; len(taken.does) > 0 {
		return b.does(t, row, taken.does)
	}
	return b.seesOf(t, row, func(view string) bool { return strings.Contains(view, b.key(row)) })
}
