package records

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"testing"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/run"
	"hone/internal/testing/fakes"
)

// A step is refused for numbers that are none, and JSON has no such: what the refusal says must not be lost for them.
func TestMetricsThatAreNoNumbers(t *testing.T) {
	t.Chdir(t.TempDir())
	r := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Verb: "train", Path: "out", Config: config.Default()}
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	log := Journal{Dir: r.Dir}
	if err := log.Metrics("grpo", 2, map[string]float64{"reward": 0.5, "sampling/mismatch_kl": math.NaN(),
		"sampling/mean_ratio": math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := log.StepMetrics("grpo", 2); err != nil || !ok ||
		!maps.Equal(got, map[string]float64{"reward": 0.5}) {
		t.Errorf("%v, %v, %v", got, ok, err)
	}
}

// What was measured is kept of all policies, also where a step's episodes are another's: those are not recorded of the
// one there is now.
func TestMeasuredOfAllPolicies(t *testing.T) {
	r, err := run.Create(filepath.Join(t.TempDir(), "out"), nil, job.Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	log := Journal{Dir: r, Episodes: &episodes.Episodes{}}
	for step := range 3 {
		row := run.TrajectoryRow{ID: fmt.Sprintf("grpo/a/%d/0", step), Stage: "grpo", Step: step,
			JSON: []byte(`{"id": "a", "adapter": "another"}`)}
		if _, err := r.PutTrajectory(row); err != nil {
			t.Fatal(err)
		}
		if err := log.Metrics("grpo", step, map[string]float64{"reward": float64(step)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := log.StepMetrics("grpo", 1); ok || err != nil {
		t.Errorf("another policy's step is recorded of this one: %v", err)
	}
	all, err := log.Measurements("grpo")
	if err != nil || len(all) != 3 || all[2]["reward"] != 2 {
		t.Errorf("measured %v, %v", all, err)
	}
	if none, err := log.Measurements("validation"); err != nil || len(none) != 0 {
		t.Errorf("measured of no stage: %v, %v", none, err)
	}
}
