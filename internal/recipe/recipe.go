// Package recipe holds the training algorithms, each readable top to bottom on one page: start with grpo.go.
//
// A recipe sees no tensor, no server and no file format: it declares the small interfaces it needs, and the packages
// below job wire the engine, the MCP client and the run directory into them.
package recipe

import (
	"context"
	"errors"
	"fmt"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// Trainer takes optimiser steps on one adapter.
type Trainer interface {
	// Gradient computes the gradient of a batch's loss and what there is to know of it. It is kept for Apply; adapter
	// and optimiser stay as they are, so a recipe can look at a step before it is taken.
	Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error)
	// Apply takes the optimiser step along the gradient computed last and returns the gradient's norm before clipping.
	Apply(u batch.Update) (norm float64, err error)
	// Score returns the logprobs of a batch's trained tokens under the policy as it is, and ScoreReference under the
	// one that HoldReference kept, at a temperature above 0: a list for each row, a number for each of its ids, 0 where
	// it is not trained.
	Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error)
	ScoreReference(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error)
	// Entropies are those of the policy as it is at the same tokens, over the whole vocabulary, in nats, laid out as
	// Score's.
	Entropies(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error)
	// HoldReference keeps the policy as it is now, in checkpoints too.
	HoldReference() error
	// Snapshot returns what puts the trainer back where it is now, in case that steps which belong together cannot all
	// be taken.
	Snapshot() (restore func() error, err error)
	// ResetOptimizer forgets the optimiser's moments and keeps the adapter.
	ResetOptimizer() error
	// Prepare compiles what the gradients of these batches take, where that is faster than when each is first needed.
	Prepare(batches []batch.Batch, o batch.Objective)
	// CompileStats counts the programs that were made since it was last called, and the seconds that they took:
	// compiled, or read from the disk.
	CompileStats() (programs int, seconds float64)
	// Save writes, and Load reads, all that the next step depends on.
	Save(dir string) error
	Load(dir string) error
}

// Runner runs the episodes that are asked for on live servers, until requests is closed, and hands over each as it
// ends. An episode that failed is a record too, never an error. The channel is closed after the last.
type Runner interface {
	Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory
}

// Scorer says what each episode of a whole group earned, in the group's order. Episodes whose outcome is not the
// policy's doing earn nothing. It is called for many groups at a time. What an error of it does, masked says.
type Scorer interface {
	Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error)
}

// Episodes keeps those of a stage. Each method is durable when it returns.
type Episodes interface {
	// Trajectory keeps an episode as it ended. A score of an episode with its ID is forgotten.
	Trajectory(stage string, step int, t *trajectory.Trajectory) error
	// Scores keeps what the episodes of a group earned, all or none.
	Scores(stage string, g trajectory.Group, scores []trajectory.Score) error
	// Trajectories returns those kept of a step that the adapter made which is published now, in any order.
	Trajectories(stage string, step int) ([]Kept, error)
}

// Kept is an episode as it ended, and what it earned: nil where that was not kept.
type Kept struct {
	*trajectory.Trajectory
	Score *trajectory.Score
}

// Log keeps what a stage produces. Each method is durable when it returns.
type Log interface {
	Episodes
	Metrics(stage string, step int, metrics map[string]float64) error
	// StepMetrics returns the metrics of a step, and whether there are any.
	StepMetrics(stage string, step int) (metrics map[string]float64, ok bool, err error)
	// Measurements returns the metrics of all steps of a stage by their steps, whichever policies they are of.
	Measurements(stage string) (map[int]map[string]float64, error)
	// Notice tells the user something that a run can go on with.
	Notice(text string)
	// Checkpoint publishes what write puts into an empty folder; the newest one of a stage is where it resumes.
	Checkpoint(stage string, step int, write func(dir string) error) error
	// Finish notes, for those who look at the run, that a stage has ended.
	Finish(stage string) error
	// Latest returns the newest checkpoint of a stage and its step, or step 0.
	Latest(stage string) (dir string, step int, err error)
}

// Progress tells the user where a stage is. Done counts from 0 to total. A stage STAGE/PART is a part of a step of that
// stage: the episodes of a step, or an evaluation between two.
type Progress func(stage string, done, total int, note string)

// finish ends a training stage: its adapter is the sampler's from now on, where somebody samples.
func finish(stage string, publisher Publisher, log Log) error {
	if err := log.Finish(stage); err != nil || publisher == nil {
		return err
	}
	return Publish(publisher, stage)
}

// checkpointDue reports whether one is written after step (from 0) of total: each so many steps, and at the end.
func checkpointDue(step, total, every int) bool {
	return step+1 == total || every > 0 && (step+1)%every == 0
}

// stop keeps the whole steps of a stage that cannot go on with the given one, and returns why.
func stopStage(err error, stage string, step int, of saver, log Log) error {
	_, kept, saveErr := log.Latest(stage)
	if saveErr == nil && step > kept {
		saveErr = log.Checkpoint(stage, step, of.Save)
	}
	if saveErr == nil {
		return err
	}
	saveErr = fmt.Errorf("the steps before it are not kept: %w", saveErr)
	if f, ok := errors.AsType[*fault.Error](err); ok { // stays one, which who knows the run can tell how to go on
		both := *f
		both.Err = errors.Join(f.Err, saveErr)
		return &both
	}
	return errors.Join(err, saveErr)
}

// resume puts the trainer, and what else a stage keeps, where its newest checkpoint left them, and returns the step to
// go on with. A stage that begins keeps the adapter it finds and starts the optimiser afresh.
func resume(stage string, trainer Trainer, of saver, log Log) (int, error) {
	dir, step, err := log.Latest(stage)
	if err != nil {
		return 0, err
	}
	if step == 0 {
		return 0, trainer.ResetOptimizer()
	}
	return step, of.Load(dir)
}

// permutation returns a permutation of 0..n-1 that depends on seed and epoch alone.
func permutation(n int, seed uint64, epoch int) []int {
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
