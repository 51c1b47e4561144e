package generate

import (
	"cmp"
	"slices"
)

// falling is how many tasks are worded for one that is wanted: of a teacher's, or where a reference tries them, more
// fall.
const (
	falling     = 1.6
	fallingLess = 1.1
)

// numWanted is how many candidates are worded.
func (m *maker) numWanted() int {
	if m.grader() == nil && m.Reference == nil {
		return int(fallingLess*float64(m.N) + 0.5)
	}
	return int(falling*float64(m.N) + 0.5)
}

// mostWithout is the share of scenarios without calls that is not passed where few calls held.
const mostWithout = 0.3

// choose takes n candidates of those that hold: the share without calls, the share of several, and every usable tool as
// often as the others, those first that have been taken least.
func (m *maker) choose(list []*Candidate, n int) []*Candidate {
	m.hold(list)
	var singles, several []*Candidate
	mixed := 0
	var asked []*Candidate
	for _, c := range list {
		switch {
		case c.Why != "":
		case c.program != nil:
			asked = append(asked, c)
		case m.isMixed(c):
			mixed++
		case c.Kind == single:
			singles = append(singles, c)
		default:
			several = append(several, c)
		}
	}
	programs := &taking{count: map[string]int{}, kinds: map[string]int{}}
	programs.take(asked, int(m.programShare()*float64(n)+0.5))
	n -= len(programs.list)
	without := m.abstentions(int(m.Abstain * float64(n)))
	want := min(int(m.Several*float64(n)+0.5), n-len(without))
	t := &taking{count: map[string]int{}, kinds: map[string]int{}}
	t.takeWithOwn(several, singles, want, n-len(without)-want)
	t.take(singles, n-len(without)-len(t.list)) // where there are too few of several
	t.take(several, n-len(without)-len(t.list)) // where there are too few of one call
	t.level(singles)
	t.level(several)
	if len(t.list) == 0 {
		without = nil // of servers that answer nothing, there is nothing to learn
	}
	most := int(mostWithout * float64(len(t.list)+len(without))) // where few calls held
	for len(without) > 0 && len(without) > most {
		without = without[:len(without)-1]
		most = int(mostWithout * float64(len(t.list)+len(without)))
	}
	rest := len(singles) + len(several) - len(t.list) + len(asked) - len(programs.list)
	kept := slices.Concat(programs.list, t.list, without)
	reasons := map[string]int{}
	if rest > 0 {
		reasons["not needed"] = rest
	}
	if mixed > 0 {
		reasons["some of its tools are held out, others not"] = mixed
	}
	m.report.stage("choose", len(asked)+len(singles)+len(several)+mixed+len(without), len(kept), reasons)
	return kept
}

// trim takes N of the scenarios that are left, with the shares of choose, and in each split as many without calls as it
// has part of those with calls: at the gates more may have fallen in one split than in another.
func (m *maker) trim(list []draftOf) []draftOf {
	var without, singles, several []*Candidate
	asked := 0
	for _, d := range list {
		switch {
		case d.of.program != nil:
			asked++
		case d.of.abstains():
			without = append(without, d.of)
		case d.of.Kind == single:
			singles = append(singles, d.of)
		default:
			several = append(several, d.of)
		}
	}
	n := max(0, m.N-asked)
	most := min(len(without), max(int(m.Abstain*float64(n)), n-len(singles)-len(several)),
		int(mostWithout/(1-mostWithout)*float64(len(singles)+len(several))))
	t := &taking{count: map[string]int{}, kinds: map[string]int{}}
	want := min(int(m.Several*float64(n)+0.5), n-most)
	t.takeWithOwn(several, singles, want, n-most-want)
	t.take(singles, n-most-len(t.list))
	t.take(several, n-most-len(t.list))
	t.level(singles)
	t.level(several)
	without = evenly(t.list, without, most)
	t.take(singles, n-len(without)-len(t.list)) // where a split had too few without calls
	t.take(several, n-len(without)-len(t.list))
	kept := slices.DeleteFunc(slices.Clone(list), func(d draftOf) bool {
		return d.of.program == nil && !slices.Contains(t.list, d.of) && !slices.Contains(without, d.of)
	})
	reasons := map[string]int{}
	if n := len(list) - len(kept); n > 0 {
		reasons["not needed"] = n
	}
	m.report.stage("trim", len(list), len(kept), reasons)
	return kept
}

// evenly takes n of the candidates without calls, no more for a split than its part of those with calls, and of kinds
// as many of one as of another. They are fewer where a split has not its part.
func evenly(calls, without []*Candidate, n int) (kept []*Candidate) {
	calling, have, kinds, left := map[string]int{}, map[string]int{}, map[string]int{}, map[string][]*Candidate{}
	for _, c := range calls {
		calling[c.Split]++
	}
	for _, c := range without {
		left[c.Split] = append(left[c.Split], c)
	}
	for len(kept) < n {
		able := slices.DeleteFunc(splits(), func(s string) bool { return len(left[s]) == 0 })
		split, lacks := lacking(calling, have, n, able)
		if split == "" || lacks <= 0 {
			break
		}
		c := slices.MinFunc(left[split], func(a, b *Candidate) int { return cmp.Compare(kinds[a.Kind], kinds[b.Kind]) })
		left[split] = slices.DeleteFunc(left[split], func(o *Candidate) bool { return o == c })
		kept = append(kept, c)
		have[split]++
		kinds[c.Kind]++
	}
	return kept
}

// taking is a choice under way.
type taking struct {
	list  []*Candidate
	count map[string]int // scenarios by tool
	kinds map[string]int
}

// take takes n of a list, each time the first of those whose rarest tool, and then whose kind, was taken least.
func (t *taking) take(list []*Candidate, n int) {
	left := slices.DeleteFunc(slices.Clone(list), func(c *Candidate) bool { return slices.Contains(t.list, c) })
	for range n {
		if len(left) == 0 {
			return
		}
		best := 0
		for i := range left {
			if t.before(left[i], left[best]) < 0 {
				best = i
			}
		}
		c := left[best]
		left = slices.Delete(left, best, best+1)
		t.list = append(t.list, c)
		t.kinds[c.tag()]++
		for _, name := range c.tools() {
			t.count[name]++
		}
	}
}

// takeWithOwn takes tasks of several calls and then of one, so many of each as far as there are; the share of both
// together that is the user's kinds' is taken of these, of several calls and of one alike where they have both.
func (t *taking) takeWithOwn(several, singles []*Candidate, numSeveral, numSingles int) {
	isOwn := func(c *Candidate) bool { return c.own != nil }
	not := func(c *Candidate) bool { return c.own == nil }
	share := func(n int) int { return int(ownShare*float64(n) + 0.5) }
	own := len(slices.DeleteFunc(slices.Clone(singles), not))
	quota := share(numSeveral + numSingles)
	take := func(list []*Candidate, n, quota int) {
		before := len(t.list)
		t.take(slices.DeleteFunc(slices.Clone(list), not), min(quota, n))
		t.take(slices.DeleteFunc(slices.Clone(list), isOwn), n-(len(t.list)-before))
		t.take(list, n-(len(t.list)-before)) // where one of the two has too few
	}
	take(several, numSeveral, max(share(numSeveral), quota-own))
	taken := len(slices.DeleteFunc(slices.Clone(t.list), not))
	take(singles, numSingles, quota-taken)
}

// leastOfTool is in how many tasks each tool is to be, where there are so many: one task is either trained or tested
// on.
const leastOfTool = 2

// level exchanges tasks of a list for others of it, of tools that are in fewer than they are to be: tasks of the user's
// kinds take many places for few tools.
func (t *taking) level(list []*Candidate) {
	for _, c := range list {
		if c.own != nil || slices.Contains(t.list, c) ||
			!slices.ContainsFunc(c.tools(), func(name string) bool { return t.count[name] < leastOfTool }) {
			continue
		}
		out, most := -1, 0
		for i, o := range t.list {
			spare := slices.MinFunc(o.tools(), func(a, b string) int { return cmp.Compare(t.count[a], t.count[b]) })
			if n := t.count[spare]; o.own == nil && slices.Contains(list, o) && n > leastOfTool && n > most {
				out, most = i, n
			}
		}
		if out < 0 {
			return
		}
		for _, name := range t.list[out].tools() {
			t.count[name]--
		}
		t.kinds[t.list[out].tag()]--
		t.list[out] = c
		t.kinds[c.tag()]++
		for _, name := range c.tools() {
			t.count[name]++
		}
	}
}

func (t *taking) before(a, b *Candidate) int {
	if a.own != nil && b.own != nil { // who writes a kind wants tasks of it
		if n := cmp.Compare(t.kinds[a.tag()], t.kinds[b.tag()]); n != 0 {
			return n
		}
	}
	return cmp.Or(cmp.Compare(t.rarest(a), t.rarest(b)), cmp.Compare(t.kinds[a.tag()], t.kinds[b.tag()]),
		cmp.Compare(t.total(a), t.total(b)))
}

func (t *taking) rarest(c *Candidate) int {
	least := -1
	for _, name := range c.tools() {
		if n := t.count[name]; least < 0 || n < least {
			least = n
		}
	}
	return least
}

func (t *taking) total(c *Candidate) (n int) {
	for _, name := range c.tools() {
		n += t.count[name]
	}
	return n
}

// tools are the tools that a candidate calls, each once.
func (c *Candidate) tools() (names []string) {
	if c.abstains() {
		return nil
	}
	for _, x := range c.Calls {
		if !slices.Contains(names, x.Tool) {
			names = append(names, x.Tool)
		}
	}
	return names
}
