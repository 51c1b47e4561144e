package folders

import (
	"testing"

	"hone/internal/synth/programs"
)

// Invented folders have the files that programs over several files need, and no structure is rare among them.
func TestFoldersHaveStructures(t *testing.T) {
	const folders = 48
	r, had := newRand(5), map[string]int{}
	for i := range folders {
		f := Invent(r, i%programs.NumDomains())
		for _, s := range append(structures(), told()...) {
			if p := draw(r, f, everything(), s.kind, s.draw); p != nil {
				if had[p.Pattern()]++; p.Kind == programs.ActIf && p.Changes() {
					had["act"]++
				}
			}
		}
	}
	for pattern, least := range map[string]int{"due_of": 16, "due_all": 16, "paid_none": 16,
		"paid_told": 16, "bill_of": 12, "bills": 12, "set_and_tick": 12, "act": 12, "stock_take": 12,
		"sold_more": 4, "letters_fill": 2, "swap_in": 6, "missing_rows": 12, "row_move": 40,
		"letter_fill": 8, "money_in": 8, "call_off": 8, "done_cost": 6, "done_free": 3, "owing_told": 3,
		"budget_move": 3, "budget_move_on": 3, "value_new": 2, "value_new_but": 1, "owing_lines": 3,
		"counted_there": 6, "paid_on": 6, "paid_which": 6} {
		if had[pattern] < least {
			t.Errorf("%d of %d folders have %s: %v", had[pattern], folders, pattern, had)
		}
	}
}
