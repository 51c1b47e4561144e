package model

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// dropout leaves out some of the inputs of each adapter (arXiv 1207.0580), as PEFT's lora_dropout does: those of its A
// alone, each target's drawn anew, and what is left is divided by its share. The zero value leaves out nothing.
type dropout struct {
	rate  float64
	keysM *Node // int32, one for each token
}

// Dropout makes the decoder leave out that share of each adapter's inputs, 0 < rate < 1. keys [N, C] int32 are what the
// draws depend on, beside layer, target and feature: tokens of one key are treated alike, wherever they are computed.
func (d *Decoder) Dropout(rate float64, keysNC *Node) {
	d.dropout = dropout{rate, Reshape(keysNC, keysNC.Shape().Size(), 1)}
}

// tokens is the dropout of some of the tokens.
func (d dropout) tokens(start, end int) dropout {
	if d.keysM != nil {
		d.keysM = Slice(d.keysM, AxisRange(start, end))
	}
	return d
}

// apply is for x [M, in], the input of the adapter's piece number site.
func (d dropout) apply(x *Node, site int) *Node {
	if d.keysM == nil {
		return x
	}
	g, m, in := x.Graph(), x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	h := scramble(AddScalar(d.keysM, bits(uint32(site+1)*golden))) // [M, 1]
	feature := MulScalar(Iota(g, shapes.Make(dtypes.Int32, m, in), 1), bits(golden))
	h = scramble(Add(BroadcastToDims(h, m, in), feature))
	draw := BitwiseShiftRightLogicalScalar(h, int32(32-drawBits))
	kept := GreaterOrEqual(draw, Scalar(g, dtypes.Int32, int32(math.Round(d.rate*(1<<drawBits)))))
	return Where(kept, MulScalar(x, 1/(1-d.rate)), ZerosLike(x))
}

const (
	drawBits = 24
	golden   = 0x9E3779B9 // 2^32 over the golden ratio: its multiples are spread evenly
)

// scramble is a bijection of 32 bits in which each bit of the result depends on all of x: MurmurHash3's finaliser
// (public domain, Austin Appleby).
func scramble(x *Node) *Node {
	for _, round := range []struct {
		shift  int32
		factor uint32
	}{{16, 0x85EBCA6B}, {13, 0xC2B2AE35}} {
		x = MulScalar(BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, round.shift)), bits(round.factor))
	}
	return BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, int32(16)))
}

// bits are those of x; a constant would overflow.
func bits(x uint32) int32 { return int32(x) }
