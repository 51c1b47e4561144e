package folders

import (
	"testing"

	"hone/internal/synth/programs"
)

// Invented folders have the files that programs over several files need, and no structure is rare among them.
func TestFoldersHaveStructures(t *testing.T) {
	const folders = 24
	r, had := newRand(5), map[string]int{}
	for i := range folders {
		f := Invent(r, i%programs.NumDomains())
		for n := range structures() {
			if p := DrawStructure(r, f, everything(), n); p != nil {
				if had[p.Pattern()]++; p.Kind == programs.ActIf && p.Changes() {
					had["act"]++
				}
			}
		}
	}
	for pattern, least := range map[string]int{"due_of": 8, "due_all": 8, "paid_none": 8, "paid_told": 8, "bill_of": 6,
		"bills": 6, "set_and_tick": 6, "act": 6, "stock_take": 6, "sold_more": 2, "letters_fill": 1, "swap_in": 3,
		"missing_rows": 6, "row_move": 20, "letter_fill": 4} {
		if had[pattern] < least {
			t.Errorf("%d of %d folders have %s: %v", had[pattern], folders, pattern, had)
		}
	}
}
