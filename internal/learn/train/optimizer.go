package train

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/batch"
)

// withDefaults fills in what is zero.
func withDefaults(a batch.Adam) batch.Adam {
	return batch.Adam{Beta1: cmp.Or(a.Beta1, 0.9), Beta2: cmp.Or(a.Beta2, 0.99), Epsilon: cmp.Or(a.Epsilon, 1e-8),
		WeightDecay: a.WeightDecay}
}

// Apply moves the adapter along the gradient that was computed last, which it consumes, and returns the gradient's norm
// before clipping. A norm that is not finite is an error that leaves adapter and optimiser as they were.
func (t *Trainer) Apply(u batch.Update) (norm float64, err error) {
	if t.gradient == nil {
		return 0, fmt.Errorf("there is no gradient to apply")
	}
	out, err := t.apply(t.gradient, u)
	if err != nil {
		t.drop()
		return 0, err
	}
	t.gradient = nil
	t.adapter, t.moments = out[0], out[1:len(out)-1]
	norms, err := take(out[len(out)-1])
	if err != nil {
		return 0, err
	}
	if norm = float64(norms[0]); !finite(norm) {
		return norm, t.notFiniteError("norm of the gradient", norm)
	}
	t.steps++
	t.momentSteps++
	return norm, nil
}

// apply runs the apply program, which consumes state and gradient unless there is an error.
func (t *Trainer) apply(gradient engine.Buffer, u batch.Update) ([]engine.Buffer, error) {
	adam := withDefaults(u.Adam)
	p, err := t.applyProgram(adam)
	if err != nil {
		return nil, err
	}
	in := append(append([]engine.Buffer{t.adapter}, t.moments...), gradient)
	s := float64(t.momentSteps + 1)
	bound := u.MaxGradNorm
	if bound == 0 {
		bound = math.MaxFloat32
	}
	for _, x := range []float64{u.Rate, bound, 1 - math.Pow(adam.Beta1, s), 1 - math.Pow(adam.Beta2, s)} {
		b, err := t.engine.Upload([]float32{float32(x)})
		if err != nil {
			return nil, err
		}
		defer engine.Free(b)
		in = append(in, b)
	}
	return p.Run(in...)
}

// applyProgram adds the devices' gradients up and takes one step of AdamW (arXiv 1711.05101, algorithm 2), the same on
// each device, after clipping the gradient's global norm: adapter,
// first and second moment, gradient (all donated, [A] or as the moments are stored), rate, clip, bias corrections
// 1-beta1^t and 1-beta2^t (scalars) -> adapter, moments, norm before clipping. Where the norm is not finite, adapter
// and moments come out as they went in.
func (t *Trainer) applyProgram(adam batch.Adam) (program, error) {
	key := fmt.Sprintf("apply_%s_%g_%g_%g_%g", t.store.name(), adam.Beta1, adam.Beta2, adam.Epsilon, adam.WeightDecay)
	return t.program(key, func() (*engine.Program, error) {
		params := []engine.Param{{Name: "adapter", Shape: engine.F32(t.size), Donated: true}}
		params = append(params, t.store.params(t.size)...)
		params = append(params, engine.Param{Name: "gradient", Shape: engine.F32(t.size), Donated: true})
		for _, name := range []string{"rate", "clip", "c1", "c2"} {
			params = append(params, engine.Param{Name: name, Shape: engine.F32()})
		}
		return t.engine.Compile("apply", params, func(in []*Node) []*Node {
			a, stored, rest := in[0], in[1:len(in)-5], in[len(in)-5:]
			grad, rate, clip := engine.AllReduce(rest[0]), rest[1], rest[2]
			m, v := t.store.read(stored, t.size)
			norm := Sqrt(ReduceAllSum(Square(grad)))
			one := Scalar(a.Graph(), dtypes.Float32, 1)
			grad = Mul(grad, Min(one, Div(clip, AddScalar(norm, 1e-6))))
			newM := Add(MulScalar(m, adam.Beta1), MulScalar(grad, 1-adam.Beta1))
			newV := Add(MulScalar(v, adam.Beta2), MulScalar(Square(grad), 1-adam.Beta2))
			update := Div(Div(newM, rest[3]), AddScalar(Sqrt(Div(newV, rest[4])), adam.Epsilon))
			taken := LessOrEqual(norm, Scalar(a.Graph(), dtypes.Float32, math.MaxFloat32)) // false for NaN too
			kept := a
			if adam.WeightDecay != 0 {
				kept = Mul(a, Sub(one, MulScalar(rate, adam.WeightDecay)))
			}
			out := []*Node{Where(taken, Sub(kept, Mul(update, rate)), a)}
			return append(append(out, t.store.write(taken, newM, newV, stored)...), norm)
		}, append(engine.NamesOf(params[:len(params)-5]), "norm")...)
	})
}
