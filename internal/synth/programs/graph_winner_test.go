package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// One thing is told by a condition, an extreme or a comparison, and something of that one is the answer. The working
// names it, and what becomes of names in the form that is asked for.
func TestWinners(t *testing.T) {
	gt, r := partyGraph().Tables(), rand.New(rand.NewPCG(3, 3))
	n := map[string]int{}
	for range 1500 {
		g := gt.Draw(r, winners)
		if g == nil {
			continue
		}
		n[g.pattern]++
		text, winner := g.Working(), ""
		if _, rest, ok := strings.Cut(text, "So it is "); ok {
			winner, _, _ = strings.Cut(strings.TrimRight(strings.Split(rest, "\n")[0], "."), ":")
		}
		row := g.Tables[0].byKey(winner)
		if row == nil || winner != g.query.Table.rowName(g.query.sorted(g.query.Table.rows(g.query.Where))[0]) {
			t.Fatalf("%s: %q is told by %q", g.pattern, winner, text)
		}
		if strings.Contains(g.slots["asks"], winner) {
			t.Errorf("%q names %s", g.slots["asks"], winner)
		}
		for _, v := range g.Answer.Values {
			if !strings.Contains(text[strings.Index(text, "So it is "):], v) {
				t.Errorf("%q does not say %q", text, v)
			}
		}
		if len(g.relations) > 0 {
			n["relation"]++
		}
		if strings.Contains(text, "As asked: ") {
			n["form"]++
		}
		if g.slots["sort"] != "" {
			n["sorted"]++
			if !slices.IsSorted(g.Answer.Values) || !strings.HasSuffix(text, "orted: "+joinValues(g.Answer)) {
				t.Errorf("%v after %q", g.Answer.Values, text)
			}
		}
	}
	for _, what := range []string{"winner", "winner_two", "winner_one", "relation", "form", "sorted"} {
		if n[what] < 10 {
			t.Errorf("%d of %s: %v", n[what], what, n)
		}
	}
}

// Lines of names and values have the form that is asked for, in the order of the alphabet, and what they say is noted.
func TestListsOfValues(t *testing.T) {
	gt, r := partyGraph().Tables(), rand.New(rand.NewPCG(3, 4))
	n := 0
	for range 1500 {
		g := gt.Draw(r, chosen)
		if g == nil || g.pattern != "list_values" {
			continue
		}
		n++
		for _, line := range g.Answer.Values {
			as := strings.NewReplacer("name", "", g.slots["attr"], "").Replace(g.slots["v"])
			if !strings.Contains(line, strings.TrimRight(strings.Split(as, "(")[0], " )")) ||
				!slices.IsSorted(g.Answer.Values) {
				t.Errorf("%q as %q", g.Answer.Values, g.slots["v"])
			}
		}
		if len(g.Answer.Values) != len(g.query.Rows()) || !strings.Contains(g.Working(), "Hits: ") {
			t.Errorf("%q after %q", g.Answer.Values, g.Working())
		}
	}
	if n < 10 {
		t.Errorf("%d", n)
	}
}
