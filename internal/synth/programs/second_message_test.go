package programs

import (
	"math/rand/v2"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// inOrder makes the steps of the first message, and returns the database as it is before those of the second.
func inOrder(t *testing.T, p *Program, w *World) opened {
	o := open(t, w)
	first := *p
	first.Steps = p.Steps[:len(p.Steps)-p.later]
	o.change(&first)
	return o
}

// The second message changes what the first has left: a value that was said wrongly, or the same of another thing.
func TestSecondMessages(t *testing.T) {
	seen := map[string]int{}
	for _, way := range []func(*drawer) *Program{(*drawer).addThenAmend, (*drawer).setThenOtherwise, (*drawer).likewise,
		(*drawer).askThenGoOn} {
		drawnBy(t, 20, way, func(p *Program, w *World, _ opened) {
			seen[p.then.pattern]++
			o := inOrder(t, p, w)
			before := o.states(w)
			second := *p
			second.Steps = p.Steps[len(p.Steps)-p.later:]
			o.change(&second)
			if changed := o.states(w) != before; p.later == 0 || changed != (p.then.Answer.Form == "") {
				t.Errorf("%s behind %s, changed %v: %+v", p.then.pattern, p.pattern, changed, p.Steps)
			}
			if p.recalled != nil {
				seen["recalled"]++
				if p.recalled.Writes || len(p.Steps) != p.later {
					t.Errorf("recalled is %+v of %+v", p.recalled, p.Steps)
				}
			}
			x := p.Word(rand.New(rand.NewPCG(1, 1)), scenario.Train)
			first, then, ok := strings.Cut(x.Task, " "+NextMessage+" ")
			if !ok || first == "" || x.Between == "" || strings.HasPrefix(p.then.pattern, "count") &&
				strings.Contains(then, p.Answer.Values[0]) {
				t.Errorf("%q between %q", x.Between, x.Task)
			}
		})
	}
	for _, pattern := range strings.Fields("amend amend_more likewise likewise_remove count_that sum_that of_that " +
		"set_that remove_that recalled") {
		if seen[pattern] == 0 {
			t.Errorf("%s is drawn %d times", pattern, seen[pattern])
		}
	}
}

// What is set otherwise is so in the end, and no other row has changed.
func TestSetThenOtherwise(t *testing.T) {
	drawnBy(t, 40, (*drawer).setThenOtherwise, func(p *Program, _ *World, o opened) {
		table := p.Tables[0]
		i := table.columnSaid(p.slots["attr"])
		before := o.of(table, i)
		o.change(p)
		changed := 0
		for n, v := range o.of(table, i) {
			if v == before[n] {
				continue
			}
			if changed++; table.Columns[i].Kind == Text && v != p.then.slots["v"] && table.Columns[i].Ref == nil {
				t.Errorf("it is %s: %+v", v, p.Steps)
			}
		}
		if changed != 1 || p.slots["v"] != p.then.slots["old"] || p.then.slots["v"] == p.then.slots["old"] {
			t.Errorf("%d changed: %v, then %v", changed, p.slots, p.then.slots)
		}
	})
}

// Of 1,000 tasks that are drawn at least 80 are in two messages: a quarter of all are somebody's own.
func TestSecondMessagesAreDrawn(t *testing.T) {
	total, drawn := 0, 0
	for _, n := range Shares() {
		total += n
	}
	for seed := range uint64(NumDomains()) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed))
		if Draw(rand.New(rand.NewPCG(seed, 2)), w, Second) != nil {
			drawn++
		}
	}
	if got := Shares()[Second] * drawn * 1000 / total / NumDomains(); got < 80 {
		t.Errorf("%d of 1,000", got)
	}
}

// A second message over a list has its own words, and is told from others behind the same first; the working is then
// the first's alone. A person is not "that one".
func TestBefore(t *testing.T) {
	people := &Table{Name: "people", One: "person", Many: "people", Columns: []Column{{Name: "name", Label: true}}}
	first := func() *Program {
		return NewQuestion(Lookup, "lookup", map[string]string{"x": "Ana", "attr": "city", "one": "person"},
			Answer{Form: "text", Values: []string{"Bergen"}}, people).Work("Ana: Bergen")
	}
	then := func(v string) *Program {
		p := NewAct(Set, "that_set", map[string]string{"one": "person", "attr": "city", "v": v})
		p.Tables = []*Table{people}
		return p
	}
	one, other := first().Before(then("Turin"), 1), first().Before(then("Leeds"), 1)
	if one.Key() == other.Key() || one.First() != "Ana: Bergen" || one.Working() != "" || one.Later() != 1 ||
		one.Kind != Second || !one.Mentions("Turin") || first().First() != "" || first().Working() != "Ana: Bergen" {
		t.Errorf("%q and %q, %q before %q", one.Key(), other.Key(), one.First(), one.Working())
	}
	for seed := range uint64(60) {
		x := one.Word(rand.New(rand.NewPCG(seed, 1)), splits()[seed%3])
		_, more, ok := strings.Cut(x.Task, " "+NextMessage+" ")
		if !ok || !strings.Contains(x.Between, "Bergen") || !x.Checks[0].AnyTurn || !strings.Contains(more, "Turin") ||
			strings.Contains(more, "its ") || strings.Contains(more, "for that one") {
			t.Errorf("%q between %q", x.Between, x.Task)
		}
	}
}
