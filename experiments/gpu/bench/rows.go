package main

import (
	"hone/internal/learn/batch"
	"hone/internal/learn/train"
)

// sizes are the lengths of the training rows.
func (b *bench) sizes() (rows, length, prefix, suffixes, suffix int) {
	if b.toy {
		return 4, 64, 64, 16, 16
	}
	return 4, 4096, 4096, 16, 512
}

// tokens are n ids that depend on a salt.
func (b *bench) tokens(n, salt int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((salt*7919 + i*104729) % b.spec.VocabSize)
	}
	return ids
}

// text is a row of which all from the given token on is trained.
func (b *bench) text(n, salt, from int) batch.Sequence {
	s := batch.Sequence{IDs: b.tokens(n, salt), Trained: make([]bool, n)}
	for i := from; i < n; i++ {
		s.Trained[i] = true
	}
	return s
}

// options are the trainer's for micro-batches of so many rows.
func (b *bench) options(microBatch int) train.Options {
	o := train.Options{LoRA: b.lora, MicroBatch: microBatch, RowMultiple: 256}
	if b.toy {
		o.RowMultiple = 16
	}
	return o
}

// steps measures one optimiser step on a batch: forward, backward, clipping, AdamW.
func (b *bench) steps(o train.Options, x batch.Batch, warm, repeat int) (row, error) {
	t, err := train.New(b.engine, b.spec, b.weights, train.NewState(b.spec, b.lora, 1), o)
	if err != nil {
		return row{}, err
	}
	var stats batch.StepStats
	r, err := timeRuns(warm, repeat, func() error {
		stats, err = t.Step(background, x, batch.Objective{}, batch.Update{Rate: 1e-5, MaxGradNorm: 1})
		return err
	})
	if err != nil {
		return r, err
	}
	tokens := float64(stats.NumTokens)
	r.Flop = stepFlop(b.spec, x)
	r.More = map[string]float64{"loss": stats.Loss, "gradient_norm": stats.GradNorm, "tokens": tokens,
		"tokens_per_s": tokens / r.Ms * 1e3}
	return r, nil
}

// train is a step on so many texts of 4096 tokens (0: four), of which a device computes up to four at once.
func (b *bench) train(texts int) (row, error) { return b.texts(texts, train.RecomputeNone) }

// again is train with layers computed again in the backward pass.
func (b *bench) again(texts int) (row, error) { return b.texts(texts, train.RecomputeLayer) }

func (b *bench) texts(n int, recompute train.Recompute) (row, error) {
	atOnce, length, _, _, _ := b.sizes()
	if n == 0 {
		n = atOnce
	}
	var x batch.Batch
	for i := range n {
		x.Rows = append(x.Rows, b.text(length, i, 1))
	}
	o := b.options(atOnce)
	o.Recompute = recompute
	return b.steps(o, x, 2, b.repeat)
}

// trainLong is a step on one text of so many tokens on each device, with layers computed again, run twice: the first
// warms up.
func (b *bench) trainLong(tokens int) (row, error) {
	if b.toy {
		tokens /= 256
	}
	o := b.options(1)
	o.Recompute = train.RecomputeLayer
	var x batch.Batch
	for i := range b.engine.NumDevices() {
		x.Rows = append(x.Rows, b.text(tokens, i, 1))
	}
	return b.steps(o, x, 1, 1)
}

// tree is a step on 16 texts of 512 tokens after a prefix of 4096 that they share.
func (b *bench) tree(int) (row, error) {
	_, _, prefix, n, length := b.sizes()
	x := batch.Batch{Prefix: b.tokens(prefix, 99)}
	for i := range n {
		x.Rows = append(x.Rows, b.text(length, i, 1))
	}
	return b.steps(b.options(n), x, 2, b.repeat)
}

// repeatPrefix is tree with the prefix in each row.
func (b *bench) repeatPrefix(int) (row, error) {
	_, _, prefix, n, length := b.sizes()
	var x batch.Batch
	for i := range n {
		s := b.text(length, i, 1)
		x.Rows = append(x.Rows, batch.Sequence{IDs: append(b.tokens(prefix, 99), s.IDs...),
			Trained: append(make([]bool, prefix), s.Trained...)})
	}
	return b.steps(b.options(4), x, 2, b.repeat)
}
