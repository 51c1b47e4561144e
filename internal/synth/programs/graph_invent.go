package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// relational matches a phrase for what refers to a thing that can name the relation: "treated by {v}".
var relational = regexp.MustCompile(`^([a-z]+ed (?:by|in|at|to|from|for|on)) \{v\}$`)

// Graph is a world as people note it in a graph: a thing for each row that has a name, its properties as notes, and
// what it refers to as relations. Notes are written in one way throughout, which is drawn.
func (w *World) Graph(r *rand.Rand) (g Graph) {
	between := pick(r, []string{" ", " ", ": "})
	for _, t := range w.Tables {
		if t.Label < 0 || t.isNumbered() || t.Columns[t.Label].Ref != nil {
			continue
		}
		for _, row := range t.Rows {
			name := t.rowLabel(row)
			if name == "" || g.Thing(name) != nil || strings.Trim(name, "0123456789") == "" {
				continue
			}
			thing := Thing{Name: name, Type: t.One}
			for _, i := range t.properties(func(c Column) bool { return c.Ref == nil }) {
				c := t.Columns[i]
				switch said := c.show(row[i]); {
				case row[i] == nil || said == "" || c.flags(row[i]) && said == "no":
				case c.flags(row[i]):
					thing.Notes = append(thing.Notes,
						strings.TrimPrefix(strings.TrimPrefix(c.Yes, "that are "), "who are "))
				default:
					thing.Notes = append(thing.Notes, c.caption()+between+said)
				}
			}
			thing.Notes = slices.DeleteFunc(thing.Notes, func(n string) bool { return n == "" })
			g.Things = append(g.Things, thing)
		}
		g.annotate(r, t)
	}
	for _, t := range w.Tables {
		g.relate(t)
	}
	return g
}

// relate adds the relations that the rows of a table state.
func (g *Graph) relate(t *Table) {
	add := func(from, to, kind string) {
		r := Relation{from, to, strings.ReplaceAll(kind, " ", "_")}
		if from != to && g.Thing(from) != nil && g.Thing(to) != nil && !slices.Contains(g.Relations, r) {
			g.Relations = append(g.Relations, r)
		}
	}
	for _, row := range t.Rows {
		if t.Link != "" {
			add(t.show(1, row), t.show(2, row), strings.TrimPrefix(t.Link, "is "))
			continue
		}
		for i, c := range t.Columns {
			if c.Ref == nil || t.Label < 0 || row[i] == nil {
				continue
			}
			kind := "has " + lastWord(c.caption())
			if m := relational.FindStringSubmatch(c.With); m != nil {
				kind = m[1]
			}
			add(t.rowLabel(row), t.show(i, row), kind)
		}
	}
}
