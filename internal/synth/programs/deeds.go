package programs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// Deed is one of several changes that a request asks for in one sentence: "set the status to Open". It is said by a
// pattern of the wordings, behind "please" and before "and".
type Deed struct {
	Pattern string
	Slots   map[string]string
}

// Does has a request ask for several changes in the place of a slot.
func (p *Program) Does(slot string, list ...Deed) *Program {
	if p.deeds == nil {
		p.deeds = map[string][]Deed{}
	}
	p.deeds[slot] = list
	var parts []string // they tell the program from others
	for _, d := range list {
		parts = append(parts, d.Pattern)
		for _, name := range slices.Sorted(maps.Keys(d.Slots)) {
			parts = append(parts, d.Slots[name])
		}
	}
	p.slots[slot] = strings.Join(parts, " ")
	return p
}

// saidSlots are the slots of a program in a split, with its deeds in words of that split.
func (p *Program) saidSlots(r *rand.Rand, split string) map[string]string {
	slots := p.slots
	if len(p.deeds) == 0 {
		return slots
	}
	slots = maps.Clone(slots)
	for _, slot := range slices.Sorted(maps.Keys(p.deeds)) {
		var said []string
		for _, d := range p.deeds[slot] {
			said = append(said, fill(pick(r, wordings()[d.Pattern][split]), d.Slots))
		}
		slots[slot] = enumerate(said)
	}
	return slots
}

// Finds says by which query the things are found that a program changes or asks for.
func (p *Program) Finds(q Query) *Program {
	p.query, p.Tables = &q, q.tables()
	return p
}

// Filters draws a query for what meets one or two conditions, with the slots that say this.
func Filters(r *rand.Rand, w *World, t *Table, n int) (q Query, slots map[string]string, ok bool) {
	d := &drawer{r: r, w: &World{Name: w.Name, Tables: []*Table{t}, Listed: true, OwnKeys: w.OwnKeys}}
	of, where, phrase := d.drawFilter(n)
	if of == nil {
		return Query{}, nil, false
	}
	slots = d.about(t)
	slots["filter"] = phrase
	return d.those(t, where), slots, true
}

// BestOfSome asks which of the things that meet one or two conditions has the greatest or the least of a column.
func BestOfSome(r *rand.Rand, w *World, t *Table) *Program {
	d := &drawer{r: r, w: w}
	q, slots, ok := Filters(r, w, t, 1+r.IntN(2))
	props := t.properties(isOrdered)
	if !ok || len(props) == 0 {
		return nil
	}
	greatest := r.IntN(3) == 0
	q.Order, q.Desc, q.Limit = pick(r, props), greatest, 1
	c := t.Columns[q.Order]
	if !d.clear(q) || slices.ContainsFunc(q.Where, func(o Cond) bool { return o.Column == q.Order }) {
		return nil
	}
	slots["attr"], slots["end"] = c.caption(), end(c, greatest)
	p := q.program("best", slots, Answer{Form: "text", Values: valueTexts(q.Run())})
	p.Kind = Best
	return p
}

// Rename has a request call a thing otherwise than by its name: by a part of it. It reports whether the name was there.
func (p *Program) Rename(name, short string) (done bool) {
	fixed := []string{"insert", "insert_bare", "add_unless", "compare", "rename", "respell"}
	for ; p != nil; p = p.then {
		if slices.Contains(fixed, p.pattern) || strings.HasPrefix(p.pattern, "compare_") {
			continue
		}
		for _, slot := range []string{"x", "y"} {
			if p.slots[slot] == name {
				p.slots[slot], done = short, true
			}
		}
		if asks := p.slots["asks"]; strings.Contains(asks, name) {
			p.slots["asks"], done = strings.ReplaceAll(asks, name, short), true
		}
	}
	return done
}

// Caption is what people call a column.
func (c Column) Caption() string { return c.caption() }

// LabelOf is the name of the thing with a key; nil where there is none.
func (t *Table) LabelOf(key any) any {
	if row := t.byKey(key); row != nil {
		return t.rowLabel(row)
	}
	return nil
}

// eachChecks want each value on a line of its own, in any order and in any letters, and no more lines than these and a
// sentence before them.
func (a Answer) eachChecks() (list []scenario.Check) {
	most := fmt.Sprintf(`\A\s*(?:[^\n]+(?:\n+|\z)){%d,%d}\z`, len(a.Values), len(a.Values)+1)
	list = []scenario.Check{{Type: scenario.AnswerCheck, Regex: &most}}
	for _, v := range a.Values {
		text := `(?mi)^\W*` + strings.ReplaceAll(regexp.QuoteMeta(v), ": ", `\W*:\W*`) + `\W*$`
		list = append(list, scenario.Check{Type: scenario.AnswerCheck, Regex: &text})
	}
	return list
}

// yesChecks want a yes at the beginning, and each name.
func (a Answer) yesChecks() (list []scenario.Check) {
	for _, text := range append([]string{`(?i)^\W*yes\b`}, a.Values...) {
		if len(list) > 0 {
			text = whole(text)
		}
		list = append(list, scenario.Check{Type: scenario.AnswerCheck, Regex: &text})
	}
	return list
}

// Enumerate says several things one after the other: "a, b and c".
func Enumerate(list []string) string { return enumerate(list) }

// AskWhich is a request that calls a thing by what several have in their names: which one is to be asked.
func AskWhich(pattern string, slots map[string]string, names []string) *Program {
	ask := "Which " + slots["one"] + " do you mean: " + strings.Join(names[:len(names)-1], ", ") + " or " +
		names[len(names)-1] + "?"
	return NewQuestion(AskBack, pattern, slots, Answer{Form: "question", Values: []string{ask},
		For: asksWhich(slots["one"], slots["many"])})
}

// PairOfBest asks for the name of what is the first or the last, and for the value that makes it that; nil where a
// program asks for something else.
func PairOfBest(p *Program) *Program {
	if p.query == nil || p.query.Order < 0 || len(p.Answer.Values) != 1 {
		return nil
	}
	q := *p.query
	q.Column = q.Order
	value := valueTexts(q.Run())
	if len(value) != 1 || value[0] == "" {
		return nil
	}
	both := *p
	both.pattern = "best_pair"
	both.Answer = Answer{Form: "pair", How: "%s, %s", Values: []string{p.Answer.Values[0], value[0]}}
	return &both
}
