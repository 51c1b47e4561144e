package generate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// An empty result that is right is believed at least as often as one leads on, or a model learns to look further
// whenever nothing is found. Most of what is added is looked for first.
func TestEmptyResultsAreBelieved(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL, create: takesSQL}
	believed, leadsOn, inserts, isNew, nouns, all := 0, 0, 0, 0, 0, 0
	unrecorded, deadEnds := 0, 0
	for index := range programs.NumDomains() {
		r := rand.New(rand.NewPCG(uint64(index), 7))
		w := programs.Invent(r, index)
		for _, kind := range drawn(r, programs.DatabaseShares(), 120) {
			p := programs.Draw(r, w, kind)
			if p == nil || p.Then() != nil {
				continue
			}
			all++
			calls := db.slip(r, w, p, db.gold(w, p))
			why := strings.Join(statementsOf(calls), "\n")
			empty := slices.ContainsFunc(calls, func(c Call) bool { return c.Slip == slipEmpty })
			first := strings.Contains(why, "This is the first one")
			found := slices.ContainsFunc(p.Steps, func(s programs.Step) bool {
				return strings.HasPrefix(s.Why, "There is no ") && strings.HasSuffix(s.Why, " yet.")
			})
			if p.NewRowTable() != nil {
				inserts++
				if found {
					isNew++
				}
			}
			if p.Unrecorded() != "" {
				unrecorded++
				if calls != nil {
					deadEnds++
				}
			}
			if strings.Contains(why, "I leave this condition out.") {
				nouns++
			}
			said := strings.Join(p.Answer.Values, " ")
			switch none := p.Answer.Form == "none" || said == "No" || said == "0" ||
				strings.HasPrefix(said, "Nothing was changed: there are no "); {
			case empty && !first:
				leadsOn++
			case empty || none || found:
				believed++
			}
		}
	}
	if leadsOn > believed {
		t.Errorf("%d empty results lead on, and %d are believed", leadsOn, believed)
	}
	if 2*isNew < inserts || 30*nouns < all/2 || 10*deadEnds < 8*unrecorded ||
		1000*deadEnds < 30*all {
		t.Errorf("of %d programs, %d of %d that add look for the new name, %d of %d ask for what nothing records, "+
			"and %d take the noun for a condition", all, isNew, inserts, deadEnds, unrecorded, nouns)
	}
}
