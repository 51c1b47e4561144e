package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Before a question back the things are named among which the request does not choose, and those are looked at.
func TestQuestionsBackNameWhatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	gt := smallGraph().Tables()
	which, what := 0, 0
	for range 300 {
		p := gt.Draw(r, AskBack)
		if p == nil || p.then != nil {
			continue
		}
		text := p.Working()
		switch {
		case strings.HasPrefix(p.Answer.Values[0], "Which "):
			if which++; len(p.Types) != 1 || !strings.Contains(p.Answer.Values[0], p.Types[0]) {
				t.Fatalf("%v is looked at before %q", p.Types, p.Answer.Values)
			}
			for _, x := range gt.Graph.Things {
				if (x.Type == p.Types[0]) != strings.Contains(text, x.Name) {
					t.Errorf("%q before %q", text, p.Answer.Values)
				}
			}
		case p.pattern == "set_nothing":
			if what++; !strings.Contains(text, "neither the request nor a note says") {
				t.Errorf("%q before %q", text, p.Answer.Values)
			}
		}
	}
	if which < 20 || what < 5 {
		t.Errorf("%d questions which is meant, %d what it is to be", which, what)
	}
}

// What is named by what is noted of it alone is found among all of its kind, and the working says why it is that one.
func TestNamedByWhatItIsLike(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	gt := smallGraph().Tables()
	n := 0
	for range 400 {
		p := gt.Draw(r, pick(r, []string{Lookup, Set, Adjust}))
		if p == nil || p.picked == nil {
			continue
		}
		said := strings.TrimPrefix(p.slots["x"], "the ")
		name := p.means[said]
		text := p.Working()
		if n++; len(p.Types) == 0 || p.Types[0] != gt.Graph.Thing(name).Type ||
			strings.Count(text, " - hit") != 1 || !strings.Contains(text, " - no hit") {
			t.Errorf("%q is %s: %v, %q", said, name, p.Types, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasSuffix(strings.TrimSpace(line), " - hit") && !strings.HasPrefix(line, name+":") {
				t.Errorf("%q is %s, and %q", said, name, line)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d are named so", n)
	}
}

// A change that hangs on a condition quotes what the condition asks for, and says whether it holds.
func TestConditionsAreQuoted(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	gt := smallGraph().Tables()
	seen := map[string]int{}
	for range 600 {
		p := gt.Draw(r, ActIf)
		if p == nil || p.then != nil {
			continue
		}
		text, yes := p.Working(), len(p.Edits) > 0
		switch p.pattern {
		case "set_if", "set_when":
			if strings.HasSuffix(text, ": yes") != yes || strings.HasSuffix(text, ": no") == yes {
				t.Errorf("%s with %d edits: %q", p.pattern, len(p.Edits), text)
			}
		case "add_unless":
			if strings.HasSuffix(text, " is not there yet") != yes {
				t.Errorf("%s with %d edits: %q", p.pattern, len(p.Edits), text)
			}
		default:
			continue
		}
		seen[p.pattern]++
	}
	for _, pattern := range []string{"set_if", "set_when", "add_unless"} {
		if seen[pattern] < 5 {
			t.Errorf("%d of %s", seen[pattern], pattern)
		}
	}
	for range 60 {
		if p := gt.Draw(r, Compare); p != nil && p.pattern == "compare" {
			if text := p.Working(); !strings.Contains(text, " > ") && !strings.Contains(text, " < ") {
				t.Errorf("two are compared by %q", text)
			}
			seen["compare"]++
		}
	}
	if seen["compare"] < 5 {
		t.Errorf("%d comparisons", seen["compare"])
	}
}

// A note that is not there leaves open whether it is so, unless another one says otherwise.
func TestMissingNotesAreNoNo(t *testing.T) {
	graph := smallGraph()
	graph.Things[0].Notes = append(graph.Things[0].Notes, "speaks Greek")
	graph.Things[2].Notes = []string{"joined 2021", "speaks Greek"}
	gt := graph.Tables()
	r, open, no := rand.New(rand.NewPCG(5, 5)), 0, 0
	for range 600 {
		g := gt.Draw(r, Lookup)
		if g == nil || !strings.HasPrefix(g.slots["asks"], "Does ") || g.picked != nil || g.then != nil {
			continue
		}
		name := g.Named[0]
		if meant := g.means[strings.TrimPrefix(g.slots["x"], "the ")]; meant != "" {
			name = meant
		}
		speaks := slices.ContainsFunc(gt.Graph.Thing(name).Notes, func(n string) bool {
			return strings.HasPrefix(n, "speaks ")
		})
		switch {
		case g.Answer.Form == "unknown":
			if open++; speaks {
				t.Errorf("%q is left open for %s", g.slots["asks"], g.Named[0])
			}
		case g.Answer.Values[0] == "No":
			if no++; !speaks {
				t.Errorf("%q is denied for %s", g.slots["asks"], g.Named[0])
			}
		}
	}
	if open < 5 || no < 5 {
		t.Errorf("%d are left open, %d denied", open, no)
	}
}

// What no tool can do is told to people who are there, and asked of the world outside: nothing is looked at.
func TestCannotsOfAGraph(t *testing.T) {
	gt, r, seen := smallGraph().Tables(), rand.New(rand.NewPCG(2, 3)), map[string]int{}
	for range 300 {
		if g := gt.Draw(r, Cannot); g != nil && g.then == nil {
			if g.slots["to"] != "" {
				seen["to"]++
			}
			if seen[g.pattern]++; len(g.Named)+len(g.Types)+len(g.Edits) > 0 {
				t.Errorf("%q looks at %v", g.slots, g.Named)
			}
		}
	}
	if seen["to"] < 30 || seen["asks"] < 20 || len(seen) < 5 {
		t.Errorf("%v", seen)
	}
}

// A day that takes the place of another is one of the calendar.
func TestLikeDays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		for layout, value := range map[string]string{"2006-01-02": "1982-11-30", "2006-01": "2026-10"} {
			got := likeValue(r, value)
			if _, err := time.Parse(layout, got); err != nil || got == value {
				t.Errorf("%s for %s", got, value)
			}
		}
	}
	if got := likeValue(r, "555-0188"); len(got) != 8 || got[:7] != "555-018" {
		t.Errorf("%s is no number of the same form", got)
	}
}

// What is asked for in vain is not there: no such thing nor one that might be meant, no such note nor one like it.
func TestWhatIsNotNoted(t *testing.T) {
	gt := smallGraph().Tables()
	things, notes := 0, 0
	for seed := range uint64(600) {
		d := &drawer{r: rand.New(rand.NewPCG(seed, 9)), w: gt.World}
		p := gt.unnoted(d)
		switch {
		case p == nil:
		case len(p.Named) == 1:
			name, note := p.Named[0], p.slots["v"]
			if notes++; p.pattern == "note_replace" {
				note = p.slots["old"]
			}
			if slices.Contains(gt.Graph.Thing(name).Notes, note) || len(gt.near(name, note)) > 0 {
				t.Errorf("%q is noted of %s", note, name)
			}
		default:
			if things++; gt.Graph.Thing(p.slots["x"]) != nil || d.mayBeMeant(p.slots["x"]) || p.pattern == "append" {
				t.Errorf("%s: %s may be meant", p.pattern, p.slots["x"])
			}
		}
	}
	if things < 20 || notes < 20 {
		t.Errorf("%d things, %d notes", things, notes)
	}
}

// A note is no property that has a value, in the second of two requests neither.
func TestNotesHaveNoValue(t *testing.T) {
	gt := smallGraph().Tables()
	for _, table := range gt.World.Tables {
		for _, c := range table.Columns {
			p := &Program{slots: map[string]string{}, then: &Program{slots: map[string]string{"attr": c.caption()}}}
			if gt.setsNote(p) != c.Note {
				t.Errorf("%s of %s: %v", c.caption(), table.Name, c.Note)
			}
		}
	}
}
