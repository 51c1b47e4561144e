package folders

import (
	"testing"

	"hone/internal/synth/programs"
)

// Invented folders have the files that programs over several files need, and no structure is rare among them.
func TestFoldersHaveStructures(t *testing.T) {
	const folders = 48
	had := map[string]int{}
	for i := range folders { // each draw has numbers of its own, so that a change of one structure moves no other
		f := Invent(newRand(uint64(i)), i%programs.NumDomains())
		for k, s := range structures() {
			if p := draw(newRand(uint64(1000*i+k)), f, everything(), s.kind, s.draw); p != nil {
				if had[p.Pattern()]++; p.Kind == programs.ActIf && p.Changes() {
					had["act"]++
				}
			}
		}
	}
	for pattern, least := range map[string]int{"due_of": 16, "due_all": 16, "paid_none": 16, "paid_told": 16,
		"bill_of": 12, "bills": 12, "set_and_tick": 12, "act": 12, "stock_take": 12, "sold_more": 4, "letters_fill": 2, "swap_in": 6,
		"missing_rows": 12, "row_move": 40, "letter_fill": 8} {
		if had[pattern] < least {
			t.Errorf("%d of %d folders have %s: %v", had[pattern], folders, pattern, had)
		}
	}
}
