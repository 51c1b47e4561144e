package programs

import (
	"slices"
	"strings"
	"testing"
)

// Of several things of one only those are changed that are meant, and the plan goes through all of them.
func TestOfParent(t *testing.T) {
	seen := map[string]int{}
	way := func(d *drawer) *Program { return d.ofParent(pick(d.r, []string{Set, SetAll, Remove})) }
	drawnBy(t, 60, way, func(p *Program, _ *World, o opened) {
		seen[p.pattern]++
		look, change := p.Steps[1], p.Steps[2]
		if strings.Contains(change.SQL, " <> ") {
			seen["<>"]++
		}
		if strings.Contains(change.SQL, " LIKE ") {
			seen["LIKE"]++
		}
		table := p.Tables[0]
		state := "SELECT " + Ident(table.Columns[table.Key].Name) + " || '|' || quote(" +
			strings.Join(columnNames(table), ") || quote(") + ") FROM " + Ident(table.Name) + " ORDER BY 1"
		before, held := o.ask(state), o.ask(strings.Replace(look.SQL, "*", Ident(table.Columns[table.Key].Name), 1))
		o.change(p)
		after := o.ask(state)
		var touched []string
		for _, row := range before {
			if key, _, _ := strings.Cut(row, "|"); !slices.Contains(after, row) {
				touched = append(touched, key)
			}
		}
		yes, no := strings.Count(change.Does+";", ": yes;"), strings.Count(change.Does+";", ": no;")
		if len(touched) != yes || yes == 0 || no == 0 || yes+no != len(held) ||
			slices.ContainsFunc(touched, func(key string) bool { return !slices.Contains(held, key) }) {
			t.Errorf("of %v are changed %v: %q %s", held, touched, change.Does, change.SQL)
		}
		if one := p.slots["filter"] == ""; one != (yes == 1) {
			t.Errorf("%d are meant by %v", yes, p.slots)
		}
	})
	for _, way := range []string{"set", "set_all", "move_all", "remove", "remove_all", "<>", "LIKE"} {
		if seen[way] == 0 {
			t.Errorf("no %s: %v", way, seen)
		}
	}
}

func columnNames(t *Table) (names []string) {
	for _, c := range t.Columns {
		if len(c.Parts) == 0 {
			names = append(names, Ident(c.Name))
		}
	}
	return names
}
