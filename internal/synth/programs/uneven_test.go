package programs

import (
	"strings"
	"testing"
)

// Records of a list need not have all fields, and what one of them has below it hides none of the others.
func TestUnevenRecords(t *testing.T) {
	for _, tc := range []struct{ name, text, columns, row string }{
		{"a list of objects, empty at first",
			`[{"name":"Garden shed","tasks":[]},{"name":"Tax return","tasks":[{"title":"Find the receipts"}]}]`,
			"name", "Garden shed"},
		{"a field that is left out", `[{"name":"Choir","guests":["Mira"]},{"name":"Dentist","place":"Dr. Falk"}]`,
			"name guests place", "Choir|Mira|"},
		{"hardly anything in common", `[{"a":1,"b":2,"c":3},{"d":4}]`, "", ""},
	} {
		table := TableOf("things", Records(tc.text))
		if table == nil {
			if tc.columns != "" {
				t.Errorf("%s: no table", tc.name)
			}
			continue
		}
		var names, cells []string
		for i, c := range table.Columns {
			names, cells = append(names, c.Name), append(cells, Show(table.Rows[0][i]))
		}
		if got := strings.Join(names, " "); got != tc.columns || strings.Join(cells, "|") != tc.row {
			t.Errorf("%s: %s: %v", tc.name, got, cells)
		}
	}
}

// Of an inventory people name what is in it, and no currency.
func TestWhatPeopleSay(t *testing.T) {
	if one, many := Nouns("inventory"); one != "inventory item" || many != "inventory items" {
		t.Errorf("%s, %s", one, many)
	}
	c := Column{Name: "unit_price_aed", Kind: Number}
	if c.addNumberPhrases(strings.Fields(Words(c.Name))); c.Says != "unit price" {
		t.Errorf("unit_price_aed is said as %q", c.Says)
	}
}

// What repeats the name of each row is no property of it, and of several tags one is spoken of.
func TestRepeats(t *testing.T) {
	table := TableOf("todos", Records(`[
		{"id":"0","text":"Renew the passport","projects":["admin"],"line":"(B) 2026-11-30 Renew the passport"},
		{"id":"1","text":"Buy the compost","projects":["garden","flat"],"line":"(C) 2026-11-30 Buy the compost"},
		{"id":"2","text":"Call the plumber","projects":[],"line":"2026-11-30 Call the plumber"}]`))
	Understand([]*Table{table})
	var said []string
	for _, c := range table.Columns {
		said = append(said, c.caption())
	}
	if got := strings.Join(said, ", "); got != "id, text, project" || table.Label != 1 {
		t.Errorf("%s; called by column %d", got, table.Label)
	}
}
