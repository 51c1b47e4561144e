package synth

import "testing"

// Where nothing is touched there is one table, not the header of another.
func TestRefreshedTable(t *testing.T) {
	if rows := (Refreshed{Counts: map[string]int{Untouched: 2}, Rows: []RefreshedRow{{ID: "a", Outcome: Untouched},
		{ID: "b", Outcome: Untouched}}}).Table(); len(rows) != 2 || rows[0][0] != "OUTCOME" || rows[1][1] != "2" {
		t.Errorf("%q", rows)
	}
	if rows := (Refreshed{Counts: map[string]int{Holds: 1},
		Rows: []RefreshedRow{{ID: "a", Outcome: Holds}}}).Table(); len(rows) != 5 || rows[1][0] != "a" ||
		len(rows[2]) != 0 {
		t.Errorf("%q", rows)
	}
}
