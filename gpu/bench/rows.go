package main

import (
	"fmt"
	"sync"
	"time"

	"hone/internal/learn/batch"
	"hone/internal/learn/sample"
	"hone/internal/learn/samplers"
	"hone/internal/learn/train"
	"hone/internal/policy"
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

// steps measures one optimiser step on a batch: forward, backward, clipping, AdamW.
func (b *bench) steps(batched batch.Batch, microBatch int, recompute train.Recompute) (row, error) {
	multiple := 256
	if b.toy {
		multiple = 16
	}
	t, err := train.New(b.engine, b.spec, b.weights, train.NewState(b.spec, b.lora, 1),
		train.Options{LoRA: b.lora, MicroBatch: microBatch, RowMultiple: multiple, Recompute: recompute})
	if err != nil {
		return row{}, err
	}
	var stats batch.StepStats
	r, err := b.timed(func() error {
		stats, err = t.Supervised(background, batched, batch.Update{Rate: 1e-5, MaxGradNorm: 1})
		return err
	})
	if err != nil {
		return r, err
	}
	tokens := float64(stats.NumTokens)
	r.More = map[string]float64{"loss": stats.Loss, "gradient_norm": stats.GradNorm, "tokens": tokens, "tokens_per_s": tokens / r.Ms * 1e3}
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
	return b.steps(x, atOnce, recompute)
}

// long is a step on one text of so many tokens (0: 57,344) on each device, with layers computed again.
func (b *bench) long(tokens int) (row, error) {
	if tokens == 0 {
		tokens = 57344
	}
	if b.toy {
		tokens /= 256
	}
	var x batch.Batch
	for i := range b.engine.NumDevices() {
		x.Rows = append(x.Rows, b.text(tokens, i, 1))
	}
	return b.steps(x, 1, train.RecomputeLayer)
}

// tree is a step on 16 texts of 512 tokens after a prefix of 4096 that they share.
func (b *bench) tree(int) (row, error) {
	_, _, prefix, n, length := b.sizes()
	x := batch.Batch{Prefix: b.tokens(prefix, 99)}
	for i := range n {
		x.Rows = append(x.Rows, b.text(length, i, 1))
	}
	return b.steps(x, n, train.RecomputeNone)
}

// unshared is tree with the prefix in each row.
func (b *bench) unshared(int) (row, error) {
	_, _, prefix, n, length := b.sizes()
	var x batch.Batch
	for i := range n {
		s := b.text(length, i, 1)
		x.Rows = append(x.Rows, batch.Sequence{IDs: append(b.tokens(prefix, 99), s.IDs...),
			Trained: append(make([]bool, prefix), s.Trained...)})
	}
	return b.steps(x, 4, train.RecomputeNone)
}

// decode is one token of each of 64 sequences on each device, whose caches have room for that many tokens, all of which are
// read, behind a shared prefix. It is the difference between long and short completions, so that what happens once is not
// in it. atOnce is how many tokens an execution draws, 0 for what the device's default is.
func (b *bench) decode(prefix, atOnce, context int) (row, error) {
	slots, short, long := 64, 16, 144
	if b.toy {
		slots, short, long, prefix, context = 4, 2, 10, max(2, prefix/64), context/64
	}
	start := time.Now()
	s, err := samplers.New(b.engine, b.spec, b.weights, sample.Options{LoRA: b.lora, Slots: slots, Context: context, DecodeSteps: atOnce, Prefix: b.tokens(prefix, 5)})
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	slots = s.NumSlots()
	compile := time.Since(start).Seconds()
	completions := func(tokens int) error {
		var done sync.WaitGroup
		errs := make([]error, slots)
		for i := range slots {
			done.Go(func() {
				_, errs[i] = s.Sample(background, policy.Request{Slot: i, Prompt: append(b.tokens(prefix, 5), b.tokens(6, i)...), Sampling: policy.Sampling{MaxTokens: tokens, Temperature: 1},
					Key: policy.Key{Seed: 1, Stream: uint64(i)}})
			})
		}
		done.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
	var shorts []float64
	r, err := b.timed(func() error {
		before := time.Now()
		if err := completions(short); err != nil {
			return err
		}
		shorts = append(shorts, time.Since(before).Seconds()*1e3)
		return completions(long)
	})
	if err != nil {
		return r, err
	}
	// A run is one of each length; a short one is its own measurement.
	extra := median(shorts[2:])
	steps := float64(long - short)
	r.Ms, r.Least = (r.Ms-2*extra)/steps, (r.Least-2*extra)/steps
	r.Compile = compile
	r.More = map[string]float64{"tokens_per_s": float64(slots) / r.Ms * 1e3, "aliased_GB": float64(s.NumAliased()) / 1e9, "steps": steps}
	if s.NumAliased() == 0 {
		return r, fmt.Errorf("the caches are copied")
	}
	return r, nil
}
