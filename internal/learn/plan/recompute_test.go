package plan

import (
	"math"
	"strings"
	"testing"

	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// A layer that is computed again costs its input, [tokens, H], and nothing else: so says the plan, and so does the
// compiler, which would keep more if it merged what is computed again with what was computed first. Where layers are
// not computed again each costs many times that.
func TestALayerComputedAgainCostsItsInput(t *testing.T) {
	e := learntest.Devices(t, 1)
	o := settings()
	o.Slots, o.Row, o.Train.MicroBatch = 0, 448, 4
	temporary := func(layers int, r train.Recompute) (planned, compiled int64) {
		s := wide()
		s.NumLayers, s.Hidden, s.Intermediate, s.VocabSize = layers, 64, 512, 100
		o.Train.Recompute = r
		p, err := Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		rows := p.Peak()
		m, err := e.Measure(rows.HLO)
		if err != nil || rows.Name != "rows" {
			t.Fatal(rows.Name, err)
		}
		return rows.Temporary, m.Temporary
	}
	const input = 4 * 448 * 64 * 4 // bytes
	for r, most := range map[train.Recompute]float64{train.RecomputeNone: math.Inf(1), train.RecomputeLayer: 1.25} {
		fewP, fewC := temporary(2, r)
		manyP, manyC := temporary(6, r)
		planned, compiled := float64(manyP-fewP)/4/input, float64(manyC-fewC)/4/input
		t.Logf("%s: a layer more is %.2f inputs more as planned, %.2f as compiled; six layers are %d and %d bytes",
			r, planned, compiled, manyP, manyC)
		if planned > most || compiled > most || r == train.RecomputeNone && min(planned, compiled) < 10 ||
			far(manyP, manyC) {
			t.Errorf("%s: a layer more is %.2f inputs more as planned, %.2f as compiled", r, planned, compiled)
		}
	}
}

// What is dear comes last: rows are computed fewer at once while they have many tokens, then layers are computed again,
// then rows one by one.
func TestProposeComputesAgainWhenRowsAreFew(t *testing.T) {
	o := Settings{GPU: true, Train: train.Options{LoRA: model.LoRA{Rank: 4, Alpha: 4}, MicroBatch: 16}, Row: 2048}
	type step struct {
		rows int
		does train.Recompute
	}
	want := []step{{8, ""}, {4, ""}, {4, train.RecomputeLayer}, {2, train.RecomputeLayer}, {1, train.RecomputeLayer}}
	s := wide()
	s.NumLayers = 2
	for _, w := range want {
		p, err := Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		smaller, _, ok, err := Propose(s, o, p.Peak().Peak-1)
		if got := (step{smaller.Train.MicroBatch, smaller.Train.Recompute}); err != nil || !ok || got != w {
			t.Fatalf("after %d rows and %q: %+v, want %+v; %v %v",
				o.Train.MicroBatch, o.Train.Recompute, got, w, ok, err)
		}
		o = smaller
	}
	if _, _, ok, err := Propose(s, o, 1); ok || err != nil {
		t.Errorf("nothing is too large: %v", err)
	}
}

// qwen3 is the shape of Qwen3-4B in bfloat16.
func qwen3() model.Spec {
	return model.Spec{
		BF16: true,
		Config: modelfile.Config{
			Architecture: "qwen3", Name: "random", NumLayers: 36, Hidden: 2560, Intermediate: 9728, NumHeads: 32,
			NumKVHeads: 8, HeadDim: 128, VocabSize: 151936, MaxContext: 1 << 17, Rope: modelfile.Rope{Theta: 1e6},
			NormEps: 1e-6, QKNorm: true, TiedHead: true,
		},
	}
}

// One row of 57,344 or of 131,072 tokens trains a model of 4 billion numbers on one GPU of 141 GB. Fused attention is
// computed once for each layer.
func TestLongRowsFitOneGPU(t *testing.T) {
	for row, most := range map[int]int64{57344: 50e9, 131072: 90e9} {
		o := Settings{GPU: true, Train: train.Options{LoRA: model.LoRA{Rank: 32, Alpha: 64}, MicroBatch: 1,
			Recompute: train.RecomputeLayer}, Row: row}
		p, err := Make(qwen3(), o)
		if err != nil {
			t.Fatal(err)
		}
		rows := p.Peak()
		forward, backward :=
			strings.Count(rows.HLO, "__cudnn$fmhaSoftmax("), strings.Count(rows.HLO, "__cudnn$fmhaSoftmaxBackward(")
		t.Logf("%d tokens: %.1f GB, temporary %.1f", row, float64(rows.Peak)/1e9, float64(rows.Temporary)/1e9)
		if rows.Name != "rows" || rows.Peak > most || forward != 36 || backward != 36 {
			t.Errorf("%d tokens: %s takes %d bytes; attention is computed %d times forward and %d times backward",
				row, rows.Name, rows.Peak, forward, backward)
		}
	}
}

// Where the longest rows need their layers computed again, shorter ones keep theirs, as long ones as the memory holds;
// that is planned, and said.
func TestShortRowsKeepTheirLayersWhereMemoryHoldsThem(t *testing.T) {
	s := qwen3()
	s.NumLayers, s.VocabSize = 8, 4096
	o := Settings{GPU: true, Train: train.Options{LoRA: model.LoRA{Rank: 4, Alpha: 4}, MicroBatch: 1}, Row: 12000}
	peak := func(r train.Recompute, keep int) int64 {
		x := o
		x.Train.Recompute, x.Train.KeepTokens = r, keep
		p, err := Make(s, x)
		if err != nil {
			t.Fatal(err)
		}
		return p.Peak().Peak
	}
	least, middle, most :=
		peak(train.RecomputeLayer, 0), peak(train.RecomputeLayer, 8192), peak(train.RecomputeNone, 0)
	if least >= middle || middle >= most {
		t.Fatalf("%d, %d and %d bytes", least, middle, most)
	}
	for limit, want := range map[int64]int{middle: 8192, middle - 1: 4096, least: 0} {
		x, err := Settle(s, o, Open{Recompute: true}, Limit{Bytes: limit})
		if err != nil || !x.Holds() || x.Chosen.Train.Recompute != train.RecomputeLayer ||
			x.Chosen.Train.KeepTokens != want || strings.Contains(x.String(), "where more than") != (want > 0) {
			t.Errorf("within %d bytes up to %d tokens are kept, want %d: %s, %v",
				limit, x.Chosen.Train.KeepTokens, want, x, err)
		}
	}
}
