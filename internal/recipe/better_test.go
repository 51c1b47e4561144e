package recipe

import "testing"

// The best is the one of most success, then of most reward; what a dead server left of an evaluation is not.
func TestBetter(t *testing.T) {
	of := func(success, reward, masked float64) map[string]float64 {
		return map[string]float64{"success": success, "reward": reward, "masked_ratio": masked}
	}
	inOrder := []map[string]float64{of(0.9, 1.2, 0), of(0.8, 1.3, 0.2), of(0.8, 1.1, 0), of(0, 0, 0), of(1, 1.9, 0.9),
		of(0.5, 1.9, 0.21)}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := Better(a, b); got != (i < j) {
				t.Errorf("%v better than %v: %v", a, b, got)
			}
		}
	}
}
