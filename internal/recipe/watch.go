package recipe

import (
	"fmt"
	"maps"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// How long a run goes on that should not, and which share of a step's episodes is too many.
const (
	patience  = 3   // steps
	mostMask  = 0.2 // share of episodes that are no doing of the policy
	mostOfCut = 0.5 // share of episodes that a limit cut
	mostAlike = 0.8 // share of groups without spread, while
	leastPass = 0.5 // this share of episodes does not pass
)

// watch sees what makes a run not worth going on with, or worth a word, before a step is taken.
type watch struct {
	stage         string
	notice        func(text string)
	masked, alike int  // steps in a row
	other         bool // groups whose rewards are all equal are learnt from too, by something else
	collapsed     int
	entropy       float64 // of the first step that it saw
	said          map[string]bool
	guard         guard
	omissions     omissions // steps with episodes or rows of which sampler and trainer thought too differently
}

// look sees the episodes of a step and their metrics. It is an error where too many were masked for too long.
func (w *watch) look(step int, groups []trajectory.Group, m map[string]float64) error {
	if w.alike++; m["reward_spread"] > 0 || w.other {
		w.alike = 0
	}
	if w.alike == patience {
		w.say(
			fmt.Sprintf("nothing is learnt: in %d steps no two episodes of one scenario earned different rewards "+
				"(the mean is %.2f), and GRPO learns from such differences alone; where all fail, "+
				"hone sft first or take easier scenarios; where none do, take harder ones", patience, m["reward"]),
		)
	}
	w.collapse(step, m)
	if m["completions/clipped_ratio"] > mostOfCut {
		reason, _ := mostFrequent(groups, func(t *trajectory.Trajectory) (string, bool) {
			return string(t.StopReason), t.Outcome.Trainable() && raise[t.StopReason] != ""
		})
		w.say(fmt.Sprintf("a limit cuts most episodes (%s), so the model learns to be short; raise %s",
			reason, raise[trajectory.StopReason(reason)]))
	}
	w.warnLosses(step, groups)
	if w.masked++; m["masked_ratio"] <= mostMask {
		w.masked = 0
	}
	if w.masked < patience {
		return nil
	}
	outcome, example := mostFrequent(groups, func(t *trajectory.Trajectory) (string, bool) {
		return string(t.Outcome), !t.Outcome.Trainable()
	})
	return &fault.Error{
		Code: fault.CodeFailures,
		What: fmt.Sprintf("in %d steps in a row over %.0f%% of the episodes failed for reasons outside the model "+
			"(server, judge)", patience, 100*mostMask),
		Where: fmt.Sprintf("%s step %d", w.stage, step),
		Why: fmt.Sprintf("the rest is no fair sample to learn from; of this step %.0f%%, most of them %s, "+
			"as episode %s: %s",
			100*m["masked_ratio"], outcome, example.ID, example.Error),
		Next: trajectory.Mending(example.Error, "remove the reason (hone doctor looks at the servers)") +
			"; the steps before are kept, and hone runs resume goes on after them",
	}
}

// warnLosses tells, once for each outcome, that episodes are left out for what is no doing of the policy: few of them
// stop nothing, and the mean reward of the others looks sound.
func (w *watch) warnLosses(step int, groups []trajectory.Group) {
	count, example := map[trajectory.Outcome]int{}, map[trajectory.Outcome]*trajectory.Trajectory{}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if t.Outcome.Trainable() {
				continue
			}
			if count[t.Outcome]++; example[t.Outcome] == nil {
				example[t.Outcome] = t
			}
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		if w.said[string(outcome)] {
			continue
		}
		w.said[string(outcome)] = true
		w.notice(fmt.Sprintf("%s of step %d left out of what is learnt (%s), the first %s: %s; "+
			"masked_ratio of the metrics counts such episodes",
			fault.Count(count[outcome], "episode"), step, outcome, example[outcome].ID, example[outcome].Error))
	}
}

// collapse tells, once, that the policy gives one answer to each task although it fails most: nothing is left to
// compare.
func (w *watch) collapse(step int, m map[string]float64) {
	if w.entropy == 0 {
		w.entropy = m["entropy"]
	}
	success, known := m["success"]
	if w.collapsed++; !known || success >= leastPass || !(m["frac_reward_zero_std"] > mostAlike) ||
		m["reward_spread"] == 0 {
		w.collapsed = 0
	}
	if w.collapsed == patience && !w.said[collapseName] {
		w.said[collapseName] = true
		w.notice(
			fmt.Sprintf("policy collapse by step %d: in %d steps over %.0f%% of the groups gave identical rewards, "+
				"and only %.0f%% of the episodes pass; its entropy is %.2g nats a token, at first it was %.2g; "+
				"a lower grpo.optimizer.learning_rate, a grpo.kl.beta above 0, grpo.advantage: "+
				"centred and grpo.negative_weight below 1 keep it from there, grpo.resample finds tasks that "+
				"still teach", step,
				patience, 100*mostAlike, 100*success, m["entropy"], w.entropy),
		)
	}
}

const collapseName = "collapse"

// say tells the user something once.
func (w *watch) say(text string) {
	if !w.said[text] {
		w.said[text] = true
		w.notice(text)
	}
}

// raise names the key of what cut an episode.
var raise = map[trajectory.StopReason]string{
	trajectory.StopMaxTokens: "rollout.max_tokens", trajectory.StopContextOverflow: "model.context",
	trajectory.StopMaxTurns: "rollout.max_turns", trajectory.StopMaxToolCalls: "rollout.max_tool_calls",
	trajectory.StopMaxWork:      "rollout.timeout",
	trajectory.StopMaxUserTurns: "max_turns of the scenarios' users",
}

// Raises names the key to raise where a limit ended an episode; "" where none did.
func Raises(stop trajectory.StopReason) string { return raise[stop] }

// mostFrequent is what most episodes have of what is asked of each, with the first episode that has it.
func mostFrequent(
	groups []trajectory.Group, of func(*trajectory.Trajectory) (string, bool),
) (most string, first *trajectory.Trajectory) {
	count, example := map[string]int{}, map[string]*trajectory.Trajectory{}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if name, ok := of(t); ok {
				if count[name]++; example[name] == nil {
					example[name] = t
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > count[most] {
			most = name
		}
	}
	return most, example[most]
}
