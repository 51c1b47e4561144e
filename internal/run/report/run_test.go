package report_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/run"
	"hone/internal/run/report"
)

// ledger makes a run of two evaluations, one of which has not ended, and of three groups of training.
func ledger(t *testing.T) (dir string, from report.Source) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	d, err := run.Create(dir, []byte("{}\n"), map[string]string{"verb": "demo"})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	from.Scenarios = map[string]*scenario.Scenario{}
	keep := func(stage string, step, rollout int, x *trajectory.Trajectory) {
		x.ID, x.Rollout = fmt.Sprintf("%s/%d/%d", x.ScenarioID, step, rollout), rollout
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.PutTrajectory(run.TrajectoryRow{ID: stage + "/" + x.ID, Stage: stage, Step: step,
			JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(stage string, step, rollout int, id string, passed bool) {
		keep(stage, step, rollout, episode(id, "count", passed, 0, r))
	}
	for i := range 3 {
		id := fmt.Sprint("s", i)
		from.Scenarios[id] = &scenario.Scenario{ID: id, Task: "count", Tags: []string{"kind:count"},
			Gold: []scenario.Gold{{Name: "count", Arguments: json.RawMessage(`{}`)}}, Checks: []scenario.Check{
				{Type: "answer", Equals: equals("5")},
			}}
		put("eval_base", 0, 0, id, i == 0)
		put("eval_sft", 0, 0, id, i != 0)
		put("validation", 2, 0, id, false)
		put("validation", 4, 0, id, true)
		for k := range 2 {
			put("grpo", i, k, id, k < i)
		}
	}
	put("eval_sft", 0, 0, "gone", true)
	lost := episode("s1", "count", false, 0, r)
	lost.Outcome = trajectory.EnvironmentError
	keep("grpo", 1, 2, lost)
	for step := range 3 {
		if err := d.PutMetric("grpo", step, json.RawMessage(fmt.Sprintf(`{"reward": %d}`, step))); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []int{2, 4} {
		if err := d.PutMetric("validation", step, json.RawMessage(`{"success": 1}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Ledger.PutStage(run.StageRow{Name: "eval_base", Status: run.Finished}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, from
}

func equals(s string) *string { return &s }

// A page of a run's folder has its evaluations, what of them is not whole, its curves, its groups and its last
// validation.
func TestRead(t *testing.T) {
	dir, from := ledger(t)
	p, err := report.Read(dir, from)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Systems) != 2 || p.Systems[0].Name != "base" || len(p.Systems[1].Episodes) != 3 ||
		p.Systems[1].Rows[0].Tools[0] != "count" {
		t.Fatalf("systems: %+v", p.Systems)
	}
	if s := p.Results(); s.Systems["base"].EpisodeSuccess != 1.0/3 || s.Systems["sft"].EpisodeSuccess != 2.0/3 ||
		len(s.Deltas[0].Regressions) != 1 || s.Deltas[0].Regressions[0].ScenarioID != "s0" {
		t.Errorf("results: %+v", s)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "sft: 1 episode are left out") &&
		!strings.Contains(notes, "sft: 1 episode is left out") ||
		!strings.Contains(notes, "The evaluation of sft is not whole") || strings.Contains(notes, "of base") {
		t.Errorf("notes: %s", notes)
	}
	if len(p.Stages) != 2 || len(p.Stages[0].Steps) != 3 || p.Stages[0].Steps[2].Values["reward"] != 2 {
		t.Errorf("stages: %+v", p.Stages)
	}
	if len(p.Groups) != 3 || p.Groups[1].ScenarioID != "s1" || len(p.Groups[1].Rewards) != 2 {
		t.Errorf("groups: %+v", p.Groups)
	}
	// What only the process knew that measured is kept beside the page.
	p.NearTrained = []overlap.Near{
		{ScenarioID: "s2", Similarity: 0.8, SameValues: true, Source: overlap.Source{Name: "line 7", Where: "sft"}},
		{ScenarioID: "s3", Similarity: 0.6},
	}
	p.Parts, p.TrainedOn, p.Pairs = []stats.Part{{Name: "training", Seconds: 3}}, []string{"s1"}, []stats.Pair{
		{Old: "sft", New: "base"},
	}
	if err := p.Numbers().Write(dir); err != nil {
		t.Fatal(err)
	}
	again, err := report.Read(dir, from)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Parts) != 1 || again.Parts[0] != p.Parts[0] || len(again.TrainedOn) != 1 ||
		!slices.Equal(again.NearTrained, p.NearTrained) || len(again.Results().Deltas) != 1 ||
		again.Results().Deltas[0].New != "base" {
		t.Errorf("read again: %+v", again.Comparison)
	}
	if _, err := report.Read(filepath.Join(dir, "nowhere"), from); err == nil {
		t.Error("a run that is not there was read")
	}
}
