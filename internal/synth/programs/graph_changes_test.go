package programs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A day or a time moves by what is said, across the end of a month too, and its working says so.
func TestShifts(t *testing.T) {
	graph := partyGraph()
	graph.Things[6].Notes = []string{"date 2026-04-28", "starts at 18:30", "doors: 17:50", "born 1990-01-01"}
	gt, r := graph.Tables(), rand.New(rand.NewPCG(3, 1))
	months, times := 0, 0
	for range 400 {
		g := gt.Draw(r, shifts)
		if g == nil {
			continue
		}
		old, now := g.Edits[0].Thing.Notes[0], g.Edits[1].Thing.Notes[0]
		text := g.Working()
		if strings.HasPrefix(old, "date ") {
			from, _ := time.Parse(time.DateOnly, old[5:])
			to, err := time.Parse(time.DateOnly, now[5:])
			later := strings.HasSuffix(g.slots["v"], "later") || strings.HasSuffix(g.slots["v"], "further on")
			if err != nil || to.After(from) != later || !strings.HasSuffix(text, now[5:]) {
				t.Errorf("%q becomes %q by %q: %q", old, now, g.slots["v"], text)
			}
			if strings.Contains(g.slots["v"], "week") && to.Sub(from).Abs().Hours() < 24*7 {
				t.Errorf("%q becomes %q by %q", old, now, g.slots["v"])
			}
			if from.Month() != to.Month() {
				months++
			}
		} else {
			times++
			if old[:6] != now[:6] || len(old) != len(now) || !strings.HasSuffix(text, now[len(now)-5:]) {
				t.Errorf("%q becomes %q: %q", old, now, text)
			}
		}
		if strings.HasPrefix(old, "born") {
			t.Errorf("%q is moved", old)
		}
	}
	if months < 20 || times < 20 {
		t.Errorf("%d cross the end of a month, %d are times", months, times)
	}
}

// No request gives a thing a second one of what each has once: a second site to be based in.
func TestNothingIsCrowded(t *testing.T) {
	graph := smallGraph()
	with := func(from, to, kind string) Graph {
		after := graph.Clone()
		after.Relations = append(after.Relations, Relation{from, to, kind})
		return after
	}
	for _, x := range []struct {
		after Graph
		want  bool
	}{
		{with("Cy Park", "Mill", "based_in"), true}, {with("Cy Park", "Barn", "mentors"), false},
		{with("Bo Lind", "Cy Park", "borrowed"), false}, {graph, false},
	} {
		if got := graph.crowds(x.after); got != x.want {
			t.Errorf("%v crowd: %v", x.after.Relations[len(x.after.Relations)-1], got)
		}
	}
	drawn := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 12))
		gt := Invent(r, int(seed)).Graph(r).Tables()
		for _, kind := range []string{relink, tied, newTied, ensure, linkLike} {
			for range 5 {
				if g := gt.Draw(r, kind); g != nil {
					drawn++
					if after, _ := gt.Graph.Apply(g.Edits); gt.Graph.crowds(after) {
						t.Errorf("%s: %+v", g.pattern, g.Edits)
					}
				}
			}
		}
	}
	if drawn < 50 {
		t.Errorf("%d are drawn", drawn)
	}
}

// A note is told by a word that no other note of its thing has, or by its property.
func TestSenses(t *testing.T) {
	thing := &Thing{Name: "Mill", Notes: []string{"printer broken since January", "pays within 14 days", "rent 1200",
		"bike storage in the basement", "spare room, warm", "speaks Dutch", "spare key at home"}}
	graph := smallGraph()
	gt := graph.Tables()
	for text, want := range map[string]string{"printer broken since January": "the printer", "rent 1200": "the rent",
		"pays within 14 days": "", "bike storage in the basement": "the bike storage", "spare room, warm": "the room",
		"speaks Dutch": "", "spare key at home": "the key"} {
		if got := gt.sense(thing, text); got != want {
			t.Errorf("%q is about %q, want %q", text, got, want)
		}
	}
	if got := gt.sense(&gt.Graph.Things[0], "level senior"); got != "the level" {
		t.Errorf("a value of a property is told as %q", got)
	}
	if got := gt.sense(&Thing{Name: "Bo", Type: "person", Notes: []string{"certified first aider"}},
		"certified first aider"); got != "" {
		t.Errorf("what somebody is, is told as %q", got)
	}
}

// What is made as its peers are has notes of their form and the relation that all have, also where nobody says it.
func TestLikeOthers(t *testing.T) {
	graph := partyGraph()
	for _, site := range []string{"Mill", "Quay", "Barn"} {
		graph.Relations = append(graph.Relations, Relation{site, "Spring fair", "part_of"})
	}
	gt, r, seen := graph.Tables(), rand.New(rand.NewPCG(8, 1)), map[string]int{}
	for range 300 {
		g := gt.Draw(r, likeMade)
		if g == nil {
			continue
		}
		seen[g.pattern]++
		made := g.Edits[0].Thing
		if len(g.Edits) != 2 || made.Type != "site" || !strings.HasPrefix(made.Notes[0], "rent ") ||
			g.Edits[1].Relation != (Relation{made.Name, "Spring fair", "part_of"}) {
			t.Fatalf("%+v", g.Edits)
		}
		if task := g.Word(r, "train").Task; strings.Contains(task, "fair") || !strings.Contains(task, made.Notes[0]) {
			t.Errorf("%q says what the others show", task)
		}
		if g.pattern == "like_one" && g.Says(g.Named[0]) != g.slots["y"] {
			t.Errorf("%v is looked for, not %s", g.Named, g.slots["y"])
		}
	}
	if seen["like_one"] < 20 || seen["like_peers"] < 20 {
		t.Errorf("%v", seen)
	}
}

// Two relations in a row have one thing in the middle, all of the ends are the answer, and each is stated.
func TestChains(t *testing.T) {
	gt, r, n := partyGraph().Tables(), rand.New(rand.NewPCG(8, 2)), 0
	verdicts := map[string]int{}
	for range 300 {
		g := gt.Draw(r, chains)
		if g == nil {
			continue
		}
		n++
		text := g.Working()
		if g.Kind == YesNo {
			verdict := strings.ToLower(g.Answer.Values[0])
			verdicts[verdict]++
			at := strings.LastIndexByte(text, '\n')
			said, ok := strings.CutSuffix(text[at+1:], ": "+verdict)
			if !ok || strings.Contains(text[:at], said) != (verdict == "yes") {
				t.Errorf("%s by %q", verdict, text)
			}
		} else if strings.Count(text, "\n") != len(g.Answer.Values) {
			t.Errorf("%q by %q", g.Answer.Values, text)
		}
		if len(g.Named) != 1 || len(g.Members) != 1 || !strings.Contains(g.Opens, g.Members[0]) {
			t.Errorf("%v by %v: %q", g.Named, g.Members, g.Opens)
		}
		if strings.Contains(g.slots["asks"], g.Members[0]) {
			t.Errorf("%q names the one in the middle", g.slots["asks"])
		}
	}
	if n < 100 || verdicts["yes"] < 10 || verdicts["no"] < 10 {
		t.Errorf("%d were drawn, with verdicts %v", n, verdicts)
	}
}

// Each of a type has its number, and places are what is noted without those who take one.
func TestNumbersOfMembers(t *testing.T) {
	graph := partyGraph()
	graph.Things = append(graph.Things, Thing{"Autumn fair", "event", []string{"room for 6 people"}})
	graph.Things[3].Notes = append(graph.Things[3].Notes, "5 desks")
	gt, r, seen := graph.Tables(), rand.New(rand.NewPCG(8, 3)), map[string]int{}
	for range 300 {
		if g := gt.Draw(r, pick(r, []string{perGroup, placesLeft})); g != nil {
			seen[g.slots["one"]+g.slots["x"]+" "+g.Answer.Values[0]]++
		}
	}
	for _, want := range []string{"Spring fair 1", "Mill 3"} {
		if seen[want] == 0 {
			t.Errorf("no %s: %v", want, seen)
		}
	}
	for got := range seen {
		if strings.HasPrefix(got, "event") && !strings.Contains(got, "Autumn fair") ||
			strings.Contains(got, "Autumn fair=") && !strings.HasSuffix(got, "Autumn fair=0, Spring fair=3") {
			t.Errorf("%s", got)
		}
	}
}

// A price of one thing is taken times a number of another that it is linked with, which the request does not name; of
// two things both products are reckoned and added.
func TestProductsOverALink(t *testing.T) {
	graph := partyGraph()
	for i, name := range []string{"Inn", "Lodge", "Hut"} {
		price := []string{"90.5", "60", "45"}[i] + " euros a night"
		graph.Things = append(graph.Things, Thing{name, "hotel", []string{price}})
		graph.Relations = append(graph.Relations, Relation{name, []string{"Rome", "Bari", "Lecce"}[i], "located_in"})
	}
	for i, name := range []string{"Rome", "Bari", "Lecce"} {
		graph.Things = append(graph.Things, Thing{name, "city", []string{fmt.Sprintf("nights: %d", i+2)}})
	}
	gt, r, seen := graph.Tables(), rand.New(rand.NewPCG(8, 5)), map[string]string{}
	sums := 0
	for range 200 {
		if g := gt.Draw(r, linkProduct); g != nil {
			if len(g.Named) == 2 {
				sums++
				if text := g.Working(); strings.Count(text, " x ") != 2 || strings.Count(text, " + ") != 1 ||
					!strings.HasSuffix(text, " = "+g.Answer.Values[0]) || !strings.Contains(text, " nights x ") {
					t.Errorf("%q: %q", g.slots["asks"], text)
				}
				continue
			}
			seen[g.Named[0]] = g.Members[0] + " " + g.Answer.Values[0]
			if strings.Contains(g.slots["asks"], g.Members[0]) ||
				!strings.HasSuffix(g.Working(), "= "+g.Answer.Values[0]) {
				t.Errorf("%q: %q", g.slots["asks"], g.Working())
			}
		}
	}
	want := map[string]string{"Inn": "Rome 181", "Lodge": "Bari 180", "Hut": "Lecce 180"}
	if !maps.Equal(seen, want) || sums < 20 {
		t.Errorf("%v, want %v, and %d sums", seen, want, sums)
	}
}

// What is said to stay is no part of the change, and nobody looks for it.
func TestKeeps(t *testing.T) {
	gt, r, n := partyGraph().Tables(), rand.New(rand.NewPCG(8, 4)), 0
	for range 400 {
		g := gt.Draw(r, pick(r, []string{noteOne, senses, Set}))
		if g == nil || g.slots["keep"] == "" {
			continue
		}
		n++
		other := g.slots["keep"]
		if slices.Contains(g.Named, other) || gt.Graph.Thing(other).Type != gt.Graph.Thing(g.Named[0]).Type ||
			slices.ContainsFunc(g.Edits, func(e Edit) bool { return e.Thing.Name == other }) ||
			!strings.Contains(g.Word(r, "train").Task, other) {
			t.Errorf("%s stays, %v and %v change", other, g.Named, g.Edits)
		}
	}
	if n < 20 {
		t.Errorf("%d were drawn", n)
	}
}

// What is to be forgotten goes as a whole, is named, at times by what it is, and is what a search for that finds.
func TestForget(t *testing.T) {
	graph := smallGraph()
	graph.Things = append(graph.Things, Thing{"Mochi", "pet", []string{"grey tabby cat", "eats only dry food"}},
		Thing{"Biscuit", "pet", []string{"old beagle", "bought in 2020"}})
	gt, r := graph.Tables(), rand.New(rand.NewPCG(4, 4))
	nouns := map[string]bool{}
	for range 300 {
		g := gt.Draw(r, forget)
		if g == nil {
			continue
		}
		name := g.Named[0]
		if len(g.Edits) != 1 || g.Edits[0].Do != RemoveThing || g.Edits[0].Thing.Name != name {
			t.Fatalf("%v", g.Edits)
		}
		says := g.Says(name)
		if text := g.Word(r, "train").Task; !mentions(says)(text) || len(gt.Graph.Saying(says)) == 0 {
			t.Errorf("%q says %q of %s", text, says, name)
		}
		if strings.HasPrefix(g.slots["x"], "the ") {
			nouns[says] = true
		}
		if plan := g.TakePlan(); plan != "goes as a whole: "+name {
			t.Errorf("the plan is %q", plan)
		}
	}
	for _, noun := range []string{"cat", "beagle"} {
		if !nouns[noun] {
			t.Errorf("nothing is called the %s: %v", noun, nouns)
		}
	}
	if nouns["food"] {
		t.Error("what is eaten names who eats it")
	}
}

// Another spelling differs from the name in a letter or two, and is no other's.
func TestRespelt(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, name := range []string{"Helen Marsh", "Nora Lindqvist", "Summer house"} {
		for range 20 {
			got := respelt(r, name)
			if got == name || got == "" || len(got) < len(name)-1 || len(got) > len(name)+1 || got[0] != name[0] {
				t.Errorf("%s is spelt %q", name, got)
			}
		}
	}
	if got := respelt(r, "SO-225"); got != "" {
		t.Errorf("a code is spelt %q", got)
	}
	gt := smallGraph().Tables()
	got := map[string]int{}
	for range 200 {
		if g := gt.Draw(r, rename); g != nil {
			got[g.pattern]++
		}
	}
	if got["rename"] < 10 || got["respell"] < 10 {
		t.Error(got)
	}
}
