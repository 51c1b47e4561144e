package generate

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// linkPart is the part whose lines are other things, which a parameter sets.
func (b *boarding) linkPart() (p section, ok bool) {
	i := slices.IndexFunc(b.parts, func(p section) bool { return p.links && p.set != nil })
	if i < 0 {
		return p, false
	}
	return b.parts[i], true
}

// linked are the things that a thing's view names first in each line of a part: those below them are others' links.
func (b *boarding) linked(row []any, p section) (list [][]any) {
	for _, line := range partOf(b.looks[b.key(row)], p.title).lines {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "│") {
			continue
		}
		for _, o := range b.table.Rows {
			if strings.Contains(line, b.key(o)+" ") && strings.Contains(line, programs.Show(o[b.table.Label])) {
				list = append(list, o)
			}
		}
	}
	return list
}

// backlinked are the things that have a link to a thing.
func (b *boarding) backlinked(row []any, p section) (list [][]any) {
	for _, o := range b.table.Rows {
		if slices.ContainsFunc(b.linked(o, p), func(to []any) bool { return &to[0] == &row[0] }) {
			list = append(list, o)
		}
	}
	return list
}

// relation is how a part's title is said between two things: "depends on", "is blocked by".
func (p section) relation() string {
	title := strings.ToLower(p.title)
	if first, _, _ := strings.Cut(title, " "); strings.HasSuffix(first, "ed") {
		return "is " + title
	}
	return title
}

// depends reports whether a link means that one thing must be done before the other.
func (p section) depends() bool { return strings.HasPrefix(p.relation(), "depend") }

// reaches reports whether links lead from one thing to another.
func (b *boarding) reaches(from, to []any, p section, depth int) bool {
	return depth > 0 && (&from[0] == &to[0] || slices.ContainsFunc(b.linked(from, p), func(o []any) bool {
		return b.reaches(o, to, p, depth-1)
	}))
}

// relink makes the links of a thing what they are to be: all are given anew, and those from before are read first.
func (b *boarding) relink(r *rand.Rand, act *programs.Program, row, other []any, p section, now [][]any) *boardTask {
	t := &boardTask{Program: act}
	b.seek(r, t, row, programs.Show(row[b.table.Label]), false)
	if t.reads[0].Tool != b.list.Name { // both are to be found
		t.look(Call{Tool: b.search.Name, Arguments: objectOf(member{b.search.queryField(),
			quote(programs.Show(other[b.table.Label]))})})
	}
	t.look(b.viewOf(row))
	t.shown = append(t.shown, programs.Show(other[b.table.Label]))
	keys, names := []string{}, []string{}
	for _, o := range now {
		keys, names = append(keys, b.key(o)), append(names, programs.Show(o[b.table.Label]))
	}
	t.changes = b.changeOf(b.key(row), member{p.set.name, p.set.texts(keys...)})
	return b.seesOf(t, row, func(text string) bool {
		said := partOf(text, p.title).says()
		return !slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(said, n) }) &&
			(slices.Contains(names, programs.Show(other[b.table.Label])) ||
				!strings.Contains(said, programs.Show(other[b.table.Label])))
	})
}

// two are the slots that name two things.
func (b *boarding) two(r *rand.Rand) (row, other []any, slots map[string]string) {
	row, slots = b.named(r)
	other, more := b.named(r)
	if row == nil || other == nil || &row[0] == &other[0] {
		return nil, nil, nil
	}
	slots["y"] = more["x"]
	return row, other, slots
}

// link links a thing to another one.
func (b *boarding) link(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, other, slots := b.two(r)
	if !ok || row == nil || b.reaches(other, row, p, 6) || b.reaches(row, other, p, 6) {
		return nil
	}
	pattern := "link_add"
	if slots["rel"] = p.relation(); p.depends() && r.IntN(3) > 0 {
		pattern = "depend_add"
	}
	now := append(b.linked(row, p), other)
	return b.relink(r, programs.NewAct(programs.Set, pattern, slots), row, other, p, now)
}

// relinkSome links a thing to two more, or to one alone of those that it is linked to, at times with another change.
func (b *boarding) relinkSome(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	has := b.linked(row, p)
	var free [][]any // what it may be linked to besides
	for _, at := range r.Perm(len(b.table.Rows)) {
		if o := b.table.Rows[at]; !b.reaches(o, row, p, 6) && !b.reaches(row, o, p, 6) && b.table.NameOf(o) != "" {
			free = append(free, o)
		}
	}
	if len(free) < 2 {
		return nil
	}
	slots["rel"] = p.relation()
	keys := func(rows [][]any) (list []string) {
		for _, o := range rows {
			list = append(list, b.key(o))
		}
		return list
	}
	if r.IntN(2) == 0 {
		_, one := b.namedAs(r, free[0])
		_, two := b.namedAs(r, free[1])
		slots["y"], slots["v"] = one["x"], two["x"]
		act := programs.NewAct(programs.Set, "links_add", slots)
		if len(has) > 0 {
			act.Work(slots["rel"] + " now: " + strings.Join(b.names(has), "; "))
		}
		t := b.relink(r, act, row, free[0], p, append(slices.Clone(has), free[:2]...))
		t.reads = append([]Call{b.list.bare()}, b.viewOf(row))
		t.shown = append(t.shown, programs.Show(free[1][b.table.Label]))
		return t
	}
	all := append(slices.Clone(has), free[:max(1, 2-len(has))]...)
	kept := pick(r, all)
	list := b.moreDeeds(r, row, nil, 1)
	if len(list) == 0 {
		return nil
	}
	_, one := b.namedAs(r, kept)
	slots["y"] = one["x"]
	act := programs.NewAct(severalEdits, "links_only", slots).Does("does", saidDeeds(list)...)
	t := b.relink(r, act, row, kept, p, [][]any{kept})
	t.setup = b.changeOf(b.key(row), member{p.set.name, p.set.texts(keys(all)...)})
	t.reads, t.changes = []Call{b.list.bare(), b.viewOf(row)}, nil
	if list[0].reads != "" {
		act.Work(list[0].reads)
	}
	b.does(t, row, list)
	t.changes = b.changeOf(b.key(row), member{p.set.name, p.set.texts(b.key(kept))}, list[0].argument)
	return b.seesOf(t, row, func(view string) bool {
		said := partOf(view, p.title).says()
		return !slices.ContainsFunc(all, func(o []any) bool {
			return strings.Contains(said, programs.Show(o[b.table.Label])) != (&o[0] == &kept[0])
		})
	})
}

// unlink takes a link away.
func (b *boarding) unlink(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	has := b.linked(row, p)
	if len(has) == 0 {
		return nil
	}
	other := pick(r, has)
	slots["y"], slots["rel"] = programs.Show(other[b.table.Label]), p.relation()
	now := slices.DeleteFunc(slices.Clone(has), func(o []any) bool { return &o[0] == &other[0] })
	return b.relink(r, programs.NewAct(programs.Set, "link_drop", slots), row, other, p, now)
}

func (b *boarding) names(rows [][]any) (list []string) {
	for _, row := range rows {
		list = append(list, programs.Show(row[b.table.Label]))
	}
	return list
}

// askLinks asks for the things that one is linked to.
func (b *boarding) askLinks(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	to := b.linked(row, p)
	if len(to) == 0 {
		return nil
	}
	slots["rel"] = p.relation()
	q := programs.NewQuestion(programs.Join, "link_ask", slots,
		programs.Answer{Form: "list", Values: b.names(to)}, b.table)
	return b.act(r, q, row, true)
}

// askBacklinks asks for the things that are linked to one, where its own view names them.
func (b *boarding) askBacklinks(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	from := b.names(b.backlinked(row, p))
	if len(from) == 0 || slices.ContainsFunc(from, func(n string) bool {
		return !strings.Contains(b.looks[b.key(row)], n)
	}) {
		return nil
	}
	slots["rel"] = p.relation()
	q := programs.NewQuestion(programs.Join, "link_back", slots, programs.Answer{Form: "list", Values: from}, b.table)
	return b.act(r, q, row, true)
}

// askThrough asks for a property of the one thing that another is linked to.
func (b *boarding) askThrough(r *rand.Rand) *boardTask {
	p, ok := b.linkPart()
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	to := b.linked(row, p)
	at := r.IntN(len(b.columns))
	if len(to) != 1 || at == b.table.Key || at == b.table.Label || b.table.Columns[at].Ref != nil {
		return nil
	}
	value := programs.Show(to[0][at])
	if value == "" || strings.Contains(value, programs.ListMark) {
		return nil
	}
	slots["rel"], slots["attr"] = p.relation(), strings.ToLower(programs.Words(b.columns[at].name))
	q := programs.NewQuestion(programs.Join, "link_through", slots,
		programs.Answer{Form: "text", Values: []string{value}}, b.table)
	name := programs.Show(to[0][b.table.Label])
	q.Work(name + ": " + value)
	t := b.act(r, q, row, true)
	t.shown = append(t.shown, name)
	t.look(b.viewOf(to[0]))
	return t
}

// makeUnder makes a thing below another one.
func (b *boarding) makeUnder(r *rand.Rand) *boardTask {
	i := slices.IndexFunc(b.parts, func(p section) bool { return p.links && p.create != nil && p.set == nil })
	row, slots := b.named(r)
	name := b.columns[b.table.Label].create
	if i < 0 || row == nil || name == nil {
		return nil
	}
	slots["v"] = b.newName(r)
	t := &boardTask{Program: programs.NewAct(programs.Insert, "make_under", slots), made: slots["v"],
		madeSays: []string{b.key(row)}, after: map[string]map[string]string{}}
	b.seek(r, t, row, slots["x"], false)
	t.changes = []Call{{Tool: b.create.Name, Arguments: objectOf(member{name.name, quote(slots["v"])},
		member{b.parts[i].create.name, b.parts[i].create.texts(b.key(row))})}}
	return b.told(t)
}

// finish is a tool that puts away what is done, and the property that says that something is.
type finish struct {
	tool   *subject
	column int
	value  string // without which the tool refuses
	shown  bool   // a view still shows what was put away
}

// findFinish tries a tool that is called after completing on things with each value of a property.
func (b *boarding) findFinish(ctx context.Context) (*finish, error) {
	i := slices.IndexFunc(b.m.tools, func(s *subject) bool {
		return s.Server == b.server && s.mayTry() && b.takesKey(s) && sharesNoun(s, b.list) &&
			s.hasVerb("complete", "finish", "close", "resolve")
	})
	if i < 0 || b.edit == nil {
		return nil, nil
	}
	tool := b.m.tools[i]
	for at, c := range b.columns {
		if c.edit == nil || len(c.edit.choices) == 0 || at == b.table.Label {
			continue
		}
		taken, refused, seen, shown := []string{}, 0, map[string]bool{}, false
		for _, row := range b.table.Rows {
			v := programs.Show(row[at])
			if seen[v] || v == "" {
				continue
			}
			seen[v] = true
			x := play{Calls: []Call{tool.keyed(b.key(row))},
				Looks: []Call{b.viewOf(row)}}
			got, err := b.played(ctx, x, true)
			switch {
			case err != nil:
				return nil, err
			case got.Lost != "" || anyFailed(x.Calls, got):
				refused++
			default:
				taken = append(taken, v)
				shown = got.Seen[0].ok() && strings.Contains(got.Seen[0].Text, programs.Show(row[b.table.Label]))
			}
		}
		if len(taken) == 1 && refused > 0 {
			return &finish{tool, at, taken[0], shown}, nil
		}
	}
	return nil, nil
}

// verb is what the tool's name says it does.
func (f *finish) verb() string {
	return words(f.tool.Name)[slices.IndexFunc(words(f.tool.Name), func(w string) bool {
		return slices.Contains([]string{"complete", "finish", "close", "resolve"}, w)
	})]
}

// finishThing puts a thing away; one that is not done is marked as done first.
func (b *boarding) finishThing(r *rand.Rand) *boardTask {
	row, slots := b.named(r)
	f := b.finish
	if row == nil {
		return nil
	}
	slots["verb"], slots["v"] = f.verb(), f.value
	done := programs.Show(row[f.column]) == f.value
	pattern := "finish_open"
	if done {
		pattern = "finish_done"
	}
	t := &boardTask{Program: programs.NewAct(programs.Set, pattern, slots), after: map[string]map[string]string{
		b.key(row): nil}}
	b.seek(r, t, row, slots["x"], false)
	if !done {
		p := b.columns[f.column].edit
		t.changes = append(t.changes, b.changeOf(b.key(row), member{p.name, p.value(f.value)})...)
	}
	t.changes = append(t.changes, f.tool.keyed(b.key(row)))
	if !f.shown {
		return t
	}
	return b.seesOf(t, row, func(text string) bool { return strings.Contains(text, b.key(row)) })
}
