package generate

import (
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// What a call changed can be asked for where two plays leave the same; where each leaves something else there is no
// task: only that the call was made could be checked, whatever it did.
func TestChangesThatDoNotStayAreNoTasks(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string // what the look answers after each play
		want          string // type of the check; "" where the candidate falls
	}{
		"the same":    {"drawn: the ace", "drawn: the ace", scenario.StateCheck},
		"another one": {"drawn: the ace", "drawn: a ten", ""},
	} {
		world := &realm{looks: []Call{{Tool: "table"}}, before: []stable{{equal: true, text: "nothing is drawn"}}}
		m := &maker{byName: map[string]*subject{"draw": {writes: true}}, worlds: []*realm{world}}
		play := func(seen string) *Played {
			return &Played{Results: []Answered{{trajectory.CallOK, "done"}},
				Seen: []Answered{{trajectory.CallOK, seen}}}
		}
		one := &Candidate{Kind: single, Calls: []Call{{Tool: "draw", Arguments: []byte(`{}`)}}}
		m.check(one, play(c.first), play(c.second))
		if fell := one.Why != ""; fell != (c.want == "") || describe(one.Checks) != c.want {
			t.Errorf("%s: checks %+v, fell for %q", name, one.Checks, one.Why)
		}
	}
}
