package recipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// ValidationStage is where evaluations within training keep their episodes and metrics, by the steps taken before.
const ValidationStage = "validation"

// Validation measures a policy while it is trained. Nothing is learnt from it: it tells which checkpoint was best.
type Validation struct {
	Every     int // steps between two evaluations; there is one before the first step and at the end of the stage too
	Patience  int // evaluations in a row without a better one after which the stage ends; 0: it never ends early
	Scenarios []scenario.Scenario
	Runner    Runner
	Scorer    Scorer                            // nil: the stage's
	Passed    func(*trajectory.Trajectory) bool // of an episode: every check

	// seen says which scenarios passed, by the steps taken before: a letter of each, in their order, passing, failing
	// or unknown. Checkpoints keep it.
	seen map[int]string
}

// Letters of Validation.seen.
const (
	didPass = '+'
	didFail = '-'
	unknown = '?' // its episode says nothing of the policy
)

// note keeps which scenarios passed after so many steps.
func (v *Validation) note(steps int, ts []*trajectory.Trajectory) {
	by := map[string]rune{}
	for _, t := range ts {
		switch {
		case !t.Outcome.Trainable():
		case v.Passed(t):
			by[t.ScenarioID] = didPass
		default:
			by[t.ScenarioID] = didFail
		}
	}
	letters := make([]rune, len(v.Scenarios))
	for i, s := range v.Scenarios {
		letters[i] = cmp.Or(by[s.ID], unknown)
	}
	v.seen[steps] = string(letters)
}

// due reports whether the policy after so many steps, of total, is evaluated.
func (v *Validation) due(steps, total int) bool {
	return v != nil && v.Every > 0 && len(v.Scenarios) > 0 && (steps == total || steps%v.Every == 0)
}

// enough reports whether the policy has not become better for as long as there is patience, after so many steps, of
// which total are planned; and after how many it was best.
func (v *Validation) enough(steps, total int, log Log) (enough bool, best int, err error) {
	if !v.due(steps, total) || v.Patience == 0 {
		return false, 0, nil
	}
	all, err := log.Measurements(ValidationStage)
	if err != nil {
		return false, 0, err
	}
	since := 0
	for at := 0; at <= steps; at += v.Every {
		m, ok := all[at]
		if since++; ok && (at == 0 || Better(m, all[best])) {
			best, since = at, 0
		}
	}
	return since >= v.Patience, best, nil
}

// run evaluates the policy that is published, after so many steps, and records how good it is. An evaluation that was
// recorded before is not run again where again is set, and is no news; nor is an episode that was kept.
func (v *Validation) run(
	ctx context.Context, steps int, again bool, scorer Scorer, log Log, progress Progress,
) (news bool, err error) {
	if again {
		if _, ok, err := log.StepMetrics(ValidationStage, steps); ok || err != nil {
			return false, errors.Join(err, v.recall(steps, log))
		}
	}
	if v.Scorer != nil {
		scorer = v.Scorer
	}
	ts, err := Evaluation{
		Stage:  ValidationStage,
		Step:   steps,
		Runner: v.Runner,
		Scorer: scorer,
		Log:    log,
		Progress: func(_ string, done, total int, note string) {
			progress(fmt.Sprintf("%s/%d", ValidationStage, steps), done, total, note)
		},
	}.Run(ctx, v.Scenarios)
	if err != nil {
		return false, err
	}
	v.note(steps, ts)
	return true, log.Metrics(ValidationStage, steps, v.measure(ts))
}

// recall notes an evaluation that was recorded after the checkpoint from which a run goes on.
func (v *Validation) recall(steps int, log Log) error {
	kept, err := log.Trajectories(ValidationStage, steps)
	if err != nil || len(kept) == 0 {
		return err
	}
	var ts []*trajectory.Trajectory
	for _, k := range kept {
		if k.Score != nil {
			trajectory.Group{Trajectories: []*trajectory.Trajectory{k.Trajectory}}.Take([]trajectory.Score{*k.Score})
			ts = append(ts, k.Trajectory)
		}
	}
	v.note(steps, ts)
	return nil
}

// measure describes an evaluation, over the episodes whose outcome is the policy's doing:
//
//	success, reward     share that pass all checks; mean reward
//	masked_ratio        share of all episodes that say nothing of the policy
func (v *Validation) measure(ts []*trajectory.Trajectory) map[string]float64 {
	m := map[string]float64{"success": 0, "reward": 0, "masked_ratio": 0}
	n := 0.0
	for _, t := range ts {
		if !t.Outcome.Trainable() {
			m["masked_ratio"] += 1 / float64(len(ts))
			continue
		}
		n++
		m["reward"] += t.Reward
		if v.Passed(t) {
			m["success"]++
		}
	}
	m["success"], m["reward"] = m["success"]/math.Max(1, n), m["reward"]/math.Max(1, n)
	return m
}

// Better reports whether a policy measured as a is better than one measured as b: by success, then by reward, then by
// the loss of held rows, each 0 where it is not measured. A measurement of
// which too many episodes say nothing of the policy is no fair one, and worse than any that is.
func Better(a, b map[string]float64) bool {
	if fair := a["masked_ratio"] <= mostMask; fair != (b["masked_ratio"] <= mostMask) {
		return fair
	}
	if a["success"] != b["success"] {
		return a["success"] > b["success"]
	}
	if a["reward"] != b["reward"] {
		return a["reward"] > b["reward"]
	}
	return a["eval_loss"] < b["eval_loss"]
}
