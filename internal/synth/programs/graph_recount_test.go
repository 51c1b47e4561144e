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
