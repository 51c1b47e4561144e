package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a share that is saved covers the truth about as often as it says, and lies around the ratio of the
// means.
func TestSaved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	covered, trials := 0, 300
	for range trials {
		var old, new []Row
		for i := range 60 {
			base := 100 * math.Exp(r.NormFloat64()*0.3)
			kept := 0.7
			if r.IntN(2) == 0 {
				kept = 0.8
			}
			old = append(old, Row{ScenarioID: fmt.Sprint(i), NumPromptTokens: int(base * 100)})
			new = append(new, Row{ScenarioID: fmt.Sprint(i), NumPromptTokens: int(base * 100 * kept)})
		}
		s := Saving(old, new, Tokens(), Bootstrap{Seed: 1, NumResamples: 400})
		if !(s.Low < s.Mean && s.Mean < s.High) || s.N != 60 {
			t.Fatalf("%+v", s)
		}
		if s.Low <= 0.25 && 0.25 <= s.High {
			covered++
		}
	}
	if share := float64(covered) / float64(trials); share < 0.90 || share > 0.99 {
		t.Errorf("covers in %.2f", share)
	}
	rows := []Row{{ScenarioID: "a", NumTurns: 3, NumInitialCalls: 1}, {ScenarioID: "b", NumTurns: 2}}
	without := []Row{{ScenarioID: "a", NumTurns: 3}, {ScenarioID: "b", NumTurns: 2}}
	if s := Saving(without, rows, Requests(), Bootstrap{NumResamples: 100}); math.Abs(s.Mean-0.2) > 1e-12 || !s.TooFew {
		t.Errorf("%+v", s)
	}
	if s := Saving(without, without, Requests(), Bootstrap{NumResamples: 100}); s.Mean != 0 || s.Low != 0 ||
		s.High != 0 {
		t.Errorf("%+v", s)
	}
}
