package recipe

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
)

// slow is a runner of episodes that take so long; one that is stopped says so.
type slow struct {
	takes func(q rollout.Request) time.Duration
}

func (s slow) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	out := make(chan *trajectory.Trajectory)
	go func() {
		defer close(out)
		n := 0
		each := make(chan *trajectory.Trajectory)
		for q := range requests {
			n++
			go func() {
				t := &trajectory.Trajectory{ID: q.Scenario.ID, ScenarioID: q.Scenario.ID, Rollout: q.Rollout,
					Scenario: q.Scenario.Hash(), Outcome: trajectory.OK}
				select {
				case <-time.After(s.takes(q)):
				case <-ctx.Done():
					t.Outcome, t.StopReason = trajectory.InfrastructureError, trajectory.StopCancelled
				}
				each <- t
			}()
		}
		for range n {
			out <- <-each
		}
	}()
	return out
}

// A step waits for its last tenth a few times as long as for the others, a minute at least, and no longer; it waits for
// all where it is told to, and where more than a tenth are slow.
func TestAStepLeavesItsLastStragglersBehind(t *testing.T) {
	const never = 24 * time.Hour
	of := func(late int, others time.Duration) func(rollout.Request) time.Duration {
		return func(q rollout.Request) time.Duration {
			if int(q.Scenario.ID[0]-'a') < late && q.Rollout == 0 {
				return never
			}
			return others
		}
	}
	for name, c := range map[string]struct {
		wait  float64
		takes func(rollout.Request) time.Duration
		took  time.Duration
		lost  int
	}{
		"two of twenty":           {3, of(2, time.Minute), 4 * time.Minute, 2},
		"fast ones wait a minute": {3, of(1, time.Second), time.Second + time.Minute, 1},
		"more than a tenth":       {3, of(3, time.Minute), never, 0},
		"all are waited for":      {0, of(1, time.Minute), never, 0},
		"none is late":            {3, of(0, time.Minute), time.Minute, 0},
		"late, and not too late": {3, func(q rollout.Request) time.Duration {
			return min(of(1, time.Minute)(q), 3*time.Minute)
		}, 3 * time.Minute, 0},
		"late once, and others too": {0.001, of(1, time.Second), time.Second + time.Minute, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := Rollouts{Stage: "grpo", GroupSize: 2, Runner: slow{c.takes}, Scorer: scoreFunc(byRollout),
				Log: newLog(t), Progress: silent, Wait: c.wait}
			groups, err := r.Groups(context.Background(), scenarios(10))
			lost := 0
			for _, g := range groups {
				for _, e := range g.Trajectories {
					if !e.Outcome.Trainable() {
						lost++
						if !strings.Contains(e.Error, "grpo.straggler_wait") {
							t.Errorf("%s: %s", name, e.Error)
						}
					}
				}
			}
			if took := time.Since(began); err != nil || took != c.took || lost != c.lost || len(groups) != 10 {
				t.Errorf("%s: %v, %v for %d groups without %d episodes", name, err, took, len(groups), lost)
			}
		})
	}
}
