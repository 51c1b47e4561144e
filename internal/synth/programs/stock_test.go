package programs

import (
	"fmt"
	"strings"
	"testing"
)

// A number goes down by what went and up by what came, of the thing that is named alone, and the answer is what is
// left.
func TestMoved(t *testing.T) {
	seen := map[string]int{}
	drawnBy(t, 10, (*drawer).moved, func(p *Program, _ *World, o opened) {
		seen[p.pattern]++
		table := p.Tables[0]
		row := rowNamed(table, p.slots["x"])
		was := map[int]string{}
		for i := range table.Columns {
			if len(table.Columns[i].Parts) == 0 {
				was[i] = strings.Join(o.of(table, i), " ")
			}
		}
		o.change(p)
		changed := 0
		for i, before := range was {
			if now := strings.Join(o.of(table, i), " "); now != before {
				changed++
				after := o.ask(fmt.Sprintf("SELECT %s FROM %s%s", Ident(table.Columns[i].Name), Ident(table.Name),
					filter(table, table.keyConditions(row))))[0]
				by := number(p.slots["v"])
				if strings.HasPrefix(p.pattern, "went") {
					by = -by
				}
				if number(after) != row[i].(int64)+by || !table.Columns[i].isTally() {
					t.Errorf("%s by %d: from %v to %s", p.pattern, by, row[i], after)
				}
				if p.then != nil && p.then.Answer.Values[0] != after {
					t.Errorf("%s are left, not %s", after, p.then.Answer.Values[0])
				}
			}
		}
		if changed != 1 {
			t.Errorf("%d columns changed: %+v", changed, p.Steps)
		}
	})
	for _, pattern := range []string{"came", "went", "came_unit", "went_unit"} {
		if seen[pattern] == 0 {
			t.Errorf("drawn are %v", seen)
		}
	}
}

// Prices, rates and years count nothing; what is there, seats and hours do.
func TestTallies(t *testing.T) {
	for name, want := range map[string]bool{"stock": true, "seats": true, "day_rate": false, "price": false,
		"hourly_rate": false, "year": false, "floor": false, "salary": false, "visits": true, "discount_pct": false} {
		if c := (Column{Name: name, Kind: Number}); c.isTally() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for one, want := range map[string]int{"sale": -1, "glaze use": -1, "delivery": 1, "return": 1, "repair": 0} {
		if got := (&Table{One: one}).flow(); got != want {
			t.Errorf("%s: %d", one, got)
		}
	}
}

// Three effects are planned in three lines, each changes something, and what is changed is looked at before.
func TestThreeEffects(t *testing.T) {
	seen := map[string]int{}
	drawnBy(t, 30, (*drawer).threeEffects, func(p *Program, w *World, o opened) {
		seen[p.pattern]++
		if strings.Count(p.Plan(), "\n") != 2 || p.Writes() < 2 || p.Steps[0].Writes || p.then.pattern != "also_set" {
			t.Errorf("the plan is %q: %+v", p.Plan(), p.Steps)
		}
		for i := range p.Steps {
			if !p.Steps[i].Writes {
				continue
			}
			before := o.states(w)
			one := *p
			one.Steps = p.Steps[i : i+1]
			if o.change(&one); o.states(w) == before {
				t.Errorf("nothing changes: %s", p.Steps[i].SQL)
			}
		}
	})
	if len(seen) < 4 {
		t.Errorf("drawn are %v", seen)
	}
}
