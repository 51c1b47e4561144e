package train

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/learn/batch"
)

// Some of the values by hand: each decade's are its upper nine tenths cut into 2^i (signed) or 2^(i+1) parts, their
// middles.
func TestCodes(t *testing.T) {
	for _, signed := range []bool{true, false} {
		c := codes(signed)
		if len(c) != 256 || !slices.IsSorted(c) || len(slices.Compact(slices.Clone(c))) != 256 || c[255] != 1 {
			t.Errorf("signed %v: %d values up to %g", signed, len(c), c[len(c)-1])
		}
		for _, x := range map[bool][]float64{
			true:  {0, 0.55e-6, 0.325e-5, 0.775e-5, -0.55e-6, 1 - 0.45/64, -(1 - 0.45/64), 0.1 + 0.45/64},
			false: {0, 0.325e-6, 0.775e-6, 0.2125e-5, 1 - 0.45/128, 0.1 + 0.45/128},
		}[signed] {
			if !slices.ContainsFunc(c, func(y float32) bool { return math.Abs(float64(y)-x) <= 1e-6*math.Abs(x) }) {
				t.Errorf("signed %v: %g is no code", signed, x)
			}
		}
		if least := c[0]; !signed && least != 0 || signed && float64(least) > -0.99 {
			t.Errorf("signed %v: the least code is %g", signed, least)
		}
	}
}

// drawMoments draws numbers of all sizes, some blocks of zeros, in parts of blocks.
func drawMoments(r *rapid.T, signed bool) []float32 {
	x := make([]float32, rapid.IntRange(1, 3*blockSize).Draw(r, "n"))
	scale := rapid.SampledFrom([]float64{0, 1e-20, 1e-6, 1, 1e20}).Draw(r, "scale")
	seed := rapid.Float64Range(0, 100).Draw(r, "seed")
	for i := range x {
		y := math.Sin(seed + float64(i)*12.9898)
		x[i] = float32(y * math.Abs(y*y) * scale)
		if !signed {
			x[i] = float32(math.Abs(float64(x[i])))
		}
	}
	return x
}

// What is stored is within half the distance of codes; read and stored again it is the same, so checkpoints are exact.
func TestQuantise(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		signed := rapid.Bool().Draw(r, "signed")
		x := drawMoments(r, signed)
		words, scales := quantise(x, signed)
		y := dequantise(words, scales, len(x), signed)
		for i := range x {
			scale := math.Abs(float64(scales[i/blockSize]))
			// A decade's codes are 0.9/2^i of it apart (unsigned half of that); below the least code, they are that far
			// from 0.
			bound := math.Max(0.07*math.Abs(float64(x[i])), scale*0.9/64/2*1.01)
			if math.Abs(float64(x[i])) < 0.01*scale {
				bound = math.Max(0.75*math.Abs(float64(x[i])), 0.6e-6*scale)
			}
			if math.Abs(float64(x[i]-y[i])) > bound {
				r.Fatalf("%g of scale %g is stored as %g", x[i], scale, y[i])
			}
			if !signed && (x[i] == 0) != (y[i] == 0) {
				r.Fatalf("%g is stored as %g", x[i], y[i])
			}
		}
		words2, scales2 := quantise(y, signed)
		if !slices.Equal(words, words2) || !slices.Equal(scales, scales2) {
			r.Fatalf("stored again it differs")
		}
	})
}

// The device stores what the host does.
func testEightBitCodes(t *testing.T, d device) {
	const n = 3*blockSize - 100
	for _, signed := range []bool{true, false} {
		p, err := d.Compile("codes",
			[]engine.Param{{Name: "x", Shape: engine.F32(n)}}, func(in []*graph.Node) []*graph.Node {
				words, scales := encode(in[0], signed)
				return []*graph.Node{words, scales, decode(words, scales, n, signed)}
			})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, n)
		for i := range x {
			y := math.Sin(float64(i) * 12.9898)
			x[i] = float32(y * y * y * math.Pow10(-3*(i/blockSize)))
			if !signed {
				x[i] *= x[i]
			}
		}
		clear(x[blockSize : blockSize+20])
		x[7] = -1.5 // the scale of a signed block
		if !signed {
			x[7], x[9], x[11] = 1.5, 1e-9, 1.2e-38 // below all codes, and so far below that the quotient may be 0
		}
		in, err := d.Upload(x, n)
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Run(in)
		if err != nil {
			t.Fatal(err)
		}
		words, err := engine.Ints(out[0])
		if err != nil {
			t.Fatal(err)
		}
		wantWords, wantScales := quantise(x, signed)
		if !slices.Equal(words, wantWords) {
			t.Errorf("signed %v: other words than the host's", signed)
		}
		for i, want := range [][]float32{wantScales, dequantise(wantWords, wantScales, n, signed)} {
			if got, err := take(out[1+i]); err != nil || !slices.Equal(got, want) {
				t.Errorf("signed %v: output %d is not the host's: %v", signed, 1+i, err)
			}
		}
	}
}

// Moments of 8 bits take a quarter of the memory, and training follows the curve of float32.
func testEightBitStepsFollowFloat32(t *testing.T, d device) {
	b := batch.New(rows())
	whole, eight := d.start(t, 4), d.startWith(t, Options{MicroBatch: 4, EightBitMoments: true})
	if w, e := bytesOf(t, whole.moments), bytesOf(t, eight.moments); e > w*3/10 {
		t.Errorf("the moments of %d numbers take %d bytes in 8 bits, %d in float32", whole.size, e, w)
	}
	var last [2]float64
	for step := range 16 {
		_, want := afterOneStep(t, whole, b, false)
		_, got := afterOneStep(t, eight, b, false)
		if math.Abs(got.Loss-want.Loss) > 0.02*want.Loss {
			t.Errorf("step %d: loss %.4f, in float32 %.4f", step+1, got.Loss, want.Loss)
		}
		last = [2]float64{got.Loss, want.Loss}
	}
	t.Logf("after 16 steps: loss %.4f in 8 bits, %.4f in float32; moments of %d and %d bytes",
		last[0], last[1], bytesOf(t, eight.moments), bytesOf(t, whole.moments))
	// A checkpoint is exact, whatever it holds.
	dir := t.TempDir()
	if err := eight.Save(dir); err != nil {
		t.Fatal(err)
	}
	again := d.startWith(t, Options{MicroBatch: 4, EightBitMoments: true})
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, eight, b, false)
	afterOneStep(t, again, b, false)
	before := stateOf(t, eight)
	if !equal(before, stateOf(t, again)) {
		t.Error("the step after a resume differs")
	}
	g := make([]float32, eight.size)
	g[0] = float32(math.NaN())
	if err := applyTo(t, eight, g, batch.Update{Rate: 1}, &batch.StepStats{}); err == nil ||
		!equal(before, stateOf(t, eight)) {
		t.Errorf("a gradient of NaN changed the state, or is no error: %v", err)
	}
}

func bytesOf(t *testing.T, buffers []engine.Buffer) int {
	t.Helper()
	n := 0
	for _, b := range buffers {
		shape, err := b.Shape()
		if err != nil {
			t.Fatal(err)
		}
		n += 4 * shape.Size()
	}
	return n
}
