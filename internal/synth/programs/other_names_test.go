package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Other words for a column are of its kind and share no three letters with it; nearly each column has some.
func TestOtherNames(t *testing.T) {
	all, none := 0, 0
	for seed := range uint64(NumDomains()) {
		for _, table := range Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)).Tables {
			for i, c := range table.Columns {
				names := table.OtherNames(i)
				if all++; len(names) == 0 {
					none++
				}
				for _, name := range names {
					if sharesLetters(name, c.Name) || Ident(name) != name {
						t.Errorf("%s for %s", name, c.Name)
					}
				}
			}
			if len(table.OtherTables()) == 0 || slices.Contains(table.OtherTables(), table.Name) {
				t.Errorf("%s: %q", table.Name, table.OtherTables())
			}
		}
	}
	if 20*none > all {
		t.Errorf("%d of %d columns have no other word", none, all)
	}
	for pair, want := range map[string]bool{"price price_eur": true, "cost price": false, "hired_on hired": true,
		"no note": true, "day date": false, "Amount mount": true} {
		if a, b, _ := strings.Cut(pair, " "); sharesLetters(a, b) != want {
			t.Errorf("%s: %v", pair, !want)
		}
	}
}

// The columns are told that stand in the rows: not a name that is made of two.
func TestShown(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "id"}, {Name: "name", Parts: []int{2, 3}}, {Name: "first"},
		{Name: "last"}}}
	if got := table.Shown(); got != "id, first and last" {
		t.Error(got)
	}
}
