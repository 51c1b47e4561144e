package batch

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Worked by hand: x_w = ln 4, x_l = ln 2, of two tokens and one.
func TestPreferencesByHand(t *testing.T) {
	pair := Pair{
		Side{Policy: -2 + math.Log(4), Reference: -2, Tokens: 2},
		Side{Policy: -3 + math.Log(2), Reference: -3, Tokens: 1},
	}
	for name, c := range map[string]struct {
		p                Preference
		loss             float64
		chosen, rejected float64
	}{
		// s(ln 2) = 2/3
		"sigmoid":      {Preference{Loss: PreferenceSigmoid, Beta: 1}, math.Log(1.5), -1.0 / 3, 1.0 / 3},
		"beta":         {Preference{Loss: PreferenceSigmoid, Beta: 2}, math.Log(1.25), -2.0 / 5, 2.0 / 5},
		"smoothed":     {Preference{Loss: PreferenceSigmoid, Beta: 1, LabelSmoothing: 0.25}, 0.75*math.Log(1.5) + 0.25*math.Log(3), -0.25 + 1.0/6, 0.25 - 1.0/6},
		"sigmoid_norm": {Preference{Loss: PreferenceSigmoidNorm, Beta: 1}, math.Ln2, -0.25, 0.5}, // h = 0
		"alpha":        {Preference{Loss: PreferenceSigmoid, Beta: 1, Alpha: 0.5}, math.Log(1.5) + 0.5*(2-math.Log(4))/2, -1.0/3 - 0.25, 1.0 / 3},
	} {
		loss, slopes := c.p.Of([]Pair{pair})
		if math.Abs(loss-c.loss) > 1e-12 || math.Abs(slopes[0].Chosen-c.chosen) > 1e-12 ||
			math.Abs(slopes[0].Rejected-c.rejected) > 1e-12 {
			t.Errorf("%s: %g and %+v, want %g, %g and %g", name, loss, slopes[0], c.loss, c.chosen, c.rejected)
		}
		two, halves := c.p.Of([]Pair{pair, pair})
		if math.Abs(two-c.loss) > 1e-12 || math.Abs(2*halves[1].Chosen-c.chosen) > 1e-12 {
			t.Errorf("%s: it is no mean over pairs", name)
		}
	}
	if loss, slopes := (Preference{Loss: PreferenceSigmoid, Beta: 1}).Of([]Pair{{Side{Policy: -2000, Tokens: 1},
		Side{Tokens: 1}}}); loss != 2000 || slopes[0].Chosen != -1 {
		t.Errorf("far away: %g, %+v", loss, slopes)
	}
}

// Slopes are derivatives of the loss.
func TestSlopesOfPreferencesAreDerivatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Preference{
			Loss: rapid.SampledFrom([]PreferenceLoss{PreferenceSigmoid, PreferenceSigmoidNorm}).Draw(t,
				"loss"),
			Beta:           rapid.Float64Range(0.01, 3).Draw(t, "beta"),
			LabelSmoothing: rapid.Float64Range(0, 0.49).Draw(t, "e"),
			Alpha:          rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "alpha"),
		}
		side := func(name string) Side {
			return Side{rapid.Float64Range(-9, 0).Draw(t, name), rapid.Float64Range(-9, 0).Draw(t, name+" reference"),
				rapid.IntRange(1, 9).Draw(t, name+" tokens")}
		}
		pairs := make([]Pair, rapid.IntRange(1, 4).Draw(t, "pairs"))
		for i := range pairs {
			pairs[i] = Pair{side("chosen"), side("rejected")}
		}
		_, slopes := p.Of(pairs)
		const d = 1e-5
		for i := range pairs {
			for _, c := range []struct {
				at   *float64
				want float64
			}{{&pairs[i].Chosen.Policy, slopes[i].Chosen}, {&pairs[i].Rejected.Policy, slopes[i].Rejected}} {
				was := *c.at
				*c.at = was + d
				up, _ := p.Of(pairs)
				*c.at = was - d
				down, _ := p.Of(pairs)
				*c.at = was
				if got := (up - down) / (2 * d); math.Abs(got-c.want) > 1e-6 {
					t.Fatalf("%+v: %g, the derivative is %g", p, c.want, got)
				}
			}
		}
	})
}
