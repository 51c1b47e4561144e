package programs

import (
	"slices"
	"strings"
)

// quoting is how a working says what a thing's notes say of a column: the note itself; where there is none, those that
// are next to it.
func (gt *GraphTables) quoting(t *Table, i int) func(row []any) string {
	s := gt.sources[t][i]
	c := t.Columns[i]
	switch {
	case i == 0:
		return nil
	case s.note != "":
		return func(row []any) string {
			if equal(row[i], int64(1)) {
				return s.note
			}
			if near := gt.near(Show(row[0]), s.note); len(near) > 0 {
				return strings.Join(near, ", ")
			}
			return `without "` + s.note + `"`
		}
	}
	return func(row []any) string {
		if row[i] == nil {
			return "no " + c.caption()
		}
		return s.value(row[i])
	}
}

// near are the notes of a thing that say something else of what a note says: "speaks French" for "speaks German".
func (gt *GraphTables) near(name, note string) (list []string) {
	alike := func(a, b string) bool {
		states := []string{"open", "closed"}
		return a == b || slices.Contains(states, a) && slices.Contains(states, b)
	}
	if thing := gt.Graph.Thing(name); thing != nil {
		for _, o := range thing.Notes {
			if o != note && alike(firstWord(o), firstWord(note)) {
				list = append(list, o)
			}
		}
	}
	return list
}

// mostPlan bounds the changes that are said before they are made.
const mostPlan = 6

// TakePlan is the working of a program that changes something, with what becomes of notes, and of relations from what
// to what. The whole names of these come first, since a relation takes no part of one. It is then no more the answer's.
func (g *GraphProgram) TakePlan() string {
	working, lines := g.TakeWorking(), []string{}
	if names := g.ends(); len(names) > 0 {
		working = strings.TrimSpace(working + "\nAs noted: " + strings.Join(names, ", "))
	}
	working = strings.TrimSpace(working + "\n" + strings.Join(g.ways, "\n"))
	var gone []string
	for _, e := range g.Edits {
		r := e.Relation
		switch e.Do {
		case RemoveThing:
			gone = append(gone, e.Thing.Name)
		case RemoveRelation:
			lines = append(lines, "take out: from "+r.From+" to "+r.To+", "+r.Type)
		case AddRelation:
			lines = append(lines, "put in: from "+r.From+" to "+r.To+", "+r.Type)
		case AddThing:
			lines = append(lines, "new: "+e.Thing.Name+`, "`+strings.Join(e.Thing.Notes, `", "`)+`"`)
		case AddNote:
			if g.partner(e, RemoveNote) == "" {
				lines = append(lines, e.Thing.Name+`: "`+e.Thing.Notes[0]+`" comes`)
			}
		case RemoveNote:
			line := e.Thing.Name + `: "` + e.Thing.Notes[0] + `" goes`
			if next := g.partner(e, AddNote); next != "" {
				line = e.Thing.Name + `: "` + e.Thing.Notes[0] + `" becomes "` + next + `"`
			}
			lines = append(lines, line)
		}
	}
	if len(gone) > 0 {
		lines = append(lines, "goes as a whole: "+strings.Join(gone, ", "))
	}
	if len(lines) > mostPlan {
		return working
	}
	return strings.TrimSpace(working + "\n" + strings.Join(lines, "\n"))
}

// partner is the note that takes the place of another, or whose place it takes: the only one, or that of its form.
// Which becomes which of several is the request's; "" then.
func (g *GraphProgram) partner(e Edit, do string) string {
	var same, others []string
	for _, o := range g.Edits {
		if len(o.Thing.Notes) != 1 || o.Thing.Name != e.Thing.Name {
			continue
		}
		switch o.Do {
		case e.Do:
			same = append(same, o.Thing.Notes[0])
		case do:
			others = append(others, o.Thing.Notes[0])
		}
	}
	if len(same) == 1 && len(others) == 1 {
		return others[0]
	}
	f, _, ok := formOf(e.Thing.Notes[0])
	for _, text := range others {
		if other, _, also := formOf(text); ok && also && other == f {
			return text
		}
	}
	return ""
}
