package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A new thing is called as things of its kind are, and a person who is renamed keeps the first name.
func TestNewNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for noun, x := range map[string]struct {
		like string
		want bool // a name of one word is known
	}{
		"category": {"Toys", true}, "city": {"Evora", true}, "ingredient": {"butter", true}, "pet": {"Fido", true},
		"ward": {"Emergency", true}, "courier": {"Ramos", true}, "machine": {"Drill", false}, "person": {"Bo", true},
	} {
		for range 20 {
			name := newWord(r, &Table{One: noun, Label: -1}, x.like)
			ofPerson := slices.Contains(firstNames(), name) || slices.Contains(lastNames(), name)
			if (name != "") != x.want || ofPerson != (noun == "courier" || noun == "person") {
				t.Errorf("a %s like %s is called %q", noun, x.like, name)
			}
		}
	}
	for name, want := range map[string]bool{"Chapel of Bones": true, "Tile Museum": false, "rye loaf": false} {
		if hasSmall(strings.Fields(name)) != want {
			t.Errorf("%s has small words: %v", name, !want)
		}
	}
	gt, renamed := partyGraph().Tables(), 0
	for range 200 {
		g := gt.Draw(r, rename)
		if g == nil || g.pattern != "rename" || gt.Graph.Thing(g.slots["x"]).Type != "person" {
			continue
		}
		renamed++
		if first, _, _ := strings.Cut(g.slots["x"], " "); !strings.HasPrefix(g.slots["v"], first+" ") {
			t.Errorf("%s is renamed to %s", g.slots["x"], g.slots["v"])
		}
	}
	if renamed < 10 {
		t.Errorf("%d persons are renamed", renamed)
	}
}
