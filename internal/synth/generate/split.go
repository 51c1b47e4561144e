package generate

import (
	"cmp"
	"maps"
	"slices"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
)

// Shares of the splits: of ten, two are tested on and one is chosen by.
const (
	shareTest       = 0.2
	shareValidation = 0.1
)

// splits are all that there are, that of training first.
func splits() []string { return []string{scenario.Train, scenario.Validation, scenario.Test} }

// split gives each draft a split: those of held-out tools or servers to test, and the others so that scenarios which
// share a call stay together. The greatest set is trained on; the others go, smallest first, to test and validation
// until these have their shares, of tasks of one call, of chains and of other tasks of several. Tasks without a call
// are dealt out afterwards, as many to each split as its tasks with calls ask for.
func (m *maker) split(list []draftOf) {
	var rest, without []int
	tested := 0
	for i := range list {
		switch list[i].Split = scenario.Train; {
		case list[i].of.shelf != nil && list[i].of.shelf.split != "":
			list[i].Split = list[i].of.shelf.split
		case list[i].of.program != nil: // of the server's own data each task stands for itself
			list[i].Split = m.drawSplit(list[i].of.key())
		case list[i].of.abstains():
			without = append(without, i)
		case m.isHeld(list[i].of):
			list[i].Split = scenario.Test
			tested++
		default:
			rest = append(rest, i)
		}
	}
	total := formsOf(list, rest)
	sets := map[string][]int{}
	for k, key := range together(list, rest) {
		sets[key] = append(sets[key], rest[k])
	}
	keys := slices.Collect(maps.Keys(sets))
	// 0 for sets with a chain, which come first: they are few, and have tasks of other forms too
	chained := map[string]int{}
	for key, of := range sets {
		if formsOf(list, of)[1] == 0 {
			chained[key] = 1
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(sets[a]), len(sets[b])), cmp.Compare(blob.Of(a).String(), blob.Of(b).String()))
	})
	keys = keys[:max(0, len(keys)-1)] // without the greatest
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(chained[a], chained[b]) })
	var test, validation forms
	for _, key := range keys {
		n, to := formsOf(list, sets[key]), ""
		few := 0 // of its forms, more are tested than twice those chosen by
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

// forms are numbers of tasks: those of one call, chains, and others of several calls. Chains are counted by themselves,
// since many share a call: else the others, of which each stands alone, would take the held-out places.
type forms [3]int

// formsOf counts drafts that make calls.
func formsOf(list []draftOf, of []int) (n forms) {
	for _, i := range of {
		switch c := list[i].of; {
		case len(c.Calls) == 1:
			n[0]++
		case c.Kind == chain:
			n[1]++
		default:
			n[2]++
		}
	}
	return n
}

func plus(a, b forms) forms { return forms{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

// within reports whether n more leave a split with no more than its share of the total, of each form.
func within(n, have, total forms, share float64) bool {
	for i := range n {
		if n[i] > 0 && float64(have[i]+n[i]) > share*float64(total[i])+0.5 {
			return false
		}
	}
	return true
}

// deal gives tasks without calls to the splits, kind by kind, each to the split that lacks one most: so every split has
// the share of them that the others have, and of each kind what it can. Those of held-out tools are tested.
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

// lacking is the split, of some, that lacks most of its part of n tasks, and how many it lacks. The parts are as the
// counts in calling; where these are all none, the first has all.
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

// hold chooses the tools, or servers, that training does not see: one in five, one at least where there are two, and
// drawn but for this: a chain of which one tool is held out is in no split. So the first of them are such that some
// chains of a list are theirs alone: two tools, or a server.
func (m *maker) hold(list []*Candidate) {
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
	if len(groups) < 2 {
		return
	}
	m.random("held out").Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	n, first := max(1, len(groups)/5), m.chainedGroups(groups, list)
	if m.SplitBy == ByServer || len(groups) >= chainsFrom {
		n = max(n, len(first))
		groups = append(first, groups...)
	}
	for _, g := range groups {
		if len(m.held) < n {
			m.held[g] = true
		}
	}
}

const (
	chainsFrom = 6 // tools of which two are held out, so that a chain can lead from one to the other
	someChains = 2 // that are enough
)

// chainedGroups are the first two of some tools, or the first of some servers, with some chains of a list between them;
// none where there are none.
func (m *maker) chainedGroups(groups []string, list []*Candidate) []string {
	count := map[[2]string]int{}
	for _, c := range list {
		if c.Why == "" && c.Kind == chain {
			a, b := m.group(c.Calls[0].Tool), m.group(c.Calls[1].Tool)
			count[[2]string{min(a, b), max(a, b)}]++
		}
	}
	for i, a := range groups {
		if count[[2]string{a, a}] >= someChains {
			return []string{a}
		}
		for _, b := range groups[:i] {
			if m.SplitBy == ByTool && count[[2]string{min(a, b), max(a, b)}] >= someChains {
				return []string{a, b}
			}
		}
	}
	return nil
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
