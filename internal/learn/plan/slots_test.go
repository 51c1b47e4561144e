//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/learn/model"
	"hone/internal/learn/plan"
	"hone/internal/learn/train"
	"hone/internal/modelfile"
)

// Slots have room for what tools answer: all that can come where there is memory, else what there is memory for, which is
// said with the keys to change. What the policy itself can fill is never given up for it.
func TestSlotsHaveRoomForResults(t *testing.T) {
	qwen3 := modelfile.Config{Architecture: "qwen3", Name: "Qwen3-4B", NumLayers: 36, Hidden: 2560, Intermediate: 9728, NumHeads: 32,
		NumKVHeads: 8, HeadDim: 128, VocabSize: 151936, MaxContext: 40960, Rope: modelfile.Rope{Theta: 1e6}, NormEps: 1e-6, QKNorm: true, TiedHead: true}
	s := model.Spec{Config: qwen3}
	c := config.Default()
	c.Rollout.MaxTokens = 256
	lora, err := adapterShape(c, s, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name                      string
		layers                    int // of the model: few are planned sooner
		slots, context, maxResult int
		memory                    int64 // GiB
		least, most               int   // tokens of a slot
		says, not                 string
	}{
		{"the default context", 36, 64, 2048, 8000, 139, 2048, 2048, "raise model.context", "engine.slots"},
		{"few slots", 4, 4, 32768, 8000, 139, 32768, 32768, "raise model.context", "engine.slots"},
		{"64 slots", 36, 64, 32768, 8000, 139, 5000, 12000, "the memory bounds it; lower rollout.max_result, rollout.max_turns or engine.slots", "raise model.context"},
		{"no more than the weights", 4, 64, 32768, 8000, 3, 2148, 2148, "the memory bounds it", "raise model.context"},
		{"no results to speak of", 4, 64, 32768, 64, 139, 2736, 2736, "588 of tools' results", "is not trained on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Rollout.MaxResult, s.NumLayers = tc.maxResult, tc.layers
			e := episodeOf(c)
			e.Prompt, e.Between = 100, 20
			of := func(private int) plan.Settings {
				c.Engine.Slots = tc.slots
				return settings(c, lora, true, 1500, private, private)
			}
			b := budget{bytes: tc.memory << 30}
			got, err := findRoom(c, s, e, of, tc.context, b)
			if err != nil || got.tokens < tc.least || got.tokens > tc.most {
				t.Fatalf("%d tokens (%v): %s", got.tokens, err, got)
			}
			if text := got.String(); !strings.Contains(text, tc.says) || strings.Contains(text, tc.not) || !strings.Contains(text, "an episode has room for") {
				t.Errorf("says %s", text)
			}
			if !got.byMemory || got.tokens == e.Own() {
				return
			}
			o := of(got.tokens)
			o.Train.MicroBatch, o.Train.Recompute = 1, train.RecomputeLayer
			s.BF16 = true
			if p, err := plan.Make(s, o); err != nil || p.Peak().Peak > b.bytes {
				t.Errorf("%d bytes in %s, %v", p.Peak().Peak, p.Peak().Name, err)
			}
		})
	}
}
