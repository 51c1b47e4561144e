package formats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/data/dataset"
	"hone/internal/fault"
)

// Aside counts the rows that are kept, but for one part.
type Aside struct {
	Rows  int    `json:"rows"`
	First string `json:"first"` // where the first one stands
}

// emptyAnswer is what is left aside of a row in which an assistant says and calls nothing.
const emptyAnswer = "an empty answer"

// unsaid masks answers that say and call nothing, and tells of them: a model that learns them learns to fall silent.
func unsaid(row *dataset.Row) (aside []string) {
	for i := range row.Messages {
		m := &row.Messages[i]
		if row.Learnt(i) && strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
			m.NoLoss, aside = true, []string{emptyAnswer}
		}
	}
	return aside
}

// leaveAside counts what is left aside of a row that is kept, each once.
func (r *Report) leaveAside(x *item) {
	slices.Sort(x.aside)
	for _, what := range slices.Compact(x.aside) {
		if r.Aside == nil {
			r.Aside = map[string]*Aside{}
		}
		if r.Aside[what] == nil {
			r.Aside[what] = &Aside{First: x.Where()}
		}
		r.Aside[what].Rows++
	}
}

// AsideLines say what is left aside, the most frequent first.
func (r *Report) AsideLines() []string {
	const shown = 12
	all := slices.Sorted(maps.Keys(r.Aside))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(r.Aside[b].Rows, r.Aside[a].Rows) })
	var out []string
	for i, what := range all {
		if i == shown {
			return append(out, fmt.Sprintf("left aside: %d more, see --json of hone data validate", len(all)-shown))
		}
		of := r.Aside[what]
		out = append(out, fmt.Sprintf("left aside: %s, in %s, the first at %s", what, fault.Count(of.Rows, "row"), of.First))
	}
	return out
}
