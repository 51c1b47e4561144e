package main

import (
	"math"
	"testing"

	"hone/internal/learn/batch"
)

// Numbers of parameters as the model cards state them, without the embeddings of untied heads, and bytes of a token's
// keys and values.
func TestSizesOfShapes(t *testing.T) {
	for name, want := range map[string]struct{ layers, head, column float64 }{
		"0.6B": {0.44e9, 0.156e9, 114688}, "1.7B": {1.41e9, 0.311e9, 114688}, "4B": {3.633e9, 0.389e9, 147456},
		"8B": {6.946e9, 0.622e9, 147456},
	} {
		s, err := specOf(name, false)
		if err != nil {
			t.Fatal(err)
		}
		s.BF16 = true
		layers, head := numLinear(s)
		if math.Abs(layers/want.layers-1) > 0.005 || math.Abs(head/want.head-1) > 0.005 {
			t.Errorf("%s: %.4g parameters in layers and %.4g in the head", name, layers, head)
		}
		if got := stepBytes(s, 64, 100, 7) - 2*(layers+head); got != want.column*6407 {
			t.Errorf("%s: a step reads %g bytes of %g in its caches", name, got, want.column*6407)
		}
	}
	if _, err := specOf("5B", false); err == nil {
		t.Error("any shape is known")
	}
}

// A tree of two rows has the pairs of the causal texts, without those of the prefix that it saves.
func TestStepFlop(t *testing.T) {
	s, err := specOf("4B", false)
	if err != nil {
		t.Fatal(err)
	}
	// 4 x 4.022e9 for linear maps and head; forward attention is 1.208e9 a token at 4096 (2 T H D L).
	whole := batch.Batch{Rows: []batch.Sequence{{IDs: make([]int32, 4096), Trained: all(4096)}}}
	if got := stepFlop(s, whole) / 4096; math.Abs(got/(4*4.022e9+3.5*1.208e9)-1) > 1e-3 {
		t.Errorf("a token of 4096 takes %.5g operations", got)
	}
	if pairs(0, 5) != 15 || pairs(3, 2)+pairs(0, 3) != pairs(0, 5) {
		t.Error("a text's pairs are not those of its parts")
	}
	one := batch.Sequence{IDs: make([]int32, 96), Trained: all(96)}
	tree := batch.Batch{Prefix: make([]int32, 160), Rows: []batch.Sequence{one, one}}
	long := batch.Sequence{IDs: make([]int32, 256), Trained: append(make([]bool, 160), all(96)...)}
	unshared := batch.Batch{Rows: []batch.Sequence{long, long}}
	saved := batch.Batch{Rows: []batch.Sequence{{IDs: make([]int32, 160), Trained: make([]bool, 160)}}}
	if got, want := stepFlop(s, tree), stepFlop(s, unshared)-stepFlop(s, saved); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("a tree takes %g operations, not %g", got, want)
	}
}

func all(n int) []bool {
	x := make([]bool, n)
	for i := range x {
		x[i] = true
	}
	return x
}
