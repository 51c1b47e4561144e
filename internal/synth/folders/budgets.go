package folders

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// budget is a file with what is planned under several headings, and a table of costs by these headings.
type budget struct {
	doc, costs   *Doc
	plan         []Pair
	head, amount int // columns of costs
	last         int // line of doc that records what was moved before; -1: there is none
}

// moveLine is a line that records what was moved from one heading to another.
var moveLine = regexp.MustCompile(`^(\s*(?:- )?)(` + dayText + `)([:,] +)(\pL[\pL _-]*?) ([-−]) ?(\d+)( to |, | / )` +
	`(\pL[\pL _-]*?) \+ ?(\d+)$`)

// planned are the amounts of a file of a budget; nil where it is none.
func (d *Doc) planned() (list []Pair) {
	body := d.body()
	for _, i := range body {
		row := cells(d.lines()[i], d.between())
		if _, err := strconv.Atoi(row[1]); err != nil || len(row) > 3 || !nameForm.MatchString(row[0]) {
			return nil
		}
		list = append(list, Pair{programs.Words(row[0]), row[1], i})
	}
	if len(body) == 0 {
		for _, p := range d.Pairs {
			if _, err := strconv.Atoi(p.Value); err == nil && p.Key != "year" {
				list = append(list, p)
			}
		}
	}
	return slices.DeleteFunc(list, func(p Pair) bool { return slices.Contains([]string{"total", "sum", "all"}, p.Key) })
}

// findBudgets are the budgets of a folder whose costs stand in one table.
func (f *Folder) findBudgets() (list []*budget) {
	for _, doc := range f.Docs {
		plan := doc.planned()
		if len(plan) < 3 {
			continue
		}
		b, n := &budget{doc: doc, plan: plan, last: -1}, 0
		for i, line := range doc.lines() {
			if moveLine.MatchString(line) {
				b.last = i
			}
		}
		for _, o := range f.Docs {
			if o == doc || !o.hasBody() || o.amounts() < 0 {
				continue
			}
			for k := range o.header {
				if o.all(k, func(v string) bool { return b.of(v) >= 0 }) && !distinct(o.texts(k)) {
					b.costs, b.head, b.amount = o, k, o.amounts()
					n++
				}
			}
		}
		if n == 1 {
			list = append(list, b)
		}
	}
	return list
}

// of is the place of a heading in the plan; -1: it is none.
func (b *budget) of(name string) int {
	return slices.IndexFunc(b.plan, func(p Pair) bool { return p.Key == programs.Words(name) })
}

// moveBudget moves an amount from one heading to another, as far as that is left after what was spent.
func (d *drawer) moveBudget() *programs.Program {
	if len(d.f.budgets) == 0 {
		return nil
	}
	b := pick(d.r, d.f.budgets)
	x, y := pick(d.r, b.plan), pick(d.r, b.plan)
	planned, _ := strconv.Atoi(x.Value) // both are digits
	has, _ := strconv.Atoi(y.Value)
	var spent []int
	var rows []string
	for i, v := range b.costs.texts(b.head) {
		if programs.Words(v) == x.Key {
			spent = append(spent, cents(b.costs.texts(b.amount)[i]))
			rows = append(rows, b.costs.quote(b.costs.body()[i]))
		}
	}
	total := 0
	for _, n := range spent {
		total += n
	}
	rest := planned*100 - total
	if x.Key == y.Key || planned < 10 || len(spent) == 0 || len(spent) > 5 || rest < 500 || rest%100 != 0 {
		return nil
	}
	rest /= 100
	want := 10 * (1 + d.r.IntN(planned/10))
	if d.r.IntN(2) == 0 {
		want = 10 * (rest/10 + 1 + d.r.IntN(10))
	}
	n := min(want, rest)
	if want == rest || strings.Count(b.doc.lines()[x.line], x.Value) != 1 ||
		strings.Count(b.doc.lines()[y.line], y.Value) != 1 {
		return nil
	}
	s, pattern := slots("v", number(want), "x", x.Key, "y", y.Key), "budget_move"
	now := b.doc.lines()
	now[x.line] = strings.Replace(now[x.line], x.Value, number(planned-n), 1)
	now[y.line] = strings.Replace(now[y.line], y.Value, number(has+n), 1)
	work := append(rows, fmt.Sprintf("%s: %d planned, spent %s", x.Key, planned, short(total)))
	if sum := inSteps(spent, short); sum != "" {
		work = append(work, sum)
	}
	work = append(work, fmt.Sprintf("%d - %s = %d are left", planned, short(total), rest))
	if n < want {
		work = append(work, fmt.Sprintf("That is less than %d, so only %d go to %s.", want, n, y.Key))
	} else {
		work = append(work, fmt.Sprintf("That is enough: %d go to %s.", n, y.Key))
	}
	work = append(work, fmt.Sprintf("%d - %d = %d, %d + %d = %d", planned, n, planned-n, has, n, has+n))
	d.hunt(b.doc, "", "", path.Base(b.doc.Path)+" may have what is planned.")
	d.hunt(b.costs, "", "", "What was spent may stand in "+path.Base(b.costs.Path)+".")
	at := len(d.ops)
	if b.last >= 0 {
		m := moveLine.FindStringSubmatch(b.doc.lines()[b.last])
		last, form := lastDay(m[2:3])
		day := last.AddDate(0, 0, 3+d.r.IntN(20))
		said, why := d.sayDay(day, form)
		s["time"], pattern = said, "budget_move_on"
		line := m[1] + day.Format(form) + m[3] + x.Key + " " + m[5] + number(n) + m[7] + y.Key + " +" + number(n)
		work = append(work, "Moves are recorded: "+strings.TrimSpace(now[b.last])+" So the new line is: "+
			strings.TrimSpace(line))
		if why != "" {
			work = append(work, why)
		}
		d.rewrite(b.doc, b.doc.lines(), now)
		left := d.asLeft(b.doc)
		d.addLine(left, b.last, line)
	} else {
		d.rewrite(b.doc, b.doc.lines(), now)
	}
	d.because(at, work...)
	return act(programs.ActIf, pattern, s).Did(fmt.Sprintf("%d went from %s to %s, which are %d and %d now", n, x.Key,
		y.Key, planned-n, has+n))
}
