package generate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

// A task is asked behind a question of its split, whose calls are not made again and whose answer is said between.
func TestFollowUps(t *testing.T) {
	yes := "yes"
	gold := func(calls ...string) (list []scenario.Gold) {
		for _, c := range calls {
			list = append(list, scenario.Gold{Name: c, Arguments: json.RawMessage("{}")})
		}
		return list
	}
	made := func(kind, split string, calls []scenario.Gold, checks ...scenario.Check) scenario.Scenario {
		return scenario.Scenario{ID: "a-" + kind + "-1", Task: kind + "?", Split: split, Gold: calls, GoldAnswer: yes,
			Checks: checks, Provenance: &scenario.Provenance{Kind: kind, Tools: map[string]string{kind: "h"}}}
	}
	answer, state := scenario.Check{Type: scenario.AnswerCheck, Equals: &yes}, scenario.Check{Type: scenario.StateCheck}
	m := &maker{byName: map[string]*subject{}}
	for _, name := range []string{"list", "look", "write"} {
		m.byName[name] = &subject{Tool: Tool{Tool: chat.Tool{Name: name}, ReadOnly: name != "write"}}
	}
	ask := made("ask", scenario.Train, gold("list", "look"), answer)
	do := made("do", scenario.Train, gold("list", "write"), state)
	for name, x := range map[string]struct {
		first, then scenario.Scenario
		want        bool
	}{
		"a change behind a question":    {ask, do, true},
		"a change behind a change":      {do, made("do", scenario.Train, gold("look", "write"), state), false},
		"of another split":              {made("ask", scenario.Test, gold("list", "look"), answer), do, false},
		"of which all is known":         {ask, made("again", scenario.Train, gold("look", "list"), answer), false},
		"behind what is asked back":     {made("ask_back", scenario.Train, gold("list"), answer), do, false},
		"behind a change and its state": {made("both", scenario.Train, gold("list", "write"), answer, state), do, false},
	} {
		got := 0
		for seed := range uint64(400) {
			out := m.followUps(rand.New(rand.NewPCG(seed, 1)), []scenario.Scenario{x.first, x.then})
			if len(out) != 2 || out[0].User != nil {
				t.Fatalf("%s: %+v", name, out)
			}
			if s := out[1]; s.User != nil {
				got++
				if s.ID != "follow-up-1" || s.Task != "" || s.User.Says[0] != "ask?" ||
					!strings.HasSuffix(s.User.Says[1], "do?") || s.Provenance.Kind != followUp ||
					len(s.Provenance.Tools) != 2 || len(s.Checks) != 2 || !s.Checks[0].AnyTurn || s.Checks[1].AnyTurn ||
					!slices.EqualFunc(s.Gold, gold("list", "look", "write"), func(a, b scenario.Gold) bool {
						return a.Name == b.Name && (a.Asks == yes) == (a.Name == "write")
					}) {
					t.Fatalf("%s: %+v", name, s)
				}
			}
		}
		if (got > 0) != x.want {
			t.Errorf("%s: %d of 400", name, got)
		}
	}
}
