package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A relation is said of what it leads to: in the passive, by what an owner has, or by a noun of its end.
func TestInverses(t *testing.T) {
	for _, x := range []struct {
		kind, want string
		people     bool
	}{
		{"owns", "belongs to", false}, {"owns", "is owned by", false}, {"leads", "is led by", false},
		{"looks_after", "is looked after by", false}, {"treated_by", "treats", true}, {"led_by", "leads", true},
		{"borrowed", "was borrowed by", false}, {"has_doctor", "is the doctor of", true},
		{"reports_to", "is the boss of", true}, {"parent_of", "is the child of", true},
		{"supplies", "is supplied by", false}, {"mentors", "is mentored by", true},
	} {
		if list := inverses(x.kind, x.people); !slices.Contains(list, x.want) {
			t.Errorf("%s: %q, want %q", x.kind, list, x.want)
		}
	}
	for _, kind := range []string{"based_in", "departs_from", "has_earned"} {
		if list := inverses(kind, false); len(list) > 0 {
			t.Errorf("%s: %q", kind, list)
		}
	}
}

// Before a relation comes, one that is there says from what to what it leads; a request that says it the other way
// round changes the same.
func TestDirectionsAreSaid(t *testing.T) {
	g := partyGraph()
	g.Things = append(g.Things, Thing{"Rex", "pet", []string{"born 2019"}}, Thing{"Tip", "pet", []string{"born 2020"}},
		Thing{"Mo", "pet", []string{"born 2021"}}, Thing{"Fay", "pet", []string{"born 2022"}}, // nobody owns these two
		Thing{"Ivy", "pet", []string{"born 2023"}})
	g.Relations = append(g.Relations, Relation{"Ana Holm", "Rex", "owns"}, Relation{"Bo Lind", "Tip", "owns"},
		Relation{"Cy Park", "Mo", "owns"})
	gt, r, n := g.Tables(), rand.New(rand.NewPCG(6, 5)), map[string]int{}
	for range 1500 {
		p := gt.Draw(r, pick(r, []string{relink, newTied, ensure, linkLike}))
		if p == nil {
			continue
		}
		plan := p.TakePlan()
		for _, e := range p.Edits {
			if e.Do == AddRelation && e.Relation.Type == "owns" {
				n["owns"]++
				if !strings.Contains(plan, ", owns, so from the person to the pet\n") {
					t.Errorf("%q does not say what owns what", plan)
				}
			}
			if e.Do == AddRelation && e.Relation.Type == "mentors" && !strings.Contains(plan,
				"so first the one that mentors the other") {
				t.Errorf("%q does not say who mentors whom", plan)
			}
		}
		if rel := p.slots["rel"]; p.pattern == "edge_swap" && (rel == "belongs to" || rel == "is owned by") {
			n["turned"]++
			if gt.Graph.Thing(p.Edits[1].Relation.To).Type != "pet" || p.Says(p.Edits[1].Relation.To) == "" {
				t.Errorf("%q to %v", rel, p.Edits[1].Relation)
			}
		}
		if p.pattern == "link_like" {
			n["like"]++
			if len(p.Edits) != 1 || !strings.Contains(plan, "Hits: ") || len(strings.Fields(p.slots["others"])) < 3 {
				t.Errorf("%v after %q", p.Edits, plan)
			}
		}
	}
	for _, what := range []string{"owns", "turned", "like"} {
		if n[what] < 10 {
			t.Errorf("%d of %s", n[what], what)
		}
	}
}

// Of a new spelling alone, the working finds the old one.
func TestNewSpellings(t *testing.T) {
	gt, r, n := partyGraph().Tables(), rand.New(rand.NewPCG(5, 6)), 0
	for range 600 {
		g := gt.Draw(r, rename)
		if g == nil {
			continue
		}
		old, now := g.Edits[len(g.Edits)-1].Thing.Name, g.slots["v"]
		if plan := g.TakePlan(); !strings.Contains(plan, "Old name -> new name: "+old+" -> "+now) {
			t.Errorf("%q does not say %s", plan, old)
		}
		if g.pattern == "respell_new" {
			if n++; g.slots["x"] != "" || g.Says(old) != "" || len(g.Types) == 0 {
				t.Errorf("%v names %s", g.slots, old)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d", n)
	}
}

// What is asked changes something, where it asks for a change: no note takes its own place.
func TestChangesChangeSomething(t *testing.T) {
	g := Graph{Things: []Thing{{"Ana Holm", "person", []string{"has a driving licence", "born 1980"}},
		{"Bo Lind", "person", []string{"has a driving licence", "born 1981"}},
		{"Cy Park", "person", []string{"born 1983", "speaks Dutch"}}}}
	gt, r := g.Tables(), rand.New(rand.NewPCG(5, 7))
	for range 400 {
		p := gt.Draw(r, senses)
		if p == nil {
			continue
		}
		if after, _ := g.Apply(p.Edits); after.Equal(g) {
			t.Fatalf("%v of %v", p.Edits, p.slots)
		}
	}
}
