package model

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// hostDraw is dropout's draw of a token's feature, in plain Go.
func hostDraw(key int32, site, feature int) uint32 {
	scramble := func(x uint32) uint32 {
		x = (x ^ x>>16) * 0x85EBCA6B
		x = (x ^ x>>13) * 0xC2B2AE35
		return x ^ x>>16
	}
	return scramble(scramble(uint32(key)+uint32(site+1)*golden)+uint32(feature)*golden) >> 8
}

// What is left is divided by its share, each site and token is drawn anew, and draws are those of the formula.
func TestDropout(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const tokens, width, rate = 60, 96, 0.25
	sites := []int{0, 2, 40}
	p, err := e.Compile("dropout", []engine.Param{{Name: "x", Shape: engine.F32(tokens, width)},
		{Name: "keys", Shape: engine.I32(2, tokens/2)}}, func(in []*Node) []*Node {
		d := &Decoder{}
		untouched := d.dropout.apply(in[0], 0)
		d.Dropout(rate, in[1])
		out := []*Node{untouched}
		for _, site := range sites {
			out = append(out, d.dropout.apply(in[0], site))
		}
		return out
	})
	if err != nil {
		t.Fatal(err)
	}
	x, keys := make([]float32, tokens*width), make([]int32, tokens)
	for i := range x {
		x[i] = float32(i%7 + 1)
	}
	for i := range keys {
		keys[i] = int32(i*i*7919 - 1<<20)
	}
	keys[5] = keys[4]
	xs, err := e.Upload(x, tokens, width)
	if err != nil {
		t.Fatal(err)
	}
	ks, err := e.Upload(keys, 2, tokens/2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Run(xs, ks)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := engine.Floats(out[0]); err != nil || got[3] != x[3] {
		t.Errorf("without dropout %v, %v", got[3], err)
	}
	var all [][]float32
	for i, site := range sites {
		got, err := engine.Floats(out[1+i])
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for j := range got {
			want := float32(0)
			if hostDraw(keys[j/width], site, j%width) >= 1<<24/4 {
				want = x[j] / (1 - rate)
				left++
			}
			if math.Abs(float64(got[j]-want)) > 1e-6 {
				t.Fatalf("site %d, token %d, feature %d: %g, want %g", site, j/width, j%width, got[j], want)
			}
		}
		if share := float64(left) / float64(len(got)); math.Abs(share-(1-rate)) > 0.02 { // 3.5 standard deviations
			t.Errorf("site %d: %.3f of the inputs are left, want %.3f", site, share, 1-rate)
		}
		all = append(all, got)
	}
	same := func(a, b []float32) (n float64) {
		for i := range a {
			if (a[i] == 0) == (b[i] == 0) {
				n++
			}
		}
		return n / float64(len(a))
	}
	independent := rate*rate + (1-rate)*(1-rate) // share of places alike in two draws
	for name, got := range map[string]float64{"two sites": same(all[0], all[1]), "two others": same(all[1], all[2]),
		"tokens that follow each other": same(all[0][10*width:], all[0][9*width:(tokens-1)*width])} {
		if math.Abs(got-independent) > 0.025 {
			t.Errorf("%s: %.3f of the places alike, want %.3f", name, got, independent)
		}
	}
	if got := same(all[2][4*width:5*width], all[2][5*width:6*width]); got != 1 {
		t.Errorf("tokens of one key are alike in %.3f of the places", got)
	}
}
