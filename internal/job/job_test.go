package job

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/testing/hosttest"
	"hone/internal/toolset"
)

func TestNothingLearnt(t *testing.T) {
	for name, x := range map[string]struct {
		spread []string
		want   bool
	}{"no spread": {[]string{`{"reward_spread":0}`, `{}`}, true}, "a success of before": {[]string{`{"reward_spread":0}`, `{"reward_spread":0,"imitation/episodes":1}`}, false},
		"demonstrations":     {[]string{`{"reward_spread":0,"demonstrations":2}`}, false},
		"spread in one step": {[]string{`{"reward_spread":0}`, `{"reward_spread":0.1}`, `{}`}, false}} {
		t.Chdir(t.TempDir())
		r := &Job{Env: Env{Host: hosttest.Quiet(t)}, Verb: "train", Path: "out", Config: config.Default()}
		if err := r.Begin(); err != nil {
			t.Fatal(err)
		}
		for step, row := range x.spread {
			if err := r.Dir.PutMetric("grpo", step, []byte(row)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.unlearnt("grpo", "out/final"); (err != nil) != x.want || err != nil && !strings.Contains(err.Error(), "nothing was learnt") {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
}

// A step is refused for numbers that are none, and JSON has no such: what the refusal says must not be lost for them.
func TestMetricsThatAreNoNumbers(t *testing.T) {
	t.Chdir(t.TempDir())
	r := &Job{Env: Env{Host: hosttest.Quiet(t)}, Verb: "train", Path: "out", Config: config.Default()}
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	log := Journal{Dir: r.Dir}
	if err := log.Metrics("grpo", 2, map[string]float64{"reward": 0.5, "sampling/mismatch_kl": math.NaN(), "sampling/mean_ratio": math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := log.Recorded("grpo", 2); err != nil || !ok || !maps.Equal(got, map[string]float64{"reward": 0.5}) {
		t.Errorf("%v, %v, %v", got, ok, err)
	}
}

// What goes on by its own command goes on with its own run alone: the episodes of another verb's are of another policy.
func TestOnlyItsOwnRunGoesOn(t *testing.T) {
	goOn := func(context.Context, Env, string, Begun, toolset.Source) error { return nil }
	t.Chdir(t.TempDir())
	e := Env{Host: hosttest.Quiet(t), Table: Verbs{{Name: "train", Finished: HasAdapter, Resume: goOn}, {Name: "collect", Finished: AllFinished}}}
	for _, verb := range []string{"train", "collect"} {
		j := &Job{Env: e, Verb: verb, Path: verb, Config: config.Default()}
		if err := j.BeginOrGoOn(&toolset.Set{Catalog: &mcp.Catalog{}}); err != nil {
			t.Fatal(err)
		}
		j.Close()
		again := &Job{Env: e, Verb: "collect", Path: verb}
		err := again.BeginOrGoOn(&toolset.Set{Catalog: &mcp.Catalog{}})
		again.Close()
		if refused := fault.CodeOf(err) == fault.CodeUsage && strings.Contains(fmt.Sprint(err), "it already holds a run of hone train"); refused != (verb == "train") {
			t.Errorf("collect into a run of %s: %v", verb, err)
		}
	}
}

// What was measured is kept of all policies, also where a step's episodes are another's: those are not recorded of the one there is now.
func TestMeasuredOfAllPolicies(t *testing.T) {
	r, err := run.Create(filepath.Join(t.TempDir(), "out"), nil, Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	log := Journal{Dir: r, Episodes: &Episodes{}}
	for step := range 3 {
		row := run.TrajectoryRow{ID: fmt.Sprintf("grpo/a/%d/0", step), Stage: "grpo", Step: step, JSON: []byte(`{"id": "a", "adapter": "another"}`)}
		if _, err := r.PutTrajectory(row); err != nil {
			t.Fatal(err)
		}
		if err := log.Metrics("grpo", step, map[string]float64{"reward": float64(step)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := log.Recorded("grpo", 1); ok || err != nil {
		t.Errorf("another policy's step is recorded of this one: %v", err)
	}
	all, err := log.Measured("grpo")
	if err != nil || len(all) != 3 || all[2]["reward"] != 2 {
		t.Errorf("measured %v, %v", all, err)
	}
	if none, err := log.Measured("validation"); err != nil || len(none) != 0 {
		t.Errorf("measured of no stage: %v, %v", none, err)
	}
}

// A run keeps how its servers had answered when it began, beside their tools; both are its inputs, so that no edit of them goes unseen.
func TestRunKeepsItsServers(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &Job{Env: Env{Host: hosttest.Quiet(t)}, Verb: "collect", Path: "out", Config: config.Default()}
	if err := os.Mkdir("out", 0o700); err != nil { // as a user made it
		t.Fatal(err)
	}
	if err := j.BeginOrGoOn(&toolset.Set{Catalog: &mcp.Catalog{}}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	for _, name := range []string{CatalogFile, toolset.SeenOfRun} {
		path := filepath.Join("out", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, ' '), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := j.GoOn(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s was edited: %v", name, err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
