package programs

import "testing"

// What is to be added is looked for by its name, and nothing is where some name has it in it already.
func TestIsThere(t *testing.T) {
	for name, want := range map[string][2]string{ // by a store whose LIKE tells no capitals, and by one whose does
		"Dora Voss": {"SELECT * FROM staff WHERE name LIKE '%Dora Voss%'",
			"SELECT * FROM staff WHERE name = 'Dora Voss'"},
		"Zoë Roy":  {"SELECT * FROM staff WHERE name = 'Zoë Roy'", "SELECT * FROM staff WHERE name = 'Zoë Roy'"},
		"Ana Lund": {},
		"ben":      {"", "SELECT * FROM staff WHERE name = 'ben'"},
	} {
		for i, cased := range []bool{false, true} {
			w := liveTables("staff", `[{"id": 1, "name": "Ana Lund"}, {"id": 2, "name": "Ben Roy"}]`)
			w.Cased = cased
			got := ""
			for _, s := range (&drawer{w: w}).lookFirst(w.Tables[0], name) {
				got += s.SQL
			}
			if got != want[i] {
				t.Errorf("%s: %q, want %q", name, got, want[i])
			}
		}
	}
}
