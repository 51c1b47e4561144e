package train

import (
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
)

type node = graph.Node

// padded is a micro-batch in the fixed shapes of a program.
type padded struct {
	n, c, m                    int
	ids                        []int32 // [n, c]
	index, target              []int32 // [m]
	weight, sampler, advantage []float32
	sampled                    bool    // the rows carry sampler logprobs
	keys                       []int32 // [n, c], of dropout; nil without
}

func roundUp(x, multiple int) int { return (x + multiple - 1) / multiple * multiple }

// pad lays rows out: trained token i of a row takes its logprob from position i-1. Trained tokens have the given
// weight in the loss, unused entries 0.
func (t *Trainer) pad(rows []batch.Sequence, weight float64, m masks) padded {
	longest, trained := 0, 0
	for _, r := range rows {
		longest = max(longest, len(r.IDs))
		trained += r.NumTrained()
	}
	x := padded{n: t.microBatch, c: roundUp(longest, t.rowMultiple)}
	x.m = roundUp(trained, max(1, x.n*x.c/2)) // one of two sizes for each length, so that few programs are compiled
	x.ids = make([]int32, x.n*x.c)
	x.index, x.target = make([]int32, x.m), make([]int32, x.m)
	x.weight, x.sampler, x.advantage = make([]float32, x.m), make([]float32, x.m), make([]float32, x.m)
	if m.rate > 0 {
		x.keys = make([]int32, x.n*x.c)
	}
	j := 0
	for row, r := range rows {
		copy(x.ids[row*x.c:], r.IDs)
		if m.rate > 0 {
			copy(x.keys[row*x.c:], m.row(r.IDs))
		}
		for i, yes := range r.Trained {
			if !yes {
				continue
			}
			x.index[j], x.target[j], x.weight[j] = int32(row*x.c+i-1), r.IDs[i], float32(weight)
			x.advantage[j] = float32(r.Advantage)
			if r.SamplerLogprobs != nil {
				x.sampler[j], x.sampled = r.SamplerLogprobs[i], true
			}
			j++
		}
	}
	return x
}

// numInputs are the arrays that upload makes of every micro-batch.
const numInputs = 6

// upload copies ids, index, target, weight, sampler and advantage to the device, and the keys of dropout if there are any.
func (x padded) upload(e *engine.Engine) ([]engine.Buffer, error) {
	arrays := []array{{x.ids, []int{x.n, x.c}}, {x.index, []int{x.m}}, {x.target, []int{x.m}}, {x.weight, []int{x.m}},
		{x.sampler, []int{x.m}}, {x.advantage, []int{x.m}}}
	if x.keys != nil {
		arrays = append(arrays, array{x.keys, []int{x.n, x.c}})
	}
	return uploadAll(e, arrays...)
}
