package recipe

import (
	"context"
	"fmt"
	"slices"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// Rejection is rejection-sampling fine-tuning (RAFT, arXiv 2304.06767): sample a group of episodes of every scenario
// from the policy as it is, keep the good ones, and fine-tune on them as on demonstrations. It learns from the same
// rollouts and the same checks as GRPO, but from successes alone and without going back to the server; so it is what
// GRPO is measured against.
type Rejection struct {
	GroupSize int // episodes of one scenario
	SFT       SFT // its Stage names the training; the rollouts are the stage of that name and "_rollouts"
	// Keep says which scored episodes are good.
	Keep func(*trajectory.Trajectory) bool
	// Beside are demonstrations that it trains on too, each row as likely as an episode's (RFT, arXiv 2308.01825);
	// none: on its own episodes alone.
	Beside []batch.Sequence
}

// Run samples, or reads back what an earlier attempt sampled, then trains, and leaves the adapter published.
func (r Rejection) Run(
	ctx context.Context, scenarios []scenario.Scenario, runner Runner, scorer Scorer, trainer Trainer,
	publisher Publisher, log Log, progress Progress,
) error {
	if err := Publish(publisher, r.SFT.Stage); err != nil {
		return err
	}
	rollouts := Rollouts{Stage: r.SFT.Stage + "_rollouts", Again: true, GroupSize: r.GroupSize, Runner: runner,
		Scorer: scorer, Log: log, Progress: progress}
	groups, _, err := rollouts.sample(ctx, scenarios)
	if err != nil {
		return err
	}
	rows := r.rows(groups)
	if len(rows)+len(r.Beside) == 0 {
		return &fault.Error{Code: fault.CodeFailures, What: "no rollout is good enough to train on", Where: r.SFT.Stage,
			Why:  fmt.Sprintf("%d were made of each of %s", r.GroupSize, fault.Count(len(groups), "scenario")),
			Next: "begin from a model that passes some: more demonstrations, or more epochs of them"}
	}
	text := fmt.Sprintf("%s trains on %s that passed", r.SFT.Stage, fault.Count(len(rows), "row"))
	if len(r.Beside) > 0 {
		text += fmt.Sprintf(" and %s", fault.Count(len(r.Beside), "demonstration"))
	}
	log.Notice(text)
	return r.SFT.Run(ctx, slices.Concat(rows, r.Beside), trainer, publisher, log, progress)
}

// rows are the best of the kept episodes, each wording of a scenario's solution once: an easy task must not outweigh a
// hard one. Best are those with the fewest calls that failed, and of these those with the fewest calls: a success by
// detours teaches detours.
func (r Rejection) rows(groups []trajectory.Group) []batch.Sequence {
	var rows []batch.Sequence
	for _, g := range groups {
		seen := map[string]bool{}
		for _, t := range r.best(g) {
			for _, r := range t.Rows() {
				if key := fmt.Sprint(r.IDs); !seen[key] {
					seen[key] = true
					rows = append(rows, batch.Sequence{IDs: r.IDs, Trained: r.Sampled})
				}
			}
		}
	}
	return rows
}

// best are the kept episodes of a group that came to their end with the fewest failed calls, and of these with the
// fewest calls.
func (r Rejection) best(g trajectory.Group) (best []*trajectory.Trajectory) {
	var least []int
	for _, t := range g.Trajectories {
		if !t.Outcome.Trainable() || !r.Keep(t) {
			continue
		}
		took := effort(t)
		if by := slices.Compare(took, least); best == nil || by < 0 {
			best, least = []*trajectory.Trajectory{t}, took
		} else if by == 0 {
			best = append(best, t)
		}
	}
	return best
}

// effort is what an episode took: calls that failed and malformed ones, then calls.
func effort(t *trajectory.Trajectory) []int {
	failed, calls := 0, t.ServerCalls()
	for _, turn := range t.Turns {
		if turn.ParseError != "" {
			failed++
		}
	}
	for _, r := range calls {
		if r.Status != trajectory.CallOK {
			failed++
		}
	}
	return []int{failed, len(calls)}
}
