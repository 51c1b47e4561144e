package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// pointsOfEach are the points of each of some things, in one part; a session begins with points where there are none.
func (b *boarding) pointsOfEach(r *rand.Rand, t *boardTask, rows [][]any, p section) (list [][]point) {
	for _, row := range rows {
		has := partOf(b.looks[b.key(row)], p.title).points()
		if len(has) == 0 {
			var texts []string
			for range 2 + r.IntN(3) {
				if text := newPoint(r); !slices.Contains(texts, text) {
					texts, has = append(texts, text), append(has, point{text: text})
				}
			}
			t.setup = append(t.setup, b.changeOf(b.key(row), member{p.add.name, p.add.texts(texts...)})...)
			if at := r.IntN(len(has) + 1); at < len(has) && len(has) > 1 {
				has[at].done = true
				t.setup = append(t.setup, b.changeOf(b.key(row), member{p.tick.name, p.tick.numbers(at + 1)})...)
			}
		}
		list = append(list, has)
		t.look(b.viewOf(row))
	}
	return list
}

// askPointsOfEach asks which points are open on each thing that meets a condition, or how many on all of them.
func (b *boarding) askPointsOfEach(r *rand.Rand) *boardTask {
	var parts []section
	for _, p := range b.parts {
		if p.points && p.add != nil && p.tick != nil {
			parts = append(parts, p)
		}
	}
	kind, pattern := programs.List, "points_each"
	if r.IntN(3) == 0 {
		kind, pattern = programs.Count, "points_total"
	}
	t, rows, slots := b.some(r, kind, pattern, 2, mostViewed)
	if t == nil || len(parts) == 0 {
		return nil
	}
	p := pick(r, parts)
	slots["attr"] = counted(b.called(r, p))
	var said, lines []string
	n := 0
	for k, points := range b.pointsOfEach(r, t, rows, p) {
		var open []string
		for _, one := range points {
			if strings.ContainsAny(one.text, ",;:\n") {
				return nil
			}
			if !one.done {
				open = append(open, one.text)
			}
		}
		if len(open) == 0 && pattern == "points_each" {
			return nil
		}
		name := b.table.NameOf(rows[k])
		n += len(open)
		said = append(said, name+": "+strings.Join(open, ", "))
		lines = append(lines, fmt.Sprintf("%s: %d open of %d", name, len(open), len(points)))
	}
	found := t.TakeWorking()
	answer := programs.Answer{Form: "each", Values: said}
	if kind == programs.Count {
		answer = programs.Answer{Form: "number", Values: []string{strconv.Itoa(n)}}
	}
	q := programs.NewQuestion(kind, pattern, slots, answer, b.table)
	t.Program = q.Work(strings.TrimSpace(found + "\n" + strings.Join(lines, "\n")))
	return t
}

// askOpenLinks asks which of the things that one is linked to are not done.
func (b *boarding) askOpenLinks(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, slots := b.named(r)
	if !ok || row == nil || b.finish == nil {
		return nil
	}
	f := b.finish
	to := b.linked(row, p)
	var setup []Call
	if len(to) < 2 || r.IntN(2) == 0 { // a session begins with more
		var keys []string
		for _, at := range r.Perm(len(b.table.Rows)) {
			other := b.table.Rows[at]
			if len(to) < 3 && !slices.ContainsFunc(to, func(o []any) bool { return &o[0] == &other[0] }) &&
				!b.reaches(other, row, p, 6) && b.table.NameOf(other) != "" {
				to = append(to, other)
			}
		}
		for _, o := range to {
			keys = append(keys, b.key(o))
		}
		setup = b.changeOf(b.key(row), member{p.set.name, p.set.texts(keys...)})
	}
	var open, lines []string
	for _, o := range to {
		is, name := programs.Show(o[f.column]), b.table.NameOf(o)
		if is != f.value {
			open = append(open, name)
		}
		lines = append(lines, name+": "+is)
	}
	if len(open) == 0 || len(to) < 2 || len(open) == len(to) && r.IntN(3) > 0 {
		return nil
	}
	slots["rel"], slots["v"] = p.relation(), f.value
	pattern, answer := "link_open", programs.Answer{Form: "list", Values: open}
	who := b.whose(to, open)
	if len(who) > 0 && r.IntN(2) == 0 {
		pattern, answer, lines = "link_open_who", programs.Answer{Form: "each", Values: who}, append(lines, who...)
	}
	q := programs.NewQuestion(programs.Join, pattern, slots, answer, b.table)
	t := b.act(r, q.Work(lines...), row, true)
	t.look(b.list.bare()) // for what the others are
	t.setup = setup
	for _, o := range to {
		if pattern == "link_open_who" && slices.Contains(open, b.table.NameOf(o)) {
			t.look(b.viewOf(o))
		}
	}
	return t
}

// whose are some of the things with who each is for; nil where one is for nobody.
func (b *boarding) whose(rows [][]any, names []string) (said []string) {
	i := slices.IndexFunc(b.columns, boardColumn.isFor)
	for _, row := range rows {
		name := b.table.NameOf(row)
		switch {
		case i < 0 || b.table.Columns[i].Ref != nil:
			return nil
		case !slices.Contains(names, name):
		case len(parted(row[i])) == 0 || strings.Contains(name, ":"):
			return nil
		default:
			said = append(said, name+": "+strings.Join(parted(row[i]), ", "))
		}
	}
	return said
}

// askBest asks for the first or the last of those that meet a condition, or two.
func (b *boarding) askBest(r *rand.Rand) *boardTask {
	p := programs.BestOfSome(r, b.world, b.table)
	if p == nil {
		return nil
	}
	t := &boardTask{Program: p, after: map[string]map[string]string{}}
	if !b.finds(r, t, p) {
		return nil
	}
	return t
}
