package recipe

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Each scenario is run so many times; what was kept of some repeats is not run again, and parts of a stage make its
// whole.
func TestRepeats(t *testing.T) {
	log, r := newLog(t), &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	e := Evaluation{Stage: "eval_base", Repeats: 3, Runner: r, Scorer: scoreFunc(byRollout), Log: log, Progress: silent}
	list := scenarios(4)
	ts, err := e.Run(t.Context(), list)
	if err != nil || len(ts) != 12 || r.episodes != 12 || !log.Finished["eval_base"] {
		t.Fatalf("%v: %d trajectories of %d episodes", err, len(ts), r.episodes)
	}
	for i, x := range ts {
		if x.ScenarioID != list[i/3].ID || x.Rollout != i%3 {
			t.Errorf("%d is %s/%d", i, x.ScenarioID, x.Rollout)
		}
	}
	e.Repeats = 4
	if ts, err = e.Run(t.Context(), list); err != nil || len(ts) != 16 || r.episodes != 16 {
		t.Errorf("one repeat more: %v, %d trajectories, %d episodes", err, len(ts), r.episodes)
	}
	e.Log, e.Repeats, r.episodes = newLog(t), 0, 0
	first, err := e.Part(t.Context(), list[:3])
	if err != nil || len(first) != 3 || e.Log.(*memoryLog).Finished["eval_base"] {
		t.Fatalf("a part: %v, %d trajectories", err, len(first))
	}
	if rest, err := e.Run(t.Context(), list[3:]); err != nil || len(rest) != 1 || r.episodes != 4 ||
		!e.Log.(*memoryLog).Finished["eval_base"] {
		t.Errorf("the rest: %v, %d trajectories of %d episodes", err, len(rest), r.episodes)
	}
}

// mixed loses every second episode.
type mixed struct{ *fakeRunner }

func (m mixed) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	out := make(chan *trajectory.Trajectory)
	go func() {
		defer close(out)
		n := 0
		for x := range m.fakeRunner.Run(ctx, requests) {
			if n++; n%2 == 0 {
				x.Outcome = trajectory.InfrastructureError
			}
			out <- x
		}
	}()
	return out
}

// A policy is given up as soon as the evaluation says so: what was run is kept and returned, no more is, and the stage
// is not finished.
func TestGivenUp(t *testing.T) {
	for _, most := range []int{1, 2, 3, 99} {
		log, r := newLog(t), &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
		lost := 0
		e := Evaluation{
			Stage:    "eval",
			Runner:   mixed{r},
			Scorer:   scoreFunc(byRollout),
			Log:      log,
			Progress: silent,
			Lost: func(x *trajectory.Trajectory) error {
				if x.Outcome.Trainable() {
					t.Error("an episode of the policy is lost")
				}
				if lost++; lost == most {
					return fmt.Errorf("base: %w", ErrGivenUp)
				}
				return nil
			},
		}
		ts, err := e.Run(t.Context(), scenarios(8))
		if gaveUp := most < 99; errors.Is(err, ErrGivenUp) != gaveUp || (err == nil) == gaveUp ||
			log.Finished["eval"] == gaveUp || gaveUp && (lost != most || len(ts) < 2*most) || !gaveUp && len(ts) != 8 {
			t.Errorf("after %d: %v, %d lost, %d trajectories, finished %v",
				most, err, lost, len(ts), log.Finished["eval"])
		}
		for _, x := range ts {
			if x.Outcome.Trainable() && x.Terms == nil && most == 99 {
				t.Errorf("%s was not scored", x.ID)
			}
		}
	}
}

// A part of which no episode says anything about the policy is no error, a whole stage is, and is not finished.
func TestNothingOfAPart(t *testing.T) {
	log, r := newLog(t), &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.EnvironmentError}
	e := Evaluation{Stage: "eval", Runner: r, Scorer: scoreFunc(byRollout), Log: log, Progress: silent}
	if ts, err := e.Part(t.Context(), scenarios(2)); err != nil || len(ts) != 2 {
		t.Errorf("a part: %v, %d trajectories", err, len(ts))
	}
	if ts, err := e.Run(t.Context(), scenarios(4)); fault.CodeOf(err) != fault.CodeUnavailable || len(ts) != 4 ||
		log.Finished["eval"] {
		t.Errorf("the whole: %v, %d trajectories", err, len(ts))
	}
}

// An episode whose check cannot be scored is lost too.
func TestLostByTheScorer(t *testing.T) {
	log, r, lost := newLog(t), &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}, 0
	e := Evaluation{
		Stage:    "eval",
		Repeats:  2,
		Runner:   r,
		Log:      log,
		Progress: silent,
		Scorer: judging(func(_ context.Context, s *scenario.Scenario) error {
			if s.ID == scenarios(3)[1].ID {
				return &fault.Error{Code: fault.CodeError, What: "no verdict"}
			}
			return nil
		}),
		Lost: func(x *trajectory.Trajectory) error {
			if lost++; x.Outcome != trajectory.JudgeError {
				t.Errorf("lost by %s", x.Outcome)
			}
			return nil
		},
	}
	if ts, err := e.Run(t.Context(), scenarios(3)); err != nil || len(ts) != 6 || lost != 2 {
		t.Errorf("%v: %d trajectories, %d lost", err, len(ts), lost)
	}
}
