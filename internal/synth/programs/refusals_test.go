package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// What is to be refused or asked back is a tenth of all at most. A property that is not recorded is called as no column
// of the world is, and in an invented world as one of another business; who asks back is not told which thing, or which
// value, and repeats no question. Nothing of it changes anything.
func TestRefusals(t *testing.T) {
	refused, all := 0, 0
	for kind, n := range Shares() {
		if all += n; slices.Contains([]string{Unknown, AskBack, Cannot}, kind) {
			refused += n
		}
	}
	if 10*refused > all {
		t.Errorf("%d of %d", refused, all)
	}
	drawn, patterns := map[string]int{}, map[string]bool{}
	for seed := range uint64(60) {
		w := Invent(rand.New(rand.NewPCG(seed, 31)), int(seed)%NumDomains())
		for _, kind := range []string{Unknown, AskBack, Cannot} {
			p := Draw(rand.New(rand.NewPCG(seed, 32)), w, kind)
			if p == nil {
				continue
			}
			drawn[kind]++
			patterns[kind+" "+p.pattern] = true
			if p.Changes() || p.then != nil {
				t.Errorf("%s changes something: %+v", kind, p.Steps)
			}
			task := p.Word(rand.New(rand.NewPCG(seed, 33)), scenario.Train)
			switch {
			case kind == Unknown && len(p.Steps) == 0: // else it is a thing that is not there
				words := strings.Fields(strings.TrimPrefix(strings.Split(p.Answer.Values[0], " of ")[0], "The "))
				for _, table := range w.Tables {
					for _, c := range table.Columns {
						if c.caption() == strings.Join(words, " ") {
							t.Errorf("%s: %s is recorded", task.Task, c.Name)
						}
					}
				}
			case kind == AskBack:
				if strings.Contains(task.Task, "?") || !strings.HasSuffix(task.Answer, "?") {
					t.Errorf("%q: %q", task.Task, task.Answer)
				}
				of := strings.TrimSuffix(strings.TrimPrefix(task.Answer, "Which "), " do you mean?")
				if len(p.Answer.Among) > 0 { // TestSeveralFit has it
					continue
				}
				if of != task.Answer && !strings.Contains(task.Task, "the "+of) &&
					!strings.Contains(task.Task, "The "+of) {
					t.Errorf("%q does not speak of %q", task.Task, of)
				}
			case kind == Cannot && !strings.HasPrefix(task.Answer, "I can't do that: "):
				t.Errorf("%q: %q", task.Task, task.Answer)
			}
		}
	}
	for kind, least := range map[string]int{Unknown: 50, AskBack: 50, Cannot: 50} {
		n := 0
		for pattern := range patterns {
			if strings.HasPrefix(pattern, kind+" ") {
				n++
			}
		}
		if drawn[kind] < least || n < 5 {
			t.Errorf("%s: %d were drawn, of %d patterns", kind, drawn[kind], n)
		}
	}
}

// What stands in another place is said with the place, and words of a place are said where all can be done, too.
func TestPlaces(t *testing.T) {
	w, elsewhere, here := kennel(), 0, 0
	says := func(task string) bool {
		return slices.ContainsFunc(manners()["place"][scenario.Train], func(place string) bool {
			return strings.Contains(task, place)
		})
	}
	for seed := range uint64(200) {
		d := &drawer{r: rand.New(rand.NewPCG(seed, 34)), w: w}
		if p := d.elsewhere(); p != nil {
			task := p.Word(d.r, scenario.Train).Task
			if elsewhere++; !says(task) || strings.Contains(task, "{") {
				t.Errorf("no place: %s", task)
			}
		}
		if p := Draw(d.r, w, Count); p != nil && says(p.Word(d.r, scenario.Train).Task) {
			here++
		}
	}
	if elsewhere < 80 || here < 10 {
		t.Errorf("%d in other places, %d here", elsewhere, here)
	}
}
