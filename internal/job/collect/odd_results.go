package collect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// oddResults count what of tools' results was not read as it came, by the warning that stands on them.
type oddResults map[string]*oddResult

type oddResult struct {
	results int
	first   string // tool and episode
}

func (o oddResults) add(x *trajectory.Trajectory) {
	for _, turn := range x.Turns {
		for _, r := range turn.Results {
			switch odd := o[r.Warning]; {
			case r.Warning == "":
			case odd != nil:
				odd.results++
			default:
				o[r.Warning] = &oddResult{1, fmt.Sprintf("%s in %s", r.Call.Name, x.ID)}
			}
		}
	}
}

// lines tell of the most frequent.
func (o oddResults) lines() (lines []string) {
	const shown = 8
	all := slices.Sorted(maps.Keys(o))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(o[b].results, o[a].results) })
	for i, warning := range all {
		if i == shown {
			return append(lines, fmt.Sprintf("left aside: %d more, which the records hold", len(all)-shown))
		}
		lines = append(lines, fault.LeftAside(warning, fmt.Sprintf("%s, the first of %s", fault.Count(o[warning].results, "result"), o[warning].first)))
	}
	return lines
}
