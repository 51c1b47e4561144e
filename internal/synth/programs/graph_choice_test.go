package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// partyGraph is a small graph with a hub whose members have notes of their own.
func partyGraph() Graph {
	g := smallGraph()
	g.Things = append(g.Things, Thing{"Spring fair", "event", []string{"date 2026-04-11", "room for 4 people"}},
		Thing{"Di Marsh", "person", []string{"joined 2016", "level senior", "allergic to nuts"}})
	for _, name := range []string{"Ana Holm", "Bo Lind", "Di Marsh"} {
		g.Relations = append(g.Relations, Relation{name, "Spring fair", "attends"})
	}
	return g
}

// The ends of a relation have nouns, by its verb, its noun or what it owns; what is no person has none of people's.
func TestRoles(t *testing.T) {
	for _, x := range []struct {
		kind         string
		from, people bool
		want         string
	}{
		{"attends", true, true, "guest of"}, {"attends", false, true, " of"}, {"attends", true, false, " "},
		{"reports_to", false, true, "boss of"}, {"led_by", false, true, "lead of"},
		{"teacher_of", false, true, "pupil of"},
		{"has_doctor", false, true, "doctor of"}, {"godmother_of", true, true, "godmother of"},
		{"parent_of", false, true, "child of"}, {"based_in", true, true, "person in"}, {"supplied_by", false, false,
			"supplier of"}, {"down_for", true, true, "participant in"}, {"kept_in", true, false, " "},
	} {
		if noun, by := roleOf(x.kind, x.from, x.people); noun+" "+by != x.want {
			t.Errorf("%s: %q, want %q", x.kind, noun+" "+by, x.want)
		}
	}
	if plural("child") != "children" {
		t.Error("children have another plural")
	}
}

// Those at a hub are opened together, each has a verdict on what was wanted, and the hits are the answer.
func TestChoices(t *testing.T) {
	gt, r := partyGraph().Tables(), rand.New(rand.NewPCG(7, 7))
	n := map[string]int{}
	for range 1500 {
		g := gt.Draw(r, pick(r, []string{chosen, noteMany, noteIf, clearOut}))
		if g == nil {
			continue
		}
		q, text := g.query, g.Working()
		if g.TellMembers(); len(g.Members) > 0 &&
			g.Working() != strings.TrimSpace(g.mappings()+"\n"+g.Opens)+"\n"+
				strings.TrimPrefix(text, g.mappings()+"\n") {
			t.Errorf("%q does not begin with %q", g.Working(), g.Opens)
		}
		names := labels(q.Table, q.Rows())
		n[g.pattern]++
		if len(g.sayings) > 0 {
			n["said"]++
			if text = strings.TrimPrefix(text, g.mappings()+"\n"); text == g.own() {
				t.Errorf("%q does not say what the words mean", text)
			}
		}
		if !strings.HasPrefix(text, "Wanted: ") || strings.Count(text, " - hit") != len(names) ||
			strings.Count(text, " - no hit") != len(q.Table.Rows)-len(names) {
			t.Fatalf("%s: %q for %v", g.pattern, text, names)
		}
		if len(g.Members) > 0 {
			n["hub"]++
			if len(q.Table.Rows) != len(g.Members) || g.Opens == "" ||
				!strings.Contains(g.slots["many"], g.Says(g.Named[0])) {
				t.Errorf("%q of %v: %v", g.slots["many"], g.Members, q.Table.Rows)
			}
			if q.among == "" || !strings.HasPrefix(text, "Wanted: "+q.among+": ") {
				t.Errorf("of %q is wanted: %q", q.among, text)
			}
		}
		if w := gt.Word(g); w.Text != "" && len(q.Where) > 1 {
			n["searched"]++
			g.ShowFound(w)
			_, line, _ := strings.Cut(g.Working(), "Wanted: ")
			line, _, _ = strings.Cut(line, "\n")
			for _, c := range q.Where {
				if !strings.Contains(line, c.wants(q.Table)) {
					t.Errorf("%q is searched, and %q wanted", w.Text, line)
				}
			}
		}
		if yes := map[bool]string{true: "yes", false: "no"}[len(names) > 0]; g.pattern == "yes_no" &&
			!strings.HasSuffix(text, "\none at least: "+yes) {
			t.Errorf("%q is %s", text, yes)
		}
		if strings.Contains(text, "one of them is enough") {
			n["either"]++
			for _, row := range q.Table.Rows {
				both := q.Where[0].Value.([]Cond)
				if slices.Contains(names, Show(row[0])) !=
					(both[0].holds(q.Table, row) || both[1].holds(q.Table, row)) {
					t.Errorf("%q: %v", text, names)
				}
			}
		}
		switch g.pattern {
		case "remove_all", "forget_all", "note_all":
			if len(g.Edits) != len(names) {
				t.Errorf("%d edits of %v", len(g.Edits), names)
			}
		case "note_if":
			if len(g.Edits) > 0 == (len(names) > 0) {
				t.Errorf("%d edits where %v is there", len(g.Edits), names)
			}
		}
	}
	for _, what := range []string{"hub", "said", "either", "searched", "remove_all", "forget_all", "note_all",
		"note_if", "list", "count", "yes_no"} {
		if n[what] < 10 {
			t.Errorf("%d of %s: %v", n[what], what, n)
		}
	}
}

// What is not to be is said with what may be in its place.
func TestWantsSayTheOthers(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "name"}, {Name: "status", Kind: Text}},
		Rows: [][]any{{"a", "open"}, {"b", "held"}, {"c", "done"}}}
	not := Cond{1, -1, Not, "done"}
	if got := not.wants(table); got != "status not done, so held or open" {
		t.Error(got)
	}
	both := Cond{1, -1, Either, []Cond{not, {1, -1, Null, nil}}}
	if got := both.wants(table); got != "status not done, so held or open, or no status (one of them is enough)" {
		t.Error(got)
	}
}

// A note that is not there leaves it open; one that is there is a yes.
func TestMissingNotesAreOpen(t *testing.T) {
	gt, seen := partyGraph().Tables(), map[string]int{}
	for _, table := range gt.World.Tables {
		for i, c := range table.Columns {
			for _, row := range table.Rows {
				name := Show(row[0])
				if !c.Note || len(gt.near(name, c.Says)) > 0 {
					continue
				}
				g := &GraphProgram{Named: []string{name}, Program: &Program{Kind: YesNo, pattern: "asks",
					slots: map[string]string{"x": name}, Answer: Answer{Form: "yes_no"},
					query: &Query{Table: table, Column: i}}}
				gt.leaveOpen(g)
				want := "unknown"
				if slices.Contains(gt.Graph.Thing(name).Notes, c.Says) {
					want = "yes_no"
				}
				if seen[want]++; g.Answer.Form != want {
					t.Errorf("%q of %s is %s, want %s", c.Says, name, g.Answer.Form, want)
				}
			}
		}
	}
	if seen["unknown"] == 0 || seen["yes_no"] == 0 {
		t.Errorf("%v", seen)
	}
}

// Names are told by the first word where no two have the same.
func TestGivenNames(t *testing.T) {
	for names, ok := range map[string]bool{"Ana Holm,Bo Lind": true, "Ana Holm,Ana Lind": false, "Ana Holm,Bo": false} {
		if _, got := givenNames(strings.Split(names, ",")); got != ok {
			t.Errorf("%s: %v", names, got)
		}
	}
}
