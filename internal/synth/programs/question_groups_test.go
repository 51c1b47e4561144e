package programs

import (
	"math/rand/v2"
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

// Room is a number of a thing less what refers to it: some is left, none, or less than that.
func TestRoom(t *testing.T) {
	w := liveTables("clubs", `[{"id":1,"name":"Chess","capacity":2},{"id":2,"name":"Rowing","capacity":1},
		{"id":3,"name":"Choir","capacity":5},{"id":4,"name":"Drama","capacity":1}]`,
		"members", `[{"id":1,"name":"Ana Lund","club_id":1},{"id":2,"name":"Ben Roy","club_id":1},
		{"id":3,"name":"Cai Ito","club_id":2},{"id":4,"name":"Di Ott","club_id":2},{"id":5,"name":"Eva Sand","club_id":3}]`)
	want := map[string]string{"room_some": "Choir Drama", "room_none": "Chess Rowing", "room_over": "Rowing"}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		p := (&drawer{r: rand.New(rand.NewPCG(seed, 5)), w: w}).room()
		if p == nil {
			continue
		}
		seen[p.pattern] = true
		o := open(t, w)
		got := o.ask(p.Steps[len(p.Steps)-1].SQL)
		if names, is := want[p.pattern]; !slices.Equal(got, p.Result) || is && strings.Join(got, " ") != names {
			t.Fatalf("%s: computed %q, the database says %q", p.pattern, p.Result, got)
		}
	}
	if len(seen) != 4 {
		t.Errorf("drawn are %v", seen)
	}
}

// Programs that go farther than one table are drawn with the others.
func TestFarther(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := Invent(r, int(seed)%NumDomains())
		for _, kind := range []string{Adjust, Most, Total, ActIf} {
			if p := Draw(r, w, kind); p != nil {
				seen[p.pattern]++
			}
		}
	}
	for _, pattern := range strings.Fields("raise_lower most_by count_of_each add_if_none set_when_of") {
		if seen[pattern] == 0 {
			t.Errorf("no %s is drawn: %v", pattern, seen)
		}
	}
}
