package recipe

import (
	"context"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Rollouts are the episodes of one step of a stage. They come as a stream, each is kept as it ends, and a group whose episodes
// have all ended is scored while those of others still run:
//
//	request -> trajectory -> kept -> whole group -> score -> kept -> group
//
// The scoring of a group waits for nothing but its own episodes, and no episode waits for it.
type Rollouts struct {
	Stage     string
	Step      int
	Again     bool // an earlier attempt may have begun the step under the same policy: the episodes that it kept are taken
	GroupSize int  // episodes of one scenario
	Runner    Runner
	Scorer    Scorer
	Log       Episodes
	Progress  Progress // of the episodes
	// Lost is told of each episode whose outcome is not the policy's doing, after it was kept; its error ends the step. nil: nobody is.
	Lost func(*trajectory.Trajectory) error
}

// Groups returns the groups of scenarios, all scored, in their order. An episode that ended by itself is kept although the run
// is stopped; the next attempt takes it, and scores what was not scored.
func (r Rollouts) Groups(ctx context.Context, scenarios []scenario.Scenario) ([]trajectory.Group, error) {
	kept, err := r.kept(scenarios)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	plan := r.plan(scenarios, kept)
	scored, scoring := make(chan scores), 0
	score := func(i int) {
		scoring++
		go func() { scored <- r.score(running, i, &scenarios[i], plan.groups[i]) }()
	}
	for _, i := range plan.unscored {
		score(i)
	}
	done, all := len(kept), len(scenarios)*r.GroupSize
	for ended := r.Runner.Run(running, plan.requests); ended != nil || scoring > 0; {
		select {
		case t, more := <-ended:
			if !more {
				ended = nil
				continue
			}
			if running.Err() != nil && !t.Outcome.Trainable() {
				continue // cut short by the stop, it is no result: the resumed run has it whole
			}
			err := r.Log.Trajectory(r.Stage, r.Step, t)
			if err == nil {
				err = r.lost(t)
			}
			if err != nil {
				stop(err)
			}
			if i, whole := plan.add(t); whole && running.Err() == nil {
				score(i)
			}
			done++
			r.Progress(r.Stage, done, all, "")
		case s := <-scored:
			scoring--
			err := r.take(plan.groups[s.group], s)
			for _, t := range plan.groups[s.group].Trajectories {
				if err == nil && t.Outcome == trajectory.JudgeError {
					err = r.lost(t)
				}
			}
			if err != nil {
				stop(err)
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return plan.groups, context.Cause(running)
}

// lost tells of an episode that says nothing about the policy.
func (r Rollouts) lost(t *trajectory.Trajectory) error {
	if r.Lost == nil || t.Outcome.Trainable() {
		return nil
	}
	return r.Lost(t)
}

// sample is Groups, and an error where not one episode says anything about the policy, as when a server is gone.
func (r Rollouts) sample(ctx context.Context, scenarios []scenario.Scenario) ([]trajectory.Group, error) {
	groups, err := r.Groups(ctx, scenarios)
	if err != nil {
		return nil, err
	}
	var ts []*trajectory.Trajectory
	for _, g := range groups {
		ts = append(ts, g.Trajectories...)
	}
	return groups, NothingRan(ts)
}

// place is one episode's among those of a step.
type place struct {
	scenarioID string
	rollout    int
}

// kept are the episodes that an earlier attempt left of the step.
func (r Rollouts) kept(scenarios []scenario.Scenario) (map[place]Kept, error) {
	kept := map[place]Kept{}
	if !r.Again {
		return kept, nil
	}
	hash := map[string]string{}
	for _, s := range scenarios {
		hash[s.ID] = s.Hash()
	}
	all, err := r.Log.Trajectories(r.Stage, r.Step)
	for _, k := range all {
		if known, ok := hash[k.ScenarioID]; ok && k.Scenario == known && k.Outcome.Trainable() && k.Rollout < r.GroupSize { // not of a scenario that was edited since
			kept[place{k.ScenarioID, k.Rollout}] = k
		}
	}
	return kept, err
}

// plan is what is left to do for a step.
type plan struct {
	groups   []trajectory.Group
	missing  []int // episodes of each
	byID     map[string]int
	unscored []int                // groups whose episodes were all kept, and not all of their scores
	requests chan rollout.Request // of the other episodes
}

func (r Rollouts) plan(scenarios []scenario.Scenario, kept map[place]Kept) plan {
	p := plan{make([]trajectory.Group, len(scenarios)), make([]int, len(scenarios)), map[string]int{}, nil,
		make(chan rollout.Request, len(scenarios)*r.GroupSize)}
	defer close(p.requests)
	for i, s := range scenarios {
		p.byID[s.ID] = i
		p.groups[i] = trajectory.Group{ScenarioID: s.ID, Trajectories: make([]*trajectory.Trajectory, r.GroupSize)}
		var earned []trajectory.Score
		for j := range r.GroupSize {
			k, ok := kept[place{s.ID, j}]
			if !ok {
				p.missing[i]++
				p.requests <- rollout.Request{Scenario: s, Rollout: j, Step: r.Step, Place: i*r.GroupSize + j}
				continue
			}
			if p.groups[i].Trajectories[j] = k.Trajectory; k.Score != nil && k.Score.Outcome == "" {
				earned = append(earned, *k.Score)
			}
		}
		switch {
		case len(earned) == r.GroupSize:
			p.groups[i].Take(earned)
		case p.missing[i] == 0:
			p.unscored = append(p.unscored, i)
		}
	}
	return p
}

// add puts an episode into its group, and tells whether it was the last of it.
func (p plan) add(t *trajectory.Trajectory) (group int, whole bool) {
	i := p.byID[t.ScenarioID]
	p.groups[i].Trajectories[t.Rollout] = t
	p.missing[i]--
	return i, p.missing[i] == 0
}

// NothingRan is the reason why no episode says anything about the policy, nil where one does: the first episode's, or that
// of the first whose server failed, from which the others' may follow.
func NothingRan(ts []*trajectory.Trajectory) error {
	var worst *trajectory.Trajectory
	for _, t := range ts {
		if t.Outcome.Trainable() {
			return nil
		}
		if worst == nil || t.Outcome == trajectory.EnvironmentError && worst.Outcome != trajectory.EnvironmentError {
			worst = t
		}
	}
	if worst == nil {
		return nil
	}
	f := &fault.Error{Code: fault.CodeError, What: "no episode could be run", Where: "episode " + worst.ID, Why: worst.Error,
		Next: "remove the reason, then go on with hone runs resume; hone doctor checks machine and servers"}
	switch worst.Outcome {
	case trajectory.EnvironmentError:
		f.Code, f.What, f.Next = fault.CodeUnavailable, "the MCP server does not answer any more", "look at the server, or run hone doctor"
	case trajectory.JudgeError:
		f.What, f.Next = "no episode could be scored", "remove the reason, then go on with hone runs resume: the episodes are kept, and are scored again"
	}
	return f
}
