package programs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Some leave a hub and others come. The answer counts those that are there then, and the working names them all.
func TestRecounts(t *testing.T) {
	gt, r := partyGraph().Tables(), rand.New(rand.NewPCG(8, 8))
	n := 0
	for range 400 {
		g := gt.Draw(r, recounts)
		if g == nil {
			continue
		}
		n++
		after, _ := gt.Graph.Apply(g.Edits)
		first := g.Edits[0].Relation
		hub, leads := g.Named[0], first.From == g.Named[0]
		left := (&GraphTables{Graph: after}).ends(hub, first.Type, leads)
		plan := g.TakePlan()
		if g.Answer.Values[0] != fmt.Sprint(len(left)) || !strings.Contains(plan, fmt.Sprintf(", so %d\n", len(left))) {
			t.Errorf("%s for %v after %q", g.Answer.Values, left, plan)
		}
		_, now, _ := strings.Cut(plan, "Now: ")
		now, _, _ = strings.Cut(now, "\n")
		for _, name := range left {
			if !strings.Contains(now, name) {
				t.Errorf("%q lacks %s", now, name)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d", n)
	}
}

// Where each thing has one place, none gets a second one.
func TestNobodyIsInTwoPlaces(t *testing.T) {
	g := &Graph{}
	for i, name := range strings.Fields("Red Blue Ada Bo Cy Di Eli Fay Gus Hal") {
		if i < 2 {
			g.Things = append(g.Things, Thing{name, "room", []string{"has a window", fmt.Sprintf("floor %d", i)}})
			continue
		}
		g.Things = append(g.Things, Thing{name, "person", []string{fmt.Sprintf("born %d", 1980+i), "speaks Danish"}})
		if i < 8 {
			g.Relations = append(g.Relations, Relation{name, g.Things[i%2].Name, "sits in"})
		}
	}
	gt, r, n := g.Tables(), rand.New(rand.NewPCG(9, 9)), 0
	for range 600 {
		p := gt.Draw(r, pick(r, []string{recounts, linkLike}))
		if p == nil {
			continue
		}
		n++
		after, _ := gt.Graph.Apply(p.Edits)
		places := map[string]int{}
		for _, x := range after.Relations {
			if places[x.From]++; places[x.From] > 1 {
				t.Fatalf("%s: %+v", p.Pattern(), p.Edits)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d were drawn", n)
	}
}
