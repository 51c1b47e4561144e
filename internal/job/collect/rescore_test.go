package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/testing/fakes"
)

// The episodes of a group stand in the order of their rollouts, each with its score, in whichever order they ended: who
// compares them is to see what it saw in the run. Rules need the schemas of the run's tools, so without them they are
// refused, not left out.
func TestRescoredGroupsAreInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Verb: "train", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	s := scenario.Scenario{ID: "s", Task: "Say a."}
	text, err := scenario.Encode([]scenario.Scenario{s}, false)
	if err == nil {
		err = job.WriteFile(filepath.Join(j.Path, job.ScenariosFile), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, rollout := range []int{2, 0, 3, 1} {
		x := &trajectory.Trajectory{ID: fmt.Sprint("s/0/", rollout), ScenarioID: "s", Scenario: s.Hash(),
			Rollout: rollout, Outcome: trajectory.OK}
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: "grpo/" + x.ID, Stage: "grpo", JSON: text}); err != nil {
			t.Fatal(err)
		}
		if err := (records.Journal{Dir: j.Dir}).Scores("grpo",
			trajectory.Group{Trajectories: []*trajectory.Trajectory{x}},
			[]trajectory.Score{{Reward: float64(rollout)}}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	groups, skipped, err := groupsOf("out")
	if err != nil || skipped != 0 || len(groups) != 1 || len(groups[0].Group.Trajectories) != 4 {
		t.Fatalf("%v: %d skipped, %+v", err, skipped, groups)
	}
	for i, x := range groups[0].Group.Trajectories {
		if x.Rollout != i || groups[0].Was[i].Reward != float64(i) {
			t.Errorf("place %d: rollout %d, reward %g", i, x.Rollout, groups[0].Was[i].Reward)
		}
	}
	if _, err := Rescore(t.Context(), fakes.QuietHost(t), "out", config.Default(), episodes.GivenJudge{}); err != nil {
		t.Errorf("without a catalog: %v", err)
	}
}

// Of episodes that had a score the first that has none now is named; what the run itself could not score is not
// counted.
func TestNotScored(t *testing.T) {
	lost := trajectory.Score{Outcome: trajectory.JudgeError, Error: "no judge"}
	group := func(was, now []trajectory.Score) recipe.Rescored {
		g := recipe.Rescored{Stage: "grpo", Was: was, Now: now}
		for i := range was {
			g.Group.Trajectories = append(g.Group.Trajectories, &trajectory.Trajectory{ID: fmt.Sprint("e", i)})
		}
		return g
	}
	one := trajectory.Score{Reward: 1}
	if err := missingScoreError([]recipe.Rescored{group([]trajectory.Score{lost, one}, []trajectory.Score{lost, one})},
		"out"); err != nil {
		t.Error(err)
	}
	again := lost
	again.Error = "later"
	f, ok := errors.AsType[*fault.Error](
		missingScoreError([]recipe.Rescored{group([]trajectory.Score{lost, one, one, one},
			[]trajectory.Score{lost, one, lost, again})}, "out"),
	)
	if !ok || f.Code != fault.CodeFailures || !strings.Contains(f.What, "2 of 3 episodes") ||
		!strings.Contains(f.Why, "grpo/e2: no judge") {
		t.Errorf("%v", f)
	}
}
