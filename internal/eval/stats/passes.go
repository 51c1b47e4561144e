package stats

// Pass is what several attempts at a scenario come to, over the scenarios with at least K of them.
type Pass struct {
	K   int      `json:"k"`
	Any Interval `json:"any"` // pass@k: at least one of k attempts does the task
	All Interval `json:"all"` // pass^k: each of k attempts does it
}

// Passes estimates pass@k and pass^k for each k up to the most attempts that a scenario has.
//
// Of n attempts at a scenario c did the task. The share of the subsets of k attempts in which one did is 1 - C(n-c, k)
// / C(n, k): the unbiased estimator of pass@k (Chen et al. 2021, "Evaluating Large Language Models Trained on Code").
// The share in which all did is C(c, k) / C(n, k): that of pass^k (Yao et al. 2024, "tau-bench", arXiv 2406.12045).
// Both are means over scenarios, each with the same weight.
func Passes(rows []Row, b Bootstrap) []Pass {
	type attempts struct {
		family string
		n, c   int
	}
	by, most := map[string]attempts{}, 0
	for _, r := range rows {
		a := by[r.ScenarioID]
		a.family = r.Family
		a.n++
		if r.Episode {
			a.c++
		}
		by[r.ScenarioID], most = a, max(most, a.n)
	}
	var out []Pass
	for k := 1; k <= most; k++ {
		one, all := map[string]*unit{}, map[string]*unit{}
		for id, a := range by {
			if a.n >= k {
				one[id] = &unit{a.family, 1, []sums{{1 - subsets(a.n-a.c, a.n, k), 1}}}
				all[id] = &unit{a.family, 1, []sums{{subsets(a.c, a.n, k), 1}}}
			}
		}
		out = append(out, Pass{k, estimate(one, Share, b), estimate(all, Share, b)})
	}
	return out
}

// subsets is C(m, k) / C(n, k), of the subsets of k of n those that lie within some m: a product, for the numbers of
// subsets overflow.
func subsets(m, n, k int) float64 {
	p := 1.0
	for i := range k {
		p *= max(0, float64(m-i)) / float64(n-i)
	}
	return p
}
