package programs

import (
	"cmp"
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
	for kind, n := range DatabaseShares() {
		if all += n; slices.Contains([]string{Unknown, AskBack, Cannot}, kind) {
			refused += n
		}
	}
	if 10*refused > all {
		t.Errorf("%d of %d", refused, all)
	}
	drawn, patterns, behind := map[string]int{}, map[string]bool{}, 0
	for seed := range uint64(60) {
		w := Invent(rand.New(rand.NewPCG(seed, 31)), int(seed)%NumDomains())
		for _, kind := range []string{Unknown, AskBack, Cannot} {
			p := Draw(rand.New(rand.NewPCG(seed, 32)), w, kind)
			if p == nil {
				continue
			}
			drawn[kind]++
			patterns[kind+" "+p.pattern] = true
			refused := cmp.Or(p.then, p)
			if refused.Changes() || p.Changes() && kind == AskBack || refused.then != nil {
				t.Errorf("%s changes something: %+v", kind, p.Steps)
			}
			task := p.Word(rand.New(rand.NewPCG(seed, 33)), scenario.Train)
			if p.then != nil {
				if behind++; !strings.HasPrefix(task.Answer, refused.Answer.Values[0]) == p.Changes() {
					t.Errorf("%q: %q", task.Task, task.Answer)
				}
			}
			for _, c := range task.Checks {
				if why := c.AnswerUnmet(task.Answer); why != "" {
					t.Errorf("%q: %q: %s", task.Task, task.Answer, why)
				}
			}
			if said := strings.Join(p.Answer.Values, ", "); p.then != nil && !p.Changes() &&
				!slices.ContainsFunc(task.Checks, func(c scenario.Check) bool { return !c.Answer(said) }) {
				t.Errorf("%q: who answers one of two passes", task.Task)
			}
			switch {
			case kind == Unknown && len(refused.Steps) == 0: // else it is a thing that is not there
				words := strings.Fields(strings.TrimPrefix(strings.Split(refused.Answer.Values[0], " of ")[0], "The "))
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
				asks := refused.Answer.Values[0]
				of := strings.TrimSuffix(strings.TrimPrefix(asks, "Which "), " do you mean?")
				if len(refused.Answer.Among) > 0 { // TestSeveralFit has it
					continue
				}
				if of != asks && !strings.Contains(task.Task, "the "+of) &&
					!strings.Contains(task.Task, "The "+of) {
					t.Errorf("%q does not speak of %q", task.Task, of)
				}
			case kind == Cannot && (!strings.Contains(task.Answer, "I can't do that: ") ||
				!strings.Contains(task.Task, refused.slots["to"])):
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
	if behind < 30 {
		t.Errorf("%d stand behind what can be done", behind)
	}
}

// A thing that is not there is called as none is that might be meant by it.
func TestNobodyIsMistyped(t *testing.T) {
	d := &drawer{r: rand.New(rand.NewPCG(1, 2)), w: kennel()}
	for _, name := range []string{"Bello", "bello", "Belol", "Bell"} {
		if !d.mayBeMeant(name) {
			t.Errorf("nobody means Bello by %s", name)
		}
	}
	if d.mayBeMeant("Wilhelmina") {
		t.Error("somebody is meant by Wilhelmina")
	}
	n := 0
	for seed := range uint64(200) {
		w := Invent(rand.New(rand.NewPCG(seed, 31)), int(seed)%NumDomains())
		d := &drawer{r: rand.New(rand.NewPCG(seed, 3)), w: w}
		if p := d.nobody(); p != nil {
			if n++; d.mayBeMeant(p.slots["x"]) || !strings.Contains(p.Answer.Values[0], p.slots["x"]) {
				t.Errorf("%q: %q", p.slots, p.Answer.Values)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d were drawn", n)
	}
}

// Somebody else is told in words that have "tell me": all of them name who, in each split.
func TestToOthers(t *testing.T) {
	p := &Program{pattern: "count", slots: map[string]string{"many": "dogs"}}
	told := p.ToOthers("Ana Holm")
	for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		task := told.Word(rand.New(rand.NewPCG(1, 1)), split).Task
		if !strings.Contains(task, "Ana Holm how many dogs") || strings.Contains(task, " me ") {
			t.Errorf("%s: %s", split, task)
		}
	}
	p.pattern = "remove"
	if told := p.ToOthers("Ana Holm"); told != nil || p.slots["to"] != "" {
		t.Errorf("%v is told to others", told)
	}
}

// What a column says under another name is recorded.
func TestOtherNamesTell(t *testing.T) {
	for column, x := range map[string]struct {
		property string
		want     bool
	}{
		"contact": {"phone number", true}, "cost": {"price", true}, "UnitPriceEUR": {"amount in euros", true},
		"address": {"city", true}, "town": {"city", true}, "status": {"state", true}, "home_address": {"street", true},
		"telephone": {"phone", true}, "day_rate": {"aperture in mm", false}, "code": {"number of seats", false},
		"label": {"crop", false},
	} {
		d := &drawer{w: &World{Tables: []*Table{{Name: "x", One: "thing", Columns: []Column{{Name: column}}}}}}
		if got := d.tells(Column{Name: strings.ReplaceAll(x.property, " ", "_"), Says: x.property}); got != x.want {
			t.Errorf("%s tells the %s: %v", column, x.property, got)
		}
	}
}
