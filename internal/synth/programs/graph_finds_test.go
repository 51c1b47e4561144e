package programs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A word finds those that meet a condition on a note, and no others.
func TestWordOfACondition(t *testing.T) {
	gt := smallGraph().Tables()
	person, site := gt.Tables[0], gt.Tables[1]
	at := func(t *Table, name string) int {
		return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	}
	is := func(t *Table, name string, value any) Cond { return Cond{at(t, name), -1, Is, value} }
	for _, x := range []struct {
		table *Table
		kind  string
		by    Cond
		want  string
		names string
	}{
		{person, "person", is(person, "speaks Dutch", int64(1)), "Dutch", "Ana Holm, Cy Park"},
		{person, "person", is(person, "speaks Dutch", int64(0)), "", ""},
		{person, "person", is(person, "level", "junior"), "junior", "Bo Lind, Cy Park"},
		{site, "site", is(site, "closed on Mondays", int64(1)), "Mondays", "Quay, Barn"},
		{person, "person", is(person, "based_in", "Mill"), "", ""}, // no note
	} {
		q := Query{Table: x.table, Where: []Cond{x.by}, Column: 0, Of: -1, Order: -1}
		g := &GraphProgram{Program: &Program{query: &q}, Types: []string{x.kind}}
		w := gt.Word(g)
		if w.Text != x.want || strings.Join(w.Names, ", ") != x.names {
			t.Errorf("%v: %q finds %v", x.by, w.Text, w.Names)
		}
		if w.Text == "Dutch" {
			if g.ShowFound(w); g.Working() != "Ana Holm: speaks Dutch\nCy Park: speaks Dutch" {
				t.Errorf("%q", g.Working())
			}
		}
	}
	if g := gt.Graph; len(g.Saying("NUTS")) != 1 || len(g.Saying("sites")) != 0 || len(g.Saying("site")) != 3 {
		t.Error("a search takes names, types and notes, whatever their capitals")
	}
}

// A word that other things say, too, finds too many: the whole note is looked for.
func TestWordThatOthersSay(t *testing.T) {
	g := smallGraph()
	g.Things[3].Notes = append(g.Things[3].Notes, "Dutch tiles")
	gt := g.Tables()
	speaks := slices.IndexFunc(gt.Tables[0].Columns, func(c Column) bool { return c.Name == "speaks Dutch" })
	q := Query{Table: gt.Tables[0], Where: []Cond{{speaks, -1, Is, int64(1)}}, Column: 0, Of: -1, Order: -1}
	if w := gt.Word(&GraphProgram{Program: &Program{query: &q}, Types: []string{"person"}}); w.Text != "speaks Dutch" {
		t.Errorf("%q is looked for", w.Text)
	}
}

// A short name is a part of one thing's name alone, and the program knows whom it means.
func TestShortNames(t *testing.T) {
	g := smallGraph()
	g.Things = append(g.Things, Thing{"Ana Berg", "person", nil})
	gt := g.Tables()
	r := rand.New(rand.NewPCG(3, 3))
	got := map[string]bool{}
	for range 60 {
		got[gt.shortName(r, "Ana Holm")] = true
		got[gt.shortName(r, "Bo Lind")] = true
	}
	want := map[string]bool{"": true, "Holm": true, "holm": true, "Lind": true, "lind": true}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range 20 {
		p := &GraphProgram{Program: &Program{pattern: "append", slots: map[string]string{"x": "Cy Park", "v": "tall"}},
			Named: []string{"Cy Park"}}
		gt.shorten(r, p)
		if x := p.slots["x"]; p.Says("Cy Park") != x || x != "Cy Park" && !strings.EqualFold(x, "park") {
			t.Errorf("%q is said, and %q known", x, p.Says("Cy Park"))
		}
	}
}

// A working quotes what is noted, or what is noted next to it.
func TestQuotes(t *testing.T) {
	g := smallGraph()
	g.Things[1].Notes = append(g.Things[1].Notes, "speaks Greek")
	gt := g.Tables()
	person := gt.Tables[0]
	for name, want := range map[string]string{
		"speaks Dutch": "speaks Dutch\nspeaks Greek\nspeaks Dutch",
		"joined":       "joined 2014\njoined 2019\njoined 2021",
		"based_in":     "is based in Mill\nis based in Mill\nis based in Quay",
	} {
		i := slices.IndexFunc(person.Columns, func(c Column) bool { return c.Name == name })
		var said []string
		for _, row := range person.Rows {
			said = append(said, person.Columns[i].says(person, i, row))
		}
		if got := strings.Join(said, "\n"); got != want {
			t.Errorf("%s: %q, want %q", person.Columns[i].Name, got, want)
		}
	}
	nuts := slices.IndexFunc(person.Columns, func(c Column) bool { return c.Name == "allergic to nuts" })
	if got := person.Columns[nuts].says(person, nuts, person.Rows[0]); got != `without "allergic to nuts"` {
		t.Error(got)
	}
}

// What is changed is said before it is: what becomes of a note, and from where to where relations lead.
func TestPlansOfChanges(t *testing.T) {
	g := &GraphProgram{Program: &Program{working: "as it stands"}, Edits: []Edit{
		note(RemoveNote, "Mill", "rent 1200"), note(RemoveNote, "Quay", "rent 900"), note(AddNote, "Mill", "rent 1300"),
		relate(RemoveRelation, "Ana", "Bo", "mentors"), relate(AddRelation, "Cy", "Bo", "mentors")}}
	want := `as it stands
As noted: Ana, Bo, Cy
Mill: "rent 1200" becomes "rent 1300"
Quay: "rent 900" goes
take out: from Ana to Bo, mentors
put in: from Cy to Bo, mentors`
	if got := g.TakePlan(); got != want || g.Working() != "" {
		t.Errorf("%s\nand left is %q", got, g.Working())
	}
	g.Edits = slices.Repeat(g.Edits, 3)
	if got := g.TakePlan(); got != "As noted: Ana, Bo, Cy" {
		t.Errorf("a long plan is said: %s", got)
	}
}

// Whose relations change is looked for, where the request names them: a relation takes whole names.
func TestEndsOfRelationsAreLookedFor(t *testing.T) {
	gt, r := smallGraph().Tables(), rand.New(rand.NewPCG(6, 6))
	short := map[string]int{}
	for range 400 {
		kind := pick(r, []string{relink, ensure, tied, newTied, twoEdits})
		g := gt.Draw(r, kind)
		if g == nil {
			continue
		}
		for _, name := range g.ends() {
			switch says := g.Says(name); {
			case says == "" || gt.Graph.Thing(name) == nil:
			case !slices.Contains(g.Named, name):
				t.Errorf("%s: %s is looked for by none of %q", kind, name, g.Named)
			case says != name:
				short[kind]++
			}
		}
		if ends := g.ends(); len(ends) > 0 && !strings.Contains(g.TakePlan(), "As noted: "+strings.Join(ends, ", ")) {
			t.Errorf("%s: no line has %q", kind, ends)
		}
	}
	for _, kind := range []string{relink, ensure, tied, newTied, twoEdits} {
		if short[kind] < 5 {
			t.Errorf("%d short names in %s", short[kind], kind)
		}
	}
}

// Who answers must see the relations that a program is about, and no others.
func TestNeedsOfAProgram(t *testing.T) {
	gt := smallGraph().Tables()
	g := &GraphProgram{Program: &Program{}, relations: []string{"mentors"}}
	got := gt.Needs(g, []string{"Cy Park"})
	if want := []Relation{{"Ana Holm", "Cy Park", "mentors"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if g.relations = nil; len(gt.Needs(g, []string{"Cy Park"})) != 0 {
		t.Error("relations of which nobody speaks are needed")
	}
}

// The two changes of one request agree: what one wants to be there is not taken out by the other.
func TestTwoEditsAgree(t *testing.T) {
	gt, both := smallGraph().Tables(), 0
	for seed := range uint64(800) {
		g := gt.twoEdits(&drawer{r: rand.New(rand.NewPCG(seed, 9)), w: gt.World})
		if g == nil || g.pattern == g.then.pattern {
			continue
		}
		after, ok := gt.Graph.Apply(g.Edits)
		for p := g.Program; p != nil && ok; p = p.then {
			if p.pattern != "edge_ensure" {
				continue
			}
			if slices.ContainsFunc(g.Edits, func(e Edit) bool { return e.Do == RemoveRelation }) {
				both++
			}
			for _, from := range []string{p.slots["x"], p.slots["v"]} {
				if !slices.ContainsFunc(after.Relations, func(r Relation) bool {
					return r.From == from && r.To == p.slots["y"] && verbalOf(r.Type).said() == p.slots["rel"]
				}) {
					t.Errorf("seed %d: %s is not in a relation to %s: %v", seed, from, p.slots["y"], g.Edits)
				}
			}
		}
	}
	if both < 20 {
		t.Errorf("%d take something out and want something else", both)
	}
}

// Who asks for what nobody records is not told of a thing that the request does not name.
func TestUnknownSpeaksOfWhatIsNamed(t *testing.T) {
	gt, drawn := smallGraph().Tables(), 0
	for seed := range uint64(150) {
		g := gt.Draw(rand.New(rand.NewPCG(seed, 4)), Unknown)
		if g == nil {
			continue
		}
		drawn++
		task := g.Word(rand.New(rand.NewPCG(seed, 5)), "train").Task
		if x := g.slots["x"]; !strings.Contains(strings.ToLower(task), strings.ToLower(x)) {
			t.Errorf("%q does not name %q of %q", task, x, g.Answer.Values)
		}
	}
	if drawn < 100 {
		t.Errorf("%d were drawn", drawn)
	}
}

// A join whose thing in the middle was picked among all of its kind names none: its kind is looked at whole.
func TestFindsOfAJoinThatNamesNothing(t *testing.T) {
	gt := smallGraph().Tables()
	person := gt.Tables[0]
	p := &Program{pattern: "join", slots: map[string]string{"x": "the one who speaks Dutch"}, Tables: []*Table{person},
		means: map[string]string{"one who speaks Dutch": "Ana Holm"}, picked: &Query{Table: person}}
	g := &GraphProgram{Program: p}
	if !gt.finds(g) || len(g.Named) != 0 || !slices.Equal(g.Types, []string{"person"}) {
		t.Errorf("named %q, types %q", g.Named, g.Types)
	}
}
