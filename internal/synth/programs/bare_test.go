package programs

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A value tells what it is of where rows share it there, and none has it elsewhere.
func TestBareValues(t *testing.T) {
	table := &Table{Name: "staff", One: "nurse", Many: "nurses", Label: 0, Key: -1, Columns: []Column{
		{Name: "name", Kind: Text}, {Name: "ward", Kind: Text}, {Name: "duty", Kind: Text}, {Name: "code", Kind: Text},
		{Name: "hired_on", Kind: Date}, {Name: "hours", Kind: Number}},
		Rows: [][]any{
			{"Ana", "North", "late", "N12", "2024-01-02", int64(30)},
			{"Bo", "North", "early", "N22", "2024-02-02", int64(38)},
			{"Cy", "early", "late", "N32", "2024-03-02", int64(38)},
		}}
	for _, x := range []struct {
		column int
		value  any
		want   string
	}{
		{1, "North", "North"},                    // shared, and nowhere else
		{2, "early", "duty early"},               // a ward is called so, too
		{3, "N22", "code N22"},                   // each has its own
		{0, "Ana", "name Ana"},                   // names the row
		{4, "2024-05-06", "hired on 2024-05-06"}, // nobody says a mere day
		{5, int64(38), "hours 38"},               // a number says nothing
		{1, "South", "ward South"},               // nobody knows it
	} {
		if got := table.bare(x.column, x.value, Show(x.value)); got != x.want {
			t.Errorf("%v of %s: %q, want %q", x.value, table.Columns[x.column].Name, got, x.want)
		}
	}
	for why, change := range map[string]func(c *Column){
		"a reference": func(c *Column) { c.Ref = table }, "yes or no": func(c *Column) { c.Bool = true },
		"written as yes": func(c *Column) { c.Yes = "North" }, "several": func(c *Column) { c.Several = true },
	} {
		was := table.Columns[1]
		if change(&table.Columns[1]); table.tells(1, "North") {
			t.Errorf("%s tells", why)
		}
		table.Columns[1] = was
	}
	table.Rows[0][0], table.Rows[1][0] = "Cyd", "Cyd" // a name that several have
	if table.tells(0, "Cyd") || table.tells(2, "EARLY") || !table.tells(1, "north") {
		t.Error("a label tells, or letters count")
	}
	if table.Rows[0][1], table.Rows[1][1] = "NW", "NW"; table.tells(1, "NW") {
		t.Error("two letters tell")
	}
	table.Columns = append(table.Columns, Column{Name: "left_on", Kind: Date})
	if got := table.bare(4, "2024-05-06", "2024-05-06"); got != "hired on 2024-05-06" {
		t.Errorf("one of two days: %q", got)
	}
}

// A noun stands once before what is named by it.
func TestNoArticleTwice(t *testing.T) {
	p := &Program{pattern: "set", slots: map[string]string{
		"x": "the oldest sale", "one": "sale", "attr": "price", "v": "3",
	}}
	for seed := range uint64(200) {
		text := p.Word(rand.New(rand.NewPCG(seed, 1)), "train").Task
		if strings.Contains(strings.ToLower(text), "the the ") {
			t.Fatal(text)
		}
	}
}
