package train

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

var update = flag.Bool("update", false, "rewrite testdata/apply.stablehlo")

func programTexts(t *testing.T, bf16 bool, o Options, u batch.Update) map[string]string {
	t.Helper()
	return programTextsOn(t, 1, bf16, o, u)
}

// programTextsOn takes a step without a device, as if on several, and returns the StableHLO text of each program it
// compiled, by name.
func programTextsOn(t *testing.T, numDevices int, bf16 bool, o Options, u batch.Update) map[string]string {
	t.Helper()
	d := engine.OpenDry(false, numDevices)
	s := learntest.Spec()
	s.BF16 = bf16
	var weights []engine.Buffer
	for _, p := range s.WeightParams() {
		weights = append(weights, d.Blank(p.Shape))
	}
	o.LoRA, o.MicroBatch, o.RowMultiple = learntest.LoRA(), 2, 16
	tr, err := New(d.Engine, s, weights, NewState(s, o.LoRA, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(context.Background(), batch.New(rows()), batch.Objective{}, u); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, p := range d.Programs() {
		texts[p.Name()] = p.HLO()
	}
	return texts
}

// What is off is not in the programs: Adam's is the text it was before there was anything to switch on, so old runs go
// on to the same bits; and no other program draws.
func TestWhatIsOffIsNotInThePrograms(t *testing.T) {
	off := programTexts(t, false, Options{}, batch.Update{Rate: 1})
	const golden = "testdata/apply.stablehlo"
	if *update {
		if err := os.WriteFile(golden, []byte(off["apply"]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if off["apply"] != string(want) {
		t.Errorf("Adam's program is another; if that is meant, -update rewrites %s, and docs/log says what became of "+
			"the numbers", golden)
	}
	on := programTexts(t, false, Options{Dropout: 0.3, EightBitMoments: true},
		batch.Update{Rate: 1, Adam: batch.Adam{WeightDecay: 0.1}})
	for _, name := range []string{"rows", "prefix", "prefix_backward", "apply"} {
		draws := func(text string) bool {
			return strings.Contains(text, "stablehlo.xor") || strings.Contains(text, "stablehlo.shift_right_logical")
		}
		if off[name] == "" || draws(off[name]) || !draws(on[name]) {
			t.Errorf("%s: %d bytes of text, bits in it where all is off: %v, on: %v",
				name, len(off[name]), draws(off[name]), draws(on[name]))
		}
	}
	again := programTexts(t, false, Options{},
		batch.Update{Rate: 2, Adam: batch.Adam{Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}})
	if again["apply"] != off["apply"] {
		t.Error("the defaults, spelled out, are another program")
	}
	on = programTexts(t, true, Options{Dropout: 0.3}, batch.Update{Rate: 1})
	if !strings.Contains(on["rows"], "bf16") || !strings.Contains(on["rows"], "stablehlo.xor") {
		t.Error("in bfloat16 nothing is drawn")
	}
}
