package batch

import (
	"maps"
	"math"
	"slices"

	"hone/internal/episode/trajectory"
)

// Advantage is how much better than its group an episode did.
type Advantage string

// The advantages there are; AdvantagesOf has their formulas.
const (
	AdvantageGroup       Advantage = "group"
	AdvantageCentred     Advantage = "centred"
	AdvantageLeaveOneOut Advantage = "leave_one_out"
	AdvantageBatch       Advantage = "batch"
	AdvantagePerTerm     Advantage = "per_term"
)

// Advantages say how the episodes of a step's groups are compared. The zero value is AdvantageGroup.
type Advantages struct {
	By     Advantage
	Credit Credit
	// Negative is what advantages below 0 are multiplied by; nil is 1. At 0 failures are compared with, and not pushed
	// down.
	Negative *float64
}

// Of returns the advantages of each turn of each member of each group, or one for all turns of a member.
func (a Advantages) Of(groups []Earned) [][][]float64 {
	out := a.Credit.Of(a.By, groups)
	if a.Negative == nil {
		return out
	}
	for _, group := range out {
		for _, turns := range group {
			for k, x := range turns {
				if x < 0 {
					turns[k] = *a.Negative * x
				}
			}
		}
	}
	return out
}

// Earned is what the members of a group earned, at least two of them. Terms are as long as Rewards, or nil where only
// the sum is known.
type Earned struct {
	Rewards []float64
	Terms   [][]trajectory.Term // of each member
	Turns   [][]float64         // of each member, what each of its turns earned; nil or empty where that is not known
}

// epsilon is added to a standard deviation before it divides, as TRL does.
const epsilon = 1e-4

// Of returns the advantages of the members of each group of a step, with std the sample standard deviation (ddof 1), as
// in TRL:
//
//	group          (r - mean) / (std + 1e-4), both over the group    GRPO, arXiv 2402.03300, section 4.1.2
//	centred        r - mean over the group    Dr. GRPO, arXiv 2503.20783, section 3.2
//	leave_one_out  r - mean over the others of the group    RLOO, arXiv 2402.14740
//	batch          (r - mean over the group) / (std over all episodes of the step + 1e-4)    TRL's scale_rewards: batch
//	per_term       (s - mean) / (std + 1e-4) over all episodes of the step, where s is the sum over terms k of
//	               weight_k (score_k - mean_k) / (std_k + 1e-4) over the group    GDPO, arXiv 2601.05242; PerTerm
//
// Members of a group in which nothing differs have 0.
func (a Advantage) Of(groups []Earned) [][]float64 {
	out := make([][]float64, len(groups))
	std := 0.0
	for i, g := range groups {
		switch a {
		case AdvantageCentred, AdvantageBatch:
			out[i] = Center(g.Rewards)
		case AdvantageLeaveOneOut:
			out[i] = LeaveOneOut(g.Rewards)
		case AdvantagePerTerm:
			out[i] = PerTerm(g.Terms)
		default:
			out[i] = GroupNormalize(g.Rewards)
		}
	}
	switch a {
	case AdvantageBatch:
		var all []float64
		for _, g := range groups {
			all = append(all, g.Rewards...)
		}
		std = Deviation(all)
	case AdvantagePerTerm:
		out, std = centerOver(out)
	}
	for i, g := range groups {
		for j := range out[i] {
			switch {
			case !a.spread(g):
				out[i][j] = 0 // a mean of equal numbers may differ from them by rounding
			case a == AdvantageBatch || a == AdvantagePerTerm:
				out[i][j] /= std + epsilon
			}
		}
	}
	return out
}

// spread reports whether an advantage tells members of a group apart.
func (a Advantage) spread(g Earned) bool {
	if a != AdvantagePerTerm {
		return spread(g.Rewards)
	}
	for _, x := range termSums(g.Terms) {
		if spread(x.earned) {
			return true
		}
	}
	return false
}

func spread(x []float64) bool { return slices.Min(x) != slices.Max(x) }

// GroupNormalize is GRPO's advantage (arXiv 2402.03300): (r - mean) / (std + 1e-4) over the group, with the sample
// standard deviation (ddof 1), as TRL computes it.
func GroupNormalize(rewards []float64) []float64 {
	centred := Center(rewards)
	sum := 0.0
	for _, c := range centred {
		sum += c * c
	}
	std := 0.0
	if len(rewards) > 1 {
		std = math.Sqrt(sum / float64(len(rewards)-1))
	}
	for i := range centred {
		centred[i] /= std + epsilon
	}
	return centred
}

// Center is r - mean over the group (Dr. GRPO, arXiv 2503.20783).
func Center(rewards []float64) []float64 {
	mean := 0.0
	for _, r := range rewards {
		mean += r / float64(len(rewards))
	}
	out := make([]float64, len(rewards))
	for i, r := range rewards {
		out[i] = r - mean
	}
	return out
}

// LeaveOneOut is r - mean of the others' (RLOO, arXiv 2402.14740): a baseline that does not depend on the episode
// itself.
func LeaveOneOut(rewards []float64) []float64 {
	out := Center(rewards)
	for i := range out {
		out[i] *= float64(len(out)) / float64(len(out)-1)
	}
	return out
}

// PerTerm is the sum of what a group earned by each term, normalised by itself and then multiplied by the term's weight
// (GDPO, arXiv 2601.05242): terms of another scale do not hide each other, and two ways to the same sum are told apart.
// Who lacks a term is no part of its mean. What is normalised is score x weight, which for the paper's constant weight
// above 0 is the same as the score. So a penalty is one, and a term whose weight is another in each episode counts by
// what it gave or took there; its weight here is the mean of its weights' sizes.
func PerTerm(terms [][]trajectory.Term) []float64 {
	out := make([]float64, len(terms))
	by := termSums(terms)
	for _, name := range slices.Sorted(maps.Keys(by)) {
		x := by[name]
		if !spread(x.earned) {
			continue
		}
		weight := x.weight / float64(len(x.members))
		// as scores, so that epsilon is as large beside them whatever the weight
		scaled := make([]float64, len(x.earned))
		for k, earned := range x.earned {
			scaled[k] = earned / weight
		}
		for k, z := range GroupNormalize(scaled) {
			out[x.members[k]] += weight * z
		}
	}
	return out
}

// termOf is what the members of a group that have a term earned by it.
type termOf struct {
	members []int
	earned  []float64 // of each of them, score x weight
	weight  float64   // sum of the sizes of their weights
}

func termSums(terms [][]trajectory.Term) map[string]*termOf {
	out := map[string]*termOf{}
	for i, of := range terms {
		for _, t := range of {
			if out[t.Name] == nil {
				out[t.Name] = &termOf{}
			}
			x := out[t.Name]
			x.members, x.earned, x.weight =
				append(x.members, i), append(x.earned, t.Score*t.Weight), x.weight+math.Abs(t.Weight)
		}
	}
	return out
}

// centerOver takes the mean over all groups away, and returns the deviation over all.
func centerOver(groups [][]float64) (centred [][]float64, std float64) {
	all := slices.Concat(groups...)
	std = Deviation(all)
	all = Center(all)
	for _, g := range groups {
		centred, all = append(centred, all[:len(g)]), all[len(g):]
	}
	return centred, std
}

// Deviation is the sample standard deviation (ddof 1): exactly 0 of equal numbers, whatever their mean rounds to, of
// one and of none.
func Deviation(x []float64) float64 {
	if len(x) < 2 || !spread(x) {
		return 0
	}
	sum := 0.0
	for _, c := range Center(x) {
		sum += c * c
	}
	return math.Sqrt(sum / float64(len(x)-1))
}
