package programs

import "testing"

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
		"what is compared stands there": {Query{Column: 1, Of: -1, Order: 3, Desc: true, Limit: 1},
			"Ghent: 450\nRouen: none\nLille: 600"},
		"calls go by keys": {Query{Where: confirmed, Column: 1, Of: -1, Order: -1, ByKey: true},
			"Ghent (7): confirmed - yes\nRouen (8): open - no\nLille (9): confirmed - yes"},
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
}
