package main

import (
	"math"

	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
)

// load takes a real model's weights.
func (b *bench) load() error {
	m, err := modelfile.Open(b.file)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }() // read only
	b.spec, b.weights, err = model.Load(b.engine, m)
	return err
}

// mismatch is how far sampler and trainer are apart on what the sampler draws at temperature 1: the mean of r - 1 - log
// r over tokens, r = exp(trainer - sampler), which estimates the KL divergence. The adapter's B are of a size in
// millionths (0: 5000, as large as a training's). What it is where nothing is published stands beside it.
func (b *bench) mismatch(n int) (row, error) {
	const slots = 64 // so many that the device's kernels are those of a run
	if n == 0 {
		n = 5000
	}
	prefix := b.tokens(8, 3)
	state := train.NewState(b.spec, b.lora, 1)
	state.Adapter = b.trainedAdapter(float64(n) * 1e-6)
	s, err := sample.New(b.engine, b.spec, b.weights,
		sample.Options{LoRA: b.lora, Slots: slots, Context: 64, Prefix: prefix})
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	t, err := train.New(b.engine, b.spec, b.weights, state,
		train.Options{LoRA: b.lora, MicroBatch: slots, RowMultiple: 64})
	if err != nil {
		return row{}, err
	}
	r := row{More: map[string]float64{}}
	if r.More["kl_unpublished"], r.More["most_nats_unpublished"], err = b.divergence(s, t, prefix, slots); err != nil {
		return r, err
	}
	if err := s.SetAdapter(t.Adapter(), 1); err != nil {
		return r, err
	}
	r.More["kl"], r.More["most_nats"], err = b.divergence(s, t, prefix, slots)
	return r, err
}

// divergence has the sampler draw and the trainer score what was drawn.
func (b *bench) divergence(
	s *sample.Sampler, t *train.Trainer, prefix []int32, slots int,
) (kl, most float64, err error) {
	const tokens = 48
	rows := batch.Batch{Prefix: prefix}
	var requests []policy.Request
	for i := range slots {
		requests = append(requests, policy.Request{
			Slot:     i,
			Prompt:   append(append([]int32{}, prefix...), b.tokens(4, 50+i)...),
			Sampling: policy.Sampling{MaxTokens: tokens, Temperature: 1},
			Key:      policy.Key{Seed: 1, Stream: uint64(i)},
		})
	}
	answers, err := ask(s, requests, nil)
	if err != nil {
		return 0, 0, err
	}
	for i, c := range answers {
		prompt := requests[i].Prompt
		x := batch.Sequence{IDs: append(append([]int32{}, prompt[len(prefix):]...), c.IDs...)}
		x.Trained, x.SamplerLogprobs = make([]bool, len(x.IDs)), make([]float32, len(x.IDs))
		for j := range c.IDs {
			x.Trained[4+j], x.SamplerLogprobs[4+j] = true, c.SamplerLogprobs[j]
		}
		rows.Rows = append(rows.Rows, x)
	}
	scores, err := t.Score(background, rows, 1)
	if err != nil {
		return 0, 0, err
	}
	var sum, n float64
	for i, x := range rows.Rows {
		for j, logprob := range scores[i][4:] {
			delta := float64(logprob) - float64(x.SamplerLogprobs[4+j])
			sum, most, n = sum+math.Exp(delta)-1-delta, max(most, math.Abs(delta)), n+1
		}
	}
	return sum / n, most, nil
}
