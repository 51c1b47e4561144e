package sample

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/engine"
	"hone/internal/learn/model"
)

// What decoding is told of each slot are rows of two matrices [rows, B], one of integers,
const (
	rowID     = iota // token to feed first
	rowLength        // tokens in the slot's cache; the new ones are written after them
	rowShared        // 1 where the slot follows the prefix
	rowLeft          // tokens to draw; 0: the slot idles
	rowChosen        // 1 where constraint and truncation are asked for, which the rest is for
	rowTopK
	rowStop // first of numStops ids after which nothing more is drawn; -1 is none
	numInts = rowStop + numStops
)

// and one of floats.
const (
	rowTemperature = iota
	rowTopP
	rowMinP
	rowUniform // first of as many as there are steps in an execution
)

// numStops is how many stop ids of a request the device knows. What it draws after others is cut off.
const numStops = 4

// decodeProgram feeds a token to every slot and draws the next, and again with that, until no slot is to draw more: at most
// s.steps times. Where that is more than once the step is the body of a loop, so that it is compiled once and the host is
// not waited for between tokens. With choosing it also draws of what masks and truncation leave, in slots that ask for it;
// requests that do not are not to pay for that, so it is a program of its own, compiled when it is first asked for.
//
// Inputs: weights, prefix, caches, with choosing allowed[B,V/16] (16 ids a number, the lowest bit first), ints and floats
// (see above). Outputs: next[K,B], logprob[K,B] of each step, logits[B,V] of the last step (with choosing -Inf for what is
// left out), caches. What stands in next after a slot's last token means nothing. Slots that idle feed tokens too, into
// the column after their text, or the last of all: nobody sees it before it is overwritten.
func (s *Sampler) decodeProgram(choosing bool) (*engine.Program, error) {
	name, params := "decode", append(s.spec.WeightParams(), s.cacheParams()...)
	if choosing {
		name, params = "decode_chosen", append(params, engine.Param{Name: "allowed", Shape: engine.I32(s.slots, numWords(s.spec.VocabSize))})
	}
	params = append(params, engine.Param{Name: "ints", Shape: engine.I32(numInts, s.slots)},
		engine.Param{Name: "floats", Shape: engine.F32(rowUniform+s.steps, s.slots)})
	return s.engine.Compile(name, params, func(in []*Node) []*Node {
		w, p, l := len(s.spec.Weights()), s.numPrefix(), 2*s.spec.NumLayers
		d := decoding{Sampler: s, decoder: model.NewDecoder(s.spec, in[:w]), prefix: in[w : w+p],
			ints: in[len(in)-2], floats: in[len(in)-1]}
		if choosing {
			d.allowed = in[len(in)-3]
		}
		return d.loop(d.first(in[w+p : w+p+l]))
	})
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

// state is what changes from step to step. Of the first four, number is a scalar and the others are [B].
type state struct {
	number, id, length, left *Node
	next, logprob, logits    *Node
	caches                   []*Node
}

func (x state) nodes() []*Node {
	return append([]*Node{x.number, x.id, x.length, x.left, x.next, x.logprob, x.logits}, x.caches...)
}

func stateOf(n []*Node) state {
	return state{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7:]}
}

// first is the state before the first step.
func (d decoding) first(caches []*Node) state {
	g := d.ints.Graph()
	return state{Scalar(g, dtypes.Int32, 0), d.int(rowID), d.int(rowLength), d.int(rowLeft),
		Zeros(g, shapes.Make(dtypes.Int32, d.steps, d.slots)), Zeros(g, shapes.Make(dtypes.Float32, d.steps, d.slots)),
		Zeros(g, shapes.Make(dtypes.Float32, d.slots, d.spec.VocabSize)), caches}
}

// loop runs steps while a slot has tokens to draw, and returns the program's outputs.
func (d decoding) loop(x state) []*Node {
	if d.steps == 1 {
		return d.step(x).nodes()[4:]
	}
	g, start := d.ints.Graph(), x.nodes()
	declare := func() state {
		inside := make([]*Node, len(start))
		for i, n := range start {
			inside[i] = Parameter(g, "", n.Shape())
		}
		return stateOf(inside)
	}
	none := x.number // GoMLX keeps scalars, and what a closure has made is not to be used in another
	body := NewClosure(g, func(*Graph) []*Node { return d.step(declare()).nodes() })
	more := NewClosure(g, func(*Graph) []*Node { return []*Node{GreaterThan(ReduceAllSum(declare().left), none)} })
	return While(more, body, start...)[4:]
}

// step feeds and draws a token of every slot.
func (d decoding) step(x state) state {
	g := d.ints.Graph()
	b, t, k := d.slots, d.context, d.steps
	shared := d.int(rowShared)
	positions := Reshape(Add(x.length, MulScalar(shared, len(d.Sampler.prefix))), b, 1)
	at := window{slot: Iota(g, shapes.Make(dtypes.Int32, b), 0), column: x.length}
	caches := &model.Caches{KV: slices.Clone(x.caches), Length: x.length, Write: at.replace}
	if len(d.prefix) > 0 {
		caches.Prefix = func(layer int) []model.KeyValues { return []model.KeyValues{d.shared(d.prefix, layer, shared)} }
	}
	h := d.decoder.Decode(Reshape(x.id, b, 1), positions, caches)
	logits := d.decoder.Logits(Reshape(h, b, d.spec.Hidden))
	now := Equal(Iota(g, shapes.Make(dtypes.Int32, k, b), 0), BroadcastToDims(x.number, k, b))
	uniforms := Slice(d.floats, AxisRange(rowUniform), AxisRange())
	next, logprob, logits := d.draw(logits, ReduceSum(Where(now, uniforms, ZerosLike(uniforms)), 0))
	live := GreaterThan(x.left, ZerosLike(x.left))
	stops := Slice(d.ints, AxisRange(rowStop), AxisRange())
	going := Equal(ReduceSum(ConvertDType(Equal(stops, BroadcastToDims(Reshape(next, 1, b), numStops, b)), dtypes.Int32), 0), ZerosLike(next))
	return state{
		number: AddScalar(x.number, 1),
		id:     next,
		length: Min(Add(x.length, ConvertDType(live, dtypes.Int32)), Scalar(g, dtypes.Int32, t-1)),
		left:   Where(LogicalAnd(live, going), AddScalar(x.left, -1), ZerosLike(x.left)),
		next:   Where(now, BroadcastToDims(Reshape(next, 1, b), k, b), x.next), logprob: Where(now, BroadcastToDims(Reshape(logprob, 1, b), k, b), x.logprob),
		logits: logits, caches: caches.KV,
	}
}

// draw draws from logits [B, V], and returns those that were left to draw from.
func (d decoding) draw(logits, uniform *Node) (ids, logprobs, left *Node) {
	temperature := d.float(rowTemperature)
	ids, logprobs = draw(logits, temperature, uniform)
	if d.allowed == nil {
		return ids, logprobs, logits
	}
	left = truncate(masked(logits, d.allowed), temperature, d.int(rowTopK), d.float(rowTopP), d.float(rowMinP))
	chosen := d.int(rowChosen)
	is := Equal(chosen, OnesLike(chosen))
	newIDs, newLogprobs := draw(left, temperature, uniform)
	return Where(is, newIDs, ids), Where(is, newLogprobs, logprobs), left
}
