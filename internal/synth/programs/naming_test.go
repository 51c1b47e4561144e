package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// garage has things that people name otherwise than by their labels.
func parlour() *World {
	tables := []*Table{
		TableOf("mechanics", Records(`[{"id": 1, "name": "Gus Lam", "role": "welder", "age": 31}, {"id": 2, "name": "Ida Lam", "role": "painter", "age": 42},
			{"id": 3, "name": "Bo Kern", "role": "welder", "age": 28}, {"id": 4, "name": "Cy Ode", "role": "welder", "age": 55}]`)),
		TableOf("parts", Records(`[{"part_no": "FP-01", "description": "fuel pump", "on_hand": 3, "unit_price": 12.5},
			{"part_no": "OF-02", "description": "oil filter", "on_hand": 9, "unit_price": 4},
			{"part_no": "SP-03", "description": "spark plug", "on_hand": 0, "unit_price": 2}]`)),
	}
	Relate(tables)
	Understand(tables)
	return &World{Name: "parlour", Tables: tables}
}

// A person says a part of a name that no other row has, or what a thing with a code is; the row is looked at before it
// is changed, and changed by its key.
func TestNaming(t *testing.T) {
	w := parlour()
	said, looks := map[string][]string{}, map[string][]string{}
	for seed := range uint64(400) {
		for _, kind := range []string{Lookup, Set, Adjust} {
			p := Draw(rand.New(rand.NewPCG(seed, 3)), w, kind)
			if p == nil || p.slots["x"] == "" || slices.Contains([]string{"set_two", "exchange", "raise_lower",
				"event", "event_named", "told", "told_with"}, p.pattern) || p.then != nil {
				continue
			}
			said[p.slots["x"]] = append(said[p.slots["x"]], p.Steps[len(p.Steps)-1].SQL)
			if kind != Lookup {
				looks[p.slots["x"]] = append(looks[p.slots["x"]], p.Steps[max(0, len(p.Steps)-2)].SQL)
			}
			if kind != Lookup && (len(p.Steps) < 2 || p.Steps[len(p.Steps)-2].Writes ||
				!strings.HasPrefix(p.Steps[len(p.Steps)-2].SQL, "SELECT * FROM ")) {
				t.Errorf("no look before %+v", p.Steps)
			}
		}
	}
	for _, name := range []string{"Gus Lam", "Gus", "Bo Kern", "Kern", "FP-01", "the fuel pump"} {
		if said[name] == nil {
			t.Errorf("nobody says %q", name)
		}
	}
	if said["Lam"] != nil {
		t.Errorf("two are called Lam: %q", said["Lam"])
	}
	if !slices.ContainsFunc(said["the fuel pump"], func(sql string) bool {
		return strings.HasPrefix(sql, "UPDATE parts SET ") && strings.HasSuffix(sql, " WHERE part_no = 'FP-01'")
	}) {
		t.Errorf("the fuel pump: %q", said["the fuel pump"])
	}
	if !slices.ContainsFunc(looks["the fuel pump"], func(sql string) bool {
		return sql == "SELECT * FROM parts WHERE description LIKE '%fuel pump%'"
	}) {
		t.Errorf("the fuel pump is looked for by %q", looks["the fuel pump"])
	}
	if !slices.ContainsFunc(said["Gus"],
		func(sql string) bool { return strings.HasSuffix(sql, "WHERE name LIKE '%Gus%'") }) {
		t.Errorf("Gus: %q", said["Gus"])
	}
}

// What is left out or turned round in words is so in SQL: welders, and those that are not welders; and a sum of
// products is of what is said.
func TestSomeOfATable(t *testing.T) {
	w := parlour()
	o := open(t, w)
	n := map[string]int{}
	for seed := range uint64(300) {
		for _, kind := range []string{Count, List, Total, Best, Top, Missing, SetAll} {
			p := Draw(rand.New(rand.NewPCG(seed, 4)), w, kind)
			if p == nil || p.then != nil {
				continue
			}
			n[p.pattern]++
			sql := p.Steps[len(p.Steps)-1].SQL
			// a look at what is left without the noun
			if strings.HasPrefix(p.Steps[len(p.Steps)-1].Why, "Nothing meets") {
				sql = p.Steps[len(p.Steps)-2].SQL
			}
			if p.slots["many"] == "welders" {
				n["welders"]++
				n[p.pattern+" of welders"]++
				if !strings.Contains(sql, "role = 'welder'") {
					t.Errorf("%q: %s", p.slots["many"], sql)
				}
			}
			if last, _ := o.play(p); p.Result != nil && !slices.Equal(p.Result, last) {
				t.Errorf("computed %q, the database says %q: %s", p.Result, last, sql)
			}
			if (p.pattern == "worth_some" || p.pattern == "stock_worth" && p.slots["filter"] != "") !=
				(strings.Contains(sql, "SUM(unit_price * on_hand)") && strings.Contains(sql, "WHERE") &&
					p.slots["filter"] != "") {
				t.Errorf("%s: %s", p.pattern, sql)
			}
		}
	}
	for _, of := range []string{"worth", "worth_some", "welders", "top of welders"} {
		if n[of] == 0 {
			t.Errorf("%s is never drawn: %v", of, n)
		}
	}
}

// A row with a mere number is named by what it belongs to, where that tells it apart.
func TestNamingByWhatARowBelongsTo(t *testing.T) {
	people := TableOf("people", Records(`[{"id": 1, "name": "Ana Lund"}, {"id": 2, "name": "Ben Holt"}]`))
	shifts := TableOf("shifts", Records(`[{"id": 11, "person_id": 1, "slot": "early", "hours": 4},
		{"id": 12, "person_id": 1, "slot": "late", "hours": 5}, {"id": 13, "person_id": 2, "slot": "late", "hours": 6}]`))
	tables := []*Table{people, shifts}
	Relate(tables)
	Understand(tables)
	w, said := &World{Name: "rota", Tables: tables}, map[string]string{}
	for seed := range uint64(600) {
		if p := Draw(rand.New(rand.NewPCG(seed, 5)), w, Set); p != nil && p.pattern == "set" && p.Tables[0] == shifts {
			said[p.slots["x"]] = p.Steps[len(p.Steps)-1].SQL
			if strings.Contains(p.slots["x"], "Ana") && !slices.Contains(p.Tables, people) {
				t.Errorf("%s looks into %v", p.slots["x"], p.Tables)
			}
		}
	}
	if sql := said["the shift whose person is Ben Holt"]; !strings.HasSuffix(sql, " WHERE id = 13") {
		t.Errorf("the only one of Ben: %q of %q", sql, said)
	}
	if sql := said["the shift with Ana Lund as the person"]; sql != "" {
		t.Errorf("Ana has two: %q", sql)
	}
}

// What two things with a code are called names neither of them.
func TestNamingByWhatTwoThingsAreCalled(t *testing.T) {
	parts := TableOf("parts", Records(`[{"part_no": "FP-01", "description": "fuel pump", "on_hand": 3, "unit_price": 12.5},
		{"part_no": "FP-02", "description": "fuel pump", "on_hand": 5, "unit_price": 14},
		{"part_no": "OF-03", "description": "oil filter", "on_hand": 9, "unit_price": 4}]`))
	Understand([]*Table{parts})
	w, said := &World{Name: "store", Tables: []*Table{parts}}, map[string]string{}
	for seed := range uint64(400) {
		if p := Draw(rand.New(rand.NewPCG(seed, 6)), w, Set); p != nil && p.pattern != "set_two" {
			said[p.slots["x"]] = p.Steps[len(p.Steps)-1].SQL
		}
	}
	if said["the oil filter"] == "" || said["the fuel pump"] != "" {
		t.Errorf("%q", said)
	}
}

// Who makes a thing is said before its name at times, and it is looked for by its name alone.
func TestMakerIsSaid(t *testing.T) {
	w := liveTables("cars", `[{"id":1,"make":"Volvo","model":"Amazon","km":3},
		{"id":2,"make":"Fiat","model":"Panda","km":2},
		{"id":3,"make":"Fiat","model":"Fiat Uno","km":5},{"id":4,"make":null,"model":"Corsa","km":9}]`)
	said := map[string]bool{}
	for seed := range uint64(1000) {
		if p := Draw(rand.New(rand.NewPCG(seed, 4)), w, Set); p != nil && p.pattern == "set" {
			said[p.slots["x"]+": "+p.Steps[0].SQL] = true
		}
	}
	for text, want := range map[string]bool{
		"Volvo Amazon: SELECT * FROM cars WHERE model LIKE '%Amazon%'":    true,
		"Amazon: SELECT * FROM cars WHERE model LIKE '%Amazon%'":          true,
		"Fiat Fiat Uno: SELECT * FROM cars WHERE model LIKE '%Fiat Uno%'": false,
	} {
		if said[text] != want {
			t.Errorf("%s: %v, want %v of %v", text, said[text], want, said)
		}
	}
}

// Which values there are is looked at before a kind is asked for that the first rows do not show.
func TestUnseenKindsAreLookedAt(t *testing.T) {
	n := 0
	for seed := range uint64(4 * NumDomains()) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		p := Draw(rand.New(rand.NewPCG(seed, 2)), w, Count)
		if p == nil || p.Pattern() != "count" || strings.Contains(p.Steps[len(p.Steps)-1].SQL, "JOIN") {
			continue
		}
		table, last := p.Tables[0], p.Steps[len(p.Steps)-1].SQL
		for i, c := range table.Columns {
			for k, row := range table.Rows {
				seen := slices.ContainsFunc(table.Rows[:min(k, rowsSeen)],
					func(o []any) bool { return equal(o[i], row[i]) })
				if k < rowsSeen || seen || !table.hasKinds(i) ||
					!strings.HasSuffix(last, " WHERE "+table.test(i, "", Is, row[i])) {
					continue
				}
				n++
				if want := "SELECT DISTINCT " + Ident(c.Name) + " FROM " + Ident(table.Name); p.Steps[0].SQL != want {
					t.Errorf("before %s stands %s", last, p.Steps[0].SQL)
				}
				break
			}
		}
	}
	if n < 5 {
		t.Errorf("%d ask for such a kind", n)
	}
}

// Nobody asks whether the member that is key is key, also where that alone told which is meant.
func TestNothingAsksItself(t *testing.T) {
	d := &drawer{picked: &Query{Where: []Cond{{Column: 2}}}}
	for column, want := range map[int]bool{0: true, 1: false, 2: true} {
		if got := d.asksItself([]Cond{{Column: 0}}, column); got != want {
			t.Errorf("column %d: %v", column, got)
		}
	}
}
