package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/testing/fakes"
)

// Episodes are picked by stage, step and reward; a step alone is one of GRPO. What was lost or has no score yet is
// never among the worst.
func TestPick(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Verb: "train", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	put := func(stage string, step, rollout int, outcome trajectory.Outcome, reward float64, scored bool) {
		t.Helper()
		r := run.TrajectoryRow{ID: fmt.Sprintf("%s/a/%d/%d", stage, step, rollout), Stage: stage, Step: step}
		var err error
		if r.JSON, err = json.Marshal(&trajectory.Trajectory{ID: r.ID, Outcome: outcome}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(r); err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(trajectory.Score{Reward: reward}); err != nil {
			t.Fatal(err)
		} else if scored {
			if err := j.Dir.PutScores([]run.ScoreRow{{ID: r.ID, JSON: text}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("validation", 1, 0, trajectory.OK, 0, true)
	for i, reward := range []float64{0.5, 1, -1, 0.25} {
		put("grpo", 1, i, trajectory.OK, reward, true)
	}
	put("grpo", 1, 4, trajectory.EnvironmentError, -9, true)
	put("grpo", 1, 5, trajectory.OK, 0, false)
	put("grpo", 2, 0, trajectory.Limit, 0.75, true)
	j.Close()
	for _, c := range []struct {
		of   Pick
		want string // names behind the stage, or what the error says
	}{
		{Pick{}, "validation/1/0 grpo/1/0 grpo/1/1 grpo/1/2 grpo/1/3 grpo/1/4 grpo/1/5 grpo/2/0"},
		{Pick{Step: new(1)}, "grpo/1/0 grpo/1/1 grpo/1/2 grpo/1/3 grpo/1/4 grpo/1/5"},
		{Pick{Step: new(1), Worst: 2}, "grpo/1/2 grpo/1/3"},
		{Pick{Worst: 3}, "grpo/1/2 validation/1/0 grpo/1/3"},
		{Pick{Step: new(1), Worst: 99}, "grpo/1/2 grpo/1/3 grpo/1/0 grpo/1/1"},
		{Pick{Stage: "validation"}, "validation/1/0"},
		{Pick{Stage: "validation", Step: new(1)}, "validation/1/0"},
		{Pick{Step: new(3)}, "the run has no episode of step 3; it has grpo (7 episodes), validation (1 episode)"},
		{Pick{Stage: "dpo"}, `the run has no episode of stage "dpo"; it has grpo (7 episodes), validation (1 episode)`},
	} {
		found, err := c.of.Episodes("out")
		var got []string
		for _, e := range found {
			got = append(got, strings.Replace(e.Title, "/a/", "/", 1))
		}
		if f, ok := errors.AsType[*fault.Error](err); ok {
			got = []string{f.What + "; " + f.Why}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.of, got, err, c.want)
		}
	}
}
