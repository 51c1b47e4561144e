package model_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// Attention by parts, each of the device's kernel, is attention to all keys at once in float32, but for the rounding of
// bfloat16: with caches of which a row sees nothing, something or all, in slots of any order, before a chunk of its
// own; after a prefix that some rows follow, is padded, and is split where queries are few.
func TestSampledAttentionEqualsPlain(t *testing.T) {
	e := learntest.Devices(t, 1)
	for _, c := range []struct {
		name                         string
		heads, dim                   int
		n, c, slots, t, prefix, keys int
		own                          bool
	}{
		{"a chunk", 4, 8, 3, 4, 5, 16, 0, 0, true},
		{"a chunk after a prefix", 4, 8, 3, 4, 5, 16, 9, 0, true},
		{"a token of each slot", 4, 8, 5, 1, 5, 16, 9, 0, false},
		{"a token of each slot after a long prefix", 4, 8, 5, 1, 5, 16, 1152, 1030, false},
		{"a token of each of many slots", 12, 128, 64, 1, 64, 80, 0, 0, false},
		{"a token of each of many slots after a prefix", 8, 64, 64, 1, 64, 80, 9, 0, false},
	} {
		if c.dim == 128 && !learntest.Whole() { // the next has its slots, and a prefix
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := model.Spec{Config: modelfile.Config{NumHeads: c.heads, NumKVHeads: 2, HeadDim: c.dim}, BF16: true}
			params := []engine.Param{{Name: "q", Shape: engine.F32(s.NumHeads, c.n, c.c, s.HeadDim)}}
			for _, kind := range []string{"key", "value"} {
				params = append(params,
					engine.Param{Name: kind + " cache", Shape: engine.F32(s.NumKVHeads, c.slots, c.t, s.HeadDim)},
					engine.Param{Name: kind + " prefix", Shape: engine.F32(s.NumKVHeads, max(1, c.prefix), s.HeadDim)})
			}
			params = append(params, engine.Param{Name: "length", Shape: engine.I32(c.n)},
				engine.Param{Name: "slot", Shape: engine.I32(c.n)}, engine.Param{Name: "follows",
					Shape: engine.I32(c.n)})
			p, err := e.Compile("attention", params, func(in []*Node) []*Node {
				for i := range 5 {
					in[i] = ConvertDType(in[i], dtypes.BFloat16)
				}
				segments := func(convert func(*Node) *Node) (all []model.KeyValues) {
					if c.prefix > 0 {
						all = append(all, model.KeyValues{K: convert(in[2]), V: convert(in[4]), Keys: c.keys,
							Mask: Equal(in[7], OnesLike(in[7]))})
					}
					seg := model.KeyValues{K: convert(in[1]), V: convert(in[3]), Length: in[5], Slot: in[6]}
					if c.n == 64 { // row i sees slot i
						seg.Slot = nil
					}
					if c.own { // what stands in the caches behind their first keys
						at := func(x *Node) *Node {
							x = model.RowsOf(x, in[6])
							first := Slice(x, AxisRange(), AxisElem(0), AxisRange(0, c.c))
							return Concatenate([]*Node{first, Slice(x, AxisRange(), AxisRange(1), AxisRange(8, 8+c.c))},
								1)
						}
						seg.Own = &model.KeyValues{K: at(seg.K), V: at(seg.V)}
					}
					return append(all, seg)
				}
				whole := s
				whole.BF16 = false
				wide := func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }
				same := func(x *Node) *Node { return x }
				positions := Zeros(in[0].Graph(), engine.I32(c.n, c.c))
				return []*Node{wide(model.AttendSampled(s, in[0], segments(same))),
					model.Attend(whole, wide(in[0]), positions, 0, segments(wide))}
			})
			if err != nil {
				t.Fatal(err)
			}
			length, slot, follows := make([]int32, c.n), make([]int32, c.n), make([]int32, c.n)
			for i := range length {
				length[i], slot[i], follows[i] = int32(1+i*5%c.t), int32((i*2+1)%c.slots), int32(i%2)
				if c.own {
					// the chunk's own keys stand behind, and the first row sees no others
					length[i] = int32(8 * min(i, 1))
				}
			}
			if c.prefix > 0 && !c.own {
				length[1] = 0 // it follows the prefix
			}
			if d := difference(t, e, p, params, length, slot, follows); !(d < 0.01) {
				t.Errorf("it is %g away", d)
			}
		})
	}
}

// difference runs a program of two outputs on any numbers and, as its last inputs, the integers. It returns how far the
// first output is from the second, as a share of that.
func difference(t *testing.T, e *engine.Engine, p *engine.Program, params []engine.Param, integers ...[]int32) float64 {
	t.Helper()
	var in []engine.Buffer
	numFloats := len(params) - len(integers)
	for i, q := range params {
		var flat any = integers[max(0, i-numFloats)]
		if i < numFloats {
			x := make([]float32, q.Shape.Size())
			for j := range x {
				x[j] = float32(math.Sin(float64(i*31+j)*12.9898) * 2)
			}
			flat = x
		}
		b, err := e.Upload(flat, q.Shape.Dimensions...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, b)
	}
	out := outputs(t, p, in)
	return away(out[0], out[1])
}
