package recipe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// errKilled is what each operation says behind the point at which a process is killed: nothing of it is durable.
var errKilled = errors.New("killed")

// killer stands between a run and all that it does, names each operation, and lets those from the n-th on do nothing.
type killer struct {
	n     int // -1: never
	mu    sync.Mutex
	names []string
}

func (k *killer) dead(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = append(k.names, name)
	return k.n >= 0 && len(k.names) > k.n
}

type killedLog struct {
	*memoryLog
	k *killer
}

func (l killedLog) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	if l.k.dead(fmt.Sprintf("%s %d: an episode is kept", stage, step)) {
		return errKilled
	}
	return l.memoryLog.Trajectory(stage, step, t)
}

func (l killedLog) Scores(stage string, g trajectory.Group, s []trajectory.Score) error {
	if l.k.dead(stage + ": scores are kept") {
		return errKilled
	}
	return l.memoryLog.Scores(stage, g, s)
}

func (l killedLog) Metrics(stage string, step int, m map[string]float64) error {
	if l.k.dead(fmt.Sprintf("%s %d: metrics are kept", stage, step)) {
		return errKilled
	}
	return l.memoryLog.Metrics(stage, step, m)
}

func (l killedLog) Checkpoint(stage string, step int, write func(string) error) error {
	if l.k.dead(fmt.Sprintf("%s %d: a checkpoint", stage, step)) {
		return errKilled
	}
	return l.memoryLog.Checkpoint(stage, step, write)
}

func (l killedLog) Finish(stage string) error {
	if l.k.dead(stage + ": the end is noted") {
		return errKilled
	}
	return l.memoryLog.Finish(stage)
}

type killedTrainer struct {
	*fakeTrainer
	k *killer
}

func (t killedTrainer) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	if t.k.dead(fmt.Sprintf("%d: a gradient", len(t.Steps))) {
		return batch.StepStats{}, errKilled
	}
	return t.fakeTrainer.Gradient(ctx, b, o)
}

func (t killedTrainer) Apply(u batch.Update) (float64, error) {
	if t.k.dead(fmt.Sprintf("%d: an optimiser step", len(t.Steps))) {
		return 0, errKilled
	}
	return t.fakeTrainer.Apply(u)
}

func (t killedTrainer) Publish() error {
	if t.k.dead(fmt.Sprintf("%d: the sampler gets the adapter", len(t.Steps))) {
		return errKilled
	}
	return t.fakeTrainer.Publish()
}

// everything is GRPO with all that keeps a state or takes more than one operation.
func everything(evaluated *fakeRunner) GRPO {
	g := grpo().with(&Pools{SkipSolved: 0.5, SkipFailed: 0.5}, &Resample{Most: 2},
		&Imitation{Rows: 2, Weight: 0.5, Memory: 4}, exploring(),
		&Divergence{KL: batch.KL{Beta: 0.1, Estimator: batch.K3, Gradient: batch.GradientOwn}})
	g.GroupsPerStep, g.Steps, g.Iterations, g.Minibatches, g.CheckpointEvery = 3, 4, 2, 2, 1
	g.Passed = func(t *trajectory.Trajectory) (bool, bool) { return t.Reward > 0, true }
	g.Validation = &Validation{Every: 2, Scenarios: []scenario.Scenario{{ID: "x"}, {ID: "y"}}, Runner: evaluated,
		Passed: func(*trajectory.Trajectory) bool { return true }}
	return g
}

// A run that is killed before any of its operations, and goes on in a new process, has the batches, metrics, episodes,
// scores and checkpoints of one that was not. All points are tried; each is named.
func TestKilledAnywhereGoesOnToTheSame(t *testing.T) {
	run := func(log *memoryLog, n int) (*fakeTrainer, []string, error) {
		k := &killer{n: n}
		trainer := killedTrainer{&fakeTrainer{}, k}
		runner := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
		err := everything(&fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}).Run(context.Background(),
			scenarios(8), runner, easy, trainer, trainer, killedLog{log, k}, silent)
		return trainer.fakeTrainer, k.names, err
	}
	wantLog := newLog(t)
	want, names, err := run(wantLog, -1)
	if err != nil || len(names) < 100 {
		t.Fatalf("%v: %d operations", err, len(names))
	}
	kinds := map[string]bool{}
	for _, name := range names {
		kinds[strings.TrimLeft(name, "0123456789")] = true
	}
	if len(kinds) < 20 {
		t.Fatalf("%d kinds of points: %v", len(kinds), kinds)
	}
	for n, name := range names {
		log := newLog(t)
		if _, _, err := run(log, n); !errors.Is(err, errKilled) {
			t.Fatalf("killed before %s (%d): %v", name, n, err)
		}
		got, _, err := run(log, -1)
		if err != nil || !slices.Equal(got.Steps, want.Steps) || got.Reference != want.Reference {
			t.Errorf("killed before %s (%d): %v: other optimiser steps", name, n, err)
		}
		if !reflect.DeepEqual(log.Metric, wantLog.Metric) || !reflect.DeepEqual(log.Kept, wantLog.Kept) ||
			!reflect.DeepEqual(log.Earned, wantLog.Earned) || !reflect.DeepEqual(log.latest, wantLog.latest) ||
			!reflect.DeepEqual(log.Finished, wantLog.Finished) {
			t.Errorf("killed before %s (%d): the log differs", name, n)
		}
	}
}
