package mcpbench_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"hone/benchmarks/mcpbench"
	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
)

// Repeats of a task are episodes of it, and no further tasks.
func TestTasksAreNotEpisodes(t *testing.T) {
	t.Chdir(t.TempDir())
	state := t.TempDir()
	h := &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		return state, name == "XDG_STATE_HOME"
	}}
	j := &job.Job{Env: job.Env{Host: h}, Verb: "eval", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := (&mcp.Catalog{Hash: blob.Parts().String()}).Save("out/" + job.CatalogFile); err != nil {
		t.Fatal(err)
	}
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
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: "eval_base/" + id, Stage: "eval_base",
			JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	stages, err := mcpbench.RuleMetricsOf("out")
	if err != nil || len(stages) != 1 || stages[0].NumTasks != 4 || stages[0].NumScenarios != 2 {
		t.Fatalf("%+v, %v", stages, err)
	}
	if said := stages[0].String(); !strings.HasPrefix(said, "base: 4 episodes of 2 tasks, 4 without calls") ||
		!strings.HasSuffix(said, "1 episode excluded") {
		t.Error(said)
	}
}
