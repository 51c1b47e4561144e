package programs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// twoTables fails where the steps do not read before they write, change one table alone, or have no plan.
func twoTables(t *testing.T, p *Program) {
	t.Helper()
	if p.Writes() != 2 || strings.Count(p.Plan(), "\n") != 1 || p.Steps[0].Writes {
		t.Errorf("%d tables change, the plan is %q: %+v", p.Writes(), p.Plan(), p.Steps)
	}
}

// What belonged to a thing that is deleted belongs to another one, or to none, and nothing refers to what is gone.
func TestHandOver(t *testing.T) {
	seen := map[string]int{}
	drawnBy(t, 40, (*drawer).handOver, func(p *Program, w *World, o opened) {
		seen[p.pattern]++
		twoTables(t, p)
		table, from := p.Tables[0], p.Tables[1]
		_, column := (&drawer{w: w}).onlyReferrer(table)
		gone := rowNamed(table, p.slots["x"])
		want := "-"
		if p.pattern == "hand_over" {
			want = Show(rowNamed(table, p.slots["y"])[table.Key])
		}
		before := o.of(from, column)
		o.change(p)
		for k, v := range o.of(from, column) {
			if was := before[k]; was == Show(gone[table.Key]) && v != want || was != Show(gone[table.Key]) && v != was {
				t.Errorf("%s became %s, want %s: %+v", was, v, want, p.Steps)
			}
		}
		if n := len(o.of(table, table.Key)); n != len(table.Rows)-1 {
			t.Errorf("%d of %d are left", n, len(table.Rows))
		}
		if left := o.ask("SELECT 1 FROM " + Ident(table.Name) + filter(table, table.keyConditions(gone))); left != nil {
			t.Errorf("%s is there", p.slots["x"])
		}
	})
	if seen["hand_over"] < 10 || seen["leave_without"] < 2 {
		t.Errorf("drawn are %v", seen)
	}
}

// One row of each table gets the value that is said of it.
func TestSetBoth(t *testing.T) {
	drawnBy(t, 40, (*drawer).setBoth, func(p *Program, _ *World, o opened) {
		twoTables(t, p)
		from, to := p.Tables[0], p.Tables[1]
		row := rowNamed(from, p.slots["x"])
		i, k := from.columnSaid(p.slots["attr"]), to.columnSaid(p.slots["attr2"])
		column := from.columnSaid(p.slots["ref"])
		first, second := o.of(from, i), o.of(to, k)
		o.change(p)
		for n, v := range o.of(from, i) {
			if is := &from.Rows[n][0] == &row[0]; is == (v == first[n]) {
				t.Errorf("%s of row %d: %q became %q", p.slots["attr"], n, first[n], v)
			}
		}
		for n, v := range o.of(to, k) {
			if is := equal(to.Rows[n][to.Key], row[column]); is == (v == second[n]) {
				t.Errorf("%s of row %d: %q became %q", p.slots["attr2"], n, second[n], v)
			}
		}
	})
}

// A number goes up or down by what is said, of the thing that the other row refers to, and that row is gone or new.
func TestCountsOfASecondTable(t *testing.T) {
	seen := map[string]int{}
	for _, x := range []struct {
		least int // fewer businesses have goods that come back than such as are changed
		way   func(*drawer) *Program
	}{{15, (*drawer).removeAndCount}, {30, (*drawer).addAndChange}} {
		drawnBy(t, x.least, x.way, func(p *Program, _ *World, o opened) {
			seen[p.pattern]++
			twoTables(t, p)
			from := p.Tables[0]
			column := from.columnSaid(p.slots["ref"])
			to := from.Columns[column].Ref
			k := to.columnSaid(p.slots["attr"])
			before := o.of(to, k)
			were := o.of(from, column)
			o.change(p)
			by, _ := strconv.Atoi(p.slots["v"])
			rows := len(from.Rows) + 1
			meant := ""
			if strings.HasPrefix(p.pattern, "remove") || strings.HasPrefix(p.pattern, "undo") {
				rows -= 2
				meant = were[slices.IndexFunc(from.Rows, func(r []any) bool {
					return &r[0] == &rowNamed(from, p.slots["x"])[0]
				})]
			} else {
				meant = o.ask(fmt.Sprintf("SELECT %s FROM %s ORDER BY rowid DESC", Ident(from.Columns[column].Name),
					Ident(from.Name)))[0]
			}
			if strings.HasSuffix(p.pattern, "lower") || p.pattern == "add_out" || p.pattern == "undo_in" {
				by = -by
			}
			if n := len(o.of(from, column)); n != rows {
				t.Errorf("%d rows, want %d: %+v", n, rows, p.Steps)
			}
			for n, v := range o.of(to, k) {
				is := Show(to.Rows[n][to.Key]) == meant
				x, _ := strconv.Atoi(before[n])
				if !is && v != before[n] || is && p.pattern != "add_set" && v != fmt.Sprint(x+by) {
					t.Errorf("%s %d, meant %v: %s became %s: %+v", p.slots["attr"], by, is, before[n], v, p.Steps)
				}
			}
		})
	}
	for _, pattern := range strings.Fields("remove_raise remove_lower add_raise add_lower add_set add_out undo_out") {
		if seen[pattern] < 2 {
			t.Errorf("drawn are %v", seen)
		}
	}
}
