package generate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// makes adds the call that makes a thing with a name, links and some properties.
func (b *boarding) makes(t *boardTask, name string, list []deed, links ...member) {
	arguments := append([]member{{b.columns[b.table.Label].create.name, quote(name)}}, links...)
	if t.madeWith == nil {
		t.madeWith = map[string]map[string]string{}
	}
	t.madeWith[name] = map[string]string{}
	for _, d := range list {
		arguments = append(arguments, d.argument)
		if !d.copied {
			b.findsNamed(t, nil, []int{d.column})
		}
		t.madeWith[name][b.columns[d.column].name] = d.value
	}
	t.changes = append(t.changes, Call{Tool: b.create.Name, Arguments: objectOf(arguments...)})
}

// makeLinked makes a thing that depends on another one, with one or two properties.
func (b *boarding) makeLinked(r *rand.Rand) *boardTask {
	i := slices.IndexFunc(b.parts, func(p section) bool { return p.links && p.create != nil && p.set != nil })
	row, slots := b.named(r)
	list := b.moreDeeds(r, nil, nil, 1+r.IntN(3))
	if i < 0 || row == nil || len(list) == 0 {
		return nil
	}
	p := b.parts[i]
	slots["v"], slots["rel"] = b.newName(r), p.relation()
	act := programs.NewAct(programs.Insert, "make_linked", slots).Does("does", saidDeeds(list)...)
	if said, ok := as("as_", list); ok && r.IntN(2) == 0 {
		act = programs.NewAct(programs.Insert, "make_short", slots).Does("does", said...)
	}
	t := &boardTask{Program: act, made: slots["v"], after: map[string]map[string]string{},
		madeSays: []string{programs.Show(row[b.table.Label])}}
	b.seek(r, t, row, slots["x"], false)
	b.makes(t, slots["v"], list, member{p.create.name, p.create.texts(b.key(row))})
	return b.told(t)
}

// makeChildren makes several things below one, all with the same properties: with given names, or one for each of its
// open points.
func (b *boarding) makeChildren(r *rand.Rand) *boardTask {
	i := slices.IndexFunc(b.parts, func(p section) bool { return p.links && p.create != nil && p.set == nil })
	if i < 0 {
		return nil
	}
	pattern, names := "make_children", []string{}
	row, slots := b.named(r)
	var lines []string
	var setup []Call
	if r.IntN(2) == 0 {
		var points []point
		pattern = "make_points"
		row, slots, _, points, setup = b.pointsOf(r, any1)
		if row != nil {
			slots["attr"] = counted(slots["attr"])
		}
		lines = saidPoints(points)
		for _, one := range points {
			if !one.done {
				names = append(names, one.text)
			}
		}
	} else {
		for range 2 + r.IntN(2) {
			names = append(names, b.newName(r))
		}
	}
	list := b.moreDeeds(r, nil, nil, 1+r.IntN(2))
	if row == nil || len(names) < 2 || len(names) > mostViewed || len(list) == 0 || b.alike(names) {
		return nil
	}
	if pattern == "make_children" {
		slots["v"] = `"` + strings.Join(names[:len(names)-1], `", "`) + `" and "` + names[len(names)-1] + `"`
	}
	p := b.parts[i]
	act := programs.NewAct(createSeveral, pattern, slots).Does("does", saidDeeds(list)...).Work(lines...)
	t := &boardTask{Program: act, made: names[0], more: names[1:], after: map[string]map[string]string{},
		madeSays: []string{b.key(row)}, setup: setup}
	b.seek(r, t, row, slots["x"], pattern == "make_points")
	for _, name := range names {
		b.makes(t, name, list, member{p.create.name, p.create.texts(b.key(row))})
	}
	return b.told(t)
}

// alike reports whether a name is a part of another one, or of that of a thing that is there.
func (b *boarding) alike(names []string) bool {
	for i, name := range names {
		if slices.ContainsFunc(b.table.Rows, func(row []any) bool {
			return strings.Contains(programs.Show(row[b.table.Label]), name)
		}) || slices.ContainsFunc(slices.Delete(slices.Clone(names), i, i+1), func(o string) bool {
			return strings.Contains(o, name)
		}) {
			return true
		}
	}
	return false
}

// withNew adds the views of the things that a task makes to what shows its end; made are their keys.
func (b *boarding) withNew(t *boardTask, got *Played) (made []string) {
	if t.made == "" {
		return nil
	}
	for _, name := range append([]string{t.made}, t.more...) {
		if key := b.newKey(name, got); key != "" && !slices.Contains(made, key) {
			made = append(made, key)
			t.after[key] = map[string]string{}
			maps.Copy(t.after[key], t.madeWith[name])
		}
	}
	return made
}
