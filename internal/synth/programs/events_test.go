package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// jobs are a workshop's tables as they are read from a server: jobs have numbers, states and days.
func jobs() *World {
	var rows []string
	for i := range 12 {
		state, day, cost := "open", "null", "null"
		if i%3 == 0 {
			state, day, cost = "done", fmt.Sprintf(`"2025-05-%02d"`, 10+i), fmt.Sprint(20+i)
		} else if i%3 == 1 {
			state = "waiting"
		}
		rows = append(rows, fmt.Sprintf(`{"no":%d,"car_id":%d,"mechanic_id":%d,"status":%q,"received":"2025-04-%02d",`+
			`"finished":%s,"cost":%s}`, 101+i, 1+i%7, 1+i%3, state, 1+i, day, cost))
	}
	return liveTables("cars", `[{"id":1,"model":"Polo","visits":3},{"id":2,"model":"Corolla","visits":2},
		{"id":3,"model":"Focus","visits":5},{"id":4,"model":"Panda","visits":1},{"id":5,"model":"Octavia","visits":4},
		{"id":6,"model":"Clio","visits":6},{"id":7,"model":"Golf","visits":2}]`,
		"mechanics", `[{"id":1,"name":"Ana Lund"},{"id":2,"name":"Ben Roy"},{"id":3,"name":"Cai Ito"}]`,
		"jobs", "["+strings.Join(rows, ",")+"]")
}

// drawnOver draws in one way over a world, and makes the changes of each program on a copy.
func drawnOver(t *testing.T, w *World, least int, way func(*drawer) *Program, see func(*Program, opened)) {
	t.Helper()
	n := 0
	for seed := range uint64(300) {
		if p := way(&drawer{r: rand.New(rand.NewPCG(seed, 5)), w: w}); p != nil && n < 20 {
			n++
			o := open(t, w)
			o.change(p)
			see(p, o)
		}
	}
	if n < least {
		t.Errorf("%d are drawn, want %d", n, least)
	}
}

// differing are the numbers of the rows of a table that a change has changed.
func (o opened) differing(t *Table) (rows []int) {
	var columns []string
	var stored []int
	for i, c := range t.Columns {
		if len(c.Parts) == 0 {
			columns, stored = append(columns, Ident(c.Name)), append(stored, i)
		}
	}
	now := o.ask("SELECT " + strings.Join(columns, ", ") + " FROM " + Ident(t.Name) + " ORDER BY rowid")
	for n, row := range t.Rows {
		var was []any
		for _, i := range stored {
			was = append(was, row[i])
		}
		if !slices.Equal(now[n*len(columns):(n+1)*len(columns)], valueTexts(was)) {
			rows = append(rows, n)
		}
	}
	return rows
}

// What is told of a thing changes its day, the amount and the state that goes with the day, and no other thing.
func TestTold(t *testing.T) {
	w := jobs()
	of := w.Tables[2]
	drawnOver(t, w, 10, (*drawer).told, func(p *Program, o opened) {
		rows := o.differing(of)
		if len(rows) != 1 || of.Rows[rows[0]][5] != nil {
			t.Fatalf("%v differ: %+v", rows, p.Steps)
		}
		got := o.ask(fmt.Sprintf("SELECT status, finished > received, cost IS NOT NULL FROM jobs WHERE no = %d",
			101+rows[0]))
		left := strings.Replace(p.Steps[len(p.Steps)-2].SQL, "*", "COUNT(*)", 1) + " AND finished IS NULL"
		if n := o.ask(left); !slices.Equal(n, []string{"0"}) {
			t.Errorf("%v others are not finished: %v", n, p.slots)
		}
		if !slices.Equal(got, []string{"done", "1", "1"}) || p.slots["verb"] != "finished" || p.Steps[0].Writes {
			t.Errorf("%v: %+v %v", got, p.Steps, p.slots)
		}
	})
}

// A state and a day are set together, and the states are looked at before.
func TestEvent(t *testing.T) {
	w := jobs()
	of := w.Tables[2]
	drawnOver(t, w, 10, (*drawer).event, func(p *Program, o opened) {
		rows := o.differing(of)
		if len(rows) != 1 || p.Steps[0].SQL != "SELECT DISTINCT status FROM jobs" {
			t.Fatalf("%v differ: %+v", rows, p.Steps)
		}
		got := o.ask(fmt.Sprintf("SELECT status, finished > received FROM jobs WHERE no = %d", 101+rows[0]))
		if !slices.Equal(got, []string{"done", "1"}) || p.slots["v"] != "done" { // no other state has that day
			t.Errorf("%v: %+v %v", got, p.Steps, p.slots)
		}
	})
}

// A thing without a number of its own is added behind the others, at times with a number that changes elsewhere.
func TestAddNext(t *testing.T) {
	w, seen := jobs(), map[string]int{}
	for _, way := range []func(*drawer) *Program{(*drawer).addNext, (*drawer).addAndChange} {
		drawnOver(t, w, 8, way, func(p *Program, o opened) {
			if !strings.HasPrefix(p.pattern, "add_next") { // it has a number
				return
			}
			got := o.ask("SELECT COUNT(*), MAX(no) FROM jobs")
			counting := p.pattern != "add_next"
			if cars := o.differing(w.Tables[0]); !slices.Equal(got, []string{"13", "113"}) ||
				counting != (len(cars) == 1) || counting != (p.Writes() == 2) || len(o.differing(w.Tables[2])) > 0 {
				t.Errorf("%v, cars %v: %+v", got, cars, p.Steps)
			}
			seen[p.pattern]++
		})
	}
	for _, pattern := range []string{"add_next", "add_next_raise", "add_next_lower"} {
		if seen[pattern] < 2 {
			t.Errorf("drawn are %v", seen)
		}
	}
}

// Two things get different amounts, one more and one less.
func TestRaiseAndLower(t *testing.T) {
	drawnBy(t, 40, (*drawer).raiseAndLower, func(p *Program, _ *World, o opened) {
		of := p.Tables[0]
		i := of.columnSaid(p.slots["attr"])
		before := o.of(of, i)
		o.change(p)
		var changes []string
		for n, v := range o.of(of, i) {
			var was, is int
			_, _ = fmt.Sscan(before[n], &was) // numbers or none
			_, _ = fmt.Sscan(v, &is)
			if is != was {
				changes = append(changes, fmt.Sprint(is-was, " ", &of.Rows[n][0] == &rowNamed(of, p.slots["x"])[0]))
			}
		}
		slices.Sort(changes)
		if want := []string{"-" + p.slots["v2"] + " false", p.slots["v"] + " true"}; !slices.Equal(changes, want) {
			t.Errorf("%v, want %v: %+v", changes, want, p.Steps)
		}
	})
}

// Something is added where there is none of its kind, and is then the only one.
func TestAddIfNone(t *testing.T) {
	added, left := 0, 0
	drawnBy(t, 30, (*drawer).addIfNone, func(p *Program, _ *World, o opened) {
		before := o.ask(p.Steps[0].SQL)[0]
		o.change(p)
		after := o.ask(p.Steps[0].SQL)[0]
		switch {
		case p.Changes() && before == "0" && after == "1":
			added++
		case !p.Changes() && before != "0" && after == before:
			left++
		default:
			t.Errorf("%s, then %s: %+v", before, after, p.Steps)
		}
	})
	if added < 8 || left < 8 {
		t.Errorf("%d are added, %d left", added, left)
	}
}

// Where the condition on what a thing refers to does not hold, nothing changes.
func TestSetWhenOf(t *testing.T) {
	set, left := 0, 0
	drawnBy(t, 40, (*drawer).setWhenOf, func(p *Program, _ *World, o opened) {
		of := p.Tables[0]
		o.change(p)
		rows := o.differing(of)
		switch {
		case p.Changes() && len(rows) == 1 && &of.Rows[rows[0]][0] == &rowNamed(of, p.slots["x"])[0]:
			set++
		case !p.Changes() && len(rows) == 0 && strings.HasPrefix(p.Answer.Values[0], "Nothing was changed"):
			left++
		default:
			t.Errorf("%v differ: %+v", rows, p.Steps)
		}
	})
	if set < 10 || left < 10 {
		t.Errorf("%d are set, %d left", set, left)
	}
}

// A question back names all that what is said fits, and no others.
func TestSeveralFit(t *testing.T) {
	drawnBy(t, 40, (*drawer).severalFit, func(p *Program, _ *World, o opened) {
		of := p.Tables[0]
		found := o.ask(strings.Replace(p.Steps[0].SQL, "*", Ident(of.Columns[of.Key].Name), 1))
		var names []string
		for _, row := range of.Rows {
			if slices.Contains(found, Show(row[of.Key])) {
				names = append(names, of.rowLabel(row))
			}
		}
		if p.Changes() || len(names) < 2 || !slices.Equal(names, p.Answer.Among) {
			t.Errorf("%v, not %v: %+v", names, p.Answer.Among, p.Steps)
		}
		x := p.Word(rand.New(rand.NewPCG(1, 1)), "train")
		for _, c := range x.Checks {
			if why := c.AnswerUnmet(x.Answer); why != "" {
				t.Errorf("%s: %s", x.Answer, why)
			}
		}
		if !slices.ContainsFunc(x.Checks, func(c scenario.Check) bool { return !c.Answer("Which one do you mean?") }) {
			t.Errorf("who names none passes: %s", x.Task)
		}
	})
}
