package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// change makes the changes of a program, to stay.
func (o opened) change(p *Program) {
	o.t.Helper()
	for _, s := range p.Steps {
		if s.Writes {
			if _, err := o.db.Exec(s.SQL); err != nil {
				o.t.Fatalf("%v: %s", err, s.SQL)
			}
		}
	}
}

// columnSaid is the column that a request calls so.
func (t *Table) columnSaid(said string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.caption() == said })
}

// What several steps leave in a database is what the request says, looked at without the program's own SQL.
func TestChangesOfManyAreWhatIsSaid(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(NumDomains()) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		d := &drawer{r: rand.New(rand.NewPCG(seed, 2)), w: w}
		for _, draw := range []func() *Program{
			d.moveAll, d.fillMissing, d.percentAll, d.removeWith, d.removeUnreferred, d.sameAs,
		} {
			var p *Program
			for n := 0; n < tries && p == nil; n++ {
				d.one, d.many, d.looked = "", "", nil
				p = draw()
			}
			if p == nil {
				continue
			}
			seen[p.pattern]++
			o := open(t, w)
			table := p.Tables[0]
			i := table.columnSaid(p.slots["attr"])
			cells := func() (values []string) {
				return o.ask(fmt.Sprintf("SELECT COALESCE(%s, '') FROM %s ORDER BY rowid",
					Ident(table.Columns[i].Name), Ident(table.Name)))
			}
			count := func(of *Table) int { return len(o.ask("SELECT 1 FROM " + Ident(of.Name))) }
			var before []string
			if i >= 0 {
				before = cells()
			}
			was := count(table)
			o.change(p)
			switch p.pattern {
			case "move_all":
				to := ""
				for _, row := range table.Columns[i].Ref.Rows {
					if table.Columns[i].Ref.rowLabel(row) == p.slots["y"] {
						to = Show(row[table.Columns[i].Ref.Key])
					}
				}
				moved := 0
				for k, after := range cells() {
					if after != before[k] {
						if moved++; after != to {
							t.Errorf("%s: went to %s, not to %s", p.slots["filter"], after, to)
						}
					}
				}
				if moved == 0 {
					t.Errorf("nothing moved: %+v", p.Steps)
				}
			case "fill":
				for k, after := range cells() {
					if before[k] != "" && after != before[k] {
						t.Errorf("%q became %q: %+v", before[k], after, p.Steps)
					}
				}
			case "percent_up", "percent_down":
				by, _ := strconv.ParseFloat(p.slots["v"], 64)
				if p.pattern == "percent_down" {
					by = -by
				}
				for k, after := range cells() {
					x, _ := strconv.ParseFloat(before[k], 64)
					y, _ := strconv.ParseFloat(after, 64)
					if y != x && (y < x*(1+by/100)-0.5 || y > x*(1+by/100)+0.5) {
						t.Errorf("%v became %v by %v percent", x, y, by)
					}
				}
			case "remove_with":
				if left := o.ask(fmt.Sprintf("SELECT 1 FROM %s WHERE %s", Ident(table.Name),
					table.label(rowNamed(table, p.slots["x"])).in(table))); len(left) > 0 || count(table) != was-1 {
					t.Errorf("%s is there: %+v", p.slots["x"], p.Steps)
				}
				from, column := d.onlyReferrer(table)
				if lost := o.ask(fmt.Sprintf("SELECT 1 FROM %s WHERE %s NOT IN (SELECT %s FROM %s)", Ident(from.Name),
					Ident(from.Columns[column].Name), Ident(table.Columns[table.Key].Name),
					Ident(table.Name))); len(lost) > 0 {
					t.Errorf("%d refer to what is gone: %+v", len(lost), p.Steps)
				}
			case "remove_unrelated":
				from, column := d.onlyReferrer(table)
				if lost := o.ask(fmt.Sprintf("SELECT 1 FROM %s WHERE %s NOT IN (SELECT %s FROM %s)", Ident(from.Name),
					Ident(from.Columns[column].Name), Ident(table.Columns[table.Key].Name),
					Ident(table.Name))); len(lost) > 0 {
					t.Errorf("%d refer to what is gone: %+v", len(lost), p.Steps)
				}
			case "same_as":
				x, y := slices.IndexFunc(table.Rows, func(r []any) bool {
					return table.nameInRequest(r) == p.slots["x"]
				}),
					slices.IndexFunc(table.Rows, func(r []any) bool { return table.nameInRequest(r) == p.slots["y"] })
				if after := cells(); x >= 0 && y >= 0 && after[x] != after[y] {
					t.Errorf("%s has %s, and %s has %s", p.slots["x"], after[x], p.slots["y"], after[y])
				}
			}
		}
	}
	for _, pattern := range []string{
		"move_all", "fill", "percent_up", "percent_down", "remove_with", "remove_unrelated", "same_as",
	} {
		if seen[pattern] < 3 {
			t.Errorf("%s was drawn %d times", pattern, seen[pattern])
		}
	}
}

// rowNamed is the first row of a name, said with its noun or without.
func rowNamed(t *Table, name string) []any {
	for _, row := range t.Rows {
		if t.nameInRequest(row) == name || t.rowLabel(row) == name || t.One+" "+t.rowLabel(row) == name {
			return row
		}
	}
	return t.Rows[0]
}

// in is a condition in SQL.
func (c Cond) in(t *Table) string { return t.test(c.Column, "", c.Op, c.Value) }

// A change under a condition is made where what the person says is so, and else the other one, or none.
func TestClausesAreTrueWhereTheChangeIsMade(t *testing.T) {
	drawn := map[string]int{}
	for seed := range uint64(120) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		d := &drawer{r: rand.New(rand.NewPCG(seed, 3)), w: w}
		p := d.setWhen(seed%2 == 0)
		if p == nil {
			continue
		}
		table := p.Tables[0]
		row := rowNamed(table, p.slots["x"])
		k := table.columnSaid(p.slots["attr2"])
		is, holds := table.show(k, row), false
		verb, bound, _ := strings.Cut(strings.TrimPrefix(p.slots["rel"], "is "), " ")
		compared := func(a, b string) int {
			x, errX := strconv.ParseFloat(a, 64)
			y, errY := strconv.ParseFloat(b, 64)
			if errX == nil && errY == nil {
				return map[bool]int{true: 1, false: -1}[x > y]
			}
			return strings.Compare(a, dayOf(b))
		}
		switch verb {
		case "known":
			holds = is != ""
		case "not":
			holds = is == ""
		case "above", "after":
			holds = is != bound && compared(is, bound) > 0
		case "below", "before":
			holds = is != bound && compared(is, bound) < 0
		default:
			holds = is == strings.TrimPrefix(p.slots["rel"], "is ")
		}
		drawn[fmt.Sprint(p.pattern, holds)]++
		o := open(t, w)
		i := table.columnSaid(p.slots["attr"])
		o.change(p)
		after := o.ask(fmt.Sprintf("SELECT %s FROM %s WHERE %s",
			Ident(table.Columns[i].Name), Ident(table.Name), table.keyConditions(row)[0].in(table)))[0]
		want := p.slots["v"]
		if !holds {
			if want = p.slots["old"]; p.pattern == "set_when" {
				want = table.show(i, row)
			}
		}
		if c := table.Columns[i]; c.Ref == nil && c.Kind != Date && !c.Bool && !c.Cents && c.Yes == "" &&
			after != want {
			t.Errorf("the %s %s, and is %q: the %s is %q, want %q: %+v",
				p.slots["attr2"], p.slots["rel"], is, p.slots["attr"], after, want, p.Steps)
		}
		if changes := p.Changes(); p.pattern == "set_when" && changes != holds {
			t.Errorf("the %s %s, and is %q: changes %v", p.slots["attr2"], p.slots["rel"], is, changes)
		}
	}
	for _, kind := range []string{"set_whentrue", "set_whenfalse", "set_eithertrue", "set_eitherfalse"} {
		if drawn[kind] < 5 {
			t.Errorf("%s was drawn %d times", kind, drawn[kind])
		}
	}
}

// dayOf is a day that is said in some form, as 2006-01-02.
func dayOf(said string) string {
	for _, form := range []string{"2006-01-02", "2 January 2006", "January 2, 2006"} {
		if day, err := time.Parse(form, said); err == nil {
			return day.Format("2006-01-02")
		}
	}
	said = strings.TrimPrefix(said, "the ")
	number, rest, _ := strings.Cut(said, " of ")
	if day, err := time.Parse("2 January 2006", strings.TrimRight(number, "sthndr")+" "+rest); err == nil {
		return day.Format("2006-01-02")
	}
	return said
}
