package sample

import (
	"math"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// Two adapters and the base model in one batch: each slot gets what it gets of a sampler that has its adapter alone.
// The second place is written by the program of the first.
func TestSeveralAdaptersInOneBatch(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		spec, lora := learntest.Spec(), learntest.LoRA()
		spec.NumLayers = 1
		checkSeveral(t, e, spec, lora)
		lora.Tokens = []int32{7, 3, 4, 20, 41, 11, 59}
		t.Run("tokens", func(t *testing.T) { checkSeveral(t, e, spec, lora) })
		spec.TiedHead, lora.HeadTokens = false, []int32{2, 30, 8, 9}
		t.Run("tokens of two matrices", func(t *testing.T) { checkSeveral(t, e, spec, lora) })
	})
}

func checkSeveral(t *testing.T, e *engine.Engine, spec model.Spec, lora model.LoRA) {
	weights := learntest.Weights(t, e, spec)
	start := func(adapters int) *Sampler {
		s, err := New(e, spec, weights, Options{LoRA: lora, Adapters: adapters, Slots: 6, Context: 48})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	several, alone := start(2), start(1)
	var buffers []engine.Buffer
	compiled := 0
	for i := range 2 {
		flat := train.NewState(spec, lora, 2).Adapter
		for j := range flat {
			flat[j] += float32(math.Cos(float64(j*(i+1))) * 0.1)
		}
		b, err := e.Upload(flat, len(flat))
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b)
		if err := several.SetAdapterOf(i, b, 10+i); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			compiled = e.NumCompiled
		} else if e.NumCompiled != compiled {
			t.Errorf("%d programs were compiled for the second adapter", e.NumCompiled-compiled)
		}
	}
	var requests []policy.Request
	for slot := range 6 {
		r := request(slot, 5+slot, false)
		r.Adapter = slot%3 - 1
		requests = append(requests, r)
	}
	got := together(t, several, requests)
	var first []int32
	for which := policy.NoAdapter; which < 2; which++ {
		var adapter engine.Buffer
		version := 0
		if which >= 0 {
			adapter, version = buffers[which], 10+which
		}
		if err := alone.SetAdapter(adapter, version); err != nil {
			t.Fatal(err)
		}
		for slot, r := range requests {
			if r.Adapter != which {
				continue
			}
			r.Adapter = 0
			want := must(t, alone, r)
			if !slices.Equal(got[slot].IDs, want.IDs) || got[slot].PolicyVersion != version ||
				away(got[slot].SamplerLogprobs, want.SamplerLogprobs) > 1e-4 {
				t.Errorf("slot %d, adapter %d: %v of version %d, alone %v",
					slot, which, got[slot].IDs, got[slot].PolicyVersion, want.IDs)
			}
		}
		// one slot, one prompt, another adapter each time: what the slot holds of the one before is not taken
		same := request(1, 9, false)
		same.Adapter = which
		c := must(t, several, same)
		if slices.Equal(c.IDs, first) {
			t.Errorf("adapter %d samples what the one before did", which)
		}
		first = c.IDs
	}
	for _, r := range []policy.Request{{Prompt: []int32{1}, Adapter: 2}, {Prompt: []int32{1}, Adapter: -2}} {
		r.MaxTokens = 1
		if several.check(r) == nil {
			t.Errorf("adapter %d of two is sampled from", r.Adapter)
		}
	}
}

// An adapter is set while a request of another goes on, which is not changed by it; one that is in use is not set.
func TestAdapterIsSetBesideRequests(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	spec, lora := learntest.Spec(), learntest.LoRA()
	spec.NumLayers = 1
	s, err := New(e, spec, learntest.Weights(t, e, spec), Options{LoRA: lora, Adapters: 2, Slots: 2, Context: 48})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	flat := train.NewState(spec, lora, 2).Adapter
	for j := range flat {
		flat[j] += float32(math.Cos(float64(j)) * 0.1)
	}
	b, err := e.Upload(flat, len(flat))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Free(b)
	r := request(0, 20, false)
	alone := must(t, s, r)
	errs := make(chan error, 2)
	once := false
	// called where all slots are sampled, so the rest of the request comes behind what is set
	r.Each = func(policy.Token) {
		if !once {
			once = true
			go func() { errs <- s.SetAdapterOf(0, b, 1) }()
			go func() { errs <- s.SetAdapterOf(1, b, 7) }()
			for range 2 {
				f := <-s.swap
				f()
			}
		}
	}
	beside := must(t, s, r)
	failed := 0
	for range 2 {
		if err := <-errs; err != nil {
			failed++
		}
	}
	if failed != 1 || !slices.Equal(beside.IDs, alone.IDs) {
		t.Errorf("%d were refused; %v, without %v", failed, beside.IDs, alone.IDs)
	}
	r = request(1, 20, false)
	r.Adapter = 1
	if c := must(t, s, r); c.PolicyVersion != 7 {
		t.Errorf("version %d", c.PolicyVersion)
	}
}

// A prefix is held under one adapter, and what is not there cannot be set.
func TestSeveralAdaptersAreRefused(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	weights := learntest.Weights(t, e, learntest.Spec())
	if s, err := New(e, learntest.Spec(), weights,
		Options{LoRA: learntest.LoRA(), Adapters: 2, Slots: 2, Prefix: sharedIDs}); err == nil {
		s.Close()
		t.Error("several adapters have one prefix")
	}
	base, err := New(e, learntest.Spec(), weights, Options{Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	if base.ExtraBytes() != 0 {
		t.Errorf("the base model alone has %d bytes beside it", base.ExtraBytes())
	}
	b, err := e.Upload([]float32{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if base.SetAdapter(b, 1) == nil {
		t.Error("an adapter is set where there is no place for one")
	}
}

func away(a, b []float32) (most float64) {
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most
}
