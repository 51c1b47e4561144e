package recipe

import (
	"math"
	"strings"
	"testing"

	"hone/internal/learn/batch"
)

// k3 is the mismatch that one token whose logprobs differ by so much has.
func k3(delta float64) float64 { return math.Exp(delta) - 1 - delta }

// A step is judged by its tokens: what rounding does to one of a few ends no run, what is off in each of many does, and what is off in each of few
// does after some steps. The bound is bfloat16's.
func TestGuardCountsTokens(t *testing.T) {
	const bound = 2e-3
	for name, c := range map[string]struct {
		steps []batch.StepStats
		at    int // the step that is refused; -1: none
	}{
		"one token of a few":          {[]batch.StepStats{{NumTrained: 9, Mismatch: k3(0.9) / 9}}, -1},
		"two tokens of a step":        {[]batch.StepStats{{NumTrained: 433, Mismatch: 2 * k3(0.97) / 433}, {NumTrained: 433, Mismatch: 2 * k3(0.97) / 433}}, -1},
		"one token of a few, as NaN":  {[]batch.StepStats{{NumTrained: 9, Mismatch: math.NaN()}}, 0},
		"one token of one, infinite":  {[]batch.StepStats{{NumTrained: 1, Mismatch: math.Inf(1)}}, 0},
		"each token of a few":         {[]batch.StepStats{{NumTrained: 20, Mismatch: k3(0.9)}}, 0},
		"many tokens at the bound":    {[]batch.StepStats{{NumTrained: leastTokens, Mismatch: bound}, {NumTrained: 7000, Mismatch: bound}, {NumTrained: 9000, Mismatch: bound}}, -1},
		"many tokens above it":        {[]batch.StepStats{{NumTrained: leastTokens, Mismatch: 1.01 * bound}}, 0},
		"few tokens, step after step": {[]batch.StepStats{{NumTrained: 1600, Mismatch: 2 * bound}, {NumTrained: 1600, Mismatch: 2 * bound}, {NumTrained: 1600, Mismatch: 2 * bound}}, 1},
		"few with many sound ones":    {[]batch.StepStats{{NumTrained: 200, Mismatch: 2 * bound}, {NumTrained: 5000}, {NumTrained: 200, Mismatch: 2 * bound}}, -1},
	} {
		g, at := guard{bound: bound}, -1
		for i, s := range c.steps {
			if why := g.refuses(s); why != "" {
				at = i
				if !strings.Contains(why, "the bound is 0.002 over 4096 tokens") {
					t.Errorf("%s: %s", name, why)
				}
				break
			}
		}
		if at != c.at {
			t.Errorf("%s: refused at %d, want %d", name, at, c.at)
		}
	}
}
