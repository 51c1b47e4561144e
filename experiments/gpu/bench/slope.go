package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
)

// slopeRows are how many rows of slopeTokens a batch of slope has, slopeVocab how many logits of each token are
// compared.
const slopeRows, slopeTokens, slopeVocab, slopeBatches = 32, 32, 256, 12

// slope is how the logits of a sampler's decoder, over its joined weights and adapters, change from one adapter to
// another against how they change in float32: the slope of least squares through the origin, 1 where nothing is lost.
// The adapters' B are of some sizes, from 2e-5 on, a step of Adam's default. Beside it stand the standard error by
// batches, and the slope of the trainer's decoder.
func (b *bench) slope(int) (row, error) {
	exact, joined := b.spec, b.spec
	exact.BF16, joined.Joined = false, true
	a := model.NewAdapters(joined, b.lora, 1)
	sampled, weights, err := b.samplersDecoder(a)
	if err != nil {
		return row{}, err
	}
	defer engine.Free(weights...)
	trained, err := b.decoderOf(b.spec, func(in []*Node) *model.Decoder {
		return model.NewAdapterDecoder(b.spec, in[:len(in)-1], b.lora, in[len(in)-1])
	},
		append(b.spec.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(a.Size())}))
	if err != nil {
		return row{}, err
	}
	wide, err := b.engine.Compile("wide", b.spec.WeightParams(), func(in []*Node) (out []*Node) {
		for _, w := range in {
			out = append(out, MulScalar(ConvertDType(w, dtypes.Float32), 1))
		}
		return out
	})
	if err != nil {
		return row{}, err
	}
	exactWeights, err := wide.Run(b.weights...)
	if err != nil {
		return row{}, err
	}
	defer func() { engine.Free(exactWeights...) }()
	reference, err := b.decoderOf(exact, func(in []*Node) *model.Decoder {
		return model.NewAdapterDecoder(exact, in[:len(in)-1], b.lora, in[len(in)-1])
	},
		append(exact.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(a.Size())}))
	if err != nil {
		return row{}, err
	}
	r := row{More: map[string]float64{}}
	for _, size := range []float64{2e-5, 1e-4, 3e-4, 1e-3} {
		var got, train, want change
		for version := range 2 {
			flat := b.stepAdapter(size, version+1)
			adapter, err := b.engine.Upload(flat, len(flat))
			if err != nil {
				return r, err
			}
			if weights, err = b.write(a, weights, adapter); err != nil {
				return r, err
			}
			if got[version], err = b.logits(sampled, weights); err != nil {
				return r, err
			}
			if train[version], err = b.logits(trained, append(slices.Clone(b.weights), adapter)); err != nil {
				return r, err
			}
			if want[version], err = b.logits(reference, append(slices.Clone(exactWeights), adapter)); err != nil {
				return r, err
			}
			engine.Free(adapter)
		}
		at := fmt.Sprintf("_%g", size)
		r.More["slope"+at], r.More["error"+at] = got.slope(want)
		r.More["trainer"+at], r.More["trainer_error"+at] = train.slope(want)
	}
	return r, nil
}

// change is logits under one adapter and under the next.
type change [2][]float32

// slope is that of x against exact, and its standard error.
func (x change) slope(exact change) (slope, err float64) {
	of := func(from, to int) float64 {
		var xy, xx float64
		for i := from; i < to; i++ {
			d := float64(exact[1][i]) - float64(exact[0][i])
			xy, xx = xy+d*(float64(x[1][i])-float64(x[0][i])), xx+d*d
		}
		return xy / xx
	}
	var mean, squares float64
	each := len(exact[0]) / slopeBatches
	for i := range slopeBatches {
		one := of(i*each, (i+1)*each)
		mean, squares = mean+one/slopeBatches, squares+one*one/slopeBatches
	}
	return of(0, len(exact[0])), math.Sqrt(max(0, squares-mean*mean) / (slopeBatches - 1))
}

// stepAdapter is an adapter of fresh A whose B are of a size, up or down as a seed says.
func (b *bench) stepAdapter(size float64, seed int) []float32 {
	flat := train.NewState(b.spec, b.lora, 1).Adapter
	pieces, _ := b.lora.Pieces(b.spec)
	for _, p := range pieces {
		if p.B {
			for i := range p.Rows * p.Cols {
				x := uint64(p.Offset+i)*0xD1342543DE82EF95 + uint64(seed)*0x9E3779B97F4A7C15
				x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
				x = (x ^ x>>27) * 0x94D049BB133111EB
				flat[p.Offset+i] = float32(math.Copysign(size, float64(int64(x^x>>31))))
			}
		}
	}
	return flat
}

// samplersDecoder is a program of a decoder as a sampler has it, and the arrays that it takes, with an adapter of
// zeros.
func (b *bench) samplersDecoder(a model.Adapters) (*engine.Program, []engine.Buffer, error) {
	params := a.Params()
	hold, err := b.engine.Compile("hold", b.spec.WeightParams(), func(in []*Node) (out []*Node) {
		in = b.spec.Join(in)
		for i, p := range params {
			zeros := Zeros(in[0].Graph(), p.Shape)
			switch {
			case i >= len(in):
				out = append(out, zeros)
			case p.Shape.Equal(in[i].Shape()):
				out = append(out, Add(in[i], zeros))
			default:
				out = append(out, Concatenate([]*Node{in[i], Slice(zeros, AxisRange(in[i].Shape().Dimensions[0]))}, 0))
			}
		}
		return out
	})
	if err != nil {
		return nil, nil, err
	}
	held, err := hold.Run(b.weights...)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.decoderOf(a.Spec, func(in []*Node) *model.Decoder { return model.NewSampling(a, in, nil) }, params)
	return p, held, err
}

// write writes an adapter into arrays, which are gone, and returns the new ones.
func (b *bench) write(a model.Adapters, arrays []engine.Buffer, adapter engine.Buffer) ([]engine.Buffer, error) {
	places, all := a.Arrays(), a.Params()
	var params []engine.Param
	var in []engine.Buffer
	for _, i := range places {
		p := all[i]
		p.Donated = true
		params, in = append(params, p), append(in, arrays[i])
	}
	p, err := b.engine.Compile("write",
		append(params, engine.Param{Name: "adapter", Shape: engine.F32(a.Size())}), func(in []*Node) []*Node {
			return a.Write(in[:len(places)], nil, in[len(places)])
		})
	if err != nil {
		return nil, err
	}
	out, err := p.Run(append(in, adapter)...)
	if err != nil {
		return nil, err
	}
	arrays = slices.Clone(arrays)
	for j, i := range places {
		arrays[i] = out[j]
	}
	return arrays, nil
}

// decoderOf is a program of the first logits of a batch's tokens.
func (b *bench) decoderOf(
	s model.Spec, decoder func(in []*Node) *model.Decoder, params []engine.Param,
) (*engine.Program, error) {
	vocab := min(slopeVocab, s.VocabSize)
	return b.engine.Compile("forward", append(slices.Clone(params),
		engine.Param{Name: "ids", Shape: engine.I32(slopeRows, slopeTokens)}), func(in []*Node) []*Node {
		ids := in[len(in)-1]
		d := decoder(in[:len(in)-1])
		h := d.Forward(ids, Iota(ids.Graph(), shapes.Make(dtypes.Int32, slopeRows, slopeTokens), 1),
			func(_ int, k, v *Node) []model.KeyValues {
				return []model.KeyValues{{K: k, V: v, Causal: true}}
			})
		logits := d.Logits(Reshape(h, slopeRows*slopeTokens, s.Hidden))
		return []*Node{Reshape(Slice(logits, AxisRange(), AxisRange(0, vocab)), -1)}
	})
}

// logits runs such a program on all batches.
func (b *bench) logits(p *engine.Program, held []engine.Buffer) (all []float32, err error) {
	for batch := range slopeBatches {
		ids, err := b.engine.Upload(b.tokens(slopeRows*slopeTokens, 7+batch), slopeRows, slopeTokens)
		if err != nil {
			return nil, err
		}
		out, err := p.Run(append(slices.Clone(held), ids)...)
		if err != nil {
			return nil, err
		}
		x, err := engine.Floats(out[0])
		if err != nil {
			return nil, err
		}
		engine.Free(append(out, ids)...)
		all = append(all, x...)
	}
	return all, nil
}

// checksum is how long it takes to compare what sampler and trainer hold, and whether it is the same.
func (b *bench) checksum(int) (row, error) {
	s, err := b.adapterSampler(64, 256, 0, 0)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	state := train.NewState(b.spec, b.lora, 1)
	state.Adapter = b.trainedAdapter(0.005)
	t, err := train.New(b.engine, b.spec, b.weights, state, train.Options{LoRA: b.lora})
	if err != nil {
		return row{}, err
	}
	var held, want []uint64
	r, err := timeRuns(1, b.repeat, func() error {
		if held, err = s.Checksums(); err == nil {
			want, err = t.AdapterChecksums()
		}
		return err
	})
	if err == nil && !slices.Equal(held, want) {
		err = fmt.Errorf("the sampler holds %x, the trainer %x", held, want)
	}
	return r, err
}
