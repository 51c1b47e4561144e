package plan

import (
	"slices"
	"testing"

	"hone/internal/learn/model"
	"hone/internal/testing/learntest"
)

// What serving holds is what the shapes say: the caches of the sampler, and each adapter in its arrays.
func TestServingIsWhatTheShapesSay(t *testing.T) {
	s, o := wide(), Serving{Adapter: &model.LoRA{Rank: 4, Alpha: 4}, Adapters: 3, Slots: 8, Context: 64}
	p, err := MakeServing(s, o)
	if err != nil {
		t.Fatal(err)
	}
	weights, _ := bytesOf(s)
	_, size := o.Adapter.Pieces(s)
	adapter := int64(3 * size * 4)
	kv := int64(2 * s.NumLayers * s.NumKVHeads * s.HeadDim * o.Slots * o.Context * 4)
	want := []Item{{"weights", weights}, {"keys and values", kv}, {HeldBySampler, adapter}}
	if !slices.Equal(p.Held, want) {
		t.Errorf("held %v, want %v", p.Held, want)
	}
	if x := p.Peak(); x.Peak < weights+adapter+kv ||
		slices.ContainsFunc(p.Programs, func(x Program) bool { return x.Training }) {
		t.Errorf("most is held by %+v", x)
	}
	alone := o
	alone.Adapter = nil
	if p, err := MakeServing(s, alone); err != nil || len(p.Held) != 2 || p.Held[1].Bytes != kv {
		t.Errorf("the base model alone: %+v, %v", p.Held, err)
	}
}

func TestProposeServing(t *testing.T) {
	s, o := learntest.Spec(), Serving{Slots: 8, Context: 512}
	p, err := MakeServing(s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int64
		slots int
		ok    bool
	}{{p.Peak().Peak, 8, true}, {p.Peak().Peak - 1, 4, true}, {p.Held[0].Bytes, 1, false}} {
		smaller, fits, ok, err := ProposeServing(s, o, c.limit)
		if err != nil || ok != c.ok || smaller.Slots != c.slots || ok && fits.Peak().Peak > c.limit {
			t.Errorf("limit %d: %+v %v %v", c.limit, smaller, ok, err)
		}
	}
}

// What a program takes is counted where it runs: of those that are compiled before a request none is left out, whatever
// feeds a short prompt.
func TestServingCountsEachProgram(t *testing.T) {
	for _, gpu := range []bool{false, true} {
		p, err := MakeServing(learntest.Spec(), Serving{GPU: gpu, Slots: 64, Context: 640})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Programs {
			if x.Peak <= x.Temporary {
				t.Errorf("on a GPU %v: %s takes %d, of which %d for itself: it did not run",
					gpu, x.Name, x.Peak, x.Temporary)
			}
		}
	}
}
