package generate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// takesSQL is a tool whose only argument is a statement.
var takesSQL = sqlTool{tool: "sql", argument: "query"}

// That nothing is found is the answer at times. Most of what is added is looked for first.
func TestEmptyResultsAreBelieved(t *testing.T) {
	believed, inserts, isNew, all := 0, 0, 0, 0
	for index := range programs.NumDomains() {
		r := rand.New(rand.NewPCG(uint64(index), 7))
		w := programs.Invent(r, index)
		for _, kind := range drawn(r, programs.DatabaseShares(), 120) {
			p := programs.Draw(r, w, kind)
			if p == nil || p.Then() != nil {
				continue
			}
			all++
			found := slices.ContainsFunc(p.Steps, func(s programs.Step) bool {
				return strings.HasPrefix(s.Why, "There is no ") && strings.HasSuffix(s.Why, " yet.")
			})
			if p.NewRowTable() != nil {
				inserts++
				if found {
					isNew++
				}
			}
			if said := strings.Join(p.Answer.Values, " "); found || p.Answer.Form == "none" || said == "No" ||
				said == "0" || strings.HasPrefix(said, "Nothing was changed: there are no ") {
				believed++
			}
		}
	}
	if 2*isNew < inserts || 20*believed < all {
		t.Errorf("of %d programs, %d of %d that add look for the new name, and %d find nothing", all, isNew, inserts,
			believed)
	}
}
