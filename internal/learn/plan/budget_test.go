package plan

import (
	"testing"

	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
)

// spec is a model and the shape of its adapter.
type spec struct {
	model.Spec
	lora model.LoRA
}

// qwen4B is Qwen3-4B with so many layers, in bfloat16.
func qwen4B(layers int) spec {
	c := modelfile.Config{Architecture: "qwen3", Name: "Qwen3-4B", NumLayers: layers, Hidden: 2560, Intermediate: 9728,
		NumHeads: 32, NumKVHeads: 8, HeadDim: 128, VocabSize: 151936, MaxContext: 40960,
		Rope: modelfile.Rope{Theta: 1e6}, NormEps: 1e-6, QKNorm: true, TiedHead: true}
	s := model.Spec{Config: c}
	s.BF16 = true
	return spec{s, model.LoRA{Rank: 16, Alpha: 32}}
}

// planned is what FindRoom and Settle make of a step of so many episodes, whose prompts begin with
// prefix tokens, with nothing set.
func planned(t *testing.T, s spec, prefix, slots int, gib float64) (Room, Settlement) {
	t.Helper()
	e := Episode{Prompt: 100, MaxTurns: 8, MaxTokens: 1024, MaxResult: 8000, Between: 20}
	limit, open := Limit{Bytes: int64(gib * (1 << 30)), Of: "free"}, Open{MicroBatch: true, Recompute: true,
		Slots: true, Join: true}
	o := Settings{GPU: true, Devices: 1, Train: train.Options{LoRA: s.lora}.WithDefaults(true), Prefix: prefix,
		Slots: slots, Policy: true}
	of := func(private int) Settings { o.Row, o.Context = private, private; return o }
	room, err := FindRoom(s.Spec, e, of, open, 16384, limit)
	if err != nil {
		t.Fatal(err)
	}
	o.Slots, o.Apart = room.Slots, room.Apart
	x, err := Settle(s.Spec, of(room.Tokens), open, limit)
	if err != nil {
		t.Fatal(err)
	}
	return room, x
}

// As memory shrinks there are fewer slots; the sampler's joined weights go where they would leave about eight, and no
// sooner. What is settled fits. What is set stays.
func TestSlotsFollowMemory(t *testing.T) {
	s := qwen4B(2)
	s.VocabSize = 4096 // else the head is most of so few layers
	for _, c := range []struct {
		gib         float64
		least, most int // slots
		apart       bool
	}{{8, 64, 255, false}, {3.6, 8, 63, false}, {2.9, 8, 16, true}} {
		room, x := planned(t, s, 500, 256, c.gib)
		if !x.Fits(false) || room.Slots < c.least || room.Slots > c.most || room.Wanted != 256 ||
			room.Apart != c.apart || x.Chosen.Slots != room.Slots || x.Chosen.Apart != c.apart {
			t.Errorf("%v GiB: %d slots, apart %v, it fits: %v (%s)", c.gib, room.Slots, room.Apart, x.Fits(false), x)
		}
		if room.Apart {
			o := x.Chosen
			o.Slots, o.Apart = 16, false
			if fits, err := Fits(s.Spec, o, x.Limit); err != nil || fits {
				t.Errorf("%v GiB: as many slots with joined weights fit: %v, %v", c.gib, fits, err)
			}
		}
	}
	of := func(private int) Settings {
		return Settings{GPU: true, Devices: 1, Train: train.Options{LoRA: s.lora}.WithDefaults(true), Prefix: 500,
			Slots: 64, Context: private, Row: private, Policy: true}
	}
	e := Episode{Prompt: 100, MaxTurns: 8, MaxTokens: 1024, MaxResult: 8000}
	room, err := FindRoom(s.Spec, e, of, Open{Recompute: true}, 16384, Limit{Bytes: 1 << 30})
	if err != nil || room.Slots != 64 || room.Apart {
		t.Errorf("settings that are given: %d slots, apart %v, %v", room.Slots, room.Apart, err)
	}
}
