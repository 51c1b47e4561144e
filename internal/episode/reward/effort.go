package reward

import (
	"fmt"
	"math"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
)

// Effort are terms of how an episode came to its end, beside what it came to. The zero value has none of them.
type Effort struct {
	Arguments float64 // weight of the share of right arguments, see arguments
	Recovery  float64 // weight, below 0, of the share of tools that failed and were not mended, see unmended
	Repair    float64 // weight, below 0, of what malformed calls would take to be read, see repairCost
	Economy   Economy
	Length    Length
}

// Economy is a penalty for turns and calls beyond a budget, which is larger where a task is harder:
//
//	budget = ceil(Factor n) calls, and one turn more, where n is the number of gold calls; without these 2, 4 or 8 for easy, medium, hard
//	score  = min(1, overrun / budget), of turns or calls, whichever is more
//
// A scenario without gold calls and without one of these difficulties has no budget, and so no such term.
type Economy struct {
	Weight float64 // below 0
	Factor float64 // at least 1
}

// Length is a penalty for the tokens that an episode samples beyond a budget: min(1, overrun / budget).
type Length struct {
	Weight float64 // below 0
	Budget int     // tokens
}

// terms are those that have a weight.
func (f Effort) terms() (list []term) {
	if f.Arguments != 0 {
		list = append(list, term{"arguments", hasGold, each(func(e episode) mark { return mark{score: arguments(e)} }),
			times(f.Arguments), true})
	}
	if f.Recovery != 0 {
		list = append(list, term{"recovery", hasFailed,
			each(func(e episode) mark { return mark{score: errorShare(e.Trajectory)} }), times(f.Recovery), false})
	}
	if f.Repair != 0 {
		list = append(list, term{"repair", always, each(repairCost), times(f.Repair), true})
	}
	if f.Economy.Weight != 0 {
		list = append(list, term{
			"economy", func(s *scenario.Scenario, _ *trajectory.Trajectory) bool { return f.Economy.budget(s) > 0 },
			each(f.Economy.mark), times(f.Economy.Weight), false,
		})
	}
	if f.Length.Weight != 0 {
		list = append(list, term{"length", always, each(f.Length.mark), times(f.Length.Weight), false})
	}
	return list
}

// arguments is the mean over gold calls of how right the arguments are of the attempt's best call of its tool, each
// call counting once: equal values by all names that either of both has, after the schema's defaults. It grows while a
// model learns what it cannot get right at once.
func arguments(e episode) float64 {
	used, total := map[int]bool{}, 0.0
	calls := attempt(e)
	for _, g := range e.Scenario.GoldCalls() {
		best, at := 0.0, -1
		for i, r := range calls {
			if used[i] || r.Call.Name != g.Name {
				continue
			}
			if x := grade.Alike(r.Call, g, e.Defaults); at < 0 || x > best {
				best, at = x, i
			}
		}
		used[at] = true
		total += best
	}
	return total / float64(len(e.Scenario.Gold))
}

func hasFailed(_ *scenario.Scenario, t *trajectory.Trajectory) bool { return len(failures(t)) > 0 }

// failures says of each tool with a call that failed whether a later call of it did not.
func failures(t *trajectory.Trajectory) map[string]bool {
	mended := map[string]bool{}
	for _, r := range t.ServerCalls() {
		_, failed := mended[r.Call.Name]
		switch {
		case r.Status == trajectory.CallToolError || r.Status == trajectory.CallInvalid:
			mended[r.Call.Name] = false
		case failed && r.Status == trajectory.CallOK:
			mended[r.Call.Name] = true
		}
	}
	return mended
}

// errorShare is the share of tools with a call that failed of which no later call did not. An episode in which none
// failed has no such term. It is a penalty: to earn something by mending would pay for failing first.
func errorShare(t *trajectory.Trajectory) float64 {
	all := failures(t)
	n := 0
	for _, mended := range all {
		if !mended {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

// byDifficulty are calls of a task whose gold calls are not known.
var byDifficulty = map[string]int{"easy": 2, "medium": 4, "hard": 8}

// budget is a scenario's number of calls; 0 where nothing says it.
func (x Economy) budget(s *scenario.Scenario) int {
	n := len(s.Gold)
	if n == 0 {
		n = byDifficulty[s.Difficulty]
	}
	return int(math.Ceil(x.Factor*float64(n) - 1e-9))
}

func (x Economy) mark(e episode) mark {
	budget, calls, turns := x.budget(e.Scenario), len(e.Trajectory.ServerCalls()), len(e.Trajectory.Turns)
	over := max(calls-budget, turns-budget-1, 0)
	if over == 0 {
		return mark{}
	}
	return mark{score: min(1, float64(over)/float64(budget)), why: fmt.Sprintf("%s in %s, of a budget of %d calls",
		fault.Count(calls, "call"), fault.Count(turns, "turn"), budget)}
}

func (x Length) mark(e episode) mark {
	n := numSampled(e.Trajectory)
	if n <= x.Budget {
		return mark{}
	}
	return mark{score: min(1, float64(n-x.Budget)/float64(x.Budget)),
		why: fmt.Sprintf("%d tokens, of a budget of %d", n, x.Budget)}
}

// numSampled is the number of tokens that an episode sampled, by their ids or as an endpoint counts them.
func numSampled(t *trajectory.Trajectory) int {
	n := t.NumSampled()
	for _, turn := range t.Turns {
		if len(turn.CompletionIDs) == 0 && turn.Usage != nil {
			n += turn.Usage.CompletionTokens
		}
	}
	return n
}
