package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// taken draws up to n properties of a thing that another one is to have too, how a request calls these, and what a
// working reads off. Of a new thing, to is nil.
func (b *boarding) taken(r *rand.Rand, from, to []any, n int) (list []deed, attr, reads string) {
	var captions, said []string
	for _, i := range r.Perm(len(b.columns)) {
		c, v := b.columns[i], programs.Show(from[i])
		by := c.edit
		if to == nil {
			by = c.create
		}
		if len(list) == n || by == nil || i == b.table.Key || i == b.table.Label || isOwn(b.table, i) || v == "" ||
			to != nil && programs.Equal(from[i], to[i]) || to == nil && b.finish != nil && i == b.finish.column ||
			len(parted(v)) > 1 && by.kind != "array" {
			continue
		}
		ref := b.table.Columns[i].Ref
		list = append(list, deed{column: i, value: v, argument: member{by.name, by.value(v)},
			copied: ref == nil || b.kinOf(ref) == nil}) // who is behind a key is looked up
		captions = append(captions, b.captionOf(r, i, len(parted(v))))
		said = append(said, strings.ToLower(b.table.Columns[i].Caption())+": "+strings.Join(parted(v), ", "))
	}
	return list, programs.Enumerate(captions), b.table.NameOf(from) + ": " + strings.Join(said, "; ")
}

// captionOf is what people call a property that has so many values: the only day of a thing is "the day".
func (b *boarding) captionOf(r *rand.Rand, i, values int) string {
	isDate := func(c programs.Column) bool { return c.Kind == programs.Date }
	name := strings.ToLower(b.table.Columns[i].Caption())
	several := b.columns[i].edit != nil && b.columns[i].edit.kind == "array"
	switch {
	case isDate(b.table.Columns[i]) && r.IntN(3) == 0 &&
		slices.IndexFunc(b.table.Columns, isDate) == i && !slices.ContainsFunc(b.table.Columns[i+1:], isDate):
		return "day"
	case several && values > 1 && !strings.HasSuffix(name, "s"):
		return name + "s"
	case several && values == 1:
		return strings.TrimSuffix(name, "s")
	}
	return name
}

// seekAlso is seek for a second thing: a list that was read shows it too.
func (b *boarding) seekAlso(r *rand.Rand, t *boardTask, row []any, x string, views bool) {
	call := b.list.bare()
	if b.search != nil && !slices.ContainsFunc(t.reads, func(c Call) bool { return c.key() == call.key() }) {
		call = b.searchFor(r, row, x)
	}
	t.look(call)
	t.shown = append(t.shown, programs.Show(row[b.table.Label]))
	if views {
		t.look(b.viewOf(row))
	}
}

// makeLike makes a thing some properties of which are those of another one, which is viewed first. At times the new one
// is linked to that, or to a third.
func (b *boarding) makeLike(r *rand.Rand) *boardTask {
	from, slots := b.named(r)
	if from == nil {
		return nil
	}
	list, attr, reads := b.taken(r, from, nil, 1+r.IntN(2))
	if len(list) == 0 {
		return nil
	}
	more := slices.DeleteFunc(b.moreDeeds(r, nil, nil, r.IntN(3)), func(d deed) bool {
		return slices.ContainsFunc(list, func(o deed) bool { return o.column == d.column })
	})
	told, ok := as("as_", more)
	if !ok && len(more) > 0 {
		return nil
	}
	x := slots["x"]
	told = append(told, programs.Deed{Pattern: "as_like", Slots: map[string]string{"attr": attr, "x": x}})
	slots["v"] = b.newName(r)
	delete(slots, "x")
	t := &boardTask{made: slots["v"], after: map[string]map[string]string{}}
	b.seek(r, t, from, x, true)
	var links []member
	if p, linked := b.linkPart(); linked && p.create != nil && r.IntN(2) == 0 {
		to, called := from, "that one"
		if other, o := b.named(r); other != nil && &other[0] != &from[0] && r.IntN(2) == 0 {
			to, called = other, o["x"]
			b.seekAlso(r, t, to, called, false)
		}
		link := programs.Deed{Pattern: "as_linked", Slots: map[string]string{"rel": p.relation(), "x": called}}
		if p.depends() {
			link = programs.Deed{Pattern: "as_after", Slots: map[string]string{"x": called}}
		}
		told = append(told, link)
		links = []member{{p.create.name, p.create.texts(b.key(to))}}
		t.madeSays = []string{programs.Show(to[b.table.Label])}
	}
	t.Program = programs.NewAct(programs.Insert, "make_like", slots).Does("does", told...).Work(reads)
	b.makes(t, slots["v"], append(more, list...), links...)
	return b.told(t)
}

// setLike gives a thing one or two properties of another one, which is viewed first.
func (b *boarding) setLike(r *rand.Rand) *boardTask {
	row, from, slots := b.two(r)
	if row == nil {
		return nil
	}
	list, attr, reads := b.taken(r, from, row, 1+r.IntN(3)/2)
	if len(list) == 0 {
		return nil
	}
	slots["attr"] = attr
	pattern, i := "like_set", list[0].column
	switch c := b.columns[i]; {
	case len(list) > 1:
	case c.isFor() && len(parted(row[i])) == 0: // else nobody could tell whether the others stay
		pattern = "like_who"
	case slices.Contains(words(c.name), "due") && b.table.Columns[i].Kind == programs.Date && r.IntN(3) > 0:
		pattern = "like_due"
	}
	t := &boardTask{Program: programs.NewAct(programs.Set, pattern, slots).Work(reads)}
	b.seek(r, t, row, slots["x"], false)
	b.seekAlso(r, t, from, slots["y"], true)
	return b.does(t, row, list)
}

// makeEach makes several things, at times below another one, each with its own value of a property, as its own person,
// and with one or no property that all have.
func (b *boarding) makeEach(r *rand.Rand) *boardTask {
	able := func(i int) bool {
		return b.columns[i].create != nil && i != b.table.Key && i != b.table.Label && !isOwn(b.table, i)
	}
	i := r.IntN(len(b.columns))
	if at := slices.IndexFunc(b.columns, boardColumn.isFor); at >= 0 && r.IntN(3) > 0 {
		i = at
	}
	values := b.valuesOf(i)
	n := 2 + r.IntN(2)
	if !able(i) || len(values) < n {
		return nil
	}
	r.Shuffle(len(values), func(k, l int) { values[k], values[l] = values[l], values[k] })
	var names []string
	var own []deed
	var told []programs.Deed
	for _, v := range values[:n] {
		d, ok := b.deedOf(r, nil, i, v)
		said, as := as("each_", []deed{d})
		if !ok || !as {
			return nil
		}
		names = append(names, b.newName(r))
		said[0].Slots["x"] = names[len(names)-1]
		own, told = append(own, d), append(told, said[0])
	}
	shared := slices.DeleteFunc(b.moreDeeds(r, nil, nil, r.IntN(3)/2), func(d deed) bool { return d.column == i })
	slots, pattern := b.table.Slots(nil), "each_new"
	t := &boardTask{made: names[0], more: names[1:], after: map[string]map[string]string{}}
	var links []member
	if at := slices.IndexFunc(b.parts, func(p section) bool {
		return p.links && p.create != nil && p.set == nil
	}); at >= 0 && r.IntN(4) > 0 {
		row, of := b.named(r)
		if row == nil {
			return nil
		}
		slots, pattern = of, "each_under"
		b.seek(r, t, row, of["x"], false)
		links = []member{{b.parts[at].create.name, b.parts[at].create.texts(b.key(row))}}
		t.madeSays = []string{b.key(row)}
	}
	t.Program = programs.NewAct(createSeveral, pattern, slots)
	if all, ok := as("as_", shared); ok {
		t.Program = programs.NewAct(createSeveral, pattern+"_all", slots).Does("does", all...)
	}
	t.Does("lines", told...)
	for k, name := range names {
		b.makes(t, name, append([]deed{own[k]}, shared...), links...)
	}
	if b.alike(names) {
		return nil
	}
	return b.told(t)
}

// slipOf draws how far a day moves: the days, earlier ones below nothing, and the end of the pattern that says it.
func slipOf(r *rand.Rand) (days int, way string) {
	days = pick(r, []int{7, 7, 7, 14, 1, 2, 3, 5, 10, 21})
	if r.IntN(3) == 0 {
		return -days, "_earlier"
	}
	return days, "_later"
}

// shiftOne moves the day of one thing by a span.
func (b *boarding) shiftOne(r *rand.Rand) *boardTask {
	i := b.columnOf(r, func(i int) bool { return b.table.Columns[i].Kind == programs.Date })
	row, slots := b.named(r)
	if i < 0 || row == nil {
		return nil
	}
	days, way := slipOf(r)
	slots["n"], slots["attr"] = span(r, max(days, -days)), b.table.Columns[i].Caption()
	t := &boardTask{Program: programs.NewAct(programs.Set, "one"+way, slots), after: map[string]map[string]string{}}
	b.seek(r, t, row, slots["x"], false)
	if t.reads[0].Tool != b.list.Name { // a search may show no days
		t.look(b.viewOf(row))
	}
	t.Work(b.shifted(t, [][]any{row}, i, days)...)
	if len(t.changes) == 0 {
		return nil
	}
	return t
}

// shiftGroupAlone moves the day of a group by a span, and leaves the things in it where they are.
func (b *boarding) shiftGroupAlone(r *rand.Rand, g *group) *boardTask {
	at := slices.IndexFunc(g.table.Columns, func(c programs.Column) bool { return c.Kind == programs.Date })
	if at < 0 {
		return nil
	}
	row := pick(r, g.table.Rows)
	name, was := programs.Show(row[g.table.Label]), programs.Show(row[at])
	day, err := time.Parse(time.DateOnly, was)
	if err != nil {
		return nil
	}
	days, way := slipOf(r)
	slots := g.table.Slots(row)
	slots["n"], slots["many"] = span(r, max(days, -days)), b.table.Many
	next := day.AddDate(0, 0, days).Format(time.DateOnly)
	act := programs.NewAct(programs.Set, "group"+way, slots).Work(fmt.Sprintf("%s: %s, so %s", name, was, next))
	return g.changes(act, true, Call{Tool: g.rename.Name, Arguments: objectOf(member{g.from, quote(name)},
		member{g.to, quote(name)}, member{g.moved.name, quote(next)})}, next, "")
}
