package model

import (
	"math"
	"testing"
)

// What a type keeps of an adapter's changes is measured on the weights as they are stored: nothing of changes below
// half of bfloat16's last bit, all in float32, and of larger ones what rounding leaves.
func TestKeptIsWhatRoundingLeaves(t *testing.T) {
	weights := make([]float32, 1000)
	for i := range weights {
		weights[i] = 1 + float32(i%128)/128 // numbers of bfloat16, whose last bit is 1/128 there
	}
	for _, c := range []struct {
		dtype  string
		change float64
		want   float64
	}{
		{"BF16", 1. / 300, 0}, {"BF16", 1. / 128, 1}, {"BF16", 1. / 160, 160. / 128}, {"BF16", 3.4 / 128, 3 / 3.4},
		{"F32", 1e-4, 1},
	} {
		after := make([]float32, len(weights))
		for i, w := range weights {
			after[i] = w + float32(c.change)
			if i%128 > 120 { // to the next power of two its last bit is another
				after[i] = w
			}
		}
		k := &Kept{}
		k.add(weights, after, c.dtype)
		if got := k.Share(); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%s keeps %.4f of changes of %g, want %.4f", c.dtype, got, c.change, c.want)
		}
	}
	if none := (&Kept{}); none.Share() != 1 {
		t.Error("of an adapter that changes nothing something is lost")
	}
}
