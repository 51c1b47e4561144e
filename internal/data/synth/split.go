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

// splits are all that there are, that of training first.
func splits() []string { return []string{scenario.Train, scenario.Validation, scenario.Test} }

// split gives each draft a split: those of held-out tools or servers to test, and the others so that scenarios which share a
// call stay together. The greatest set is trained on; the others go, smallest first, to test and validation until these have
// their shares, of tasks of one call and of tasks of several. Tasks without a call are dealt out afterwards, as many to each split as its tasks with calls ask for.
func (m *maker) split(list []draftOf) {
	var rest, without []int
	tested := 0
	for i := range list {
		switch list[i].Split = scenario.Train; {
		case list[i].of.abstains():
			without = append(without, i)
		case m.isHeld(list[i].of):
			list[i].Split = scenario.Test
			tested++
		default:
			rest = append(rest, i)
		}
	}
	total := ofCalls(list, rest)
	sets := map[string][]int{}
	for k, key := range together(list, rest) {
		sets[key] = append(sets[key], rest[k])
	}
	keys := slices.Collect(maps.Keys(sets))
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(sets[a]), len(sets[b])), cmp.Compare(digest.Of(a).String(), digest.Of(b).String()))
	})
	var test, validation [2]int
	for _, key := range keys[:max(0, len(keys)-1)] {
		n, to := ofCalls(list, sets[key]), ""
		few := 0 // of its numbers of calls, more are tested than twice those chosen by
		for i := range n {
			if n[i] > 0 && test[i] > 2*validation[i] {
				few++
			}
		}
		switch {
		case tested == 0 && few == 0 && within(n, test, total, shareTest):
			to = scenario.Test
			test = plus(test, n)
		case within(n, validation, total, shareValidation):
			to = scenario.Validation
			validation = plus(validation, n)
		default:
			continue
		}
		for _, i := range sets[key] {
			list[i].Split = to
		}
	}
	m.deal(list, without)
}

// ofCalls counts drafts of one call, and those of several.
func ofCalls(list []draftOf, of []int) (n [2]int) {
	for _, i := range of {
		n[min(1, max(0, len(list[i].of.Calls)-1))]++
	}
	return n
}

func plus(a, b [2]int) [2]int { return [2]int{a[0] + b[0], a[1] + b[1]} }

// within reports whether n more leave a split with no more than its share of the total, of each number of calls.
func within(n, have, total [2]int, share float64) bool {
	for i := range n {
		if n[i] > 0 && float64(have[i]+n[i]) > share*float64(total[i])+0.5 {
			return false
		}
	}
	return true
}

// deal gives tasks without calls to the splits, kind by kind, each to the split that lacks one most: so every split has the
// share of them that the others have, and of each kind what it can. Those of held-out tools are tested.
func (m *maker) deal(list []draftOf, without []int) {
	calling, have := map[string]int{}, map[string]int{}
	for i := range list {
		if !list[i].of.abstains() {
			calling[list[i].Split]++
		}
	}
	var free []int
	for _, i := range without {
		if m.isHeld(list[i].of) {
			list[i].Split = scenario.Test
			have[scenario.Test]++
			continue
		}
		free = append(free, i)
	}
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(list[a].of.Kind, list[b].of.Kind) })
	dealt := len(without) - len(free)
	for _, i := range free {
		dealt++
		to, _ := lacking(calling, have, dealt, splits())
		list[i].Split = to
		have[to]++
	}
}

// lacking is the split, of some, that lacks most of its part of n tasks, and how many it lacks. The parts are as the counts in
// calling; where these are all none, the first has all.
func lacking(calling, have map[string]int, n int, of []string) (split string, lacks float64) {
	total := 0
	for _, count := range calling {
		total += count
	}
	for i, s := range of {
		part := 0.0
		if total > 0 {
			part = float64(n*calling[s]) / float64(total)
		} else if i == 0 {
			part = float64(n)
		}
		if l := part - float64(have[s]); split == "" || l > lacks {
			split, lacks = s, l
		}
	}
	return split, lacks
}

// together is a key for each of some drafts, equal for those that share a call.
func together(list []draftOf, of []int) []string {
	rows := make([]scenario.Scenario, len(of))
	for k, i := range of {
		rows[k] = list[i].Scenario
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
