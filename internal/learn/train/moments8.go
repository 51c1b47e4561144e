package train

import (
	"math"
	"slices"
	"sort"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// blockwise stores moments in 8 bits a number, by block-wise dynamic quantisation (arXiv 2110.02861, sections 2.1 and
// 2.2, with the blocks of 256 that bitsandbytes has): a block keeps its number of largest size, the scale, and of each
// number the code of what is nearest to it over the scale. That is 2 bytes and a 32nd for each number of the adapter
// where float32 takes 8.
//
// It differs from bitsandbytes in two points. The scale has its number's sign, so that this number is 1 whatever its
// sign; so what is read, when it is stored again, gives the same codes, and checkpoints can hold plain numbers. And of
// the second moment only 0 becomes 0, what is smaller than all codes the least of them: a root of 0 would leave epsilon
// to divide by.
type blockwise struct{}

const (
	blockSize    = 256
	codesPerWord = 4 // in an int32
	wordsOfBlock = blockSize / codesPerWord
)

func numBlocks(n int) int { return (n + blockSize - 1) / blockSize }

// codes returns the 256 values of 8-bit dynamic quantisation, ascending (arXiv 2110.02861, section 2.1, as
// bitsandbytes' create_dynamic_map has it): for each decade 10^-6 .. 1 twice as many values as for the one below,
// equally spaced over its upper nine tenths; 0; and 1. Unsigned ones have twice as many in each decade as signed ones
// have of either sign.
func codes(signed bool) []float32 {
	const decades = 7
	values := []float32{0, 1}
	for i := range decades {
		n := 1 << i
		if !signed {
			n *= 2
		}
		decade := math.Pow10(i - decades + 1)
		for j := range n {
			x := float32(decade * (0.1 + 0.9*(float64(j)+0.5)/float64(n)))
			values = append(values, x)
			if signed {
				values = append(values, -x)
			}
		}
	}
	slices.Sort(values)
	return values
}

// borders returns the 255 values between codes: the code of a number is how many of them lie below it.
func borders(signed bool) []float32 {
	values := codes(signed)
	between := make([]float32, len(values)-1)
	for i := range between {
		between[i] = float32((float64(values[i]) + float64(values[i+1])) / 2)
	}
	if !signed {
		between[0] = 0
	}
	return between
}

func (blockwise) name() string { return "8bit" }

func (blockwise) params(n int) []engine.Param {
	var params []engine.Param
	for _, name := range []string{"m", "v"} {
		params = append(params, engine.Param{Name: name, Shape: engine.I32(numBlocks(n), wordsOfBlock), Donated: true},
			engine.Param{Name: name + "_scale", Shape: engine.F32(numBlocks(n)), Donated: true})
	}
	return params
}

func (blockwise) read(stored []*node, n int) (m, v *node) {
	return decode(stored[0], stored[1], n, true), decode(stored[2], stored[3], n, false)
}

func (blockwise) write(taken, m, v *node, stored []*node) []*node {
	mWords, mScale := encode(m, true)
	vWords, vScale := encode(v, false)
	return []*node{where(taken, mWords, stored[0]), where(taken, mScale, stored[1]), where(taken, vWords, stored[2]),
		where(taken, vScale, stored[3])}
}

// where chooses between two arrays by a scalar.
func where(condition, a, b *node) *node { return Where(condition, a, b) }

// decode returns the n numbers of words [blocks, 64] and scales [blocks].
func decode(words, scales *node, n int, signed bool) *node {
	g, blocks := words.Graph(), words.Shape().Dimensions[0]
	var parts []*node // code k of each word, [blocks, 64]
	for k := range codesPerWord {
		shifted := words
		if k > 0 {
			shifted = BitwiseShiftRightLogicalScalar(words, int32(8*k))
		}
		parts = append(parts, BitwiseAnd(shifted, Scalar(g, dtypes.Int32, 255)))
	}
	index := Concatenate(parts, 1) // [blocks, 256]
	values := Gather(Const(g, codes(signed)), Reshape(index, blocks*blockSize, 1))
	x := Mul(Reshape(values, blocks, blockSize), Reshape(scales, blocks, 1))
	return Slice(Reshape(x, blocks*blockSize), AxisRange(0, n))
}

// encode returns the words and scales of x [n].
func encode(x *node, signed bool) (words, scales *node) {
	g, n := x.Graph(), x.Shape().Size()
	blocks := numBlocks(n)
	if rest := blocks*blockSize - n; rest > 0 {
		x = Concatenate([]*node{x, Zeros(g, shapes.Make(dtypes.Float32, rest))}, 0)
	}
	x = Reshape(x, blocks, blockSize)
	scales = ReduceMax(x, 1)
	if signed {
		least := Neg(ReduceMax(Neg(x), 1))
		scales = Where(GreaterOrEqual(scales, Neg(least)), scales, least)
	}
	divisor := Where(Equal(scales, ZerosLike(scales)), OnesLike(scales), scales)
	y := Reshape(Div(x, Reshape(divisor, blocks, 1)), blocks*blockSize)
	between := Const(g, borders(signed))
	code := Zeros(g, shapes.Make(dtypes.Int32, blocks*blockSize))
	for step := 128; step > 0; step /= 2 { // a binary search for the number of borders below y
		border := Gather(between, Reshape(AddScalar(code, step-1), blocks*blockSize, 1))
		code = Add(code, Where(GreaterThan(y, border), Scalar(g, dtypes.Int32, step), Scalar(g, dtypes.Int32, 0)))
	}
	if !signed { // what is so small that y is 0
		flat := Reshape(x, blocks*blockSize)
		code = Max(code, ConvertDType(GreaterThan(flat, ZerosLike(flat)), dtypes.Int32))
	}
	code = Reshape(code, blocks, codesPerWord, wordsOfBlock)
	for k := range codesPerWord {
		part := Reshape(Slice(code, AxisRange(), AxisRange(k, k+1), AxisRange()), blocks, wordsOfBlock)
		if k == 0 {
			words = part
			continue
		}
		// the last overflows into the sign, which is its highest bit
		words = Add(words, MulScalar(part, int32(1)<<(8*k)))
	}
	return words, scales
}

func (blockwise) upload(e *engine.Engine, m, v []float32) ([]engine.Buffer, error) {
	mWords, mScales := quantise(m, true)
	vWords, vScales := quantise(v, false)
	n := len(mScales)
	return uploadAll(e, same(mWords, n, wordsOfBlock), same(mScales, n), same(vWords, n, wordsOfBlock),
		same(vScales, n))
}

func (blockwise) download(stored []engine.Buffer, n int) (m, v []float32, err error) {
	var out [2][]float32
	for i := range out {
		words, err := engine.Ints(stored[2*i])
		if err != nil {
			return nil, nil, err
		}
		scales, err := engine.Floats(stored[2*i+1])
		if err != nil {
			return nil, nil, err
		}
		out[i] = dequantise(words, scales, n, i == 0)
	}
	return out[0], out[1], nil
}

// quantise is encode on the host.
func quantise(x []float32, signed bool) (words []int32, scales []float32) {
	blocks, between := numBlocks(len(x)), borders(signed)
	words, scales = make([]int32, blocks*wordsOfBlock), make([]float32, blocks)
	for i, value := range x {
		if b := i / blockSize; math.Abs(float64(value)) > math.Abs(float64(scales[b])) {
			scales[b] = value
		}
	}
	for i := range blocks * blockSize {
		y, b, at := float32(0), i/blockSize, i%blockSize
		if i < len(x) && scales[b] != 0 {
			y = x[i] / scales[b]
		}
		code := sort.Search(len(between), func(j int) bool { return between[j] >= y })
		if !signed && code == 0 && i < len(x) && x[i] != 0 { // so small that the quotient is 0
			code = 1
		}
		words[b*wordsOfBlock+at%wordsOfBlock] |= int32(uint32(code) << (8 * (at / wordsOfBlock)))
	}
	return words, scales
}

// dequantise is decode on the host.
func dequantise(words []int32, scales []float32, n int, signed bool) []float32 {
	x, values := make([]float32, n), codes(signed)
	for i := range x {
		b, at := i/blockSize, i%blockSize
		x[i] = values[uint32(words[b*wordsOfBlock+at%wordsOfBlock])>>(8*(at/wordsOfBlock))&255] * scales[b]
	}
	return x
}
