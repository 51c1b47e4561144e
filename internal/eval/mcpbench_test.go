package eval

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/run"
)

// Repeats of a task are episodes of it, and no further tasks.
func TestTasksAreNotEpisodes(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &job.Job{Env: job.Env{Host: quiet(t)}, Verb: "eval", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	saveCatalog(t, "out")
	for _, id := range []string{"one/0", "one/1", "two/0", "two/1", "two/lost"} {
		task, _, _ := strings.Cut(id, "/")
		e := &trajectory.Trajectory{ID: id, ScenarioID: task, Outcome: trajectory.OK}
		if id == "two/lost" {
			e.Outcome = trajectory.EnvironmentError
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: "eval_base/" + id, Stage: "eval_base", JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	stages, err := RuleMetricsOf("out")
	if err != nil || len(stages) != 1 || stages[0].NumTasks != 4 || stages[0].NumScenarios != 2 {
		t.Fatalf("%+v, %v", stages, err)
	}
	if said := stages[0].String(); !strings.HasPrefix(said, "base: 4 episodes of 2 tasks, 4 without calls") || !strings.HasSuffix(said, "1 episode excluded") {
		t.Error(said)
	}
}
