package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A word that no note, name or type says is a stranger: a relation's, or a plural of another word.
func TestStrangers(t *testing.T) {
	gt := smallGraph().Tables()
	of := func(slots map[string]string) string {
		return strings.Join(gt.Strangers(&GraphProgram{Program: &Program{slots: slots}}), ", ")
	}
	for _, x := range []struct {
		slots map[string]string
		want  string
	}{
		{map[string]string{"filter": "who mentor Bo Lind", "many": "people"}, "mentor, people"},
		{map[string]string{"filter": "who speak Dutch", "many": "sites"}, "sites"}, // "speak" is a part of a note
		{map[string]string{"attr": "date of birth", "x": "Ana Holm", "many": "people"}, "date, birth"},
		{map[string]string{"attr": "rent", "x": "Mill"}, ""},
		{map[string]string{"asks": "Does Ana Holm borrow the Quay?"}, "borrow"},
	} {
		if got := of(x.slots); got != x.want {
			t.Errorf("%v: %q, want %q", x.slots, got, x.want)
		}
	}
}

// Each wish has a numbered line, as the request names things; one alone has none.
func TestWishes(t *testing.T) {
	g := &GraphProgram{short: map[string]string{"Ana Holm": "ana"},
		wishes: []wish{wishOf(`take out "{}" of {}`, "level {}", "Ana Holm")}}
	if got := g.Wishes(); got != "" {
		t.Errorf("one change alone is said: %s", got)
	}
	g.wishes = append(g.wishes, wishOf("put in that {} mentors {}", "Bo Lind", "Ana Holm"))
	want := "1. take out \"level {}\" of ana\n2. put in that Bo Lind mentors ana"
	if got := g.Wishes(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	gt, r := smallGraph().Tables(), rand.New(rand.NewPCG(9, 3))
	n := map[string]int{}
	for range 400 {
		g := gt.Draw(r, pick(r, []string{Several, twoEdits, Set}))
		if g == nil {
			continue
		}
		text, several := g.Wishes(), g.then != nil || g.pattern == "set_two"
		if n[g.Kind]++; several && !strings.Contains(text, "\n2. ") || !several && len(g.wishes) == 0 && text != "" {
			t.Errorf("%s, %s: %q", g.Kind, g.pattern, text)
		}
		if strings.Contains(text, "{") {
			t.Errorf("%s: %q", g.pattern, text)
		}
	}
	if n[Several] < 40 || n[Set] < 20 {
		t.Error(n)
	}
}

// Requests of two changes make both, say both, and have a plan with a line or a part for each.
func TestBothHalvesOfAChange(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	gt := smallGraph().Tables()
	patterns := map[string]int{}
	for _, kind := range []string{twoNotes, tied, newTied} {
		for range 200 {
			p := gt.Draw(r, kind)
			if p == nil {
				continue
			}
			patterns[p.pattern]++
			if len(p.Edits) < 2 || !strings.Contains(p.Wishes(), "\n2. ") {
				t.Fatalf("%s: %d edits, wanted %q", p.pattern, len(p.Edits), p.Wishes())
			}
			text := p.Word(r, "train").Task
			for _, e := range p.Edits {
				said := slices.Clone(e.Thing.Notes)
				for _, name := range []string{e.Relation.From, e.Relation.To} {
					if name != "" {
						said = append(said, p.saysOr(name))
					}
				}
				for _, s := range said {
					if !mentions(s)(text) || !mentions(s)(p.Wishes()) {
						t.Errorf("%s: %q is not in %q and in %q", p.pattern, s, text, p.Wishes())
					}
				}
			}
		}
	}
	for _, pattern := range []string{"notes_drop", "notes_merge", "notes_renew", "tie_and_note", "tie_and_note_swap",
		"insert_tied"} {
		if patterns[pattern] < 10 {
			t.Errorf("%d of %s", patterns[pattern], pattern)
		}
	}
}

func (g *GraphProgram) saysOr(name string) string {
	if said := g.Says(name); said != "" {
		return said
	}
	return name
}

// Of several notes that go and come, those of one form belong together.
func TestPlansOfTwoNotes(t *testing.T) {
	g := &GraphProgram{Program: &Program{}, Edits: []Edit{
		note(RemoveNote, "Mill", "rent 1200"), note(RemoveNote, "Mill", "open daily"),
		note(AddNote, "Mill", "closed on Mondays"), note(AddNote, "Mill", "rent 1300")}}
	want := `Mill: "rent 1200" becomes "rent 1300"
Mill: "open daily" goes
Mill: "closed on Mondays" comes`
	if got := g.TakePlan(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A thing without a type is of no table: neither one of its own, since it has no noun, nor one of relations.
func TestThingsWithoutAType(t *testing.T) {
	graph := smallGraph()
	for i := range 3 {
		graph.Things[i].Type = ""
	}
	graph.Relations = append(graph.Relations, Relation{"Mill", "Quay", "supplies"},
		Relation{"Mill", "Barn", "supplies"},
		Relation{"Quay", "Barn", "supplies"})
	gt := graph.Tables()
	var names []string
	for _, x := range gt.Tables {
		names = append(names, x.One)
	}
	if of := gt.tableOf(""); of != nil || !slices.Equal(names, []string{"site", "relation"}) {
		t.Errorf("they are of %+v, of %q", of, names)
	}
}

// What takes the place of a note says the same property: "rent 1300" for "rent 1200".
func TestNotesAreReplacedByTheirLike(t *testing.T) {
	gt, r, n := partyGraph().Tables(), rand.New(rand.NewPCG(5, 9)), 0
	for range 600 {
		g := gt.Draw(r, noteOne)
		if g == nil || g.pattern != "note_replace" {
			continue
		}
		n++
		if firstWord(g.slots["old"]) != firstWord(g.slots["v"]) {
			t.Errorf("%q becomes %q", g.slots["old"], g.slots["v"])
		}
	}
	if n < 20 {
		t.Errorf("%d are replaced", n)
	}
}
