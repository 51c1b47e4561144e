package programs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What is computed of products and of groups is what a database answers.
func TestProductsAgreeWithADatabase(t *testing.T) {
	seen := map[string]int{}
	joined := 0
	for i, way := range []func(*drawer) *Program{
		(*drawer).worth, (*drawer).worthBest, (*drawer).sumEach, (*drawer).havingOver,
	} {
		drawnBy(t, []int{10, 10, 20, 20}[i], way, func(p *Program, _ *World, o opened) {
			seen[p.pattern]++
			sql := p.Steps[0].SQL
			got := o.ask(sql)
			want := p.Result
			if p.pattern == "worth_best" {
				got = []string{strings.Join(got[:len(got)-1], " ")} // a name may stand in two columns
				want = p.Answer.Values
			}
			if !slices.Equal(rounded(got), rounded(want)) {
				t.Errorf("%s: computed %q, the database says %q: %s", p.pattern, want, got, sql)
			}
			if strings.Contains(sql, " * ") && strings.Contains(sql, " JOIN ") {
				joined++
			}
			if p.Answer.Form == "lines" && len(p.Answer.Values) != len(got)/2 {
				t.Errorf("%d lines: %q", len(p.Answer.Values), got)
			}
		})
	}
	for _, pattern := range []string{"worth", "worth_some", "worth_best", "sum_each", "having_avg", "having_sum"} {
		if seen[pattern] < 2 {
			t.Errorf("drawn are %v", seen)
		}
	}
	if joined < 5 {
		t.Errorf("%d products are over two tables", joined)
	}
}

// rounded are texts with numbers to the second decimal.
func rounded(values []string) (list []string) {
	for _, v := range values {
		var x float64
		if n, _ := fmt.Sscanf(v, "%g", &x); n == 1 && strings.Trim(v, "0123456789.-") == "" {
			v = fmt.Sprintf("%.2f", x)
		}
		list = append(list, v)
	}
	return list
}

// A price and an amount are known by what they are called; a share of a hundred is none.
func TestPricesAndAmounts(t *testing.T) {
	for name, want := range map[string][2]bool{
		"unit_price": {true, false}, "hourly_rate": {true, false}, "quantity": {false, true}, "stock": {false, true},
		"weight": {false, false}, "number of jars": {false, true},
	} {
		c := Column{Name: name, Kind: Number}
		if got := [2]bool{c.isPrice("price", "rate"), c.isAmount()}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !(Column{Name: "germ_pct", Says: "germination rate"}).isShare() || (Column{Name: "rate"}).isShare() {
		t.Error("a share")
	}
}
