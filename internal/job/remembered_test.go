package job

import (
	"math"
	"testing"
)

// Worked by hand: r = 0.25/0.5 has r - 1 - log r = 0.193; where another token has 0.6, the one remembered has 0.4 at most, where it has 0.1 no more than that. A token
// that may be as likely as it was is not apart, nor is a beginning that the server has no room for.
func TestMismatches(t *testing.T) {
	ln := func(p float64) float32 { return float32(math.Log(p)) }
	f := fingerprint{At: []int{8, 16, 24, 32, 40, 48}, Likeliest: []int32{1, 2, 3, 4, 5, 6}, Logprobs: []float32{ln(0.5), ln(0.5), ln(0.5), ln(0.5), ln(0.3), ln(0.5)}}
	there := fingerprint{At: f.At[:5], Likeliest: []int32{1, 2, 7, 8, 9}, Logprobs: []float32{ln(0.5), ln(0.25), ln(0.6), ln(0.1), ln(0.31)}}
	got := f.mismatches(there)
	want := []float64{0, 0.5 - 1 - math.Log(0.5), 0.8 - 1 - math.Log(0.8), 0.2 - 1 - math.Log(0.2), 0}
	if len(got) != len(want) {
		t.Fatalf("%d mismatches, want %d", len(got), len(want))
	}
	for i, x := range want {
		if !(math.Abs(got[i]-x) < 1e-6) {
			t.Errorf("beginning %d: %g, want %g", i, got[i], x)
		}
	}
	nan := fingerprint{At: []int{8}, Likeliest: []int32{1}, Logprobs: []float32{float32(math.NaN())}}
	if got := f.mismatches(nan); !math.IsInf(got[0], 1) {
		t.Errorf("what is no number is %g apart", got[0])
	}
}
