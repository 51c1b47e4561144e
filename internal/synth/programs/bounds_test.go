package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A bound that is in itself holds of the row that has it, and of what is beyond it on one side alone, in Go and in SQL.
func TestBoundsThatAreInThemselves(t *testing.T) {
	table := &Table{Name: "pets", Key: 0, Label: 1,
		Columns: []Column{{Name: "id", Kind: Number}, {Name: "name", Kind: Text}, {Name: "age", Kind: Number},
			{Name: "born", Kind: Date}},
		Rows: [][]any{{int64(1), "Rex", int64(3), "2024-05-01"}, {int64(2), "Tom", int64(5), "2024-06-01"},
			{int64(3), "Kim", int64(8), "2024-07-01"}, {int64(4), "Ida", nil, nil}}}
	o := open(t, &World{Tables: []*Table{table}})
	for _, c := range []struct {
		cond Cond
		want []string
	}{
		{Cond{2, -1, AtLeast, int64(5)}, []string{"Tom", "Kim"}},
		{Cond{2, -1, AtMost, int64(5)}, []string{"Rex", "Tom"}},
		{Cond{2, -1, Above, int64(5)}, []string{"Kim"}},
		{Cond{2, -1, Between, []any{int64(3), int64(5)}}, []string{"Rex", "Tom"}},
		{Cond{3, -1, AtMost, "2024-06-01"}, []string{"Rex", "Tom"}},
		{Cond{3, -1, Between, []any{"2024-06-01", "2024-07-01"}}, []string{"Tom", "Kim"}},
	} {
		q := Query{Table: table, Where: []Cond{c.cond}, Column: 1, Of: -1, Order: -1}
		if got := valueTexts(q.Run()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", q.SQL(), got, c.want)
		}
		if got := o.ask(q.SQL()); !slices.Equal(got, c.want) {
			t.Errorf("%s: the database says %v, want %v", q.SQL(), got, c.want)
		}
	}
}

// The words of a bound say its side, and that it is in itself; a row has it.
func TestWordsOfBounds(t *testing.T) {
	sides := map[Op][]string{
		AtLeast: {"at least", "or more", "no less", "or later", "on or after", "no earlier"},
		AtMost: {"at most", "or less", "no more", "or earlier", "by ", "on or before", "no later",
			"up to and including"},
		Between: {"inclusive", "both included"},
	}
	seen := map[Op]int{}
	for seed := range uint64(400) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		d := &drawer{r: rand.New(rand.NewPCG(seed, 2)), w: w}
		table := d.table()
		orders := table.properties(isOrdered)
		if len(orders) == 0 {
			continue
		}
		i := pick(d.r, orders)
		c, phrase, ok := d.bounded(table, i, pick(d.r, table.Rows)[i])
		if !ok || c.Value == nil {
			continue
		}
		seen[c.Op]++
		for op, words := range sides {
			is := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(phrase, w) })
			if is != (op == c.Op) {
				t.Errorf("%s is %q", c.Op, phrase)
			}
		}
		ends, list := c.Value.([]any)
		if !list {
			ends = []any{c.Value}
		}
		for _, end := range ends {
			if !slices.ContainsFunc(table.Rows, func(row []any) bool { return row[i] != nil && equal(row[i], end) }) {
				t.Errorf("no row has %v: %s", end, fmt.Sprint(c))
			}
		}
	}
	for op := range sides {
		if seen[op] < 20 {
			t.Errorf("drawn are %v", seen)
		}
	}
}

// A number that is called by what happened in that year is no amount.
func TestYears(t *testing.T) {
	for name, want := range map[string]bool{"joined": true, "built": true, "year_opened": true, "joined_members": false,
		"stock": false} {
		if got := (Column{Name: name, Kind: Number}).isYear(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (Column{Name: "joined", Kind: Text}).isYear() {
		t.Error("a text is a year")
	}
}
