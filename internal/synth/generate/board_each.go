package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// mostEach bounds the things that a task changes or looks at one by one.
const mostEach = 6

// some draws a condition, or two, that a few things meet, with the calls that find these. At times one of the things is
// to stay as it is, where they are changed.
func (b *boarding) some(r *rand.Rand, kind, pattern string, least, most int, not ...int) (
	t *boardTask, rows [][]any, slots map[string]string,
) {
	q, slots, ok := programs.Filters(r, b.world, b.table, 1+r.IntN(2))
	if !ok || slices.ContainsFunc(q.Where, func(c programs.Cond) bool { return slices.Contains(not, c.Column) }) {
		return nil, nil, nil
	}
	t, rows, slots = b.those(r, kind, pattern, q, slots, least, most)
	if t == nil || kind != programs.SetAll || len(rows) <= least || r.IntN(4) > 0 {
		return t, rows, slots
	}
	at := r.IntN(len(rows)) // and one of them is left as it is
	row, named := b.namedAs(r, rows[at])
	if row == nil || b.table.Key == b.table.Label { // that is told by its properties, as the others are
		return nil, nil, nil
	}
	slots["filter"] += pick(r, []string{" apart from ", " except ", " other than "}) + named["x"]
	t.works(b.table.NameOf(row) + ": stays")
	b.seesOf(t, row, func(view string) bool { return strings.Contains(view, b.key(row)) })
	return t, slices.Delete(slices.Clone(rows), at, at+1), slots
}

// those are the things that meet a query, with the calls that find them.
func (b *boarding) those(
	r *rand.Rand, kind, pattern string, q programs.Query, slots map[string]string, least, most int,
) (*boardTask, [][]any, map[string]string) {
	rows := b.table.Matching(q.Where)
	t := &boardTask{Program: programs.NewAct(kind, pattern, slots).Finds(q), after: map[string]map[string]string{}}
	if len(rows) < least || len(rows) > most || slices.ContainsFunc(rows, func(row []any) bool {
		return b.table.NameOf(row) == ""
	}) || !b.finds(r, t, t.Program) {
		return nil, nil, nil
	}
	return t, rows, slots
}

// works has a working go through what is found, and then say some lines.
func (t *boardTask) works(lines ...string) {
	if found := t.TakeWorking(); found != "" {
		lines = slices.Insert(lines, 0, found)
	}
	t.Work(lines...)
}

// sparing looks at a few things that stay as they are.
func (b *boarding) sparing(r *rand.Rand, t *boardTask, rows [][]any) *boardTask {
	left := 2
	for _, at := range r.Perm(len(b.table.Rows)) {
		row := b.table.Rows[at]
		if left > 0 && !slices.ContainsFunc(rows, func(o []any) bool { return &o[0] == &row[0] }) {
			left--
			b.seesOf(t, row, func(view string) bool { return strings.Contains(view, b.key(row)) })
		}
	}
	return t
}

// columnOf draws a column that a change can set; -1 where there is none.
func (b *boarding) columnOf(r *rand.Rand, able func(i int) bool) int {
	var list []int
	for i, c := range b.columns {
		if c.edit != nil && i != b.table.Key && i != b.table.Label && able(i) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return -1
	}
	return pick(r, list)
}

// shiftEach moves the day of each thing that meets a condition by as much.
func (b *boarding) shiftEach(r *rand.Rand) *boardTask {
	i := b.columnOf(r, func(i int) bool { return b.table.Columns[i].Kind == programs.Date })
	if i < 0 {
		return nil
	}
	by, way := slipOf(r)
	t, rows, slots := b.some(r, programs.SetAll, "each"+way, 2, 2*mostEach, i)
	if t == nil {
		return nil
	}
	slots["n"] = span(r, max(by, -by))
	slots["attr"] = b.table.Columns[i].Caption()
	lines := b.shifted(t, rows, i, by)
	if len(t.changes) < 2 || len(t.changes) > mostEach {
		return nil
	}
	t.works(lines...)
	return b.sparing(r, t, rows)
}

// span says a number of days.
func span(r *rand.Rand, days int) string {
	weeks := map[int]string{7: "a week", 14: "two weeks", 21: "three weeks"}
	few := map[int]string{2: "two days", 3: "three days", 5: "five days", 10: "ten days"}
	switch {
	case days == 1:
		return "one day"
	case weeks[days] != "" && r.IntN(4) > 0:
		return weeks[days]
	case few[days] != "" && r.IntN(2) == 0:
		return few[days]
	}
	return strconv.Itoa(days) + " days"
}

// shifted adds the changes that move the day of each of some things, and says them as a working does.
func (b *boarding) shifted(t *boardTask, rows [][]any, i, by int) (lines []string) {
	for _, row := range rows {
		day, err := time.Parse(time.DateOnly, programs.Show(row[i]))
		if err != nil {
			continue
		}
		if b.columns[i].hidden {
			t.look(b.viewOf(row))
		}
		next := day.AddDate(0, 0, by).Format(time.DateOnly)
		lines = append(lines, fmt.Sprintf("%s: %s, so %s", b.table.NameOf(row), programs.Show(row[i]), next))
		p := b.columns[i].edit
		t.changes = append(t.changes, b.changeOf(b.key(row), member{p.name, p.value(next)})...)
		t.after[b.key(row)] = map[string]string{b.columns[i].name: next}
	}
	return lines
}

// shiftGroup moves the day of a group, as a milestone, and of each thing in it by as much.
func (b *boarding) shiftGroup(r *rand.Rand, g *group) *boardTask {
	i := b.columnOf(r, func(i int) bool { return b.table.Columns[i].Kind == programs.Date })
	of := slices.IndexFunc(b.table.Columns, func(c programs.Column) bool { return c.Ref == g.table })
	at := slices.IndexFunc(g.table.Columns, func(c programs.Column) bool { return c.Kind == programs.Date })
	if i < 0 || of < 0 || at < 0 {
		return nil
	}
	one := pick(r, g.table.Rows)
	day, err := time.Parse(time.DateOnly, programs.Show(one[at]))
	if err != nil {
		return nil
	}
	name := programs.Show(one[g.table.Label])
	days := pick(r, []int{7, 7, 14, 3, 5, 10})
	slots := b.table.Slots(nil)
	slots["x"], slots["n"], slots["attr"] = name, span(r, days), b.table.Columns[i].Caption()
	q := programs.Query{Table: b.table, Where: []programs.Cond{{Column: of, Of: -1, Op: programs.Is, Value: name}},
		Column: b.table.Label, Of: -1, Order: -1}
	pattern := "group_shift"
	if open, said, ok := b.table.Open(r); ok && r.IntN(2) == 0 { // what is done has no more date to keep
		pattern, slots["filter"] = "group_shift_open", said
		q.Where = append(q.Where, open)
	}
	t, rows, _ := b.those(r, programs.SetAll, pattern, q, slots, 1, 2*mostEach)
	if t == nil {
		return nil
	}
	t.look(g.list)
	next := day.AddDate(0, 0, days).Format(time.DateOnly)
	lines := append(b.shifted(t, rows, i, days), fmt.Sprintf("%s: %s, so %s", name, programs.Show(one[at]), next))
	if len(t.changes) == 0 || len(t.changes) > mostEach {
		return nil
	}
	t.changes = append(t.changes, Call{Tool: g.rename.Name, Arguments: objectOf(member{g.from, quote(name)},
		member{g.to, quote(name)}, member{g.moved.name, quote(next)})})
	t.works(lines...)
	t.sees(g.list, func(text string) bool { return strings.Contains(text, next) })
	return b.sparing(r, t, rows)
}

// listed are the values that a thing has in a column of several; at times a session begins with one more.
func (b *boarding) listed(r *rand.Rand, t *boardTask, row []any, i int, more []string) []string {
	has := parted(row[i])
	v := pick(r, more)
	if v == "" || slices.Contains(has, v) || r.IntN(3) > 0 {
		return has
	}
	has = append(has, v)
	value, _ := json.Marshal(has) // of texts
	t.setup = append(t.setup, b.changeOf(b.key(row), member{b.columns[i].edit.name, value})...)
	return has
}

// valuesOf are the single values of a column.
func (b *boarding) valuesOf(i int) (list []string) {
	for _, row := range b.table.Rows {
		for _, v := range parted(row[i]) {
			if !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	return list
}

// become gives each of some things its own new values in a column of several: what it has, changed. What it has stands
// in its view, and a value that stays is given anew.
func (b *boarding) become(
	t *boardTask, rows [][]any, i int, has [][]string, change func([]string) []string,
) (changed int) {
	c := b.columns[i]
	var lines []string
	for k, row := range rows {
		t.look(b.viewOf(row))
		now := change(slices.Clone(has[k]))
		t.after[b.key(row)] = map[string]string{c.name: strings.Join(now, programs.ListMark)}
		line := b.table.NameOf(row) + ": " + strings.Join(has[k], ", ")
		if len(has[k]) == 0 {
			line += "none"
		}
		if slices.Equal(now, has[k]) {
			lines = append(lines, line+", stays")
			continue
		}
		value, _ := json.Marshal(now) // of texts
		lines = append(lines, line+", so "+strings.Join(now, ", "))
		t.changes = append(t.changes, b.changeOf(b.key(row), member{c.edit.name, value})...)
		changed++
	}
	t.works(lines...)
	return changed
}

// joinEach adds a value to those that each thing has which meets a condition: a label, or somebody.
func (b *boarding) joinEach(r *rand.Rand) *boardTask {
	i := b.columnOf(r, func(i int) bool { return b.columns[i].edit.kind == "array" && b.table.Columns[i].Ref == nil })
	if i < 0 {
		return nil
	}
	values := b.valuesOf(i)
	t, rows, slots := b.some(r, programs.SetAll, "each_join", 2, mostViewed+1, i)
	if t == nil || len(values) < 2 {
		return nil
	}
	v := pick(r, values)
	slots["v"], slots["attr"] = v, strings.ToLower(b.table.Columns[i].Caption())
	if !strings.HasSuffix(slots["attr"], "s") {
		slots["attr"] += "s"
	}
	var has [][]string
	kept := 0
	for _, row := range rows {
		has = append(has, b.listed(r, t, row, i, slices.DeleteFunc(slices.Clone(values), func(o string) bool {
			return o == v
		})))
		kept += len(has[len(has)-1])
	}
	changed := b.become(t, rows, i, has, func(list []string) []string {
		if slices.Contains(list, v) {
			return list
		}
		return append(list, v)
	})
	if changed == 0 || kept == 0 {
		return nil
	}
	return b.sparing(r, t, rows)
}

// handEach puts somebody in the place of another one on all things, and leaves others on them.
func (b *boarding) handEach(r *rand.Rand) *boardTask {
	i := b.columnOf(r, func(i int) bool { return b.columns[i].isFor() && b.columns[i].edit.kind == "array" })
	if i < 0 {
		return nil
	}
	values := b.valuesOf(i)
	if len(values) < 2 {
		return nil
	}
	r.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
	old, v := values[0], values[1]
	others := append(slices.Clone(values[2:]), "")
	slots := b.table.Slots(nil)
	slots["old"], slots["v"] = old, v
	slots["filter"] = strings.ReplaceAll(b.table.Columns[i].With, "{v}", old)
	q := programs.Query{Table: b.table, Where: []programs.Cond{{Column: i, Of: -1, Op: programs.Is, Value: old}},
		Column: b.table.Label, Of: -1, Order: -1}
	if open, said, ok := b.table.Open(r); ok && r.IntN(2) == 0 {
		slots["filter"] += " " + said
		q.Where = append(q.Where, open)
	}
	t, rows, _ := b.those(r, programs.SetAll, "each_hand", q, slots, 2, mostViewed+1)
	if t == nil || slots["filter"] == "" {
		return nil
	}
	var has [][]string
	for _, row := range rows {
		has = append(has, b.listed(r, t, row, i, others))
	}
	b.become(t, rows, i, has, func(list []string) []string { return handed(list, old, v) })
	return b.sparing(r, t, rows)
}

// handed is a list with one name in the place of another, and no name twice.
func handed(list []string, old, v string) []string {
	if slices.Contains(list, v) {
		return slices.DeleteFunc(list, func(o string) bool { return o == old })
	}
	list[slices.Index(list, old)] = v
	return list
}
