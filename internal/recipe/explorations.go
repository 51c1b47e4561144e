package recipe

import (
	"context"
	"errors"
	"slices"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Explorations are episodes of scenarios none of whose group passed: what the policy never tries, no advantage can
// teach it. Each takes the turns of the group's best episode up to one that is drawn, the last included, since a call
// may be missing there; from the first that is prompted by something else on it takes its own. At the turn that is
// drawn the policy is held to words without a call, or to a call of one tool. The policy chooses the call's arguments,
// after its reasoning if it reasons. In later turns it is free. These choices of a turn come in an order that is drawn,
// those first that no episode of the group made at it.
//
// They are no part of the group, nor of the step's loss: their tokens were not the policy's own choice. Those that pass
// are held to be imitated, as successes that are as much better than the scenario's group as they are, unless one is
// held that earned as much. Dialogues with a user have none, nor has the last step, from which nothing would learn.
type Explorations struct {
	None
	Most int // scenarios of a step, the first that there are by the order of its groups
	// Choices are what can help behind turns of a scenario: the names of tools to call, and "" for words. Where there
	// are none nothing is forced.
	Choices func(s *scenario.Scenario, behind []trajectory.Turn) []string

	stage *stage
}

// Begin implements Addition.
func (x *Explorations) Begin(s *stage) error {
	x.stage = s
	if x.Choices == nil {
		return errors.New("a stage that forces turns is not told what to")
	}
	return nil
}

// ExplorationStage is the stage that keeps the episodes of another's explorations.
func ExplorationStage(stage string) string { return stage + "_explorations" }

// Sample implements Addition: it runs the explorations of a step's groups, as the rollouts of these were run. Their
// episodes are numbered on from the group's.
func (x *Explorations) Sample(ctx context.Context, of Rollouts, e *Sampling) (err error) {
	if of.Step == x.stage.Steps-1 { // no step is left that could learn from them
		return nil
	}
	scenarios := x.stage.scenarios
	var list []scenario.Scenario
	forced := map[place]rollout.Forced{}
	for _, group := range e.Sampled {
		if passed, n := x.stage.Passed.count(group); len(list) == x.Most || n == 0 || passed > 0 {
			continue
		}
		at := slices.IndexFunc(scenarios, func(s scenario.Scenario) bool { return s.ID == group.ScenarioID })
		if scenarios[at].User != nil { // who says something else each time
			continue
		}
		choices := func(behind []trajectory.Turn) []string { return x.Choices(&scenarios[at], behind) }
		turns := x.constraints(group, choices, of.Step, at)
		if len(turns) == 0 {
			continue
		}
		list = append(list, scenarios[at])
		for i, f := range turns {
			forced[place{group.ScenarioID, x.stage.GroupSize + i}] = f
		}
	}
	if len(list) == 0 {
		return nil
	}
	of.Stage, of.Others, of.Keep, of.First = ExplorationStage(of.Stage), nil, nil, x.stage.GroupSize
	of.Forced = func(scenarioID string, number int) rollout.Forced { return forced[place{scenarioID, number}] }
	e.Explored, err = of.Groups(ctx, list)
	return err
}

// See implements Addition.
func (x *Explorations) See(s *Step) {
	m := s.Metrics
	m["explorations"] = float64(len(s.Explored))
	m["explorations/passed"], m["explorations/forced"], m["explorations/lost"] = 0, 0, 0
	for _, group := range s.Explored {
		passed, _ := x.stage.Passed.count(group)
		m["explorations/passed"] += passed
		for _, t := range group.Trajectories {
			if slices.ContainsFunc(t.Turns, func(turn trajectory.Turn) bool { return turn.Forced }) {
				m["explorations/forced"]++
			}
			if !t.Outcome.Trainable() {
				m["explorations/lost"]++
			}
		}
	}
}

const forcing = 0xF02CED // keeps these draws apart from those of pools and orders

// constraints says where each of as many episodes as a group has is held to what; it is empty where nothing can help.
// It follows from the group, so that a run which is stopped goes on to the same.
func (x *Explorations) constraints(group trajectory.Group, choices func(behind []trajectory.Turn) []string,
	step, number int) []rollout.Forced {
	var best *trajectory.Trajectory
	thinks := false
	for _, t := range group.Trajectories {
		thinks = thinks || slices.ContainsFunc(t.Turns, func(turn trajectory.Turn) bool {
			return turn.ReasoningContent != ""
		})
		if t.Outcome.Trainable() && (best == nil || t.Reward > best.Reward) {
			best = t
		}
	}
	own := draw(x.stage.Seed^forcing, uint64(step), uint64(number))
	type turn struct {
		behind []trajectory.Turn
		order  []string
		next   int
	}
	var turns []turn
	for at := range max(1, len(best.Turns)) {
		behind := best.Turns[:min(at, len(best.Turns))]
		var fresh, made []string
		list := choices(behind)
		for _, i := range permutation(len(list), own, at) {
			if name := list[i]; hasCallAt(group, at, name) {
				made = append(made, name)
			} else {
				fresh = append(fresh, name)
			}
		}
		if len(list) > 0 {
			turns = append(turns, turn{behind: behind, order: slices.Concat(fresh, made)})
		}
	}
	if len(turns) == 0 {
		return nil
	}
	list := make([]rollout.Forced, x.stage.GroupSize)
	for i := range list {
		at := &turns[draw(^own, 0, uint64(i))%uint64(len(turns))]
		tool := at.order[at.next%len(at.order)]
		list[i] = rollout.Forced{Behind: at.behind, Tool: tool, Words: tool == "", Thinks: thinks}
		at.next++
	}
	return list
}

// hasCallAt reports whether an episode of a group called a tool at a turn, or where that is "" spoke without a call.
func hasCallAt(group trajectory.Group, turn int, tool string) bool {
	return slices.ContainsFunc(group.Trajectories, func(t *trajectory.Trajectory) bool {
		if turn >= len(t.Turns) {
			return false
		}
		if tool == "" {
			return len(t.Turns[turn].Calls) == 0 && t.Turns[turn].ParseError == ""
		}
		for _, c := range t.Turns[turn].Calls {
			if c.Name == tool {
				return true
			}
		}
		return false
	})
}
