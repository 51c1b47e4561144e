// Package recipe holds the training algorithms, each readable top to bottom on one page: start with grpo.go.
//
// A recipe sees no tensor, no server and no file format: it declares the small interfaces it needs, and cmd/hone wires
// the engine, the MCP client and the run directory into them.
package recipe

import (
	"context"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Trainer takes optimiser steps on one adapter.
type Trainer interface {
	Supervised(ctx context.Context, b batch.Batch, u batch.Update) (batch.StepStats, error)
	PolicyGradient(ctx context.Context, b batch.Batch, u batch.Update, clip batch.Clip) (batch.StepStats, error)
	// ResetOptimizer forgets the optimiser's moments and keeps the adapter.
	ResetOptimizer() error
	// Publish hands the adapter to the sampler: the only arrow that points back.
	Publish() error
	// Save writes, and Load reads, all that the next step depends on.
	Save(dir string) error
	Load(dir string) error
}

// Runner runs groupSize episodes of each scenario on live servers, calling each as an episode ends. A failed episode
// is a record in its group, never an error.
type Runner interface {
	Each(ctx context.Context, scenarios []scenario.Scenario, groupSize, step int, each func(*trajectory.Trajectory)) []trajectory.Group
}

// Scorer sets a trajectory's terms and reward.
type Scorer interface {
	Score(s *scenario.Scenario, t *trajectory.Trajectory)
}

// Log keeps what a stage produces. Each method is durable when it returns.
type Log interface {
	Trajectory(stage string, step int, t *trajectory.Trajectory) error
	Metrics(stage string, step int, metrics map[string]float64) error
	// Checkpoint publishes what write puts into an empty folder; the newest one of a stage is where it resumes.
	Checkpoint(stage string, step int, write func(dir string) error) error
	// Latest returns the newest checkpoint of a stage and its step, or step 0.
	Latest(stage string) (dir string, step int, err error)
}

// Progress tells the user where a stage is. Done counts from 0 to total.
type Progress func(stage string, done, total int, note string)

// Rate is the learning rate of step (from 0) of total: linear warm-up over the first tenth, then linear decay to 0.
func Rate(peak float64, step, total int) float64 {
	warmup := max(total/10, 1)
	if step < warmup {
		return peak * float64(step+1) / float64(warmup)
	}
	return peak * float64(total-step) / float64(max(total-warmup, 1))
}

// checkpointDue reports whether one is written after step (from 0) of total: each so many steps, and at the end.
func checkpointDue(step, total, every int) bool {
	return step+1 == total || every > 0 && (step+1)%every == 0
}

// resume puts the trainer where the newest checkpoint of a stage left it and returns the step to go on with. A stage
// that begins keeps the adapter it finds and starts the optimiser afresh.
func resume(stage string, trainer Trainer, log Log) (int, error) {
	dir, step, err := log.Latest(stage)
	if err != nil {
		return 0, err
	}
	if step == 0 {
		return 0, trainer.ResetOptimizer()
	}
	return step, trainer.Load(dir)
}

// shuffled returns a permutation of 0..n-1 that depends on seed and epoch alone.
func shuffled(n int, seed uint64, epoch int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := int(draw(seed, uint64(epoch), uint64(i)) % uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// draw is number i of stream k under a seed: splitmix64 of the counters, so there is no generator state to save.
func draw(seed, k, i uint64) uint64 {
	x := seed
	for _, c := range []uint64{k, i} {
		x += c*0xD1342543DE82EF95 + 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		x ^= x >> 31
	}
	return x
}
