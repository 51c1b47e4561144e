package plan

import (
	"strings"
	"testing"

	"hone/internal/learn/model"
	"hone/internal/learn/train"
)

// training is a step on one row on each of two devices with weights sharded over them.
func training() Settings {
	o := settings()
	o.Slots, o.Prefix, o.Devices, o.ShardWeights = 0, 1, 2, true
	o.Row, o.Train.MicroBatch = 64, 1
	return o
}

// Of sharded weights a device holds its part: the plan is what a person works out of the shapes.
func TestADeviceHoldsItsPartOfTheWeights(t *testing.T) {
	s, o := wide(), training()
	weights, maps := bytesOf(s)
	for _, n := range []int{2, 4} {
		o.Devices = n
		p, err := Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := weights - maps + maps/int64(n); p.Held[0] != (Item{"weights", want}) {
			t.Errorf("of %d devices each holds %+v, want %d", n, p.Held[0], want)
		}
	}
	// of which no row can be divided by four
	s.NumKVHeads, s.NumHeads, s.HeadDim, s.Intermediate, s.Hidden = 1, 1, 10, 383, 129
	o.Devices = 4
	p, err := Make(s, o)
	if weights, _ := bytesOf(s); err != nil || p.Held[0].Bytes != weights {
		t.Errorf("what cannot be divided is held whole: %+v, want %d; %v", p.Held, weights, err)
	}
}

// What is gathered is not kept: a layer more costs little beside its maps, which are gathered in the forward pass and
// once more in the backward pass. That is the plan's account. XLA for CPUs, which drops barriers before it orders
// operations, gathers before it must.
func TestGatheredWeightsAreNotKept(t *testing.T) {
	o := training()
	temporary := func(layers int) int64 {
		s := wide()
		s.NumLayers, s.Hidden, s.Intermediate, s.VocabSize = layers, 128, 1024, 100
		p, err := Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Programs {
			// of the last layer k and v alone have a gradient
			want := map[string]int{"rows": 2 * 7 * layers, "prefix": 7 * layers,
				"prefix_backward": 2*7*layers - 5}[x.Name]
			if n := strings.Count(x.HLO, "stablehlo.all_gather"); n != want {
				t.Errorf("%s of %d layers gathers %d times, want %d", x.Name, layers, n, want)
			}
		}
		return p.Peak().Temporary
	}
	one := wide()
	one.NumLayers, one.Hidden, one.Intermediate, one.VocabSize = 1, 128, 1024, 100
	_, maps := bytesOf(one)
	few, many := temporary(2), temporary(6)
	t.Logf("a layer's maps are %d bytes; two layers take %d temporary, six %d", maps, few, many)
	if (many-few)/4 > maps/8 || few > 3*maps {
		t.Errorf("a layer's maps are %d bytes; two layers take %d temporary, six %d", maps, few, many)
	}
}

// Weights are sharded where nothing else helps, and only where there are several devices; a sampler's adapter is not.
func TestProposeShardsLast(t *testing.T) {
	s, o := wide(), training()
	s.NumLayers, s.VocabSize = 8, 100
	o.ShardWeights, o.Train.MicroBatch = false, 2
	weights, maps := bytesOf(s)
	least := o
	least.Train.MicroBatch, least.Train.Recompute = 1, train.RecomputeLayer
	whole, err := Make(s, least)
	if err != nil {
		t.Fatal(err)
	}
	limit := whole.Peak().Peak - 1
	chosen, p, ok, err := Propose(s, o, limit)
	if err != nil || !ok || !chosen.ShardWeights || p.Held[0].Bytes != weights-maps/2 ||
		chosen.Train.Recompute != train.RecomputeLayer {
		t.Errorf("%+v of %d, %v %v", chosen, limit, ok, err)
	}
	if chosen, _, ok, err := Propose(s, o, limit+1); err != nil || !ok || chosen.ShardWeights {
		t.Errorf("there is room, and yet %+v; %v", chosen, err)
	}
	o.Devices = 1
	if chosen, _, ok, err := Propose(s, o, limit); ok || err != nil || chosen.ShardWeights {
		t.Errorf("one device: %+v, %v", chosen, err)
	}
	o.Devices, o.Slots = 2, 2
	_, size := o.Train.LoRA.Pieces(s)
	chosen, p, ok, err = Propose(s, o, limit) // a sampler's adapter is whole on each device
	if err != nil || !ok || !chosen.ShardWeights || chosen.Slots != 2 ||
		p.Held[len(p.Held)-1] != (Item{HeldBySampler, int64(size * 4)}) {
		t.Errorf("beside a sampler: %+v, %+v, %v %v", chosen, p.Held, ok, err)
	}
}

// A model of 32 billion numbers, 65 GB in bfloat16, trains on four GPUs of 80 GB, a row of 16,384 tokens on each.
func TestALargeModelFitsSeveralGPUs(t *testing.T) {
	s := qwen3()
	s.NumLayers, s.Hidden, s.Intermediate, s.NumHeads, s.TiedHead = 64, 5120, 25600, 64, false
	o := Settings{GPU: true, Devices: 4, ShardWeights: true, Row: 16384,
		Train: train.Options{LoRA: model.LoRA{Rank: 32, Alpha: 64}, MicroBatch: 1}}
	p, err := Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("weights %.1f GB, %s %.1f GB, temporary %.1f GB",
		float64(p.Held[0].Bytes)/1e9, p.Peak().Name, float64(p.Peak().Peak)/1e9, float64(p.Peak().Temporary)/1e9)
	if p.Peak().Peak > 75e9 {
		t.Errorf("%s takes %d bytes", p.Peak().Name, p.Peak().Peak)
	}
}
