package records

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/testing/fakes"
)

// An episode is found by its name, its scenario's id, or a beginning of either that no other has.
func TestFindEpisode(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Verb: "collect", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"collect/pick-a1b2", "collect/pick-a1", "collect/pick-a1#2", "collect/walk-77", "grpo/walk-88/0/0",
		"grpo/walk-88/0/1", "grpo/run/of/walk-99/0/0", "grpo/run-1/3/0",
	} {
		text, err := json.Marshal(&trajectory.Trajectory{ID: name, Outcome: trajectory.OK})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: name, Stage: strings.Split(name, "/")[0],
			JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	for id, want := range map[string]string{
		"collect/walk-77": "collect/walk-77", "walk-77": "collect/walk-77", "walk-7": "collect/walk-77",
		"collect/walk": "collect/walk-77", "walk-88/0/1": "grpo/walk-88/0/1", "run-1": "grpo/run-1/3/0",
		"run-1/3": "grpo/run-1/3/0", "walk-99": "grpo/run/of/walk-99/0/0", "pick-a1b": "collect/pick-a1b2",
		"pick-a1#2": "collect/pick-a1#2", "pick-a1": "collect/pick-a1", "walk-88": "2 episodes", "pick": "3 episodes",
		"walk-": "4 episodes", "77": "no episode", "k-77": "no episode", "%": "no episode", "": "no episode",
	} {
		e, err := FindEpisode("out", id)
		if err == nil && e.Trajectory.ID != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", id, e.Title, err, want)
		}
	}
}
