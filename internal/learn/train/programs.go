package train

import (
	"fmt"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/objective"
)

// headChunk is the number of tokens whose logits exist at one time; headChunkGPU is that on a GPU, where a small
// product would read the head for too little.
const headChunk, headChunkGPU = 256, 2048

// keptLogits bounds the bytes of logits that a GPU keeps for the backward pass: computing them again costs a third of
// the head's time.
const keptLogits = 10e9

// mlpChunk is the number of tokens whose wide activations of an MLP exist at one time where layers are computed again:
// many enough for its products to be large, and for the program to be short.
const mlpChunk = 32768

// head returns log softmax(logits/temperature)[target] of hidden states [M, H] for targets [M], and where they are
// asked for the entropies of the softmax [M], in chunks, so that [M, V] never exists whole: with several chunks each is
// recomputed in the backward pass. Where operations wait at barriers chunks go one after the other; a GPU would else
// compute the logits of many at once, of 131,072 tokens for 57 GB more.
func (t *Trainer) head(d *model.Decoder, hMH, targetsM, temperature *Node, entropies bool) (logprobs, entropy *Node) {
	out := t.headInChunks(d, hMH, targetsM, temperature, entropies)
	if !entropies {
		return out, nil
	}
	column := func(i int) *Node { return Squeeze(Slice(out, AxisRange(), AxisElem(i)), -1) }
	return column(0), column(1)
}

// headInChunks is head, whose two are the columns of one node.
func (t *Trainer) headInChunks(d *model.Decoder, hMH, targetsM, temperature *Node, entropies bool) *Node {
	m, chunk, recompute := hMH.Shape().Dimensions[0], headChunk, true
	if t.engine.IsGPU() {
		kept := 4 * float64(m*t.spec.VocabSize)
		if entropies { // of which there are two gradients
			kept *= 2
		}
		chunk, recompute = headChunkGPU, kept > keptLogits
	}
	target := func(start, end int) *Node { return Slice(targetsM, AxisRange(start, end)) }
	if m <= chunk {
		return t.headOf(d, hMH, targetsM, temperature, entropies)
	}
	of := func(start, end int, h *Node) *Node { return t.headOf(d, h, target(start, end), temperature, entropies) }
	switch {
	case recompute && t.inTurn:
		return model.InChunks(hMH.Checkpoint(), chunk, of)
	case recompute:
		of = func(start, end int, h *Node) *Node {
			return t.headOf(d, h.Checkpoint(), target(start, end), temperature, entropies).StopCheckpoint()
		}
	}
	var parts []*Node
	for start := 0; start < m; start += chunk {
		end := min(start+chunk, m)
		parts = append(parts, of(start, end, Slice(hMH, AxisRange(start, end))))
	}
	return Concatenate(parts, 0)
}

// headOf is headInChunks of one chunk.
func (t *Trainer) headOf(d *model.Decoder, hMH, targetsM, temperature *Node, entropies bool) *Node {
	logits := Div(d.Logits(hMH), temperature)
	max := StopGradient(ReduceAndKeep(logits, ReduceMax, -1))
	below := Sub(logits, max)
	mass := Exp(below)
	sum := ReduceSum(mass, -1)
	normaliser := Add(Log(sum), Squeeze(max, -1))
	vocab := Iota(hMH.Graph(), shapes.Make(dtypes.Int32, 1, logits.Shape().Dimensions[1]), 1)
	isTarget := Equal(Reshape(targetsM, targetsM.Shape().Size(), 1), vocab)
	chosen := ReduceSum(Where(isTarget, logits, ZerosLike(logits)), -1)
	logprobs := Sub(chosen, normaliser)
	if !entropies {
		return logprobs
	}
	// -sum p log p, with log p = below - log sum: neither is large, however large the logits are.
	entropy := Sub(Log(sum), Div(ReduceSum(Mul(mass, below), -1), sum))
	return Stack([]*Node{logprobs, entropy}, -1)
}

// segmentsOf splits 2*L key-value nodes [K, P, D] into shared segments.
func segmentsOf(kv []*Node, layer int) model.KeyValues {
	return model.KeyValues{K: kv[2*layer], V: kv[2*layer+1]}
}

// flatGradient returns the gradient of a scalar for the adapter's matrices as one flat vector, and for more nodes.
func flatGradient(loss *Node, d *model.Decoder, more []*Node) (flat *Node, rest []*Node) {
	pieces := d.Adapter()
	grads := Gradient(loss, append(append([]*Node{}, pieces...), more...)...)
	for i, p := range pieces {
		grads[i] = Reshape(grads[i], p.Shape().Size())
	}
	return Concatenate(grads[:len(pieces)], 0), grads[len(pieces):]
}

// prefixProgram computes the keys and values of a prefix of p tokens: weights, adapter, ids[1,p], keys of dropout[1,p]
// where there is one -> 2*L of [K, P, D].
func (t *Trainer) prefixProgram(p int, dropout float64) (program, error) {
	return t.program(fmt.Sprintf("prefix_%d", p)+dropoutKey(dropout), func() (*engine.Program, error) {
		params := append(t.modelParams(), t.prefixInputs(p, dropout)...)
		return t.engine.Compile("prefix", params, func(in []*Node) []*Node {
			rest := in[len(t.weights)+1:]
			d := t.decoder(in)
			if dropout > 0 {
				d.Dropout(dropout, rest[1])
			}
			return model.Prefix(d, rest[0])
		}, engine.NumberNames("prefix", 2*t.spec.NumLayers)...)
	})
}

func (t *Trainer) prefixInputs(p int, dropout float64) []engine.Param {
	params := []engine.Param{{Name: "prefix_ids", Shape: engine.I32(1, p)}}
	if dropout > 0 {
		params = append(params, engine.Param{Name: "prefix_keys", Shape: engine.I32(1, p)})
	}
	return params
}

// gradientDecoder is the decoder of a program with a backward pass, of so many tokens.
func (t *Trainer) gradientDecoder(in []*Node, tokens int) *model.Decoder {
	d := t.decoder(in)
	if t.recomputes(tokens) {
		d.RecomputeLayers(t.mlpChunk)
	}
	return d
}

// dropoutKey is what dropout adds to a program's key.
func dropoutKey(dropout float64) string {
	if dropout == 0 {
		return ""
	}
	return fmt.Sprintf("_dropout_%g", dropout)
}

// recomputes reports whether a program of so many tokens computes layers again. What is gathered is not to be kept.
func (t *Trainer) recomputes(tokens int) bool {
	return t.recompute == RecomputeLayer && tokens > t.keepTokens || t.spec.Shards > 1
}

// recomputeKey is what computing layers again adds to a program's key.
func (t *Trainer) recomputeKey(tokens int) string {
	if t.recomputes(tokens) {
		return "_layer"
	}
	return ""
}

// prefixBackwardProgram adds to the gradient what the rows' gradient for the prefix's keys and values implies:
// prefixProgram's inputs, 2*L of dK,dV [K, P, D], gradient[A] (donated) -> gradient[A].
func (t *Trainer) prefixBackwardProgram(p int, dropout float64) (program, error) {
	return t.program(fmt.Sprintf("prefix_backward_%d", p)+dropoutKey(dropout)+t.recomputeKey(p),
		func() (*engine.Program, error) {
			inputs := t.prefixInputs(p, dropout)
			params := append(t.modelParams(), inputs...)
			params = append(params, t.prefixParams("d", engine.F32, p, false)...)
			params = append(params, engine.Param{Name: "gradient", Shape: engine.F32(t.size), Donated: true})
			return t.engine.Compile("prefix_backward", params, func(in []*Node) []*Node {
				d := t.gradientDecoder(in, p)
				rest := in[len(t.weights)+1:]
				if dropout > 0 {
					d.Dropout(dropout, rest[1])
				}
				kv := model.Prefix(d, rest[0])
				var loss *Node
				for i, x := range kv {
					term := ReduceAllSum(Mul(ConvertDType(x, dtypes.Float32), rest[len(inputs)+i]))
					if loss == nil {
						loss = term
					} else {
						loss = Add(loss, term)
					}
				}
				flat, _ := flatGradient(loss, d, nil)
				return []*Node{Add(in[len(in)-1], flat)}
			}, "gradient")
		})
}

// rowsInputs are what a micro-batch of rows is: ids[n,c], index[m], target[m], weight[m], the goal's columns, each [m],
// row[m] where its loss is by row, its temperature and numbers, keys[n,c] where there is dropout, and what places
// trees. index says which of the n*c positions a trained token's logprob comes from, and row which of the n rows it is
// of; at padding weight is 0 and row -1.
func rowsInputs(s shape, g goal) []engine.Param {
	params := append(scoreInputs(s), engine.Param{Name: "weight", Shape: engine.F32(s.m)})
	for _, c := range g.columns {
		params = append(params, engine.Param{Name: string(c), Shape: engine.F32(s.m)})
	}
	if g.ByRow() {
		params = append(params, engine.Param{Name: "row", Shape: engine.I32(s.m)})
	}
	params = append(params, g.params()...)
	if g.dropout > 0 {
		params = append(params, engine.Param{Name: "keys", Shape: engine.I32(s.n, s.c)})
	}
	return append(params, s.placeParams()...)
}

// placeParams are the positions[n,c] and ends[n,c] of trees (tree); rows that are none have none.
func (s shape) placeParams() []engine.Param {
	if !s.packed {
		return nil
	}
	return []engine.Param{{Name: "positions", Shape: engine.I32(s.n, s.c)}, {Name: "ends", Shape: engine.I32(s.n, s.c)}}
}

// numFixed are the inputs of rowsInputs before the columns.
const numFixed = 4

// numByToken are the inputs of rowsInputs before the goal's own.
func (g goal) numByToken() int {
	if g.ByRow() {
		return numFixed + len(g.columns) + 1
	}
	return numFixed + len(g.columns)
}

// loss returns the sum of losses of rowsInputs, given the rows' hidden states [n, c, H], and what the host looks at:
// logprobs[m], and entropies[m] where there is a bonus for them.
func (t *Trainer) loss(d *model.Decoder, h *Node, rows []*Node, g goal) (total *Node, seen []*Node) {
	index, target, weight := rows[1], rows[2], rows[3]
	byToken, rest := cut(rows, g.numByToken())
	settings, _ := cut(rest, len(g.params()))
	dims := h.Shape().Dimensions
	trained := Gather(Reshape(h, dims[0]*dims[1], dims[2]), Reshape(index, index.Shape().Size(), 1))
	logp, entropies := t.head(d, trained, target, StopGradient(settings[0]), g.settings.Bonus.On)
	// Unused entries score whatever stands where they point. At a low temperature that is far off, and what a loss
	// makes of it may be infinite: times a weight of 0 that is no number.
	used := Where(NotEqual(weight, ZerosLike(weight)), logp, ZerosLike(logp))
	of := objective.Tokens{Logprobs: used, Columns: byToken[numFixed:][:len(g.columns)], Numbers: numbers(settings[1:]),
		NumRows: dims[0], Entropies: entropies}
	if g.ByRow() {
		of.Rows = byToken[len(byToken)-1]
	}
	seen = []*Node{logp}
	if entropies != nil {
		seen = append(seen, entropies)
	}
	return ReduceAllSum(Mul(g.Graph(of), weight)), seen
}

// rowsProgram is forward and backward of one micro-batch of rows after a prefix of p tokens. Inputs: weights, adapter,
// 2*L of K,V [K, P, D], rowsInputs, gradient[A] (donated), 2*L of dK,dV (donated). Outputs: sum of losses,
// goal.outputs, gradient[A], dK,dV.
func (t *Trainer) rowsProgram(s shape, p int, g goal) (program, error) {
	key := "rows" + s.key() + fmt.Sprintf("_%d", p) + g.key() + t.recomputeKey(s.n*s.c)
	return t.program(key, func() (*engine.Program, error) {
		inputs := rowsInputs(s, g)
		params := append(t.modelParams(), t.prefixParams("prefix", t.spec.Shape, p, false)...)
		params = append(append(params, inputs...),
			engine.Param{Name: "gradient", Shape: engine.F32(t.size), Donated: true})
		params = append(params, t.prefixParams("d", engine.F32, p, true)...)
		return t.engine.Compile("rows", params, func(in []*Node) []*Node {
			d := t.gradientDecoder(in, s.n*s.c)
			kv, rest := cut(in[len(t.weights)+1:], t.numPrefix(p))
			rows, sums := cut(rest, len(inputs))
			rows, places := cut(rows, len(inputs)-len(s.placeParams()))
			if g.dropout > 0 {
				d.Dropout(g.dropout, rows[len(rows)-1])
			}
			total, seen := t.loss(d, t.rowsForward(d, rows[0], places, kv, p), rows, g)
			flat, dkv := flatGradient(total, d, kv)
			out := append(append([]*Node{total}, seen...), Add(sums[0], flat))
			for i, x := range dkv {
				out = append(out, Add(sums[1+i], ConvertDType(x, dtypes.Float32)))
			}
			return out
		}, slices.Concat([]string{"loss"}, g.outputs(), []string{"gradient"},
			engine.NumberNames("d", t.numPrefix(p)))...)
	})
}

// treeProgram is forward and backward of a prefix of p tokens and one micro-batch of rows after it, together: weights,
// adapter, prefixInputs, rowsInputs -> sum of losses, goal.outputs, gradient[A].
func (t *Trainer) treeProgram(s shape, p int, g goal) (program, error) {
	key := "tree" + s.key() + fmt.Sprintf("_%d", p) + g.key() + t.recomputeKey(p+s.n*s.c)
	return t.program(key, func() (*engine.Program, error) {
		before := t.prefixInputs(p, g.dropout)
		params := append(append(t.modelParams(), before...), rowsInputs(s, g)...)
		return t.engine.Compile("tree", params, func(in []*Node) []*Node {
			d := t.gradientDecoder(in, p+s.n*s.c)
			prefix, rows := cut(in[len(t.weights)+1:], len(before))
			if g.dropout > 0 {
				d.Dropout(g.dropout, Concatenate([]*Node{prefix[1], Reshape(rows[len(rows)-1], 1, s.n*s.c)}, 1))
			}
			total, seen := t.loss(d, model.Tree(d, prefix[0], rows[0]), rows, g)
			flat, _ := flatGradient(total, d, nil)
			return append(append([]*Node{total}, seen...), flat)
		}, slices.Concat([]string{"loss"}, g.outputs(), []string{"gradient"})...)
	})
}

// cut returns the first n nodes, and the others.
func cut(nodes []*Node, n int) (first, rest []*Node) { return nodes[:n], nodes[n:] }

// scoreInputs are the ids[n,c], index[m] and target[m] of rowsInputs.
func scoreInputs(s shape) []engine.Param {
	return []engine.Param{
		{Name: "ids", Shape: engine.I32(s.n, s.c)},
		{Name: "index", Shape: engine.I32(s.m)},
		{Name: "target", Shape: engine.I32(s.m)},
	}
}

// scoreProgram is the forward pass of rowsProgram without a loss: weights, adapter, K,V, ids, index, target, what
// places trees, temperature -> logprobs[m], or entropies[m].
func (t *Trainer) scoreProgram(s shape, p int, entropies bool) (program, error) {
	name := "score"
	if entropies {
		name = "entropy"
	}
	return t.program(name+s.key()+fmt.Sprintf("_%d", p), func() (*engine.Program, error) {
		params := append(t.modelParams(), t.prefixParams("prefix", t.spec.Shape, p, false)...)
		params = append(append(params, scoreInputs(s)...), s.placeParams()...)
		params = append(params, engine.Param{Name: "temperature", Shape: engine.F32()})
		return t.engine.Compile(name, params, func(in []*Node) []*Node {
			d := t.decoder(in)
			kv, rows := cut(in[len(t.weights)+1:], t.numPrefix(p))
			h := t.rowsForward(d, rows[0], rows[3:len(rows)-1], kv, p)
			logprobs, entropy := t.head(d, Gather(Reshape(h, s.n*s.c, t.spec.Hidden), Reshape(rows[1], s.m, 1)),
				rows[2], rows[len(rows)-1], entropies)
			if entropies {
				return []*Node{entropy}
			}
			return []*Node{logprobs}
		}, name)
	})
}

// rowsForward runs rows [n, c] that follow the prefix and returns their hidden states [n, c, H]. Places are the
// positions and ends [n, c] of trees; rows that are none have none.
func (t *Trainer) rowsForward(d *model.Decoder, ids *Node, places, kv []*Node, p int) *Node {
	g := ids.Graph()
	n, c := ids.Shape().Dimensions[0], ids.Shape().Dimensions[1]
	of := Iota(g, shapes.Make(dtypes.Int32, n, c), 1)
	if len(places) > 0 {
		of = places[0]
	}
	positions := AddScalar(of, p)
	return d.Forward(ids, positions, func(layer int, k, v *Node) []model.KeyValues {
		own := model.KeyValues{K: k, V: v, Causal: len(places) == 0}
		if !own.Causal {
			own.Mask, own.Positions = model.Branches(places[1]), positions
		}
		if p == 0 {
			return []model.KeyValues{own}
		}
		return []model.KeyValues{segmentsOf(kv, layer), own}
	})
}

// made counts programs, and what they took.
type made struct {
	programs int
	seconds  float64
}

// CompileStats counts the programs that were made since it was last called, and the seconds that they took: compiled,
// or read from the disk. Those that only score are among them, as of a step that trains on nothing.
func (t *Trainer) CompileStats() (programs int, seconds float64) {
	programs, seconds, t.made = t.made.programs, t.made.seconds, made{}
	return programs, seconds
}

// program returns the compiled program of a key, compiling it the first time. Of one key it is called once at a time.
func (t *Trainer) program(key string, compile func() (*engine.Program, error)) (program, error) {
	t.compiled.Lock()
	p, ok := t.programs[key]
	t.compiled.Unlock()
	if ok {
		return p, nil
	}
	began := time.Now()
	made, err := compile()
	if err != nil {
		return nil, err
	}
	t.compiled.Lock()
	defer t.compiled.Unlock()
	t.programs[key] = made
	t.made.programs, t.made.seconds = t.made.programs+1, t.made.seconds+time.Since(began).Seconds()
	return made, nil
}
