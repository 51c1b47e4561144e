package programs

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rowCalled is the only row that a person may mean by a name: its whole one, or a part of a text of it.
func rowCalled(t *testing.T, table *Table, name string) []any {
	t.Helper()
	plain := strings.ToLower(strings.TrimPrefix(name, "the "))
	whole, part := [][]any(nil), [][]any(nil)
	for _, row := range table.Rows {
		switch {
		case strings.EqualFold(table.nameInRequest(row), name):
			whole = append(whole, row)
		case slices.ContainsFunc(row, func(v any) bool { return strings.Contains(strings.ToLower(Show(v)), plain) }):
			part = append(part, row)
		}
	}
	if len(whole) == 1 {
		return whole[0]
	}
	if len(whole) > 0 || len(part) == 0 {
		t.Fatalf("%q names %d rows, and is a part of %d", name, len(whole), len(part))
	}
	return part[0]
}

// What a change leaves in a database is what the request says: the value of a thing, and how far a number goes.
func TestChangesAreWhatIsSaid(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(40) {
		for _, kind := range []string{Set, Correct, Adjust} {
			w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
			p := Draw(rand.New(rand.NewPCG(seed, 2)), w, kind)
			events := strings.Fields("called event event_named told told_with raise_lower clear clear_of came " +
				"went came_unit went_unit")
			if p != nil && slices.Contains(events, p.pattern) {
				continue // their own tests have them
			}
			if p == nil || p.pattern == "set_two" || p.pattern == "same_as" || strings.HasPrefix(p.pattern, "percent") {
				continue
			}
			table := p.Tables[0]
			i := slices.IndexFunc(table.Columns, func(c Column) bool { return c.caption() == p.slots["attr"] })
			c := table.Columns[i]
			if c.Kind == Date { // said in another form
				continue
			}
			o := open(t, w)
			where := ""
			// by what it belongs to: TestNaming
			if strings.HasPrefix(p.slots["x"], "the ") && !table.describes() || p.slots["super"] != "" {
				continue
			}
			if p.pattern == "exchange" || strings.Contains(p.Plan(), ": yes") { // TestExchange and TestOfParent have it
				continue
			}
			if x := p.slots["x"]; x != "" {
				row := rowCalled(t, table, x)
				where = fmt.Sprintf(" WHERE %s = %s", Ident(table.Columns[table.Key].Name), Literal(row[table.Key]))
			}
			query := fmt.Sprintf("SELECT SUM(%s) FROM %s%s", Ident(c.Name), Ident(table.Name), where)
			if kind != Adjust {
				query = strings.Replace(strings.Replace(query, "SUM(", "", 1), ")", "", 1)
			}
			before := o.ask(query)[0]
			for _, s := range p.Steps {
				if s.Writes {
					if _, err := o.db.Exec(s.SQL); err != nil {
						t.Fatal(err)
					}
				}
			}
			after := o.ask(query)[0]
			seen[p.pattern]++
			switch {
			case kind == Adjust:
				was, _ := strconv.ParseFloat(before, 64)
				is, _ := strconv.ParseFloat(after, 64)
				by, _ := strconv.ParseFloat(p.slots["v"], 64)
				if c.Cents {
					by *= 100
				}
				if p.slots["x"] != "" && max(is-was, was-is)-by > 1e-6 ||
					is > was != strings.HasPrefix(p.pattern, "raise") {
					t.Errorf("%s by %s: from %s to %s", p.pattern, p.slots["v"], before, after)
				}
			case c.Ref != nil:
				if to := c.Ref.byKey(number(after)); to == nil || c.Ref.rowLabel(to) != p.slots["v"] {
					t.Errorf("%s to %s: it is %s", p.pattern, p.slots["v"], after)
				}
			case c.Bool:
				if yes := after == "1"; yes != (p.slots["v"] == "yes") {
					t.Errorf("%s to %s: it is %s", p.pattern, p.slots["v"], after)
				}
			case c.Cents && c.show(number(after)) == p.slots["v"]:
			case c.show(after) != p.slots["v"]:
				t.Errorf("%s to %s: it is %s", p.pattern, p.slots["v"], after)
			}
		}
	}
	for _, pattern := range []string{"set", "correct", "raise", "lower", "raise_all"} {
		if seen[pattern] == 0 {
			t.Errorf("%s was not drawn: %v", pattern, seen)
		}
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// A report shows what its lines say, in their order.
func TestReportsAgreeWithADatabase(t *testing.T) {
	reports := 0
	for seed := range uint64(120) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		p := Draw(rand.New(rand.NewPCG(seed, 3)), w, Top)
		if p == nil || p.pattern != "report" {
			continue
		}
		reports++
		cells, lines := open(t, w).ask(p.Steps[len(p.Steps)-1].SQL), ""
		width := len(cells) / len(p.Answer.Values)
		for row := range slices.Chunk(cells, width) {
			lines += strings.Join(row[:width-1], " ") + ": " + row[width-1] + "\n"
		}
		if want := strings.Join(p.Answer.Values, "\n") + "\n"; lines != want {
			t.Errorf("%v: %q, want %q", p.Steps, lines, want)
		}
	}
	if reports < 5 {
		t.Errorf("%d reports", reports)
	}
}

// Of two requests that are drawn apart, one with a change, none is about the table that the other changes.
func TestTwoRequestsDoNotMeet(t *testing.T) {
	changed := regexp.MustCompile(`^(?:UPDATE|INSERT INTO|DELETE FROM) (\S+)`)
	several := 0
	for seed := range uint64(400) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		p := (&drawer{r: rand.New(rand.NewPCG(seed, 2)), w: w}).several()
		if p == nil || !p.Changes() {
			continue
		}
		several++
		for i, s := range p.Steps {
			m := changed.FindStringSubmatch(s.SQL)
			for k, o := range p.Steps {
				if k < i && strings.HasPrefix(o.SQL, "SELECT * FROM ") { // its own looks
					continue
				}
				if swaps := p.pattern == "exchange" || p.then.pattern == "exchange"; swaps && s.Writes && o.Writes {
					continue // the two halves of one change
				}
				if m != nil && k != i && !strings.HasPrefix(o.SQL, "SELECT DISTINCT") &&
					regexp.MustCompile(`(?:FROM|JOIN|UPDATE|INTO) `+regexp.QuoteMeta(m[1])+
						`(?:\W|$)`).MatchString(o.SQL) {
					t.Errorf("%s, and %s", s.SQL, o.SQL)
				}
			}
		}
	}
	if several < 30 {
		t.Errorf("%d were drawn", several)
	}
}

// Nothing is the highest that is as high as another.
func TestNothingIsBestOfEquals(t *testing.T) {
	table := TableOf("boats", Records(`[{"id": 1, "name": "Skua", "metres": 9}, {"id": 2, "name": "Tern", "metres": 9},
		{"id": 3, "name": "Gull", "metres": 4}]`))
	lowest := 0
	for seed := range uint64(60) {
		p := Draw(rand.New(rand.NewPCG(seed, 1)), &World{Tables: []*Table{table}}, Best)
		if p != nil && p.slots["end"] == "highest" {
			t.Errorf("%+v", p)
		}
		if p != nil {
			lowest++
		}
	}
	if lowest == 0 {
		t.Error("none is the lowest")
	}
}

// A value is changed where it is below the bound, and else not.
func TestChangesUnderACondition(t *testing.T) {
	drawn := map[bool]int{}
	for seed := range uint64(150) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		p := Draw(rand.New(rand.NewPCG(seed, 2)), w, ActIf)
		if p == nil || p.pattern != "set_if" {
			continue
		}
		is, _ := strconv.ParseFloat(p.Result[0], 64)
		bound, _ := strconv.ParseFloat(p.slots["bound"], 64)
		drawn[p.Changes()]++
		if p.Changes() != (is < bound) {
			t.Errorf("%v below %v: changes %v", is, bound, p.Changes())
		}
	}
	if drawn[true] == 0 || drawn[false] == 0 {
		t.Errorf("%v", drawn)
	}
}

// Two things have each other's value in the end, and nothing else differs.
func TestExchange(t *testing.T) {
	n := 0
	for seed := range uint64(60) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		p := (&drawer{r: rand.New(rand.NewPCG(seed, 2)), w: w, plain: true}).exchange()
		if p == nil {
			continue
		}
		n++
		o := open(t, w)
		table := p.Tables[0]
		all := "SELECT * FROM " + Ident(table.Name)
		before := o.ask(all)
		for _, s := range p.Steps {
			if s.Writes {
				if _, err := o.db.Exec(s.SQL); err != nil {
					t.Fatal(err)
				}
			}
		}
		var was, is []string
		for i, v := range o.ask(all) {
			if v != before[i] {
				was, is = append(was, before[i]), append(is, v)
			}
		}
		if len(was) != 2 || was[0] != is[1] || was[1] != is[0] {
			t.Errorf("%v: %v became %v", p.Steps, was, is)
		}
	}
	if n < 10 {
		t.Errorf("%d exchanges", n)
	}
}
