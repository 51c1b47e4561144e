package plan

import (
	"strings"
	"testing"

	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
)

// Slots have room for what tools answer: all that can come where there is memory, else what there is memory for, which
// is said with the keys to change. What the policy itself can fill is never given up for it.
func TestSlotsHaveRoomForResults(t *testing.T) {
	qwen3 := modelfile.Config{Architecture: "qwen3", Name: "Qwen3-4B", NumLayers: 36, Hidden: 2560, Intermediate: 9728,
		NumHeads: 32, NumKVHeads: 8, HeadDim: 128, VocabSize: 151936, MaxContext: 40960,
		Rope: modelfile.Rope{Theta: 1e6}, NormEps: 1e-6, QKNorm: true, TiedHead: true}
	s := model.Spec{Config: qwen3}
	s.BF16 = true
	lora := model.LoRA{Rank: 16, Alpha: 32}
	for _, tc := range []struct {
		name                      string
		layers                    int // of the model: few are planned sooner
		slots, context, maxResult int
		memory                    int64 // GiB
		least, most               int   // tokens of a slot
		says, not                 string
	}{
		{
			"the default context", 36, 64, 2048, 8000, 139, 2048,
			2048, "at worst (8 full completions of 256 tokens) 0 are left for tools' results, which can be 56140\n",
			"engine.slots",
		},
		{"few slots", 4, 4, 32768, 8000, 139, 32768, 32768, "raise model.context", "engine.slots"},
		{"64 slots", 36, 64, 32768, 8000, 139, 5000, 12000,
			"the memory bounds it; lower rollout.max_result, rollout.max_turns or engine.slots", "raise model.context"},
		{"no more than the weights", 4, 64, 32768, 8000, 3, 2148, 2148, "the memory bounds it", "raise model.context"},
		{"no results to speak of", 4, 64, 32768, 64, 139, 2736, 2736, "2736 tokens behind the shared prefix: all that", "ends early"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.NumLayers = tc.layers
			e := Episode{Prompt: 100, MaxTurns: 8, MaxTokens: 256, MaxResult: tc.maxResult, Between: 20}
			of := func(private int) Settings {
				return Settings{GPU: true, Devices: 1, Train: train.Options{LoRA: lora}.WithDefaults(true),
					Prefix: 1500, Row: private, Slots: tc.slots, Context: private}
			}
			limit := Limit{Bytes: tc.memory << 30}
			got, err := FindRoom(s, e, of, Open{MicroBatch: true, Recompute: true}, tc.context, limit)
			if err != nil || got.Tokens < tc.least || got.Tokens > tc.most {
				t.Fatalf("%d tokens (%v): %s", got.Tokens, err, got)
			}
			if text := got.String(); !strings.Contains(text, tc.says) || strings.Contains(text, tc.not) ||
				!strings.Contains(text, "an episode has room for") || strings.Contains(text, "trained") {
				t.Errorf("says %s", text)
			}
			if got.Trains = true; got.Tokens < e.Whole() &&
				!strings.Contains(got.String(), "ends early and is not trained on\n") {
				t.Errorf("a run that trains says %s", got)
			}
			if !got.ByMemory || got.Tokens == e.Own() {
				return
			}
			o := of(got.Tokens)
			o.Train.MicroBatch, o.Train.Recompute = 1, train.RecomputeLayer
			if p, err := Make(s, o); err != nil || p.Peak().Peak > limit.Bytes {
				t.Errorf("%d bytes in %s, %v", p.Peak().Peak, p.Peak().Name, err)
			}
		})
	}
}
