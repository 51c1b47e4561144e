package programs

import (
	"math/rand/v2"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// What was changed is named as it is in the end; where nobody asks, a brief answer and one that names both pass.
func TestTell(t *testing.T) {
	w := parlour()
	drawn := map[string]int{}
	for seed := range uint64(300) {
		for _, kind := range []string{Set, SetAll, Remove, Insert, Adjust} {
			p := Draw(rand.New(rand.NewPCG(seed, 8)), w, kind)
			if p == nil || p.then != nil || p.Answer.Form != "" {
				continue
			}
			p.Tell(w)
			if p.did == "" {
				drawn["none"]++
				continue
			}
			drawn[p.pattern]++
			switch says := " " + p.did + " "; {
			case p.pattern == "set" && p.slots["v"] != "" && !strings.Contains(says, " "+p.slots["v"]+" ") &&
				!strings.Contains(says, " changed "):
				t.Errorf("%s for %v", p.did, p.slots)
			case p.pattern == "remove" && !strings.HasSuffix(p.did, " is deleted"),
				p.pattern == "insert" && !strings.HasSuffix(p.did, " is entered"):
				t.Errorf("%s for %s", p.did, p.pattern)
			}
			said := map[bool]int{}
			for n := range uint64(20) {
				x := p.Word(rand.New(rand.NewPCG(n, 1)), scenario.Train)
				said[x.Answer == done]++
				if len(x.Checks) > 0 || x.Answer != done && !strings.HasSuffix(x.Answer, p.did+".") {
					t.Errorf("%q is checked by %+v", x.Answer, x.Checks)
				}
			}
			if said[true] == 0 || said[false] == 0 {
				t.Errorf("brief are %v", said)
			}
		}
	}
	if drawn["set"] == 0 || drawn["remove"] == 0 || drawn["insert"] == 0 || drawn["none"] > drawn["set"] {
		t.Errorf("told are %v", drawn)
	}
}

// Who asks which things were changed is answered by their names, with words about them or without; who names fewer, or
// everything that is there, fails. How many are left is what a database says.
func TestReports(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(2 * NumDomains()) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		for _, kind := range []string{SetAll, Remove} {
			p := Draw(rand.New(rand.NewPCG(seed, 4)), w, kind)
			if p == nil || p.then == nil {
				continue
			}
			seen[p.then.pattern]++
			last, _ := open(t, w).play(p)
			if p.then.pattern == "how_many_left" && strings.Join(last, "") != p.Result[0] {
				t.Errorf("%v are left, not %s", last, p.Result)
			}
			if p.then.Answer.Form != "told" {
				continue
			}
			names := p.then.Answer.Values
			all := ""
			for _, t := range w.Tables {
				all += enumerate(valueTexts(Query{Table: t, Column: max(t.Label, 0), Of: -1, Order: -1}.Run())) + ", "
			}
			for answer, want := range map[string]bool{enumerate(names): true,
				"Done: " + enumerate(names) + " are out.": true, names[0] + " and more": len(names) == 1,
				"Done.": false, all + all: false} {
				holds := true
				for _, c := range p.then.Answer.toldChecks() {
					holds = holds && c.Answer(answer)
				}
				if holds != want {
					t.Errorf("%q of %v: %v", answer, names, holds)
				}
			}
		}
	}
	for _, pattern := range []string{"which", "which_one", "how_many", "how_many_left"} {
		if seen[pattern] == 0 {
			t.Errorf("asked are %v", seen)
		}
	}
}
