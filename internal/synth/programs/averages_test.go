package programs

import (
	"math/rand/v2"
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
