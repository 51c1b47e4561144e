package recipe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// rewound is a fakeTrainer whose samplers can be behind.
type rewound struct {
	*fakeTrainer
	k *killer
}

func (r rewound) Keep() (func(dir string) error, error) {
	n := len(r.Steps)
	return func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "policy"), []byte(strconv.Itoa(n)), 0o600)
	}, nil
}

func (r rewound) Restore(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "policy"))
	if err != nil {
		return err
	}
	r.published, err = strconv.Atoi(string(text))
	return err
}

func (r rewound) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	if r.k.dead("a gradient") {
		return batch.StepStats{}, errKilled
	}
	return r.fakeTrainer.Gradient(ctx, b, o)
}

func (r rewound) Publish() error {
	if r.k.dead("the samplers get the adapter") {
		return errKilled
	}
	return r.fakeTrainer.Publish()
}

// lockedLog is a memoryLog for several goroutines, as the run directory is.
type lockedLog struct {
	*memoryLog
	mu *sync.Mutex
	k  *killer
}

func (l lockedLog) locked(name string, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.k.dead(name) {
		return errKilled
	}
	return do()
}

func (l lockedLog) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	return l.locked("an episode is kept", func() error { return l.memoryLog.Trajectory(stage, step, t) })
}

func (l lockedLog) Scores(stage string, g trajectory.Group, s []trajectory.Score) error {
	return l.locked("scores are kept", func() error { return l.memoryLog.Scores(stage, g, s) })
}

func (l lockedLog) Trajectories(stage string, step int) (all []Kept, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memoryLog.Trajectories(stage, step)
}

func (l lockedLog) Metrics(stage string, step int, m map[string]float64) error {
	return l.locked("metrics are kept", func() error { return l.memoryLog.Metrics(stage, step, m) })
}

func (l lockedLog) Checkpoint(stage string, step int, write func(string) error) error {
	return l.locked("a checkpoint", func() error { return l.memoryLog.Checkpoint(stage, step, write) })
}

func (l lockedLog) Finish(stage string) error {
	return l.locked("the end", func() error { return l.memoryLog.Finish(stage) })
}

// overlapping is GRPO whose rollouts and training overlap, with all else that may be switched on then.
func overlapping() GRPO {
	g := without[*Pools](everything(nil)).with(&Overlap{Staleness: 1})
	g.Validation, g.Steps = nil, 5
	return g
}

// overlap runs it as a new process would, which is killed before its n-th operation, or never (-1).
func (g GRPO) overlap(
	log *memoryLog, n int, before func(step, episode int),
) (*fakeTrainer, *fakeRunner, *killer, error) {
	k := &killer{n: n}
	trainer := rewound{&fakeTrainer{}, k}
	runner := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK, before: before}
	err := g.Run(context.Background(), scenarios(8), runner, easy, trainer, trainer,
		lockedLog{log, &sync.Mutex{}, k}, silent)
	return trainer.fakeTrainer, runner, k, err
}

// Each step but the first learns from the episodes of the policy before, which are of no older one; the metrics say so.
func TestOverlapIsOneStepOff(t *testing.T) {
	g := overlapping()
	log := newLog(t)
	trainer, _, _, err := g.overlap(log, -1, nil)
	if err != nil || trainer.published != len(trainer.Steps) || len(trainer.Steps) != g.Steps*4 {
		t.Fatalf("%v: %d optimiser steps, of which the samplers have %d", err, len(trainer.Steps), trainer.published)
	}
	for key, kept := range log.Kept {
		var step int
		if _, err := fmt.Sscanf(strings.TrimPrefix(strings.TrimPrefix(key, "grpo_explorations "), "grpo "), "%d",
			&step); err != nil {
			t.Fatal(key, err)
		}
		if by, want := int(kept.Turns[0].CompletionIDs[1]), 4*max(0, step-1); by != want {
			t.Errorf("%s is of the policy after %d optimiser steps, want %d", key, by, want)
		}
	}
	for step := range g.Steps {
		if got := log.Metric[fmt.Sprint("grpo", step)]["staleness"]; got != float64(min(1, step)) {
			t.Errorf("step %d: staleness %v", step, got)
		}
	}
}

// The next step's episodes run while this one's are learnt from: the trainer is let on only once they have begun.
func TestOverlapRunsAtOnce(t *testing.T) {
	g := without[*Explorations](without[*Resample](overlapping()))
	begun := make([]chan struct{}, g.Steps)
	for i := range begun {
		begun[i] = make(chan struct{})
	}
	trainer := rewound{&fakeTrainer{}, &killer{n: -1}}
	trainer.before = func(taken int) {
		if next := taken/4 + 1; next < g.Steps {
			<-begun[next] // forever, where they wait for the trainer
		}
	}
	runner := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK, before: func(step, episode int) {
		if episode == 0 {
			close(begun[step])
		}
	}}
	if err := g.Run(t.Context(), scenarios(8), runner, easy, trainer, trainer,
		lockedLog{newLog(t), &sync.Mutex{}, trainer.k}, silent); err != nil {
		t.Fatal(err)
	}
}

// A run that is killed anywhere goes on to the same optimiser steps, metrics, episodes and scores, although samplers
// and trainer had different policies; and no episode is run again that was kept.
func TestOverlapGoesOnToTheSame(t *testing.T) {
	wantLog := newLog(t)
	want, all, k, err := overlapping().overlap(wantLog, -1, nil)
	if err != nil || len(k.names) < 80 {
		t.Fatalf("%v: %d operations", err, len(k.names))
	}
	for n := range k.names {
		log := newLog(t)
		if _, _, _, err := overlapping().overlap(log, n, nil); !errors.Is(err, errKilled) {
			t.Fatalf("killed before operation %d: %v", n, err)
		}
		kept, _ := log.Trajectories("grpo", log.latest["grpo"])
		got, runner, _, err := overlapping().overlap(log, -1, nil)
		if err != nil || !slices.Equal(got.Steps, want.Steps) || got.Reference != want.Reference {
			t.Errorf("killed before operation %d: %v: other optimiser steps", n, err)
		}
		if !reflect.DeepEqual(log.Metric, wantLog.Metric) || !reflect.DeepEqual(log.Kept, wantLog.Kept) ||
			!reflect.DeepEqual(log.Earned, wantLog.Earned) || !reflect.DeepEqual(log.Finished, wantLog.Finished) {
			t.Errorf("killed before operation %d: the log differs", n)
		}
		if log.latest["grpo"] == 0 && len(kept) > 0 && runner.episodes+len(kept) > all.episodes {
			t.Errorf("killed before operation %d: %d episodes were kept, and %d run, of %d",
				n, len(kept), runner.episodes, all.episodes)
		}
	}
}

// Without overlap a trainer whose samplers could be behind learns as one whose samplers cannot.
func TestNoOverlapIsAsBefore(t *testing.T) {
	one, other := without[*Overlap](overlapping()), newLog(t)
	got, _, _, err := one.overlap(other, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	log, trainer := newLog(t), &fakeTrainer{}
	runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	if err := one.Run(t.Context(), scenarios(8), runner, easy, trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Steps, trainer.Steps) || !reflect.DeepEqual(log.Metric, other.Metric) ||
		!reflect.DeepEqual(log.Kept, other.Kept) {
		t.Error("it learns something else")
	}
}

// What cannot overlap is refused before an episode is run.
func TestOverlapRefuses(t *testing.T) {
	pooled, older :=
		overlapping().with(&Pools{SkipSolved: 0.5}), without[*Overlap](overlapping()).with(&Overlap{Staleness: 2})
	for name, g := range map[string]GRPO{"pools": pooled, "two policies": older} {
		_, runner, _, err := g.overlap(newLog(t), -1, nil)
		if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), "grpo.staleness") ||
			runner.episodes > 0 {
			t.Errorf("%s: %v, %d episodes", name, err, runner.episodes)
		}
	}
	trainer := &fakeTrainer{} // whose samplers have no policy but its own
	runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	if err := overlapping().Run(t.Context(), []scenario.Scenario{{ID: "a"}}, runner, easy, trainer, trainer, newLog(t),
		silent); fault.CodeOf(err) != fault.CodeUsage {
		t.Error(err)
	}
}
