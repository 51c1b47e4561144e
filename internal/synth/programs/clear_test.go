package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// drawnBy draws with one way over the worlds of all kinds, and has each program seen with the world and its database.
func drawnBy(t *testing.T, least int, way func(*drawer) *Program, see func(*Program, *World, opened)) {
	t.Helper()
	n := 0
	for seed := range uint64(2 * NumDomains()) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		var p *Program
		for k := 0; k < tries && p == nil; k++ {
			p = way(&drawer{r: rand.New(rand.NewPCG(seed, uint64(k))), w: w})
		}
		if p != nil {
			n++
			see(p, w, open(t, w))
		}
	}
	if n < least {
		t.Errorf("%d are drawn, want %d", n, least)
	}
}

// of are the values of a table's column in a database, by row, "-" for NULL.
func (o opened) of(table *Table, column int) []string {
	return o.ask(fmt.Sprintf("SELECT COALESCE(%s, '-') FROM %s ORDER BY rowid", Ident(table.Columns[column].Name),
		Ident(table.Name)))
}

// A value that is taken away is gone from the thing that is meant, and from no other one.
func TestClearOne(t *testing.T) {
	seen := map[string]int{}
	drawnBy(t, 40, (*drawer).clearOne, func(p *Program, _ *World, o opened) {
		seen[p.pattern]++
		table := p.Tables[0]
		i := table.columnSaid(p.slots["attr"])
		before := o.of(table, i)
		o.change(p)
		var changed []int
		for k, v := range o.of(table, i) {
			if v != before[k] {
				if changed = append(changed, k); v != "-" {
					t.Errorf("%q became %q: %+v", before[k], v, p.Steps)
				}
			}
		}
		if len(changed) != 1 {
			t.Fatalf("%d rows changed: %+v", len(changed), p.Steps)
		}
		row := table.Rows[changed[0]]
		if y := p.slots["y"]; y != "" && table.show(i, row) != y {
			t.Errorf("the %s was %s, not %s", p.slots["attr"], table.show(i, row), y)
		}
		if name := table.rowLabel(row); !strings.Contains(p.Plan(), name) || !strings.Contains(p.Plan(), "to NULL") {
			t.Errorf("%s: the plan is %q", name, p.Plan())
		}
	})
	if seen["clear"] < 10 || seen["clear_of"] < 5 {
		t.Errorf("drawn are %v", seen)
	}
}

// What all that meet a condition lose, the others keep.
func TestClearAll(t *testing.T) {
	joined := 0
	drawnBy(t, 30, (*drawer).clearAll, func(p *Program, _ *World, o opened) {
		table := p.Tables[0]
		look := strings.Replace(p.Steps[0].SQL, "SELECT *", "SELECT rowid", 1)
		met := o.ask(look)
		if strings.Contains(look, "IN (SELECT") {
			joined++
		}
		i := table.columnSaid(p.slots["attr"])
		before := o.of(table, i)
		o.change(p)
		for k, v := range o.of(table, i) {
			if is := slices.Contains(met, fmt.Sprint(k+1)); is && v != "-" && v != "" || !is && v != before[k] {
				t.Errorf("row %d, meant %v: %q became %q: %+v", k+1, is, before[k], v, p.Steps)
			}
		}
	})
	if joined < 10 {
		t.Errorf("%d are found over another table", joined)
	}
}

// A value is empty as its column has it: NULL, an empty text, and nothing where each row has one.
func TestBlank(t *testing.T) {
	table := &Table{Columns: []Column{{Kind: Text}, {Kind: Text}, {Kind: Text}, {Kind: Text}},
		Rows: [][]any{{nil, "", "a", nil}, {"a", "a", "b", ""}}}
	for i, want := range []struct {
		v  any
		ok bool
	}{{nil, true}, {"", true}, {nil, false}, {"", false}} {
		if v, ok := table.blank(i); v != want.v || ok != want.ok {
			t.Errorf("column %d: %v, %v", i, v, ok)
		}
	}
}

// The plan names each change, and stands nowhere where one is not named.
func TestPlan(t *testing.T) {
	write := Step{SQL: "DELETE FROM a", Writes: true}
	for want, steps := range map[string][]Step{
		"":                 {{SQL: "SELECT 1"}},
		"a: gone":          {{SQL: "SELECT 1"}, write.does("a: gone")},
		"1. a: b\n2. c: d": {write.does("%s: b", "a"), {SQL: "SELECT 1"}, write.does("c: d")},
	} {
		if got := (&Program{Steps: steps}).Plan(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&Program{Steps: []Step{write.does("a: gone"), write}}).Plan(); got != "" {
		t.Errorf("half a plan: %q", got)
	}
}
