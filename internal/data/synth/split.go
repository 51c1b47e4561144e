package synth

import (
	"cmp"
	"maps"
	"slices"

	"hone/internal/digest"
	"hone/internal/episode/scenario"
)

// Shares of the splits: of ten, two are tested on and one is chosen by.
const (
	shareTest       = 0.2
	shareValidation = 0.1
)

// split gives each draft a split: those of held-out tools or servers to test, and the others so that scenarios which share a
// call stay together. The greatest set is trained on; the others go, smallest first, to test and validation until these have
// their shares.
func (m *maker) split(list []draftOf) {
	var rest []int
	tested := 0
	for i := range list {
		if list[i].Split = scenario.Train; m.isHeld(list[i].of) {
			list[i].Split = scenario.Test
			tested++
			continue
		}
		rest = append(rest, i)
	}
	sets := map[string][]int{}
	for k, key := range together(list, rest) {
		sets[key] = append(sets[key], rest[k])
	}
	keys := slices.Collect(maps.Keys(sets))
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(sets[a]), len(sets[b])), cmp.Compare(digest.Of(a).String(), digest.Of(b).String()))
	})
	sizes := map[string]int{scenario.Test: tested}
	for _, key := range keys[:max(0, len(keys)-1)] {
		n, to := len(sets[key]), ""
		switch {
		case tested == 0 && float64(sizes[scenario.Test]+n) <= shareTest*float64(len(list))+1 && sizes[scenario.Test] <= 2*sizes[scenario.Validation]:
			to = scenario.Test
		case float64(sizes[scenario.Validation]+n) <= shareValidation*float64(len(list))+1:
			to = scenario.Validation
		default:
			continue
		}
		sizes[to] += n
		for _, i := range sets[key] {
			list[i].Split = to
		}
	}
}

// together is a key for each of some drafts, equal for those that share a call.
func together(list []draftOf, of []int) []string {
	rows := make([]scenario.Scenario, len(of))
	for k, i := range of {
		d := list[i]
		if rows[k] = d.Scenario; d.of.abstains() {
			rows[k].Task = d.of.Kind + d.of.Subject
			for _, c := range d.of.Calls {
				rows[k].Task += c.key()
			}
		}
	}
	return scenario.Together(rows)
}

// hold chooses the tools, or servers, that training does not see: one in five, one at least where there are two.
func (m *maker) hold() {
	m.held = map[string]bool{}
	if m.SplitBy == ByTask {
		return
	}
	var groups []string
	for _, s := range m.usable() {
		if g := m.group(s.Name); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	m.random("held out").Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	if len(groups) > 1 {
		for _, g := range groups[:max(1, len(groups)/5)] {
			m.held[g] = true
		}
	}
}

// group is what a tool is kept apart by.
func (m *maker) group(tool string) string {
	if m.SplitBy == ByServer {
		return m.byName[tool].Server
	}
	return tool
}

// isHeld reports whether a candidate calls held-out tools, isMixed whether others too: then it can be in no split.
func (m *maker) isHeld(c *Candidate) bool {
	return slices.ContainsFunc(c.Calls, func(x Call) bool { return m.held[m.group(x.Tool)] })
}

func (m *maker) isMixed(c *Candidate) bool {
	return m.isHeld(c) && slices.ContainsFunc(c.Calls, func(x Call) bool { return !m.held[m.group(x.Tool)] })
}
