// Package speed measures hone on real weights, for experiments/speed/run.py, which puts each number beside its peer's.
//
//	go test ./experiments/speed -run '^$' -bench Train -args -model MODEL.gguf -plugin PLUGIN.so
package speed

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
)

// The shapes of the demo: a system message with eight tools, then an episode of two calls. peer.py has the same.
const (
	numPrefix  = 450 // tokens all rows begin with
	numRows    = 16
	numRow     = 155 // tokens of a row after the prefix
	numTrained = 60  // of which the last are trained on
	numSlots   = 64
	numPrompt  = 40 // tokens of a slot's own prompt
	numSampled = 40
)

// Rows that share nothing.
const (
	numWhole  = 4
	lenWhole  = 512
	fromWhole = 1 // the first token that is trained on
)

var (
	modelPath = flag.String("model", "", "GGUF file of the base model")
	plugin    = flag.String("plugin", "", "PJRT plug-in; empty means pure Go")
	dtype     = flag.String("dtype", "auto", "auto, f32 or bf16")
)

// load opens the device and the model. The weights go with the engine.
func load(b *testing.B) (*engine.Engine, model.Spec, []engine.Buffer) {
	b.Helper()
	file, err := modelfile.Open(*modelPath)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() }) // read only
	e, err := engine.Open(engine.Options{Plugin: *plugin, DType: engine.DType(*dtype)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.Close)
	spec, weights, err := model.Load(e, file)
	if err != nil {
		b.Fatal(err)
	}
	return e, spec, weights
}

// randomIDs are ordinary tokens: speed does not depend on which.
func randomIDs(r *rand.Rand, n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = 1000 + r.Int32N(40000)
	}
	return ids
}

// BenchmarkTrain takes optimiser steps. Tokens are those computed, the shared prefix counted once.
func BenchmarkTrain(b *testing.B) { steps(b, numPrefix, numRows, numRow, numRow-numTrained) }

// BenchmarkWhole takes optimiser steps on rows that share nothing.
func BenchmarkWhole(b *testing.B) { steps(b, 0, numWhole, lenWhole, fromWhole) }

// steps takes optimiser steps on rows behind a shared prefix, of which all from a token on is trained.
func steps(b *testing.B, prefix, rows, length, from int) {
	e, spec, weights := load(b)
	lora := model.LoRA{Rank: 16, Alpha: 32}
	t, err := train.New(e, spec, weights, train.NewState(spec, lora, 1), train.Options{LoRA: lora})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	step := batch.Batch{Prefix: randomIDs(r, prefix)}
	for range rows {
		row := batch.Sequence{IDs: randomIDs(r, length), Trained: make([]bool, length)}
		for i := from; i < length; i++ {
			row.Trained[i] = true
		}
		step.Rows = append(step.Rows, row)
	}
	take := func() {
		if _, err := t.Step(context.Background(), step, batch.Objective{}, batch.Update{Rate: 1e-4}); err != nil {
			b.Fatal(err)
		}
	}
	take() // compiles
	for b.Loop() {
		take()
	}
	b.ReportMetric(float64(b.N*(prefix+rows*length))/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkSample fills all slots once. Tokens are those sampled; their prompts' prefill is in the time.
func BenchmarkSample(b *testing.B) {
	e, spec, weights := load(b)
	r := rand.New(rand.NewPCG(1, 2))
	prefix := randomIDs(r, numPrefix)
	s, err := sample.New(e, spec, weights,
		sample.Options{Slots: numSlots, Context: numPrompt + numSampled, Prefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		var wait sync.WaitGroup
		for slot := range numSlots {
			request := policy.Request{
				Prompt:   append(append([]int32{}, prefix...), randomIDs(r, numPrompt)...),
				Slot:     slot,
				Sampling: policy.Sampling{Temperature: 1, MaxTokens: numSampled},
				Key: policy.Key{Seed: 1,
					Stream: uint64(slot)},
			}
			wait.Go(func() {
				if c, err := s.Sample(context.Background(), request); err != nil || len(c.IDs) != numSampled {
					b.Errorf("%d tokens: %v", len(c.IDs), err)
				}
			})
		}
		wait.Wait()
	}
	b.ReportMetric(float64(b.N*numSlots*numSampled)/b.Elapsed().Seconds(), "tokens/s")
}
