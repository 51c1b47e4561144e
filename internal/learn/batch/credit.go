package batch

import "slices"

// Credit says whose doing a reward is: the whole episode's, or each turn's. In docs/LEARNING.md (credit for turns) the
// level turn by itself is worth +1.1 points [-0.6, 3.0], which is nothing that shows. With reward.Turns.Progress it is
// +7.2 [4.1, 10.6], on one seed. So it is off by default.
type Credit struct {
	Level    CreditLevel // "" is CreditEpisode
	Discount float64     // gamma of CreditTurn, above 0; 1 is none
}

// CreditLevel is a level of credit.
type CreditLevel string

// The levels there are.
const (
	CreditEpisode CreditLevel = "episode"
	CreditTurn    CreditLevel = "turn"
)

// Returns are what an episode earns from each of its turns on, given what each turn earned:
//
//	G_k = r_k + gamma G_{k+1}
func Returns(turns []float64, gamma float64) []float64 {
	out := slices.Clone(turns)
	for k := len(out) - 2; k >= 0; k-- {
		out[k] += gamma * out[k+1]
	}
	return out
}

// Of returns the advantages of each turn of each member of each group. By episode all turns of a member have the
// member's, which is a list of one. By turn it is
//
//	A_k = a(G_k)    over the members of the group that have a turn k
//
// with a an advantage and G the returns. So a turn is compared with the same turn of the others, by what came of it and
// after it: what was earned or lost before is no doing of its own (turn-level credit: MT-GRPO, arXiv 2505.11821;
// returns by step: GiGPO, arXiv 2505.10978, section 3). A turn that no other member has is compared by the member's
// whole reward; so are members of a group whose turns are not known.
func (c Credit) Of(a Advantage, groups []Earned) [][][]float64 {
	whole := a.Of(groups)
	out := make([][][]float64, len(groups))
	for i, g := range groups {
		for j := range g.Rewards {
			out[i] = append(out[i], []float64{whole[i][j]})
		}
	}
	if c.Level != CreditTurn {
		return out
	}
	turns, places := c.turns(groups)
	for n, advantages := range a.Of(turns) {
		at := places[n]
		for k, j := range at.members {
			of := &out[at.group][j]
			for len(*of) <= at.turn {
				*of = append(*of, whole[at.group][j])
			}
			(*of)[at.turn] = advantages[k]
		}
	}
	for i, g := range groups { // turns that nobody shares
		for j := range g.Rewards {
			for g.Turns != nil && len(out[i][j]) < len(g.Turns[j]) {
				out[i][j] = append(out[i][j], whole[i][j])
			}
		}
	}
	return out
}

// turnPlace is a turn of a group and the members that have it.
type turnPlace struct {
	group, turn int
	members     []int
}

// turns are the groups that the turns make which at least two members have, by their returns.
func (c Credit) turns(groups []Earned) (turns []Earned, places []turnPlace) {
	for i, g := range groups {
		if len(g.Turns) != len(g.Rewards) ||
			slices.ContainsFunc(g.Turns, func(t []float64) bool { return len(t) == 0 }) {
			continue
		}
		returns, most := make([][]float64, len(g.Turns)), 0
		for j, t := range g.Turns {
			returns[j], most = Returns(t, c.Discount), max(most, len(t))
		}
		for k := range most {
			place, of := turnPlace{group: i, turn: k}, Earned{}
			for j, r := range returns {
				if k < len(r) {
					place.members, of.Rewards = append(place.members, j), append(of.Rewards, r[k])
				}
			}
			if len(of.Rewards) > 1 {
				turns, places = append(turns, of), append(places, place)
			}
		}
	}
	return turns, places
}
