package access

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// Scenarios of a step share one list with all their gold tools and the best matches of each task; those whose gold
// tools do not fit beside the others' share another. It depends on nothing but the seed and who shares.
func TestToolsOfScenariosTogether(t *testing.T) {
	tools := many(200)
	asked := func(i int, gold ...int) Asked {
		a := Asked{ID: fmt.Sprint("s", i), Task: fmt.Sprintf("do it to thing%d", 100+i)}
		for _, g := range gold {
			a.Gold = append(a.Gold, fmt.Sprint("tool", g))
		}
		return a
	}
	s := NewSelector(tools, SelectorOptions{Max: 12, Distractors: 4, Seed: 7})
	list := []Asked{asked(0, 1, 2, 3), asked(1, 3, 4, 5), asked(2, 6, 7, 8, 9), asked(3, 1, 5, 6)}
	got, err := s.Together(list)
	if err != nil {
		t.Fatal(err)
	}
	// The first, second and last need tools 1 to 6, of eight places; the third would make it nine.
	if !reflect.DeepEqual(got[0], got[1]) || !reflect.DeepEqual(got[0], got[3]) || reflect.DeepEqual(got[0], got[2]) {
		t.Errorf("lists: %v", [][]string{namesIn(got[0]), namesIn(got[1]), namesIn(got[2]), namesIn(got[3])})
	}
	for i, a := range list {
		names := namesIn(got[i])
		if len(names) != 12 {
			t.Errorf("%s is shown %d tools", a.ID, len(names))
		}
		for _, name := range a.Gold {
			if !slices.Contains(names, name) {
				t.Errorf("%s is not shown %s", a.ID, name)
			}
		}
	}
	// Two places are left beside gold tools and distractors: for the first two tasks.
	for name, want := range map[string]bool{"tool100": true, "tool101": true, "tool103": false} {
		if slices.Contains(namesIn(got[0]), name) != want {
			t.Errorf("%s: want it shown: %t, of %v", name, want, namesIn(got[0]))
		}
	}
	again, err := NewSelector(tools, SelectorOptions{Max: 12, Distractors: 4, Seed: 7}).Together(list)
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("another time: %v, %v", again, err)
	}
	other, err := NewSelector(tools, SelectorOptions{Max: 12, Distractors: 4, Seed: 8}).Together(list)
	if err != nil || reflect.DeepEqual(other, got) {
		t.Errorf("another seed draws the same: %v", err)
	}
	alone, err := s.Together(list[:1])
	if err != nil {
		t.Fatal(err)
	}
	if one, err := s.Select(list[0].ID, list[0].Task, list[0].Gold); err != nil || !reflect.DeepEqual(alone[0], one) {
		t.Errorf("who shares with nobody has %v, want %v, %v", namesIn(alone[0]), namesIn(one), err)
	}
	if _, err := s.Together([]Asked{asked(0, 1), {ID: "x", Gold: []string{"nonsense"}}}); err == nil {
		t.Error("an unknown gold tool is passed over")
	}
	// More than fits at all: a list of its own, longer than Max.
	var many []int
	for i := range 20 {
		many = append(many, i)
	}
	if got, err := s.Together([]Asked{asked(0, many...), asked(1, 1)}); err != nil || len(got[0]) != 20 ||
		len(got[1]) != 12 {
		t.Errorf("%d and %d tools, %v", len(got[0]), len(got[1]), err)
	}
}

// A twin is hidden from those who share, unless one of them needs it; where both are needed both are shown.
func TestTwinsOfScenariosTogether(t *testing.T) {
	tools := many(30)
	s := NewSelector(tools, SelectorOptions{Max: 10, Distractors: 2, Twins: map[string]string{"tool1": "tool2"}})
	for _, c := range []struct {
		gold  [2][]string
		shown map[string]bool
	}{
		{[2][]string{{"tool2"}, {"tool5"}}, map[string]bool{"tool1": false, "tool2": true}},
		{[2][]string{{"tool1"}, {"tool5"}}, map[string]bool{"tool1": true, "tool2": false}},
		{[2][]string{{"tool1"}, {"tool2"}}, map[string]bool{"tool1": true, "tool2": true}},
	} {
		got, err := s.Together([]Asked{{ID: "a", Task: "thing1 thing2", Gold: c.gold[0]}, {ID: "b", Gold: c.gold[1]}})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range c.shown {
			if slices.Contains(namesIn(got[1]), name) != want {
				t.Errorf("%v: %s shown: %t", c.gold, name, !want)
			}
		}
	}
}
