package train

import (
	"github.com/gomlx/compute/shapes"

	"hone/internal/engine"
	"hone/internal/learn/batch"
)

// leastAlike is how many tokens rows begin alike with at least, beyond the prefix of all, to be computed behind them:
// of fewer the programs of one more length cost more than they save.
const leastAlike = 512

// byPrefix parts a step's rows by how they begin, where that varies from step to step.
func (t *Trainer) byPrefix(b batch.Batch) []batch.Part {
	if t.alike == 0 {
		return []batch.Part{{Batch: b}}
	}
	return b.ByPrefix(t.alike, func(n int) int { return bucketBelow(n, t.rowMultiple) })
}

// bucketBelow is the longest bucket of at most n tokens.
func bucketBelow(n, multiple int) int {
	step := multiple
	for n > 8*step {
		step *= 2
	}
	return n / step * step
}

// prefixBackward adds what dK,dV of a prefix of p tokens imply to the gradient, the first of the accumulators, which it
// consumes unless there is an error.
func (t *Trainer) prefixBackward(p int, m masks, prefix, accumulators []engine.Buffer) (engine.Buffer, error) {
	if p == 0 {
		return accumulators[0], nil
	}
	program, err := t.prefixBackwardProgram(p, m.rate)
	if err != nil {
		return nil, err
	}
	out, err := program.Run(append(append(append(t.modelBuffers(), prefix...), accumulators[1:]...),
		accumulators[0])...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// prefix computes the keys and values of the prefix and keeps its inputs for the backward pass. Without a prefix there
// is nothing of either.
func (t *Trainer) prefix(ids []int32, m masks) (kv, inputs []engine.Buffer, err error) {
	return t.prefixUnder(t.adapter, ids, m)
}

// prefixUnder is prefix with another adapter.
func (t *Trainer) prefixUnder(adapter engine.Buffer, ids []int32, m masks) (kv, inputs []engine.Buffer, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	p, err := t.prefixProgram(len(ids), m.rate)
	if err != nil {
		return nil, nil, err
	}
	if inputs, err = t.uploadPrefix(ids, m); err != nil {
		return nil, nil, err
	}
	if kv, err = p.Run(append(t.buffersUnder(adapter), inputs...)...); err != nil {
		engine.Free(inputs...)
		return nil, nil, err
	}
	return kv, inputs, nil
}

// uploadPrefix copies the prefix's inputs to all devices: its ids, and what masks are drawn from.
func (t *Trainer) uploadPrefix(ids []int32, m masks) ([]engine.Buffer, error) {
	arrays := []array{same(ids, 1, len(ids))}
	if m.rate > 0 {
		arrays = append(arrays, same(m.prefix, 1, len(ids)))
	}
	return uploadAll(t.engine, arrays...)
}

// numPrefix is the number of arrays that hold keys and values, or their gradients, of a prefix of p tokens.
func (t *Trainer) numPrefix(p int) int {
	if p == 0 {
		return 0
	}
	return 2 * t.spec.NumLayers
}

func (t *Trainer) prefixParams(name string, shape func(dims ...int) shapes.Shape, p int, donated bool) []engine.Param {
	var params []engine.Param
	for _, name := range engine.NumberNames(name, t.numPrefix(p)) {
		params = append(params, engine.Param{Name: name,
			Shape: shape(t.spec.NumKVHeads, p, t.spec.HeadDim), Donated: donated})
	}
	return params
}
