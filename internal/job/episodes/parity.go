package episodes

import (
	"context"
	"errors"
	"sync"

	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/scenario"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
)

// Of a probe: how many prompts, and the tokens of each completion.
const probePrompts, probeTokens = 4, 16

// Parity is a probe that completes the openings of the first scenarios that fit, as their episodes begin, and the same
// ones each time; nil where none fits.
func (l *Agent) Parity(world environment.Options, c config.Config, tasks []scenario.Scenario) (*recipe.Parity, error) {
	var prompts [][]int32
	for _, s := range tasks {
		if len(prompts) == probePrompts {
			break
		}
		tools, err := world.ToolsOf(s)
		if err != nil {
			return nil, err
		}
		prompt, err := l.Model.Renderer.Prompt(environment.Openings(world.System, s)[0], tools)
		if err != nil {
			return nil, err
		}
		if l.Room == 0 || len(prompt) < l.Room {
			prompts = append(prompts, prompt)
		}
	}
	if len(prompts) == 0 {
		return nil, nil
	}
	for i := 0; len(prompts) < probePrompts; i++ { // other streams of the same prompts
		prompts = append(prompts, prompts[i])
	}
	return &recipe.Parity{Text: func(id int32) string { return l.Model.Text.Tokenizer.Decode([]int32{id}) },
		Sample: func(ctx context.Context) ([]batch.Sequence, error) { return l.probed(ctx, c, prompts) }}, nil
}

// probed are the prompts with their completions, sampled side by side.
func (l *Agent) probed(ctx context.Context, c config.Config, prompts [][]int32) ([]batch.Sequence, error) {
	rows, errs := make([]batch.Sequence, len(prompts)), make([]error, len(prompts))
	slots := l.Speaker.NumSlots()
	var all sync.WaitGroup
	for first := range min(slots, len(prompts)) { // those of one slot one after the other
		all.Go(func() {
			for i := first; i < len(prompts) && errs[first] == nil; i += slots {
				rows[i], errs[first] = l.probedRow(ctx, c, i, prompts[i])
			}
		})
	}
	all.Wait()
	return rows, errors.Join(errs...)
}

func (l *Agent) probedRow(ctx context.Context, c config.Config, i int, prompt []int32) (row batch.Sequence, err error) {
	x, err := l.Speaker.Sample(ctx, policy.Request{
		Prompt: prompt,
		Slot:   i,
		Key:    policy.Key{Seed: c.Seed, Stream: uint64(i)},
		Sampling: policy.Sampling{Temperature: c.Rollout.Temperature, MaxTokens: min(probeTokens, c.Rollout.MaxTokens),
			StopIDs: l.Speaker.Renderer.StopIDs()},
	})
	if err != nil {
		return row, err
	}
	n := len(prompt) + len(x.IDs)
	row = batch.Sequence{IDs: make([]int32, 0, n), Trained: make([]bool, len(prompt), n),
		SamplerLogprobs: make([]float32, len(prompt), n)}
	row.IDs = append(append(row.IDs, prompt...), x.IDs...)
	for _, p := range x.SamplerLogprobs {
		row.Trained, row.SamplerLogprobs = append(row.Trained, true), append(row.SamplerLogprobs, p)
	}
	return row, nil
}
