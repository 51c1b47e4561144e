package view

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/run/metrics"
)

// An alert is told where its number is beyond its bound, with the number, and not before.
func TestAlerts(t *testing.T) {
	sound := map[string]float64{
		"frac_reward_zero_std": 0.3, "masked_ratio": 0.05, "completions/clipped_ratio": 0.2, "tools/call_frequency": 1,
		"sampling/mismatch_kl": 1e-4, "sampling/episodes_apart": 0, "time/rollout": 6, "time/train": 3, "reward": 1,
	}
	for name, c := range map[string]struct {
		change map[string]float64
		stage  string
		says   string
	}{
		"":                     {nil, "grpo", ""},
		"no spread":            {map[string]float64{"frac_reward_zero_std": 0.62}, "grpo", "In 62% of the groups"},
		"lost episodes":        {map[string]float64{"masked_ratio": 0.3}, "grpo", "30% of the episodes"},
		"limits":               {map[string]float64{"completions/clipped_ratio": 0.7}, "grpo", "cuts 70% of"},
		"no calls":             {map[string]float64{"tools/call_frequency": 0}, "grpo", "calls a tool"},
		"mismatch":             {map[string]float64{"sampling/mismatch_kl": 0.25}, "grpo", "0.25 nats"},
		"mismatch of episodes": {map[string]float64{"sampling/episodes_apart": 1}, "grpo", "leaves out 1 of its"},
		"sampler idle":         {map[string]float64{"time/train": 60}, "grpo", "works 91% of the time"},
		"copying":              {map[string]float64{"copies/equal": 0.8}, "copies", "80% of the revisions"},
	} {
		values := map[string]float64{}
		for key, x := range sound {
			values[key] = x
		}
		rows := []metrics.Row{{Stage: "grpo", Values: values}}
		if c.stage == "grpo" {
			for key, x := range c.change {
				values[key] = x
			}
		} else {
			rows = append(rows, metrics.Row{Stage: c.stage, Values: c.change})
		}
		var names []string
		for _, a := range alertsOf(rows, Cards{MainStage: "grpo"}) {
			names = append(names, a.Name)
			if !strings.Contains(a.Says, c.says) || a.Next == "" {
				t.Errorf("%s: %q", name, a.Says)
			}
		}
		if want := []string{name}; name == "" && names != nil || name != "" && !slices.Equal(names, want) {
			t.Errorf("%s: %q", name, names)
		}
	}
}

// Where the reward rises and held-out success falls from its best, the model may be paid for something else than the
// task.
func TestPossibleRewardHacking(t *testing.T) {
	for name, c := range map[string]struct {
		rewards, success []float64
		told             bool
	}{
		"both rise":         {[]float64{1, 2}, []float64{0.3, 0.6}, false},
		"reward alone":      {[]float64{1, 2}, []float64{0.6, 0.3}, true},
		"both fall":         {[]float64{2, 1}, []float64{0.6, 0.3}, false},
		"a small fall":      {[]float64{1, 2}, []float64{0.6, 0.58}, false},
		"measured but once": {[]float64{1, 2}, []float64{0.6}, false},
	} {
		var rows []metrics.Row
		for i, x := range c.rewards {
			rows = append(rows, metrics.Row{Stage: "grpo", Step: 100 * i, Values: map[string]float64{"reward": x}})
		}
		for i, x := range c.success {
			rows = append(rows,
				metrics.Row{Stage: metrics.ValidationStage, Step: 100 * i, Values: map[string]float64{"success": x}})
		}
		if told := len(hacking(rows, Cards{MainStage: "grpo"})) > 0; told != c.told {
			t.Errorf("%s: told %v", name, told)
		}
	}
}

// The first of a long text comes at once, and how much is left; nothing of it is lost.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ä", 5<<20)
	e := func() *trajectory.Trajectory {
		return &trajectory.Trajectory{Turns: []trajectory.Turn{
			{Content: "short", Results: []trajectory.ToolResult{{Text: long}}},
		}}
	}
	x := e()
	if left := shorten(x); left != len(long)-mostShown || len(x.Turns[0].Results[0].Text) > mostShown+100 ||
		x.Turns[0].Content != "short" || !strings.HasSuffix(x.Turns[0].Results[0].Text, "bytes more") {
		t.Errorf("%d bytes are left of %d", left, len(long))
	}
}

// A run that a newer hone made is shown, with a word about it.
func TestNewerLedger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	check(t, made(t, dir, 90).Close())
	db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.db"))
	check(t, err)
	_, err = db.Exec("PRAGMA user_version = 99")
	check(t, err)
	check(t, db.Close())
	s := &Server{Env: job.Env{Host: quiet(t)}, Runs: []string{dir}}
	s.open()
	o, err := s.overview(s.runs[0])
	if err != nil || !strings.Contains(o.Trouble, "a newer hone") || len(o.Stages) != 3 {
		t.Errorf("%v, %q, %d stages", err, o.Trouble, len(o.Stages))
	}
}
