package programs

import (
	"slices"
	"strings"
	"testing"
)

// What is computed of groups and over three tables is what a database answers.
func TestGroupsAgreeWithADatabase(t *testing.T) {
	seen := map[string]int{}
	for name, way := range map[string]func(*drawer) *Program{
		"mostBy": (*drawer).mostBy, "across": (*drawer).across, "joinTwo": (*drawer).joinTwo, "countTwo": (*drawer).countTwo,
		"room": (*drawer).room, "countEach": (*drawer).countEach,
	} {
		drawnBy(t, 4, way, func(p *Program, _ *World, o opened) {
			seen[p.pattern]++
			got := o.ask(p.Steps[len(p.Steps)-1].SQL)
			if p.Answer.Form == "list" {
				slices.Sort(got)
				p.Result = slices.Sorted(slices.Values(p.Result))
			}
			if !slices.Equal(got, p.Result) || len(p.Result) == 0 {
				t.Errorf("%s: computed %q, the database says %q: %+v", name, p.Result, got, p.Steps)
			}
			if n := len(p.Tables); (name == "across" || name == "joinTwo" || name == "countTwo") && n != 3 {
				t.Errorf("%s: %d tables", name, n)
			}
		})
	}
	for _, pattern := range strings.Fields("most_by most_by_sum across join count list count_of_each room_left") {
		if seen[pattern] == 0 {
			t.Errorf("no %s is drawn: %v", pattern, seen)
		}
	}
}

// Figures of all groups stand in the order of the alphabet and in the form that the request states.
func TestCountEach(t *testing.T) {
	drawnBy(t, 40, (*drawer).countEach, func(p *Program, _ *World, _ opened) {
		var said []string
		for k := 0; k < len(p.Result); k += 2 {
			one := strings.NewReplacer("NAME", p.Result[k], "NUMBER", p.Result[k+1])
			form := p.slots["given"]
			for _, between := range []string{"; ", ", ", " / "} {
				if first, _, ok := strings.Cut(form, between); ok {
					form = first
				}
			}
			said = append(said, one.Replace(form))
		}
		got := p.Answer.Values[0]
		for _, text := range said {
			if !strings.Contains(got, text) {
				t.Errorf("%q has no %q", got, text)
			}
			got = got[strings.Index(got, text)+len(text):]
		}
		if got != "" || p.Answer.Form != "lines" {
			t.Errorf("%q is left of %q", got, p.Answer.Values)
		}
	})
}
