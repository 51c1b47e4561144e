package programs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// shows is a table of shows with two columns to ask for.
func shows() *Table {
	return &Table{
		Name:  "shows",
		Key:   0,
		Label: 1,
		Columns: []Column{{Name: "id", Kind: Number}, {Name: "city", Kind: Text},
			{Name: "status", Kind: Text}, {Name: "fee", Kind: Number}},
		Rows: [][]any{
			{int64(7), "Ghent", "confirmed", int64(450)},
			{int64(8), "Rouen", "open", nil}, {int64(9), "Lille", "confirmed", int64(600)},
		},
	}
}

func TestWorking(t *testing.T) {
	confirmed := []Cond{{2, -1, Is, "confirmed"}}
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"a count numbers what it finds": {Query{Where: confirmed, Agg: "COUNT", Of: -1, Order: -1},
			"Ghent: confirmed - yes\nRouen: open - no\nLille: confirmed - yes\n1 Ghent, 2 Lille"},
		"a sum adds one after the other": {Query{Where: confirmed, Agg: "SUM", Column: 3, Of: -1, Order: -1},
			"Ghent: confirmed, 450 - yes\nRouen: open, none - no\nLille: confirmed, 600 - yes\n450 + 600 = 1050"},
		"a mean divides": {Query{Agg: "AVG", Column: 3, Of: -1, Order: -1},
			"Ghent: 450\nRouen: none\nLille: 600\n450 + 600 = 1050\n1050 / 2 = 525"},
		"of a named thing its own row alone": {Query{Where: []Cond{{1, -1, Is, "Lille"}}, Column: 3, Of: -1, Order: -1},
			"Lille: 600"},
		"of two that are compared their rows alone": {Query{Where: []Cond{{1, -1, Among, []any{"Ghent", "Rouen"}}},
			Column: 1, Of: -1, Order: 3, Desc: true, Limit: 1}, "Ghent: 450\nRouen: none"},
		"of a part of a name its own row alone": {
			Query{Where: []Cond{{1, -1, Has, "lil"}}, Column: 3, Of: -1, Order: -1},
			"Lille: 600",
		},
		"what is compared stands there": {Query{Column: 1, Of: -1, Order: 3, Desc: true, Limit: 1},
			"Ghent: 450\nRouen: none\nLille: 600\nIn order: Lille 600, Ghent 450"},
		"a list in order ends with it": {Query{Column: 1, Of: -1, Order: 1, Desc: true},
			"Sorted: Rouen, Lille, Ghent"},
		"calls go by keys": {Query{Where: confirmed, Column: 1, Of: -1, Order: -1, ByKey: true},
			"Ghent (7): confirmed - yes\nRouen (8): open - no\nLille (9): confirmed - yes"},
		"a number that names a thing is a name": {
			Query{Where: []Cond{{0, -1, Is, int64(9)}}, Column: 3, Of: -1, Order: -1},
			"Lille: 9, 600",
		},
		"of rows that were asked for no other": {Query{Where: append(confirmed, Cond{3, -1, Above, int64(500)}),
			Column: 1, Of: -1, Order: -1, shown: confirmed}, "Ghent: 450 - no\nLille: 600 - yes"},
		"what was asked for is not looked at again": {Query{Where: confirmed, Agg: "COUNT", Of: -1, Order: -1,
			shown: confirmed}, "1 Ghent, 2 Lille"},
		"a name says nothing of itself": {Query{Where: []Cond{{1, -1, Is, "Lille"}}, Column: 1, Of: -1, Order: -1}, ""},
	} {
		c.q.Table = shows()
		if got := (&Program{query: &c.q}).Working(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	two := &Program{working: "a", then: &Program{working: "b"}}
	if two.Working() != "a\nb" || two.TakeWorking() != "a" || two.Working() != "b" {
		t.Errorf("two requests: %q", two.Working())
	}
	change := &Program{working: "b", Steps: []Step{{Writes: true}}}
	if both := (&Program{working: "a", then: change}); both.Working() != "a" || change.Working() != "b" {
		t.Errorf("a change behind a question: %q, and alone %q", both.Working(), change.Working())
	}
}

// A working goes with its program: as many rows are marked as a database finds or changes, what is written as a sum is
// one, and comes to the answer. What is not to be answered has none.
func TestWorkingsHold(t *testing.T) {
	marked, added, refused := 0, 0, 0
	for seed := range uint64(30) {
		w := oddWorld(rand.New(rand.NewPCG(seed, 39)))
		if seed%3 == 0 {
			w = Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		}
		if len(w.Tables) == 0 {
			continue
		}
		w.Listed = true
		o := openLive(t, w)
		for kind := range Shares() {
			for n := range uint64(2) {
				p := Draw(rand.New(rand.NewPCG(seed, 2*uint64(len(kind))+n)), w, kind)
				if p == nil {
					continue
				}
				why := p.Working()
				if p.Answer.Form == "unknown" || p.Answer.Form == "cannot" || p.Answer.Form == "question" {
					if refused++; why != "" {
						t.Errorf("%v although: %s", p.Answer.Values, why)
					}
					continue
				}
				q := p.query
				if p.then != nil || q == nil || why == "" {
					continue
				}
				yes, no := strings.Count(why, " - yes"), strings.Count(why, " - no")
				if yes+no > 0 && q.Limit == 0 && seed%3 == 0 {
					if marked++; yes != o.numRows(p) {
						t.Errorf("%d rows are marked, of %d: %+v\n%s", yes, o.numRows(p), p.Steps, why)
					}
				}
				for _, sum := range sums.FindAllStringSubmatch(why, -1) {
					var a, b, c float64
					fmt.Sscan(strings.Join(sum[1:], " "), &a, &b, &c)
					if added++; math.Abs(a+b-c) > 1e-6 {
						t.Errorf("%s in\n%s", sum[0], why)
					}
					if q.Agg == "SUM" && strings.HasSuffix(why, sum[0]) && sum[3] != p.Answer.Values[0] {
						t.Errorf("%s, and the answer is %s", sum[0], p.Answer.Values)
					}
				}
			}
		}
	}
	if marked < 80 || added < 80 || refused < 20 {
		t.Errorf("only %d workings mark rows, %d sums are written, and %d requests refused", marked, added, refused)
	}
}

var sums = regexp.MustCompile(`(?m)^(\S+) \+ (\S+) = (\S+)$`)

// numRows is how many rows a program changes, or counts, or else shows. Nothing is changed.
func (o opened) numRows(p *Program) (n int) {
	o.t.Helper()
	tx, err := o.db.Begin()
	if err != nil {
		o.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, s := range p.Steps {
		if s.Writes {
			changed, err := tx.Exec(s.SQL)
			if err != nil {
				o.t.Fatalf("%v: %s", err, s.SQL)
			}
			k, _ := changed.RowsAffected() // SQLite knows it
			n += int(k)
		}
	}
	if what := "COUNT(*)"; !p.Changes() {
		of := "(" + p.Steps[len(p.Steps)-1].SQL + ")"
		switch p.query.Agg {
		case "COUNT":
			what = "*"
		case "":
		default: // of those that it adds up
			q := *p.query
			q.Agg, q.Column, q.Of = "COUNT", 0, -1
			what, of = "*", "("+q.SQL()+")"
		}
		if err := tx.QueryRow("SELECT " + what + " FROM " + of).Scan(&n); err != nil {
			o.t.Fatalf("%v: %s", err, of)
		}
	}
	return n
}

// A row without a name is called by its key or its number, a value that is referred to may be missing, and two columns
// with one value are both told.
func TestWorkingOfRowsWithGaps(t *testing.T) {
	doctors := &Table{Name: "doctors", Key: 0, Label: 1, Columns: []Column{{Name: "id", Kind: Number},
		{Name: "name", Kind: Text}, {Name: "city", Kind: Text}}, Rows: [][]any{{int64(3), "Park", nil}}}
	visits := &Table{Name: "visits", Key: -1, Label: 0, Columns: []Column{{Name: "code", Kind: Text},
		{Name: "doctor", Ref: doctors}, {Name: "room", Kind: Number}, {Name: "cost", Kind: Number}},
		Rows: [][]any{{nil, int64(3), int64(4), int64(4)}, {"B", nil, int64(4), int64(5)}}}
	inRoom := []Cond{{2, -1, Is, int64(4)}}
	for want, q := range map[string]Query{
		"row 1: 4, 4 - yes\nB: 4, 5 - yes\n4 + 5 = 9": {Where: inRoom, Agg: "SUM", Column: 3, Of: -1, Order: -1},
		"row 1: Park none - no\nB: none - no":         {Where: []Cond{{1, 2, Is, "Lima"}}, Column: 0, Of: -1, Order: -1},
	} {
		if q.Table = visits; q.Working() != want {
			t.Errorf("%s\nwant\n%s", q.Working(), want)
		}
	}
	visits.Key = 3
	if got := (Query{Table: visits, Agg: "COUNT", Of: -1, Order: -1}).Working(); got != "1 4, 2 B" {
		t.Error(got)
	}
}

// Of tables that are read as a whole, groups and what lacks others are counted before the reader; a statement counts by
// itself.
func TestWorkingOfGroups(t *testing.T) {
	towns := &Table{Name: "towns", One: "town", Many: "towns", Key: 0, Label: 0,
		Columns: []Column{{Name: "name", Kind: Text}, {Name: "county", Kind: Text}},
		Rows:    [][]any{{"Ghent", "East"}, {"Lille", "North"}, {"Rouen", "East"}}}
	trips := &Table{Name: "trips", One: "trip", Many: "trips", Key: 0, Label: 0,
		Columns: []Column{{Name: "code", Kind: Text}, {Name: "town", Kind: Text, Ref: towns},
			{Name: "km", Kind: Number}},
		Rows: [][]any{{"A1", "Ghent", int64(4)}, {"A2", "Rouen", int64(9)}, {"A3", "Ghent", int64(7)}}}
	want := map[string]string{"most": "Ghent: 1 A1, 2 A3\nRouen: 1 A2",
		"unrelated": "Ghent: 1 A1, 2 A3\nLille: none\nRouen: 1 A2", "most_of": "Ghent: A1 4, A3 7, 4 + 7 = 11\nRouen: A2 9",
		"having": "Ghent: 1 A1, 2 A3\nRouen: 1 A2"}
	seen := map[string]bool{}
	for seed := range uint64(400) {
		for _, listed := range []bool{true, false} {
			for _, kind := range []string{Most, Missing} {
				p := Draw(rand.New(rand.NewPCG(seed, 1)), &World{Tables: []*Table{towns, trips}, Listed: listed}, kind)
				if p == nil || want[p.Pattern()] == "" || p.Slot("others") != "trips" || p.Slot("one") != "town" {
					continue
				}
				if got := p.Working(); listed && got != want[p.Pattern()] || !listed && got != "" {
					t.Errorf("%s of tables that are listed, %v: %q", p.Pattern(), listed, got)
				}
				seen[p.Pattern()] = true
			}
		}
	}
	if len(seen) < len(want) {
		t.Errorf("drawn were %v", seen)
	}
}
