package sample

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
)

// What decoding is told of each slot are rows of two matrices [rows, B], one of integers,
const (
	rowID      = iota // token to feed first
	rowLength         // tokens in the slot's cache; the new ones are written after them
	rowShared         // 1 where the slot follows the prefix
	rowLeft           // tokens to draw; 0: the slot idles
	rowStep           // how many steps were taken since the host said all this, the same for all slots
	rowAdapter        // which adapter the slot's request has, -1 for none
	rowChosen         // 1 where constraint and truncation are asked for, which the rest is for
	rowTopK
	rowStop // first of numStops ids after which nothing more is drawn; -1 is none
	numInts = rowStop + numStops
)

// and one of floats.
const (
	rowTemperature = iota
	rowTopP
	rowMinP
	rowUniform // first of as many as there are steps that the host sets off at once
)

// numStops is how many stop ids of a request the device knows. What it draws after others is cut off.
const numStops = 4

// decodeProgram feeds a token to every slot and draws the next. Run again on what it returned, it goes on from there,
// up to s.steps times: a GPU is not to wait for the host between tokens. With choosing it also draws of what masks and
// truncation leave, in slots that ask for it; requests that do not are not to pay for that, so it is a program of its
// own, compiled when it is first asked for.
//
// Inputs: weights, prefix, caches, with choosing allowed[B,V/16] (16 ids a number, the lowest bit first), floats and
// ints (see above; donated). Outputs: next[B], logprob[B], logits[B,V] (with choosing -Inf for what is left out),
// caches, ints. What stands in next after a slot's last token means nothing. Slots that idle feed tokens too, into the
// column after their text, or the last of all: nobody sees it before it is overwritten.
func (s *Sampler) decodeProgram(choosing bool) (*engine.Program, error) {
	name, params := "decode", append(slices.Clone(s.params), s.cacheParams()...)
	if choosing {
		name, params = "decode_chosen", append(params,
			engine.Param{Name: "allowed", Shape: engine.I32(s.slots, numWords(s.spec.VocabSize))})
	}
	params = append(params, engine.Param{Name: "floats", Shape: engine.F32(rowUniform+s.steps, s.slots)},
		engine.Param{Name: "ints", Shape: engine.I32(numInts, s.slots), Donated: true})
	return s.engine.Compile(name, params, func(in []*Node) []*Node {
		w, p, l := len(s.params), s.numPrefix(), 2*s.spec.NumLayers
		d := decoding{Sampler: s, prefix: in[w : w+p], floats: in[len(in)-2], ints: in[len(in)-1]}
		var adapterM *Node
		if s.adapters.Count > 1 {
			adapterM = d.int(rowAdapter)
		}
		d.decoder = model.NewSampling(s.adapters, in[:w], adapterM)
		if choosing {
			d.allowed = in[len(in)-3]
		}
		return d.step(in[w+p : w+p+l])
	}, slices.Concat([]string{"next", "logprob", "logits"}, engine.NumberNames("cache", 2*s.spec.NumLayers),
		[]string{"ints"})...)
}

// decoding is what a decode program is built of.
type decoding struct {
	*Sampler
	decoder      *model.Decoder
	prefix       []*Node
	ints, floats *Node
	allowed      *Node // nil where nothing is chosen
}

func (d decoding) int(row int) *Node   { return Reshape(Slice(d.ints, AxisElem(row)), d.slots) }
func (d decoding) float(row int) *Node { return Reshape(Slice(d.floats, AxisElem(row)), d.slots) }

// step feeds and draws a token of every slot, and returns the program's outputs.
func (d decoding) step(kv []*Node) []*Node {
	g := d.ints.Graph()
	b, last := d.slots, Scalar(g, dtypes.Int32, d.context-1)
	id, length, left, shared := d.int(rowID), d.int(rowLength), d.int(rowLeft), d.int(rowShared)
	positions := Reshape(Add(length, MulScalar(shared, len(d.Sampler.prefix))), b, 1)
	at := window{slot: Iota(g, shapes.Make(dtypes.Int32, b), 0), column: length}
	caches := &model.Caches{KV: slices.Clone(kv), Length: length, Write: at.replace}
	if len(d.prefix) > 0 {
		caches.Prefix = func(layer int) []model.KeyValues {
			return []model.KeyValues{d.prefixKeyValues(d.prefix, layer, shared)}
		}
	}
	h := d.decoder.Decode(Reshape(id, b, 1), positions, caches)
	logits := d.decoder.Logits(Reshape(h, b, d.spec.Hidden))
	next, logprob, logits := d.draw(logits, d.uniform())
	live := GreaterThan(left, ZerosLike(left))
	stops := Slice(d.ints, AxisRange(rowStop), AxisRange())
	going := Equal(
		ReduceSum(ConvertDType(Equal(stops, BroadcastToDims(Reshape(next, 1, b), numStops, b)), dtypes.Int32), 0),
		ZerosLike(next),
	)
	ints := make([]*Node, numInts)
	for row := range ints {
		ints[row] = d.int(row)
	}
	ints[rowID] = next
	ints[rowLength] = Min(Add(length, ConvertDType(live, dtypes.Int32)), last)
	ints[rowLeft] = Where(LogicalAnd(live, going), AddScalar(left, -1), ZerosLike(left))
	ints[rowStep] = AddScalar(ints[rowStep], 1)
	return append(append([]*Node{next, logprob, logits}, caches.KV...), Stack(ints, 0))
}

// uniform is the step's number of each slot [B].
func (d decoding) uniform() *Node {
	g, all := d.ints.Graph(), Slice(d.floats, AxisRange(rowUniform), AxisRange())
	number := BroadcastToDims(Reshape(d.int(rowStep), 1, d.slots), d.steps, d.slots)
	now := Equal(Iota(g, shapes.Make(dtypes.Int32, d.steps, d.slots), 0), number)
	return ReduceSum(Where(now, all, ZerosLike(all)), 0)
}

// draw draws from logits [B, V], and returns those that were left to draw from.
func (d decoding) draw(logits, uniform *Node) (ids, logprobs, left *Node) {
	temperature := d.float(rowTemperature)
	ids, logprobs = draw(logits, temperature, uniform)
	if d.allowed == nil {
		return ids, logprobs, logits
	}
	left = truncate(maskLogits(logits, d.allowed), temperature, d.int(rowTopK), d.float(rowTopP), d.float(rowMinP))
	chosen := d.int(rowChosen)
	is := Equal(chosen, OnesLike(chosen))
	newIDs, newLogprobs := draw(left, temperature, uniform)
	return Where(is, newIDs, ids), Where(is, newLogprobs, logprobs), left
}
