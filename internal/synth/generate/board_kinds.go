package generate

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/synth/programs"
)

// shownTable is a table of things that a tool lists by itself.
type shownTable struct {
	*programs.Table
	list *subject
	text string // of the list
	of   *boardState
}

// kindred are the boards of one server.
type kindred struct {
	server string
	states []*boardState
	// what its server lists besides, by the nouns of the tools that do
	elsewhere []string
}

// boardsOf looks at what a server lists: each list of things that tools change is a board. What properties of one list
// name by key or by name are the things of another one, so all these stand in one world.
func (m *maker) boardsOf(ctx context.Context, session environment.Session, server string) (k kindred) {
	k.server = server
	shown := m.shownTables(ctx, session, server)
	var tables []*programs.Table
	for _, t := range shown {
		tables = append(tables, t.Table)
	}
	programs.Relate(tables)
	for i := range shown {
		shown[i].tidy(tables)
		shown[i].number()
	}
	for i := range 2 * len(shown) { // lists that nothing changes come last, and only beside others
		t, readable := &shown[i%len(shown)], i >= len(shown) && len(k.states) > 0
		shownBefore := slices.ContainsFunc(shown, func(o shownTable) bool { return o.of != nil && o.has(t.Table) })
		if t.of != nil || shownBefore || i >= len(shown) && !readable || len(t.Rows) < leastOfBoard {
			continue
		}
		b := &board{server: server}
		for _, o := range shown {
			if o.list != t.list {
				b.besides = append(b.besides, nouns(o.list.Name)...)
			}
		}
		if t.of = m.viewed(ctx, session, b, t.list, t.Table, t.text, readable); t.of != nil {
			k.states = append(k.states, t.of)
		}
	}
	relate(shown)
	k.elsewhere = elsewhere(shown)
	return k
}

// tidy leaves out what a table says a second time: beside contact_id the contact's name. Where that stands alone, it is
// what people call by the noun: "of the contact Ana Berg".
func (t *shownTable) tidy(tables []*programs.Table) {
	for i := range t.Columns {
		if t.Columns[i].Ref == t.Table { // of a tree the views tell
			t.Columns[i].Ref = nil
		}
	}
	called := func(i int) string { // what a column names, if it does
		said := words(t.Columns[i].Name)
		if last := len(said) - 1; last > 0 && (said[last] == "name" || said[last] == "title") {
			return strings.Join(said[:last], " ")
		}
		return ""
	}
	*t.Table = *t.Without(func(i int) bool {
		noun := called(i)
		return noun != "" && i != t.Label && i != t.Key && slices.ContainsFunc(t.Columns, func(o programs.Column) bool {
			return o.Ref != nil && (o.Ref.One == noun || programs.Words(o.Name) == noun)
		})
	})
	for i := range t.Columns {
		c, noun := &t.Columns[i], called(i)
		if noun == "" || i == t.Label || i == t.Key || c.Ref != nil {
			continue
		}
		if slices.ContainsFunc(tables, func(o *programs.Table) bool { return o.One == noun }) {
			c.Says, c.With = noun, "of the "+noun+" {v}"
		} else if slices.ContainsFunc(t.Columns,
			func(o programs.Column) bool { return programs.Words(o.Name) == noun }) {
			c.Says, c.With = noun, "of {v}" // whom nothing lists
		}
	}
}

// number has people call things by their keys, where the most of them share their names, and the keys are short.
func (t *shownTable) number() {
	names, sole := map[string]int{}, 0
	for _, row := range t.Rows {
		names[programs.Show(row[t.Label])]++
	}
	for _, row := range t.Rows {
		if names[programs.Show(row[t.Label])] == 1 {
			sole++
		}
	}
	if 2*sole < len(t.Rows) && !slices.ContainsFunc(t.Rows, func(row []any) bool {
		return len(programs.Show(row[t.Key])) > longestKey
	}) {
		t.Label = t.Key
	}
}

// longestKey bounds a key that people say.
const longestKey = 12

// shownTables are the tables that a server's tools list without being told anything, those first whose tools say so.
func (m *maker) shownTables(ctx context.Context, session environment.Session, server string) (shown []shownTable) {
	lists := m.lists(server)
	slices.SortStableFunc(lists, func(a, b *subject) int {
		return map[bool]int{true: 0, false: 1}[a.hasVerb("list")] - map[bool]int{true: 0, false: 1}[b.hasVerb("list")]
	})
	for _, s := range lists {
		text, ok := m.tryOn(ctx, session, s.bare())
		if !ok {
			continue
		}
		listings := programs.Listings(text)
		for _, l := range listings {
			m.nameColumns(s.Name, l.Records)
		}
		for _, l := range listings {
			t := programs.TableOf(listName(l.Name, s), l.Records)
			switch {
			case t == nil || max(t.Key, t.Label) < 0 || isPart(t.Name):
				continue
			case t.Label < 0:
				t.Label = t.Key
			case t.Key < 0:
				t.Key = t.Label
			}
			atMidnight(t)
			shown = append(shown, shownTable{Table: t, list: s, text: text})
		}
	}
	return shown
}

var midnight = regexp.MustCompile(`(?i)^(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?$`)

// atMidnight has a day that is shown with the time 0:00 be a day alone, where all of a column are so.
func atMidnight(t *programs.Table) {
	for i := range t.Columns {
		if t.Columns[i].Kind != programs.Date || slices.ContainsFunc(t.Rows, func(row []any) bool {
			return row[i] != nil && !midnight.MatchString(programs.Show(row[i]))
		}) {
			continue
		}
		for _, row := range t.Rows {
			if row[i] != nil {
				row[i] = midnight.FindStringSubmatch(programs.Show(row[i]))[1]
			}
		}
	}
}

// has reports whether a table shows all things of another one.
func (t shownTable) has(o *programs.Table) bool {
	return len(o.Rows) > 0 && !slices.ContainsFunc(o.Rows, func(row []any) bool {
		return !slices.ContainsFunc(t.Rows, func(own []any) bool {
			return programs.Equal(own[t.Key], row[o.Key]) && programs.Equal(own[t.Label], row[o.Label])
		})
	})
}

// relate puts each board into a world with the tables that it has to do with, its own first.
func relate(shown []shownTable) {
	final := map[*programs.Table]*programs.Table{}
	for _, t := range shown {
		same := slices.IndexFunc(shown, func(o shownTable) bool { return o.of != nil && o.has(t.Table) })
		switch final[t.Table] = t.Without(func(column int) bool { // nothing changes it
			return t.Columns[column].Ref == nil && column != t.Key && column != t.Label &&
				(!isSaid(t.Table, column) || isConstant(t.Table, column))
		}); {
		case t.of != nil:
			final[t.Table] = t.of.table
		case same >= 0: // another view of these
			final[t.Table] = shown[same].of.table
		}
	}
	own := func(t *programs.Table) int {
		return slices.IndexFunc(shown, func(o shownTable) bool { return final[o.Table] == t })
	}
	for _, t := range shown {
		table := final[t.Table]
		for i := range table.Columns {
			c := &table.Columns[i]
			if to := final[c.Ref]; to != nil {
				c.Ref = to
			}
			if t.of == nil || c.Ref != nil || !t.of.columns[i].hidden {
				continue
			}
			for _, o := range shown { // by a key that nobody says: "m-0" is a milestone
				if o.list != t.list && table.Names(i, o.Table) {
					c.Ref = final[o.Table]
				}
			}
		}
	}
	var all []*programs.Table
	for _, t := range shown {
		st := t.of
		if st == nil {
			continue
		}
		st.world = &programs.World{Name: "board", Tables: []*programs.Table{st.table}, Listed: true, OwnKeys: true}
		for i := 0; i < len(st.world.Tables); i++ { // it grows
			for _, o := range shown {
				a, b := st.world.Tables[i], final[o.Table]
				if (refers(a, b) || refers(b, a)) && !slices.Contains(st.world.Tables, b) {
					st.world.Tables = append(st.world.Tables, b)
					st.others = append(st.others, shown[own(b)].list.bare())
				}
			}
		}
		for _, o := range st.world.Tables {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	programs.Understand(all)
	for _, t := range shown {
		if t.of != nil {
			t.of.phrases()
		}
	}
}

// refers reports whether a column of a table names things of another one.
func refers(a, b *programs.Table) bool {
	return slices.ContainsFunc(a.Columns, func(c programs.Column) bool { return c.Ref == b })
}

// elsewhere are the nouns of the tools that list other things than boards have.
func elsewhere(shown []shownTable) (about []string) {
	var lists []*subject
	for _, t := range shown {
		if t.of != nil {
			lists = append(lists, t.list)
			for _, c := range t.of.others {
				lists = append(lists, shown[slices.IndexFunc(shown, func(o shownTable) bool {
					return o.list.Name == c.Tool
				})].list)
			}
		}
	}
	for _, t := range shown {
		if len(t.Rows) >= leastOfBoard && !slices.ContainsFunc(lists, func(s *subject) bool {
			return s == t.list || sharesNoun(s, t.list)
		}) {
			about = append(about, nouns(t.list.Name)...)
		}
	}
	return about
}
