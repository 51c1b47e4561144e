package recipe

import (
	"context"
	"errors"
	"math"
	"sync"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Rescored is a group that a run keeps, with what its episodes earned there and what they earn under another scorer.
type Rescored struct {
	Stage    string
	Step     int
	Group    trajectory.Group // its episodes as they ended
	Was, Now []trajectory.Score
}

// Rescore scores kept groups again, many at a time, each by the scorer of its stage, and sets their Now. What a run
// keeps stays as it is. The error is one that stops a run too.
func Rescore(
	ctx context.Context, groups []Rescored, scenarios map[string]*scenario.Scenario, scorer func(stage string) Scorer,
) error {
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i := range groups {
		all.Go(func() {
			g := &groups[i]
			g.Now, errs[i] = Score(ctx, scorer(g.Stage), scenarios[g.Group.ScenarioID], g.Group)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// eachPair calls f for each episode that both scored.
func (r Rescored) eachPair(f func(i int)) {
	for i, t := range r.Group.Trajectories {
		if t.Outcome.Trainable() && r.Was[i].Outcome == "" && r.Now[i].Outcome == "" {
			f(i)
		}
	}
}

// ChangesOrder reports whether two episodes of the group come in another order now, or are told apart where they were
// not: GRPO would push the policy another way.
func (r Rescored) ChangesOrder() bool {
	reordered := false
	r.eachPair(func(i int) {
		r.eachPair(func(j int) {
			before, now := r.Was[i].Reward-r.Was[j].Reward, r.Now[i].Reward-r.Now[j].Reward
			reordered = reordered || sign(before) != sign(now)
		})
	})
	return reordered
}

// sign is -1, 0 or 1; what adding up in another order may do to equal rewards is no difference.
func sign(x float64) int {
	const rounding = 1e-9
	switch {
	case x > rounding:
		return 1
	case x < -rounding:
		return -1
	}
	return 0
}

// Change is what a new scoring changes in a stage.
type Change struct {
	Stage     string  `json:"stage"`
	Episodes  int     `json:"episodes"`  // that were scored then and now
	Was       float64 `json:"was"`       // their mean reward then
	Now       float64 `json:"now"`       // and now
	Changed   int     `json:"changed"`   // episodes with another reward
	Groups    int     `json:"groups"`    // of the stage
	Reordered int     `json:"reordered"` // of them, see Rescored.Reordered
	Unscored  int     `json:"unscored"`  // episodes of which a term failed now
}

// Changes are those of each stage, in the order in which the stages come.
func Changes(groups []Rescored) []Change {
	var list []Change
	at := map[string]int{}
	for _, g := range groups {
		i, ok := at[g.Stage]
		if !ok {
			i = len(list)
			at[g.Stage], list = i, append(list, Change{Stage: g.Stage})
		}
		c := &list[i]
		if c.Groups++; g.ChangesOrder() {
			c.Reordered++
		}
		for _, s := range g.Now {
			if s.Outcome != "" {
				c.Unscored++
			}
		}
		g.eachPair(func(i int) {
			c.Episodes++
			c.Was, c.Now = c.Was+g.Was[i].Reward, c.Now+g.Now[i].Reward
			if sign(g.Was[i].Reward-g.Now[i].Reward) != 0 {
				c.Changed++
			}
		})
	}
	for i := range list {
		n := math.Max(1, float64(list[i].Episodes))
		list[i].Was, list[i].Now = list[i].Was/n, list[i].Now/n
	}
	return list
}
