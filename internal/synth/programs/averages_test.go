package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Which of two kinds has the higher mean is what a database says first, and both are named.
func TestAverages(t *testing.T) {
	drawnBy(t, 30, (*drawer).averages, func(p *Program, _ *World, o opened) {
		got := o.ask(p.Steps[0].SQL)
		if len(got) != 4 || got[0] != p.Answer.Values[0] || len(p.Answer.Among) != 2 || p.slots["a"] == p.slots["b"] {
			t.Errorf("%v, answer %v: %+v", got, p.Answer, p.Steps)
		}
	})
}

// "How many hours" is the sum of a column.
func TestSumMany(t *testing.T) {
	drawnBy(t, 20, (*drawer).sumMany, func(p *Program, _ *World, o opened) {
		if got := o.ask(p.Steps[0].SQL); p.pattern != "sum_many" || strings.HasPrefix(p.slots["attr"], "number") ||
			got[0] != p.Answer.Values[0] {
			t.Errorf("%v, answer %v: %+v", got, p.Answer, p.Steps)
		}
	})
}

// Where amounts have prices, at least a third of the totals are sums of products.
func TestProductsAreDrawn(t *testing.T) {
	w, drawn, products := parlour(), 0, 0
	for seed := range uint64(200) {
		if p := Draw(rand.New(rand.NewPCG(seed, 6)), w, Total); p != nil {
			if drawn++; strings.Contains(p.Steps[len(p.Steps)-1].SQL, " * ") {
				products++
			}
		}
	}
	if 3*products < drawn {
		t.Errorf("%d of %d are products", products, drawn)
	}
}

// Nobody adds floors, raises a shelf or takes the mean of zones; the highest and the lowest are asked for.
func TestRanksAreNoQuantities(t *testing.T) {
	for name, want := range map[string]bool{"floor": false, "shelf": false, "min_level": true, "slots": true,
		"age": true, "rating": true} {
		if got := (Column{Name: name, Kind: Number}).isQuantity(); got != want {
			t.Errorf("%s is a quantity: %v", name, got)
		}
	}
	computed := regexp.MustCompile(`(?i)(?:SUM|AVG)\([^()]*\bfloor|\bfloor [-+*]`)
	for seed := range uint64(60) {
		w := Invent(rand.New(rand.NewPCG(seed, 61)), slices.IndexFunc(domains(), func(d domain) bool {
			return d.Name == "hotel"
		}))
		for _, kind := range []string{Total, Adjust, Several, Compare} {
			p := Draw(rand.New(rand.NewPCG(seed, 62)), w, kind)
			if p == nil {
				continue
			}
			for _, s := range p.Steps {
				if computed.MatchString(s.SQL) {
					t.Errorf("%s: %s", kind, s.SQL)
				}
			}
		}
	}
}

// Of a rank the highest and the lowest are asked for, and never a sum.
func TestRanksAreNotAddedUp(t *testing.T) {
	w := liveTables("rooms", `[{"id": 1, "name": "North", "floor": 1}, {"id": 2, "name": "South", "floor": 2},
		{"id": 3, "name": "East", "floor": 4}, {"id": 4, "name": "West", "floor": 2}]`)
	n := 0
	each(w, 60, []string{Total}, func(p *Program, sql string) {
		if strings.Contains(sql, "(floor)") {
			n++
		}
		if strings.Contains(sql, "SUM(floor)") || strings.Contains(sql, "AVG(floor)") {
			t.Error(sql)
		}
	})
	if n == 0 {
		t.Error("no floor is asked for")
	}
}

// Of changes of all that match, and of two conditions, most find something.
func TestMostIsFound(t *testing.T) {
	none, all := map[string]int{}, map[string]int{}
	for seed := range uint64(400) {
		w := Invent(rand.New(rand.NewPCG(seed, 63)), int(seed)%NumDomains())
		for _, kind := range []string{SetAll, Both} {
			if p := Draw(rand.New(rand.NewPCG(seed, 64)), w, kind); p != nil {
				all[kind]++
				if strings.Contains(strings.Join(p.Answer.Values, ""), "there are no ") || p.Result != nil &&
					strings.Join(p.Result, "") == "0" {
					none[kind]++
				}
			}
		}
	}
	for kind, n := range all {
		if n < 300 || 3*none[kind] > n || none[kind] == 0 {
			t.Errorf("%s: %d of %d find nothing", kind, none[kind], n)
		}
	}
}
