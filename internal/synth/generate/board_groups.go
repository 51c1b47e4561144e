package generate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// group is a list of what properties name, as milestones, with the tools that change it.
type group struct {
	table             *programs.Table
	list              Call
	add, rename, drop *subject
	archive           *subject
	day, moved        *param   // when it is due: of add and of rename
	from, to          string   // parameters of rename
	into              []member // of drop: has what is in it go into another one, whose name the last takes; nil: none
}

// findGroups finds the tools of the lists that properties name.
func (b *boarding) findGroups() (list []group) {
	for i, o := range b.world.Tables[1:] {
		if b.kinOf(o) != nil { // it has tasks of its own
			continue
		}
		g := group{table: o, list: b.others[i]}
		of := b.m.byName[g.list.Tool]
		for _, s := range b.m.tools {
			if s.Server != b.server || s == of || !s.mayTry() || !sharesNoun(s, of) {
				continue
			}
			var required []string
			var day *param
			for k := range s.schema.fields {
				p := &s.schema.fields[k]
				switch {
				case p.required && p.kind == "string":
					required = append(required, p.name)
				case slices.Contains(words(p.name), "due") || slices.Contains(words(p.name), "date"):
					day = p
				}
			}
			switch {
			case s.hasVerb("rename", "update", "edit") && len(required) == 2 && g.rename == nil:
				g.rename, g.from, g.to, g.moved = s, required[0], required[1], day
			case s.hasVerb("add", "create", "new") && len(required) == 1 && g.add == nil:
				g.add, g.day = s, day
			case s.hasVerb("archive") && len(required) == 1 && g.archive == nil:
				g.archive = s
			case s.hasVerb("remove", "delete") && len(required) == 1 && g.drop == nil:
				g.drop, g.into = s, intoAnother(s)
			}
		}
		list = append(list, g)
	}
	return list
}

// intoAnother are the arguments by which a tool that removes a group moves what is in it to another one: a choice that
// says so, and the other's name.
func intoAnother(s *subject) (list []member) {
	for _, p := range s.schema.fields {
		for _, choice := range p.choices {
			if strings.Contains(string(choice), "reassign") || strings.Contains(string(choice), "move") {
				list = slices.Insert(list, 0, member{p.name, choice})
			}
		}
		if w := words(p.name); p.kind == "string" && len(p.choices) == 0 && !p.required && w[len(w)-1] == "to" {
			list = append(list, member{p.name, nil})
		}
	}
	if len(list) != 2 {
		return nil
	}
	return list
}

// groupDraws are the programs over such lists.
func (b *boarding) groupDraws() (draws []drawOf) {
	for i := range b.groups {
		g := &b.groups[i]
		add := func(able bool, list ...func(r *rand.Rand, g *group) *boardTask) {
			for _, d := range list {
				if able {
					draws = append(draws, func(r *rand.Rand) *boardTask { return d(r, g) })
				}
			}
		}
		add(g.add != nil && g.day != nil, b.newGroup)
		add(g.rename != nil, b.renameGroup)
		add(g.rename != nil && g.moved != nil, b.moveGroup)
		add(g.rename != nil && g.moved != nil, b.moveGroup)
		add(g.rename != nil && g.moved != nil && b.edit != nil, b.shiftGroup, b.shiftGroup)
		add(g.rename != nil && g.moved != nil, b.renewGroup, b.shiftGroupAlone)
		add(g.drop != nil, b.dropGroup)
		add(g.archive != nil, b.archiveGroup)
		add(g.drop != nil && g.into != nil && len(g.table.Rows) > 1, b.mergeGroup, b.mergeGroup)
		add(g.add != nil && g.day != nil && b.edit != nil, b.fillGroup, b.fillGroup)
	}
	return draws
}

// someDay is a day as tools take it, and as people say it.
func someDay(r *rand.Rand) (day, said string) {
	at := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
	return at.Format(time.DateOnly), at.Format(pick(r, []string{time.DateOnly, "2 January 2006", "January 2, 2006"}))
}

// groupName is a name for a stretch of work.
func groupName(r *rand.Rand) string {
	return pick(r, []string{"First", "Second", "Final", "Early", "Summer", "Autumn", "Spring", "Winter"}) + " " +
		pick(r, []string{"review", "delivery", "inspection", "round", "handover", "check", "opening", "draft"})
}

// changes is a task that changes such a list, which must then say some texts and not others.
func (g *group) changes(p *programs.Program, reads bool, c Call, says, lacks string) *boardTask {
	t := &boardTask{Program: p, changes: []Call{c}}
	if reads {
		t.look(g.list)
	}
	return t.sees(g.list, func(text string) bool {
		return strings.Contains(text, says) && (lacks == "" || !strings.Contains(text, lacks))
	})
}

func (b *boarding) newGroup(r *rand.Rand, g *group) *boardTask {
	slots := g.table.Slots(nil)
	day, said := someDay(r)
	slots["x"], slots["v"] = groupName(r), said
	c := Call{Tool: g.add.Name, Arguments: objectOf(member{g.add.keyField(), quote(slots["x"])},
		member{g.day.name, quote(day)})}
	return g.changes(programs.NewAct(programs.Insert, "group_new", slots), r.IntN(2) == 0, c, slots["x"], "")
}

// drawn draws one of a group that has a name of its own.
func (g *group) drawn(r *rand.Rand) (name string, slots map[string]string) {
	row := pick(r, g.table.Rows)
	return programs.Show(row[g.table.Label]), g.table.Slots(row)
}

func (b *boarding) renameGroup(r *rand.Rand, g *group) *boardTask {
	name, slots := g.drawn(r)
	slots["v"] = groupName(r)
	c := Call{Tool: g.rename.Name, Arguments: objectOf(member{g.from, quote(name)}, member{g.to, quote(slots["v"])})}
	return g.changes(programs.NewAct(programs.Set, "group_rename", slots), true, c, slots["v"], name)
}

func (b *boarding) moveGroup(r *rand.Rand, g *group) *boardTask {
	name, slots := g.drawn(r)
	day, said := someDay(r)
	slots["v"] = said
	c := Call{Tool: g.rename.Name, Arguments: objectOf(member{g.from, quote(name)}, member{g.to, quote(name)},
		member{g.moved.name, quote(day)})}
	return g.changes(programs.NewAct(programs.Set, "group_move", slots), true, c, day, "")
}

func (b *boarding) dropGroup(r *rand.Rand, g *group) *boardTask {
	name, slots := g.drawn(r)
	c := Call{Tool: g.drop.Name, Arguments: objectOf(member{g.drop.keyField(), quote(name)})}
	return g.changes(programs.NewAct(programs.Remove, "remove", slots), true, c, "", name)
}

func (b *boarding) archiveGroup(r *rand.Rand, g *group) *boardTask {
	name, slots := g.drawn(r)
	slots["verb"] = "archive"
	c := Call{Tool: g.archive.Name, Arguments: objectOf(member{g.archive.keyField(), quote(name)})}
	return g.changes(programs.NewAct(programs.Remove, "verb", slots), true, c, "", name)
}

// renewGroup gives a group a new name and a new day.
func (b *boarding) renewGroup(r *rand.Rand, g *group) *boardTask {
	name, slots := g.drawn(r)
	day, said := someDay(r)
	slots["v"], slots["given"] = groupName(r), said
	c := Call{Tool: g.rename.Name, Arguments: objectOf(member{g.from, quote(name)}, member{g.to, quote(slots["v"])},
		member{g.moved.name, quote(day)})}
	t := g.changes(programs.NewAct(severalEdits, "group_renew", slots), true, c, slots["v"], name)
	return t.sees(g.list, func(text string) bool { return strings.Contains(text, day) })
}

// of are the things that are in a group.
func (b *boarding) of(g *group, row []any) (rows [][]any, column int) {
	column = slices.IndexFunc(b.table.Columns, func(c programs.Column) bool { return c.Ref == g.table })
	return b.table.Matching([]programs.Cond{{Column: column, Of: -1, Op: programs.Is,
		Value: row[g.table.Label]}}), column
}

// mergeGroup removes a group, and what is in it goes into another one.
func (b *boarding) mergeGroup(r *rand.Rand, g *group) *boardTask {
	order := r.Perm(len(g.table.Rows))
	one, other := g.table.Rows[order[0]], g.table.Rows[order[1]]
	rows, column := b.of(g, one)
	if len(rows) == 0 {
		return nil
	}
	slots := g.table.Slots(one)
	name, to := programs.Show(one[g.table.Label]), programs.Show(other[g.table.Label])
	slots["x"], slots["y"] = name, to
	arguments := append([]member{{g.drop.keyField(), quote(name)}}, g.into...)
	arguments[len(arguments)-1].raw = quote(to)
	t := g.changes(programs.NewAct(severalEdits, "group_merge", slots), true,
		Call{Tool: g.drop.Name, Arguments: objectOf(arguments...)}, to, name)
	for _, row := range rows[:min(len(rows), mostViewed)] {
		b.seesOf(t, row, func(view string) bool {
			return sameSaid(b.saidOf(view, column), programs.Show(other[g.table.Key])) ||
				sameSaid(b.saidOf(view, column), to)
		})
	}
	return t
}

// someNamed draws a few things that a request calls by their names.
func (b *boarding) someNamed(r *rand.Rand, kind, pattern string, n int) (
	t *boardTask, rows [][]any, slots map[string]string,
) {
	var said []string
	for range 4 * n {
		row, named := b.named(r)
		if len(rows) < n && row != nil && !slices.ContainsFunc(rows, func(o []any) bool { return &o[0] == &row[0] }) {
			rows, said = append(rows, row), append(said, named["x"])
		}
	}
	if len(rows) < n {
		return nil, nil, nil
	}
	slots = b.table.Slots(nil)
	slots["name"] = programs.Enumerate(said)
	t = &boardTask{Program: programs.NewAct(kind, pattern, slots), after: map[string]map[string]string{}}
	t.look(b.list.bare())
	for _, row := range rows {
		t.shown = append(t.shown, programs.Show(row[b.table.Label]))
	}
	return t, rows, slots
}

// fillGroup makes a group, and moves into it what meets a condition, or what is named.
func (b *boarding) fillGroup(r *rand.Rand, g *group) *boardTask {
	_, column := b.of(g, g.table.Rows[0])
	name, edit := groupName(r), b.columns[column].edit
	day, said := someDay(r)
	if edit == nil || slices.ContainsFunc(g.table.Rows, func(row []any) bool {
		return programs.Show(row[g.table.Label]) == name
	}) {
		return nil
	}
	t, rows, slots := b.some(r, programs.SetAll, "group_fill", 1, mostViewed, column)
	if t == nil || r.IntN(2) == 0 {
		t, rows, slots = b.someNamed(r, severalEdits, "group_named", 2+r.IntN(2))
	}
	if t == nil {
		return nil
	}
	slots["x"], slots["v"], slots["given"] = name, g.table.One, said
	var lines []string
	t.changes = []Call{{Tool: g.add.Name, Arguments: objectOf(member{g.add.keyField(), quote(name)},
		member{g.day.name, quote(day)})}}
	for _, row := range rows {
		lines = append(lines, b.key(row)+" "+b.table.NameOf(row)+": into "+name)
		t.changes = append(t.changes, b.changeOf(b.key(row), member{edit.name, quote(name)})...)
		old := b.saidOf(b.looks[b.key(row)], column)
		b.seesOf(t, row, func(view string) bool {
			now := b.saidOf(view, column)
			return now != "" && now != old
		})
	}
	t.works(lines...)
	t.sees(g.list, func(text string) bool { return strings.Contains(text, name) && strings.Contains(text, day) })
	return b.sparing(r, t, rows)
}
