package recipe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Rollouts are the episodes of one step of a stage. They come as a stream, each is kept as it ends, and a group whose
// episodes have all ended is scored while those of others still run:
//
//	request -> trajectory -> kept -> whole group -> score -> kept -> group
//
// The scoring of a group waits for nothing but its own episodes, and no episode waits for it.
type Rollouts struct {
	Stage string
	Step  int
	// an earlier attempt may have begun the step under the same policy: the episodes that it kept are taken
	Again     bool
	GroupSize int // episodes of one scenario
	First     int // number of a group's first one
	Runner    Runner
	Scorer    Scorer
	Log       Episodes
	Progress  Progress // of the episodes
	// Lost is told of each episode whose outcome is not the policy's doing, after it was kept; its error ends the step.
	// nil: nobody is.
	Lost func(*trajectory.Trajectory) error

	// Others are for each scenario those that take its place while no scored group there is to Keep: the next two at
	// once, then four, and so on. All of these that are to keep are. They depend on nothing that happens in the step,
	// so which scenarios are run does not depend on which group is scored first. nil: each group is kept.
	Others [][]scenario.Scenario
	Keep   func(trajectory.Group) bool

	// Wait bounds the wait for the last tenth of the episodes, in times of what the others took (leastWait at least).
	// Those that have not ended then are stopped, and say nothing of the policy. 0: all are waited for.
	Wait float64

	// Forced says where the policy is held to a call in an episode of a scenario. nil: nowhere.
	Forced func(scenarioID string, number int) rollout.Forced
}

// Groups returns the groups of scenarios, all scored, in their order. An episode that ended by itself is kept although
// the run is stopped; the next attempt takes it, and scores what was not scored.
func (r Rollouts) Groups(ctx context.Context, scenarios []scenario.Scenario) ([]trajectory.Group, error) {
	groups, _, err := r.groups(ctx, scenarios)
	return groups, err
}

// groups is Groups, and returns those too in whose place others came.
func (r Rollouts) groups(
	ctx context.Context, scenarios []scenario.Scenario,
) (groups, replaced []trajectory.Group, err error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	plan, err := r.plan(running, scenarios)
	if err != nil {
		return nil, nil, err
	}
	episodes, leave := context.WithCancel(running)
	defer leave()
	stopped, began, late := running.Done(), time.Now(), (<-chan time.Time)(nil)
	for ended := r.Runner.Run(episodes, plan.requests); ended != nil || plan.scoring > 0; {
		select {
		case <-late:
			late = nil
			plan.giveUp()
			leave()
		case <-stopped:
			stopped = nil
			plan.close()
		case t, more := <-ended:
			if !more {
				ended = nil
				continue
			}
			if running.Err() != nil && !t.Outcome.Trainable() {
				continue // cut short by the stop, it is no result: the resumed run has it whole
			}
			if plan.late && t.StopReason == trajectory.StopCancelled {
				t.Error = fmt.Sprintf("the step did not wait for it any more (grpo.straggler_wait): the others had "+
					"ended long before; %s", t.Error)
			}
			err := r.Log.Trajectory(r.Stage, r.Step, t)
			if err == nil {
				err = r.noteLoss(t)
			}
			if err != nil {
				stop(err)
			}
			if i, whole := plan.add(t); whole && running.Err() == nil {
				plan.score(i)
			}
			plan.done++
			r.Progress(r.Stage, plan.done, plan.all, "")
			if late = plan.lateAfter(late, time.Since(began)); plan.late {
				late = nil
			}
		case s := <-plan.scored:
			plan.scoring--
			group := plan.tries[s.group].group
			err := r.take(group, s)
			for _, t := range group.Trajectories {
				if err == nil && t.Outcome == trajectory.JudgeError {
					err = r.noteLoss(t)
				}
			}
			if err != nil {
				stop(err)
			}
			if running.Err() == nil {
				plan.settle(s.group)
			}
		}
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	groups, replaced = plan.groups()
	return groups, replaced, context.Cause(running)
}

// noteLoss tells of an episode that says nothing about the policy.
func (r Rollouts) noteLoss(t *trajectory.Trajectory) error {
	if r.Lost == nil || t.Outcome.Trainable() {
		return nil
	}
	return r.Lost(t)
}

// sample is groups, and an error where not one episode says anything about the policy, as when a server is gone.
func (r Rollouts) sample(
	ctx context.Context, scenarios []scenario.Scenario,
) (groups, replaced []trajectory.Group, err error) {
	if groups, replaced, err = r.groups(ctx, scenarios); err != nil {
		return nil, nil, err
	}
	var ts []*trajectory.Trajectory
	for _, g := range slices.Concat(groups, replaced) {
		ts = append(ts, g.Trajectories...)
	}
	return groups, replaced, NothingRan(ts)
}

// place is one episode's among those of a step.
type place struct {
	scenarioID string
	number     int
}

// keptEpisodes are the episodes that an earlier attempt left of the step.
func (r Rollouts) keptEpisodes(scenarios []scenario.Scenario) (map[place]Kept, error) {
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
		// not of a scenario that was edited since
		if known, ok := hash[k.ScenarioID]; ok && k.Scenario == known && k.Outcome.Trainable() &&
			k.Rollout < r.First+r.GroupSize {
			kept[place{k.ScenarioID, k.Rollout}] = k
		}
	}
	return kept, err
}

// NothingRan is the reason why no episode says anything about the policy, nil where one does: the first episode's, or
// that of the first whose server failed, from which the others' may follow.
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
	f := &fault.Error{Code: fault.CodeError, What: "no episode could be run", Where: "episode " + worst.ID,
		Why:  worst.Error,
		Next: "remove the reason, then go on with hone runs resume; hone doctor checks machine and servers"}
	switch worst.Outcome {
	case trajectory.EnvironmentError:
		f.Code, f.What = fault.CodeUnavailable, "the MCP server does not answer any more"
		f.Next = trajectory.Mending(worst.Error, "look at the server, or run hone doctor")
	case trajectory.JudgeError:
		f.What, f.Next = "no episode could be scored",
			"remove the reason, then go on with hone runs resume: the episodes are kept, and are scored again"
	}
	return f
}
