package metrics

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"
)

// hand is a clock that a test moves.
type hand struct{ at time.Time }

func (h *hand) now() time.Time          { return h.at }
func (h *hand) pass(d float64)          { h.at = h.at.Add(time.Duration(d * float64(time.Second))) }
func during(w *Watch, p Part, f func()) { defer w.Begin(p)(); f() }

// A step's parts are what went on in it; scoring counts where no episode hides it.
func TestPartsOfAStep(t *testing.T) {
	h := &hand{at: time.Unix(1e9, 0)}
	w := NewWatch(Options{Main: "grpo", NumGPUs: 2, Now: h.now})
	if note := w.Note(); note != "" {
		t.Errorf("before any row it says %q", note)
	}
	h.pass(1)
	during(w, Publish, func() { h.pass(2) })
	episode := w.Begin(Rollout)
	h.pass(3)
	another := w.Begin(Rollout)
	during(w, Score, func() { h.pass(4); episode(); h.pass(5); another(); h.pass(6) })
	during(w, Train, func() { h.pass(20) })
	m := map[string]float64{"step_tokens": 7}
	w.Row("grpo", 0, m)
	want := map[string]float64{
		"step_tokens": 7, "num_tokens": 7, "time/other": 1, "time/publish": 2, "time/rollout": 12, "time/score": 6,
		"time/train": 20, "time/elapsed": 41, "time/gpu_hours": 2 * 41.0 / 3600,
	}
	for name := range maps.Keys(want) {
		if math.Abs(m[name]-want[name]) > 1e-9 {
			t.Errorf("%s is %v, not %v", name, m[name], want[name])
		}
	}
	if len(m) != len(want) {
		t.Errorf("%v", m)
	}
	if note := w.Note(); note != "49% of the time so far: train" {
		t.Errorf("it says %q", note)
	}
	during(w, Train, func() { during(w, Rollout, func() { h.pass(60) }) }) // overlapped
	m = map[string]float64{"step_tokens": 5}
	w.Row("grpo", 1, m)
	if m["time/train"] != 60 || m["time/rollout"] != 60 || m["time/elapsed"] != 101 || m["num_tokens"] != 12 ||
		m["time/other"] != 0 {
		t.Errorf("%v", m)
	}
}

// A run that goes on counts on, a step that comes again once.
func TestWatchGoesOn(t *testing.T) {
	kept := []Row{
		{Stage: "grpo", Step: 0, Values: map[string]float64{"step_tokens": 10, "judge/cost": 0.5, Elapsed: 100}},
		{Stage: "grpo", Step: 1, Values: map[string]float64{"step_tokens": 20, "judge/cost": 0.25, Elapsed: 200}},
		{Stage: ValidationStage, Step: 2, Values: map[string]float64{"success": 0.9, Elapsed: 210, ToTarget: 210}},
		{Stage: "grpo", Step: 2, Values: map[string]float64{"step_tokens": 40, Elapsed: 300}},
	}
	h := &hand{at: time.Unix(1e9, 0)}
	w := NewWatch(Options{Main: "grpo", Target: 0.8, Measures: true, Kept: kept, Now: h.now})
	h.pass(7)
	m := map[string]float64{"step_tokens": 21, "judge/cost": 0.25, "success": 1}
	w.Row("grpo", 1, m)
	if m["num_tokens"] != 31 || m["judge/cost_total"] != 0.75 || m[Elapsed] != 307 {
		t.Errorf("%v", m)
	}
	if _, ok := m[ToTarget]; ok {
		t.Error("a training step reached the target of validations")
	}
	for _, c := range []struct {
		step    int
		success float64
		reached bool
	}{{4, 0.95, false}, {2, 0.79, false}, {4, 0.95, true}, {6, 0.95, false}, {2, 0.8, true}, {4, 0.95, false}} {
		m = map[string]float64{"success": c.success}
		if w.Row(ValidationStage, c.step, m); (m[ToTarget] == 307) != c.reached {
			t.Errorf("step %d with %v: %v", c.step, c.success, m)
		}
	}
}

func TestSpent(t *testing.T) {
	s := AddUp([]Row{
		{Stage: "grpo", Step: 0, Values: map[string]float64{Elapsed: 60, GPUHours: 1.0 / 60, "time/rollout": 40,
			"time/train": 15, "time/other": 5, "judge/cost": 0.125, "judge/cost_total": 0.125}},
		{Stage: ValidationStage, Step: 1, Values: map[string]float64{Elapsed: 90, GPUHours: 1.5 / 60, "time/eval": 30, "success": 0.75, ToTarget: 90}},
		{Stage: "grpo", Step: 1, Values: map[string]float64{Elapsed: 150, GPUHours: 2.5 / 60, "time/rollout": 50,
			"time/train": 10, "judge/cost": 0.125, "judge/cost_total": 0.25}},
	})
	text := strings.Join(s.Lines(), "\n")
	for _, want := range []string{
		"bottleneck: rollout took 60% of 2m30s (train 17%, eval 20%, other 3%): more engine.slots", "GPU hours: 0.0417",
		"judge: 0.2500 dollars",
		"target: success 0.75 was reached at minute 1.5, at validation step 1, after 0.025 GPU hours",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	for seconds, want := range map[float64]string{
		6:   "s: 60% of it compiled programs",
		4:   "a larger engine.micro_batch makes it shorter; 40% of it compiled programs",
		0.5: "a larger engine.micro_batch makes it shorter",
	} {
		row := Row{Stage: "sft",
			Values: map[string]float64{Elapsed: 10, "time/train": 10, "time/compile": seconds, "step_tokens": 8}}
		if lines := AddUp([]Row{row}).Lines(); len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("%g s of compiling: %q", seconds, lines)
		}
	}
	nothing := Row{Stage: "grpo", Values: map[string]float64{Elapsed: 10, "time/train": 10, "time/compile": 4}}
	if lines := AddUp([]Row{nothing}).Lines(); len(lines) != 1 || !strings.Contains(lines[0], "nothing was trained") ||
		strings.Contains(lines[0], "micro_batch") {
		t.Errorf("a key of training is named where nothing was trained: %q", lines)
	}
	for programs, want := range map[float64]string{0: "more devices at the server", 1: "engine.micro_batch"} {
		row := Row{Stage: "sft", Values: map[string]float64{Elapsed: 10, "time/train": 10, "step_tokens": 8,
			"time/programs": programs}}
		if lines := AddUp([]Row{row}).Lines(); len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("with %g programs: %q", programs, lines)
		}
	}
	// of what was run
	for stage, key := range map[string]string{
		"sft":    " sft.eval_every",
		"dpo":    " dpo.eval_every",
		"grpo":   " eval.every",
		"copies": " --probe-every",
	} {
		rows := []Row{
			{Stage: stage, Values: map[string]float64{Elapsed: 4}},
			{Stage: ValidationStage, Values: map[string]float64{Elapsed: 10, "time/eval": 9}},
		}
		if lines := AddUp(rows).Lines(); len(lines) != 1 || !strings.Contains(lines[0], key) {
			t.Errorf("measuring takes most of %s: %q, want the key%s", stage, lines, key)
		}
	}
	if lines := AddUp([]Row{{Stage: "sft", Values: map[string]float64{"loss": 1}}}).Lines(); lines != nil {
		t.Errorf("of rows without times it says %q", lines)
	}
}

func TestTag(t *testing.T) {
	for _, c := range []struct{ main, stage, name, want string }{
		{"grpo", "grpo", "reward", "train/reward"}, {"sft", ValidationStage, "eval_loss", "eval/loss"},
		{"grpo", ValidationStage, "success", "eval/success"}, {"grpo", "sft", "loss", "sft/loss"},
		{"sft", "copies", "copies/equal", "copies/copies/equal"},
	} {
		if got := Tag(c.main, c.stage, c.name); got != c.want {
			t.Errorf("%v is %s", c, got)
		}
	}
}
