package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// mostFacts bounds what an answer names of the changes that were made.
const mostFacts = 3

// Tell notes what a program has changed in a world, for a demonstration that names it: "the status of K-2 is open
// now".
func (p *Program) Tell(w *World) {
	first := *p
	first.Steps = p.Steps[:len(p.Steps)-p.later]
	if p.Answer.Form != "" || !first.Changes() || p.Made != nil {
		return
	}
	after, err := w.After(&first)
	if err != nil {
		return
	}
	var facts []string
	for i, t := range w.Tables {
		some, ok := t.facts(after[i], first.knows)
		if !ok {
			return
		}
		facts = append(facts, some...)
	}
	if len(facts) <= mostFacts {
		p.did = enumerate(facts)
	}
}

// knows reports whether a number is said before an answer: in a statement, or computed in the plan. What a statement
// alone has computed, nobody has seen.
func (p *Program) knows(value string) bool {
	return strings.HasSuffix(p.Plan(), "= "+value) || strings.Contains(p.Plan(), "= "+value+"\n") ||
		slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Writes && strings.Contains(s.SQL, "= "+value) })
}

// facts are what differs between a table and the rows that it has in the end; ok is false where it has no short name.
func (t *Table) facts(now NumberedRows, knows func(string) bool) (facts []string, ok bool) {
	var gone, changed, news [][]any
	var stored, cells []int
	for i, c := range t.Columns {
		if len(c.Parts) == 0 {
			stored = append(stored, i)
		}
	}
	var value any
	same := true
	for n, row := range t.Rows {
		is, there := now[int64(n+1)]
		if !there {
			gone = append(gone, row)
			continue
		}
		differs := false
		for k, i := range stored {
			if equal(is[k], row[i]) || is[k] == nil && row[i] == nil {
				continue
			}
			if differs = true; !slices.Contains(cells, i) {
				cells = append(cells, i)
			}
			same = same && (len(changed) == 0 || equal(is[k], value))
			value = is[k]
		}
		if differs {
			changed = append(changed, row)
		}
	}
	for n, row := range now {
		if n > int64(len(t.Rows)) {
			news = append(news, row)
		}
	}
	if slices.Contains(cells, t.Key) || len(gone) > 0 && len(news) > 0 || len(news) > 1 {
		return nil, false
	}
	if len(gone) > 0 {
		facts = append(facts, t.inAll(gone)+are(gone)+"deleted")
	}
	if len(changed) > 0 {
		facts = append(facts, t.became(changed, cells, value, same, knows))
	}
	if len(news) > 0 {
		facts = append(facts, "the new "+t.One+" is entered")
	}
	return facts, true
}

// became says what some rows have now: of one column the value that is the same for all.
func (t *Table) became(rows [][]any, cells []int, value any, same bool, knows func(string) bool) string {
	c := t.Columns[cells[0]]
	said := c.show(value)
	if c.Ref != nil {
		said = ""
		if to := c.Ref.byKey(value); to != nil {
			said = c.Ref.rowLabel(to)
		}
	}
	switch {
	case len(cells) > 1 || !same || said == "" && value != nil || cells[0] == t.Label ||
		c.Kind == Number && c.Ref == nil && !knows(Show(value)):
		return t.inAll(rows) + are(rows) + "changed"
	case said == "":
		has := map[bool]string{true: " has no ", false: " have no "}[len(rows) == 1]
		return t.inAll(rows) + has + c.caption() + " now"
	}
	return "the " + c.caption() + " of " + t.inAll(rows) + " is " + said + " now"
}

func are(rows [][]any) string {
	if len(rows) == 1 {
		return " is "
	}
	return " are "
}

// mostInAll is how many things an answer names one by one.
const mostInAll = 5

// inAll names rows, or says how many they are.
func (t *Table) inAll(rows [][]any) string {
	var names []string
	for _, row := range rows {
		if t.rowLabel(row) != "" {
			names = append(names, t.nameInRequest(row))
		}
	}
	if len(names) == len(rows) && len(names) <= mostInAll && !repeats(names) {
		return enumerate(names)
	}
	if len(rows) == 1 {
		return "one " + t.One
	}
	return fmt.Sprintf("%d %s", len(rows), t.Many)
}

// brief is the answer to a change of which nothing is asked: in a word, or what was done.
func (p *Program) brief(r *rand.Rand, split string) string {
	if p.did == "" || p.then != nil && p.later == 0 && p.then.Answer.Form != "" || r.IntN(5) < 2 {
		return done
	}
	return strings.ReplaceAll(pick(r, manners()["did"][split]), "{what}", p.did)
}

// reportOn has the person ask, at times, which things a change was made to, or to how many: the look before it has
// shown them. Behind a deletion they ask how many are left, too.
func (d *drawer) reportOn(p *Program, t *Table, rows [][]any) *Program {
	if p == nil || d.plain || d.short {
		return p
	}
	names := labels(t, rows)
	slots := map[string]string{"one": p.slots["one"], "many": p.slots["many"]}
	tellable := !repeats(names) && t.Columns[t.Label].Ref == nil
	switch n := d.r.IntN(6); {
	case n < 2 && len(rows) > 1 && len(names) <= mostListed && tellable:
		p.then = &Program{pattern: "which", slots: slots, Answer: Answer{Form: "told", Values: names}}
	case n < 2 && len(rows) == 1 && tellable && !mentions(names[0])(p.slots["x"]):
		p.then = &Program{pattern: "which_one", slots: slots, Answer: Answer{Form: "told", Values: names}}
	case n == 2 && len(rows) > 1:
		p.then = &Program{pattern: "how_many", slots: slots,
			Answer: Answer{Form: "number", Values: []string{fmt.Sprint(len(rows))}}}
	case n > 3 && !d.w.Listed && strings.HasPrefix(p.Steps[len(p.Steps)-1].SQL, "DELETE"):
		left := []string{fmt.Sprint(len(t.Rows) - len(rows))}
		p.Steps = append(p.Steps, Step{SQL: "SELECT COUNT(*) FROM " + Ident(t.Name)})
		p.then = &Program{pattern: "how_many_left", slots: about(t), Answer: Answer{Form: "number", Values: left}}
		p.Result = left
	}
	return p
}

// toldChecks want all names, and little besides: that they are gone may be said.
func (a Answer) toldChecks() (list []scenario.Check) {
	most := 2 * around
	for _, v := range a.Values {
		most += len(v) + 4
	}
	for _, v := range a.Values {
		text := fmt.Sprintf(`(?s)\A.{0,%d}%s.{0,%d}\z`, most, saidSomewhere(v), most)
		list = append(list, scenario.Check{Type: scenario.AnswerCheck, Regex: &text})
	}
	return list
}
