package main

import (
	"fmt"
	"time"

	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/train"
)

// startup is the time from the process's start until a first optimiser step has been taken (4 x 4096 tokens) and then a
// first token sampled (64 slots, caches of 4096), without what making the weights took, which stand for a file's.
func (b *bench) startup(int) (row, error) {
	if b.measured > 0 {
		return row{}, fmt.Errorf("startup must be a process's first row")
	}
	atOnce, length, prefix, _, _ := b.sizes()
	slots := 64
	if b.toy {
		slots = 4
	}
	t, err := train.New(b.engine, b.spec, b.weights, train.NewState(b.spec, b.lora, 1), b.options(atOnce))
	if err != nil {
		return row{}, err
	}
	var x batch.Batch
	for i := range atOnce {
		x.Rows = append(x.Rows, b.text(length, i, 1))
	}
	if _, err := t.Step(background, x, batch.Objective{}, batch.Update{Rate: 1e-5, MaxGradNorm: 1}); err != nil {
		return row{}, err
	}
	stepped := time.Since(b.started).Seconds()
	s, err := b.sampler(slots, prefix, 2, 0)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	if _, err := ask(s, []policy.Request{b.request(0, 2, 6, 1, 1)}, nil); err != nil {
		return row{}, err
	}
	drawn := time.Since(b.started).Seconds()
	ms := (drawn - b.weightsSeconds) * 1e3
	return row{Ms: ms, Least: ms, Runs: 1, More: map[string]float64{
		"open_s": b.openSeconds, "weights_s": b.weightsSeconds,
		"first_step_s": stepped - b.weightsSeconds, "first_token_s": drawn - b.weightsSeconds,
		"with_weights_s": drawn,
	}}, nil
}
