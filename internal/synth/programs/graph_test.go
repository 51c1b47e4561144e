package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func smallGraph() Graph {
	return Graph{
		Things: []Thing{
			{"Ana Holm", "person", []string{"joined 2014", "speaks Dutch", "level senior"}},
			{"Bo Lind", "person", []string{"joined 2019", "level junior", "allergic to nuts"}},
			{"Cy Park", "person", []string{"joined 2021", "speaks Dutch", "level junior"}},
			{"Mill", "site", []string{"rent 1200", "open daily"}},
			{"Quay", "site", []string{"rent 900", "closed on Mondays"}},
			{"Barn", "site", []string{"rent 300", "closed on Mondays"}},
		},
		Relations: []Relation{
			{"Ana Holm", "Mill", "based_in"}, {"Bo Lind", "Mill", "based_in"}, {"Cy Park", "Quay", "based_in"},
			{"Ana Holm", "Bo Lind", "mentors"}, {"Ana Holm", "Cy Park", "mentors"},
			{"Bo Lind", "Quay", "borrowed"}, {"Bo Lind", "Barn", "borrowed"},
		},
	}
}

// Notes of one form are a column, those that are there or not another, relations to one thing references.
func TestGraphIsReadAsTables(t *testing.T) {
	gt := smallGraph().Tables()
	person, site := gt.Tables[0], gt.Tables[1]
	names := func(t *Table) (list []string) {
		for _, c := range t.Columns {
			list = append(list, c.Name)
		}
		return list
	}
	if got := strings.Join(names(person),
		", "); got != "name, joined, level, speaks Dutch, allergic to nuts, based_in" {
		t.Errorf("people have %s", got)
	}
	if got := strings.Join(names(site), ", "); got != "name, rent, closed on Mondays, open daily" {
		t.Errorf("sites have %s", got)
	}
	if row := person.Rows[1]; !slices.Equal(valueTexts(row), []string{"Bo Lind", "2019", "junior", "0", "1", "Mill"}) {
		t.Errorf("Bo is %v", valueTexts(row))
	}
	for _, x := range []struct{ got, want string }{
		{person.Columns[3].Yes, "who speak Dutch"}, {person.Columns[3].No, "who do not speak Dutch"},
		{person.Columns[4].Yes, "who are allergic to nuts"}, {person.Columns[5].With, "based in {v}"},
		{person.Columns[5].Asks, "Which site is {x} based in?"}, {site.Columns[2].Yes, "that are closed on Mondays"},
		{person.Columns[1].More, "who joined after {v}"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
	links := map[string]*Table{}
	for _, l := range gt.Tables[2:] {
		links[l.Link] = l
	}
	mentors, borrowed := links["mentors"], links["borrowed"]
	if len(links) != 2 || mentors == nil || borrowed == nil {
		t.Fatalf("the links are %v", links)
	}
	if got := mentors.Columns[2].With; got != "who mentor {v}" {
		t.Errorf("sources are those %q", got)
	}
	if got := mentors.Columns[1].With; got != "who {v} mentors" {
		t.Errorf("targets are those %q", got)
	}
	if got := borrowed.Columns[1].With; got != "that {v} has borrowed" {
		t.Errorf("targets are those %q", got)
	}
}

// What a program writes into the tables, its edits write into the graph: read anew, it has the rows that the statements
// leave.
func TestEditsOfAGraphAreItsStatements(t *testing.T) {
	graphs := []Graph{smallGraph()}
	r := rand.New(rand.NewPCG(5, 5))
	for index := range 12 {
		graphs = append(graphs, Invent(r, index).Graph(r))
	}
	kinds := map[string]int{}
	for _, g := range graphs {
		gt := g.Tables()
		for range 15 {
			for _, kind := range []string{Set, SetAll, Adjust, Remove, Insert, ActIf, Correct} {
				p := Draw(r, gt.World, kind)
				if p == nil || !p.Changes() {
					continue
				}
				edits, ok := gt.Edits(p)
				if !ok {
					continue
				}
				after, ok := g.Apply(edits)
				if !ok { // the relation is there already
					continue
				}
				rows, err := gt.World.After(p)
				if err != nil {
					t.Fatal(err)
				}
				for k, table := range gt.World.Tables {
					if kind := gt.types[table]; kind != "" {
						want := len(rows[k])
						n := 0
						for _, x := range after.Things {
							if x.Type == kind {
								n++
							}
						}
						if n != want {
							t.Errorf("%s: %d of %s, want %d: %v", p.pattern, n, kind, want, p.Steps)
						}
						gt.sameRows(t, p, k, rows[k], after)
					}
				}
				kinds[kind]++
			}
		}
	}
	if len(kinds) != 7 {
		t.Errorf("of 7 kinds of changes there were %v", kinds)
	}
}

// sameRows compares what notes and relations say of each thing of a table with its rows.
func (gt *GraphTables) sameRows(t *testing.T, p *Program, k int, rows NumberedRows, after Graph) {
	t.Helper()
	table := gt.World.Tables[k]
	for _, row := range rows {
		thing := after.Thing(Show(row[0]))
		if thing == nil {
			t.Fatalf("%s: no %v", p.pattern, row[0])
		}
		for i, s := range gt.sources[table] {
			switch {
			case i == 0 || s.note != "" && row[i] == nil:
			case s.relation != "":
				if row[i] != nil && after.Thing(Show(row[i])) != nil &&
					!slices.Contains(after.Relations, Relation{thing.Name, Show(row[i]), s.relation}) {
					t.Errorf("%s: %s is not %s %v", p.pattern, thing.Name, s.relation, row[i])
				}
			default:
				if got := s.read(*thing); Show(got) != Show(row[i]) {
					t.Errorf("%s: %s of %s is %v, want %v", p.pattern, table.Columns[i].Name, thing.Name, got, row[i])
				}
			}
		}
	}
}

// Each kind of a graph is drawn, fits the graph, and names what it changes.
func TestKindsOfAGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	gt := smallGraph().Tables()
	for _, x := range []struct{ kind, pattern string }{
		{noteOne, "append"}, {noteOne, "unappend"}, {noteOne, "note_replace"}, {noteMany, "note_all"},
		{noteIf, "note_if"}, {relink, "edge_swap"}, {relink, "edge_retarget"}, {takeOver, "take_over"},
		{rename, "rename"}, {holds, "asks"}, {ensure, "edge_ensure"}, {List, "edge_from"}, {List, "edge_to"},
	} {
		var p *GraphProgram
		for try := 0; try < 400 && (p == nil || p.pattern != x.pattern); try++ {
			if one := gt.Draw(r, x.kind); one != nil {
				p = one
			}
		}
		if p == nil || p.pattern != x.pattern {
			t.Errorf("no %s is drawn", x.pattern)
			continue
		}
		if len(p.Named)+len(p.Types) == 0 {
			t.Errorf("%s: nothing is looked at", x.pattern)
		}
		text := p.Word(r, "train").Task
		for _, e := range p.Edits {
			for _, name := range []string{e.Relation.From} {
				if name != "" && x.kind == relink && (p.Says(name) == "" || !mentions(p.Says(name))(text)) {
					t.Errorf("%q does not name %s", text, name)
				}
			}
		}
	}
}

func TestGraphsAreEqualInAnyOrder(t *testing.T) {
	a, b := smallGraph(), smallGraph()
	slices.Reverse(b.Things)
	slices.Reverse(b.Relations)
	slices.Reverse(b.Things[0].Notes)
	if !a.Equal(b) {
		t.Error("the order counts")
	}
	b.Things[0].Notes[0] = "another note"
	if a.Equal(b) {
		t.Error("another note is none")
	}
}
