package sample

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// With weights sharded over two devices episodes get the tokens that they get with whole ones, of the base and of an
// adapter, also where requests truncate, list likely tokens, or are only allowed some, and several steps are told of at
// once; and a trainer and a sampler share the parts.
func TestShardedWeightsGiveTheSameTokens(t *testing.T) {
	spec, lora := learntest.Spec(), learntest.LoRA()
	spec.NumLayers = 1
	e := learntest.Devices(t, 2)
	var want [2][]policy.Completion
	for _, shards := range []int{0, 2} {
		spec.Shards = shards
		weights := learntest.Weights(t, e, spec)
		s, err := NewSamplers(e, spec, weights,
			Options{LoRA: lora, Slots: 9, Context: 32, Prefix: shots, DecodeSteps: 2 * shards})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		state := train.NewState(spec, lora, 2)
		for i := range state.Adapter {
			state.Adapter[i] += float32(math.Cos(float64(i)) * 0.1)
		}
		tr, err := train.New(e, spec, weights, state, train.Options{LoRA: lora})
		if err != nil {
			t.Fatal(err)
		}
		if s.NumSlots() != 18 {
			t.Errorf("%d slots", s.NumSlots())
		}
		for version, a := range []engine.Buffer{nil, tr.Adapter()} {
			if err := s.SetAdapter(a, version); err != nil {
				t.Fatal(err)
			}
			got := append(sampled(t, s), choosing(t, s)...)
			if shards == 0 {
				want[version] = got
			}
			for i, c := range got {
				one := want[version][i]
				if !slices.Equal(c.IDs, one.IDs) || c.PolicyVersion != version ||
					apart(c.SamplerLogprobs, one.SamplerLogprobs) > 1e-5 || len(c.TopLogprobs) != len(one.TopLogprobs) {
					t.Errorf("%d shards, version %d, episode %d: %v, of whole weights %v",
						shards, version, i, c.IDs, one.IDs)
				}
				for j, top := range c.TopLogprobs {
					if !slices.EqualFunc(top, one.TopLogprobs[j], func(x, y policy.TokenLogprob) bool {
						return x.ID == y.ID && math.Abs(float64(x.Logprob-y.Logprob)) < 1e-5
					}) {
						t.Errorf("%d shards, version %d, episode %d: %v are likeliest, of whole weights %v",
							shards, version, i, top, one.TopLogprobs[j])
					}
				}
			}
		}
		if slices.EqualFunc(want[0], want[1], func(a, b policy.Completion) bool { return slices.Equal(a.IDs, b.IDs) }) {
			t.Error("the adapter changes nothing")
		}
	}
}

// odd are the ids that one request may not draw.
func odd() (ids policy.Banned) {
	for id := int32(1); id < int32(learntest.Spec().VocabSize); id += 2 {
		ids = append(ids, id)
	}
	return ids
}

// choosing samples at once a request of each kind, on slots of both devices, of which each is in another row of a
// prefill or not the first there.
func choosing(t *testing.T, s policy.Sampler) []policy.Completion {
	t.Helper()
	out, errs := make([]policy.Completion, 4), make([]error, 4)
	var done sync.WaitGroup
	for i, how := range []policy.Sampling{
		{Temperature: 1, TopK: 3},
		{Temperature: 1, TopLogprobs: 2},
		{Temperature: 1},
		{Temperature: 0, TopLogprobs: 3},
	} {
		done.Go(func() {
			how.MaxTokens = numTokens
			r := policy.Request{Slot: 5*i + 1, Prompt: append(slices.Clone(shots), int32(i), 9, 9, 2), Sampling: how,
				Key: policy.Key{Seed: 2, Stream: uint64(i)}}
			if i == 2 {
				r.Constraint = odd()
			}
			out[i], errs[i] = s.Sample(context.Background(), r)
		})
	}
	done.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	for _, id := range out[2].IDs {
		if id%2 == 1 {
			t.Errorf("%v are not all even", out[2].IDs)
		}
	}
	return out
}
