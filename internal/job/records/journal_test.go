package records

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/recipe"
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

// loader is a trainer that notes what it loads, and a publisher that notes what is loaded when it publishes.
type loader struct {
	recipe.Trainer
	loaded, published string
}

func (l *loader) Load(dir string) error               { l.loaded = filepath.Base(dir); return nil }
func (l *loader) Publish() error                      { l.published = l.loaded; return nil }
func (l *loader) Policies() (string, []string, error) { return "p", []string{"p"}, nil }

// measurements are of validation, by steps.
type measurements map[int]map[string]float64

// measured is the journal of a run with three checkpoints of a stage, of which some were measured. What it says is
// added to said.
func measured(t *testing.T, stage string, of measurements, said *string) Journal {
	r, err := run.Create(filepath.Join(t.TempDir(), "out"), nil, job.Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	write := func(dir string) error { return os.WriteFile(filepath.Join(dir, "weights"), []byte("1"), 0o600) }
	log := Journal{Dir: r, Say: func(f string, x ...any) { *said += fmt.Sprintf(f, x...) }}
	for step := range 4 {
		if step > 0 {
			err = log.Checkpoint(stage, step, write)
		}
		if m := of[step]; err == nil && m != nil {
			err = log.Metrics(recipe.ValidationStage, step, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// What was best is loaded, given to those who sample, said and recorded; what is the last already is not loaded again.
func TestTakeBest(t *testing.T) {
	episode := func(success float64) map[string]float64 { return map[string]float64{"success": success, "reward": 1} }
	for name, c := range map[string]struct {
		measured measurements // of checkpoints 1 to 3
		final    int
		said     string
	}{
		"nothing measured": {nil, 3, ""},
		"an earlier one": {measurements{0: episode(0), 1: episode(0.2), 2: episode(0.5), 3: episode(0.5)}, 2,
			"final is step 2, the best on validation: success 50.0%, reward 1.00; step 3, the last, has " +
				"success 50.0%, reward 1.00"},
		"the last": {measurements{1: {"eval_loss": 2}, 2: {"eval_loss": 1.5}, 3: {"eval_loss": 0.5}}, 3,
			"final is step 3, the last and the best on validation: loss 0.5000"},
		"the start": {measurements{0: episode(1), 1: episode(0.5), 3: episode(0.2)}, 1,
			"final is step 1, the best on validation: success 50.0%, reward 1.00; step 3, the last, has " +
				"success 20.0%, reward 1.00; no step is better than the adapter that training began with, " +
				"which has success 100.0%, reward 1.00"},
	} {
		t.Run(name, func(t *testing.T) {
			said := ""
			log := measured(t, "grpo", c.measured, &said)
			var l loader
			if err := log.TakeBest("grpo", &l, &l); err != nil {
				t.Fatal(err)
			}
			want := ""
			if c.final != 3 {
				want = fmt.Sprintf("grpo_step_%d", c.final)
			}
			s, err := run.Summarize(log.Dir.Path)
			if err != nil || said != c.said || l.loaded != want || l.published != want ||
				s.Stages[0].FinalStep != c.final {
				t.Errorf("%v: loaded %q, published %q, recorded %+v, said %s", err, l.loaded, l.published,
					s.Stages[0], said)
			}
		})
	}
}

// Where nothing ends a stage early its last step is the final one, whatever was better before; both are told.
func TestTakeLast(t *testing.T) {
	for name, c := range map[string]struct {
		measured measurements // of checkpoints 1 to 3
		said     string
	}{
		"nothing measured": {nil, ""},
		"an earlier one is better": {measurements{2: {"eval_loss": 0.5}, 3: {"eval_loss": 0.75}},
			"final is step 3, the last: loss 0.7500 on validation; the best was step 2, loss 0.5000"},
		"the last is the best": {measurements{2: {"eval_loss": 0.75}, 3: {"eval_loss": 0.5}},
			"final is step 3, the last: loss 0.5000 on validation"},
	} {
		t.Run(name, func(t *testing.T) {
			said := ""
			log := measured(t, "sft", c.measured, &said)
			if err := log.TakeLast("sft"); err != nil {
				t.Fatal(err)
			}
			s, err := run.Summarize(log.Dir.Path)
			if err != nil || said != c.said || s.Stages[0].FinalStep != 3 {
				t.Errorf("%v: recorded %+v, said %s", err, s.Stages, said)
			}
		})
	}
}

// A best checkpoint that is damaged is moved away, and the next best one is taken.
func TestTakeBestThatVerifies(t *testing.T) {
	r, err := run.Create(filepath.Join(t.TempDir(), "out"), nil, job.Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	said := ""
	log := Journal{Dir: r, Say: func(f string, x ...any) { said += fmt.Sprintf(f, x...) + "\n" }}
	write := func(dir string) error { return os.WriteFile(filepath.Join(dir, "weights"), []byte("1"), 0o600) }
	for step, success := range []float64{0, 0.5, 0.9, 0.1} {
		if step > 0 {
			err = log.Checkpoint("grpo", step, write)
		}
		if err == nil {
			err = log.Metrics(recipe.ValidationStage, step, map[string]float64{"success": success})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err = os.WriteFile(filepath.Join(r.Path, "checkpoints", "grpo_step_2", "weights"), []byte("2"), 0o600)
	var l loader
	if err == nil {
		err = log.TakeBest("grpo", &l, nil)
	}
	if err != nil || l.loaded == "grpo_step_2" || !strings.Contains(said, "grpo_step_2 does not verify (") ||
		strings.Contains(said, "final is step 2") {
		t.Errorf("%v: loaded %q, said %s", err, l.loaded, said)
	}
}
