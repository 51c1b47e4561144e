package report

import (
	"fmt"
	"maps"
	"slices"

	"hone/internal/eval/stats"
)

// mostOfSystem is how many characters of a system's name a page shows: its beginning and its end.
const mostOfSystem = 40

// brief are names for the eye: of a long one its beginning and its end, and a number where two would be the same.
func brief(names []string) map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	for _, name := range names {
		short := name
		if r := []rune(name); len(r) > mostOfSystem {
			short = string(r[:mostOfSystem/2]) + "…" + string(r[len(r)-mostOfSystem/2+1:])
		}
		for i, first := 2, short; taken[short]; i++ {
			short = fmt.Sprintf("%s (%d)", first, i)
		}
		out[name], taken[short] = short, true
	}
	return out
}

// shortenNames are the page and its numbers with the systems' names for the eye. full has those that were cut, in their
// order.
func (p Page) shortenNames(n Numbers) (_ Page, _ Numbers, full []string) {
	to := brief(n.Order)
	for _, name := range n.Order {
		if to[name] != name {
			full = append(full, name)
		}
	}
	if full == nil {
		return p, n, nil
	}
	p.Systems = slices.Clone(p.Systems)
	for i, s := range p.Systems {
		p.Systems[i].Name = to[s.Name]
	}
	n.Systems, n.Order = rename(n.Systems, to), each(n.Order, func(name *string) { *name = to[*name] })
	n.Deltas = each(n.Deltas, func(d *stats.Delta) { d.Old, d.New = to[d.Old], to[d.New] })
	n.Pairs = each(n.Pairs, func(d *stats.Pair) { d.Old, d.New = to[d.Old], to[d.New] })
	n.PartRegressions = each(n.PartRegressions, func(d *stats.PartRegression) { d.Old, d.New = to[d.Old], to[d.New] })
	n.Regressions = each(n.Regressions, func(r *stats.Regression) {
		r.System, r.Others = to[r.System], rename(r.Others, to)
	})
	n.Terms = each(n.Terms, func(t *Term) { t.Scores = rename(t.Scores, to) })
	if n.Power != nil {
		power := *n.Power
		power.Old, power.New = to[power.Old], to[power.New]
		n.Power = &power
	}
	return p, n, full
}

func each[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		change(&list[i])
	}
	return list
}

func rename[T any](by map[string]T, to map[string]string) map[string]T {
	out := map[string]T{}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out[to[name]] = by[name]
	}
	return out
}
