package sample

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var shots = []int32{3, 14, 15, 9, 26, 5}

const numEpisodes, numTokens = 10, 12

// sampled runs ten episodes as rollouts do, each slot's one after the other, and returns their completions.
func sampled(t *testing.T, s policy.Sampler) []policy.Completion {
	t.Helper()
	out := make([]policy.Completion, numEpisodes)
	errs := make([]error, numEpisodes)
	var done sync.WaitGroup
	for slot := range s.NumSlots() {
		done.Go(func() {
			for i := slot; i < numEpisodes; i += s.NumSlots() {
				out[i], errs[i] = s.Sample(context.Background(), policy.Request{
					Slot:     slot,
					Prompt:   append(slices.Clone(shots), int32(i/2), 7),
					Sampling: policy.Sampling{MaxTokens: numTokens, Temperature: 1},
					Key: policy.Key{Seed: 1,
						Stream: uint64(i)},
				})
			}
		})
	}
	done.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("episode %d: %v", i, err)
		}
	}
	return out
}

// However many devices there are, episodes get the same tokens, with the same logprobs but for rounding (1e-5), of the
// base and of an adapter; and all devices take part.
func TestTokensDoNotDependOnTheNumberOfDevices(t *testing.T) {
	spec, lora := learntest.Spec(), learntest.LoRA()
	spec.NumLayers = 1
	var want [2][]policy.Completion
	for _, n := range []int{1, 3} { // each compiles anew
		e := learntest.Devices(t, n)
		weights := learntest.Weights(t, e, spec)
		s, err := NewSamplers(e, spec, weights, Options{LoRA: lora, Slots: 2, Context: 32, Prefix: shots})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		state := train.NewState(spec, lora, 2)
		for i := range state.Adapter {
			state.Adapter[i] += float32(math.Cos(float64(i)) * 0.1)
		}
		adapter, err := e.Upload(state.Adapter, len(state.Adapter))
		if err != nil {
			t.Fatal(err)
		}
		for version, a := range []engine.Buffer{nil, adapter} {
			if err := s.SetAdapter(a, version); err != nil {
				t.Fatal(err)
			}
			got := sampled(t, s)
			if n == 1 {
				want[version] = got
			}
			for i, c := range got {
				if one := want[version][i]; !slices.Equal(c.IDs, one.IDs) || c.PolicyVersion != version ||
					apart(c.SamplerLogprobs, one.SamplerLogprobs) > 1e-5 {
					t.Errorf("%d devices, version %d, episode %d: %v at %d, on one device %v",
						n, version, i, c.IDs, c.PolicyVersion, one.IDs)
				}
			}
		}
		if slices.EqualFunc(want[0], want[1], func(a, b policy.Completion) bool { return slices.Equal(a.IDs, b.IDs) }) {
			t.Error("the adapter changes nothing")
		}
		checkShared(t, s, n)
	}
}

// checkShared looks whether each device worked, and whether the sums say what was done.
func checkShared(t *testing.T, s *Samplers, n int) {
	t.Helper()
	type place struct {
		on   *Sampler
		slot int
	}
	places := map[place]bool{}
	for slot := range s.NumSlots() {
		x, own := s.at(slot)
		places[place{x, own}] = true
		if y, same := s.at(slot - s.NumSlots()); y != x || same != own || x != s.each[slot%n] || own >= x.NumSlots() {
			t.Errorf("slot %d is %d of its sampler, and %d", slot, own, same)
		}
	}
	if len(places) != s.NumSlots() {
		t.Errorf("%d slots are %d", s.NumSlots(), len(places))
	}
	decoded := 0
	for i, x := range s.each {
		st := x.Stats()
		if decoded += st.Decoded; st.Decoded == 0 {
			t.Errorf("device %d of %d did nothing", i, n)
		}
	}
	if all := s.Stats(); all.Decoded != decoded || all.Decoded != 2*numEpisodes*numTokens || all.BusySeconds <= 0 ||
		len(s.each) != n || s.NumSlots() != 2*n {
		t.Errorf("%d devices, %d slots: %+v", len(s.each), s.NumSlots(), all)
	}
}

func apart(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		worst = math.Max(worst, math.Abs(float64(a[i]-b[i])))
	}
	return worst
}

// Without a sampler on each device there is none at all.
func TestNewFailsAsItsSamplersDo(t *testing.T) {
	if s, err := NewSamplers(learntest.Devices(t, 2), learntest.Spec(), nil,
		Options{Prefix: []int32{1}}); err == nil || s != nil {
		t.Errorf("samplers without weights: %v, %v", s, err)
	}
}
