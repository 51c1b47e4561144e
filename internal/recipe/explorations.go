package recipe

import (
	"context"
	"slices"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Explorations are episodes of scenarios none of whose group passed: what the policy never tries, no advantage can teach it. Each takes the turns of
// the group's best episode up to one that is drawn, the last included, since a call may be missing there; from the first that is prompted by something
// else on it takes its own. At the turn that is drawn the policy is held to words without a call, or to a call of one tool.
// It chooses the call's arguments, once it has reasoned if it does; behind it, it is free. These choices of a turn come in an order that is drawn, those
// first that no episode of the group made at it.
//
// They are no part of the group, nor of the step's loss: their tokens were not the policy's own choice. Those that pass are held to be imitated, as
// successes that are as much better than the scenario's group as they are, unless one is held that earned as much. Dialogues with a user have none,
// nor has the last step, from which nothing would learn. The zero value has none.
type Explorations struct {
	Most int // scenarios of a step, the first that there are by the order of its groups
	// Choices are what can help at a turn of a scenario, from 0: the names of tools to call, and "" for words. Where the first
	// turn has none the scenario is not explored; else all turns have one.
	Choices func(s *scenario.Scenario, turn int) []string
}

// On reports whether there are any.
func (e Explorations) On() bool { return e.Most > 0 }

// ExplorationStage is the stage that keeps the episodes of another's explorations.
func ExplorationStage(stage string) string { return stage + "_explorations" }

// explored runs the explorations of a step's groups, as the rollouts of these were run; their episodes are numbered on from the group's.
func (g GRPO) explored(ctx context.Context, of Rollouts, groups []trajectory.Group, scenarios []scenario.Scenario) ([]trajectory.Group, error) {
	if !g.Explorations.On() || of.Step == g.Steps-1 { // no step is left that could learn from them
		return nil, nil
	}
	var list []scenario.Scenario
	forced := map[place]rollout.Forced{}
	for _, group := range groups {
		if passed, n := g.Pools.passed(group); len(list) == g.Explorations.Most || n == 0 || passed > 0 {
			continue
		}
		at := slices.IndexFunc(scenarios, func(s scenario.Scenario) bool { return s.ID == group.ScenarioID })
		choices := func(turn int) []string { return g.Explorations.Choices(&scenarios[at], turn) }
		if len(choices(0)) == 0 || scenarios[at].User != nil { // who says something else each time
			continue
		}
		list = append(list, scenarios[at])
		for i, f := range g.forced(group, choices, of.Step, at) {
			forced[place{group.ScenarioID, g.GroupSize + i}] = f
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	of.Stage, of.Others, of.Keep, of.First = ExplorationStage(of.Stage), nil, nil, g.GroupSize
	of.Forced = func(scenarioID string, number int) rollout.Forced { return forced[place{scenarioID, number}] }
	return of.Groups(ctx, list)
}

const forcing = 0xF02CED // keeps these draws apart from those of pools and orders

// forced says where each of as many episodes as a group has is held to what. It follows from the group, so that a run which is stopped goes on to
// the same.
func (g GRPO) forced(group trajectory.Group, choices func(turn int) []string, step, number int) []rollout.Forced {
	var best *trajectory.Trajectory
	thinks := false
	for _, t := range group.Trajectories {
		thinks = thinks || slices.ContainsFunc(t.Turns, func(turn trajectory.Turn) bool { return turn.ReasoningContent != "" })
		if t.Outcome.Trainable() && (best == nil || t.Reward > best.Reward) {
			best = t
		}
	}
	turns, own := max(1, len(best.Turns)), draw(g.Seed^forcing, uint64(step), uint64(number))
	orders := make([][]string, turns)
	for turn := range orders {
		var fresh, made []string
		list := choices(turn)
		for _, i := range shuffled(len(list), own, turn) {
			if name := list[i]; madeAt(group, turn, name) {
				made = append(made, name)
			} else {
				fresh = append(fresh, name)
			}
		}
		orders[turn] = slices.Concat(fresh, made)
	}
	list, next := make([]rollout.Forced, g.GroupSize), make([]int, turns)
	for i := range list {
		turn := int(draw(^own, 0, uint64(i)) % uint64(turns))
		tool := orders[turn][next[turn]%len(orders[turn])]
		list[i] = rollout.Forced{Behind: best.Turns[:min(turn, len(best.Turns))], Tool: tool, Words: tool == "", Thinks: thinks}
		next[turn]++
	}
	return list
}

// madeAt reports whether an episode of a group called a tool at a turn, or where that is "" none.
func madeAt(group trajectory.Group, turn int, tool string) bool {
	return slices.ContainsFunc(group.Trajectories, func(t *trajectory.Trajectory) bool {
		if turn >= len(t.Turns) {
			return false
		}
		if tool == "" {
			return len(t.Turns[turn].Calls) == 0
		}
		for _, c := range t.Turns[turn].Calls {
			if c.Name == tool {
				return true
			}
		}
		return false
	})
}
