// Package train is the optimiser step: exact gradients through a shared prefix, Adam, checkpoints. Losses are package
// objective's. It never calls a tool or a judge.
package train

import (
	"cmp"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/objective"
)

// goal is what a step minimises. Its name, columns and dropout make a program of its own; the numbers are inputs of it.
type goal struct {
	objective.Objective
	settings batch.Objective
	columns  []batch.Column
	dropout  float64
}

// goalOf finds the loss. Steps that compare with the logprobs of a policy leave nothing out, since that policy did not.
func (t *Trainer) goalOf(o batch.Objective, rows []batch.Sequence) (goal, error) {
	loss, err := objective.Of(o)
	if err != nil {
		return goal{}, err
	}
	g := goal{Objective: loss, settings: o, columns: loss.Columns(), dropout: t.dropout}
	if len(g.columns) > 0 {
		g.dropout = 0
	}
	for i, r := range rows {
		for _, c := range g.columns {
			if n := len(r.Column(c)); n != len(r.IDs) {
				return g, fmt.Errorf("the loss %s needs the column %s, of which row %d of %d (episode %d of group "+
					"%d) has %d numbers for %d tokens",
					o.Loss, c, i+1, len(rows), r.Episode, r.Group, n, len(r.IDs))
			}
		}
		if n := len(r.Weights); n != 0 && n != len(r.IDs) {
			return g, fmt.Errorf("row %d of %d has %d weights for %d tokens", i+1, len(rows), n, len(r.IDs))
		}
	}
	return g, nil
}

// key is what a goal adds to a program's key.
func (g goal) key() string {
	if g.settings.Loss == batch.LossLikelihood {
		return dropoutKey(g.dropout)
	}
	return "_" + g.Name() + dropoutKey(g.dropout)
}

// outputs names what programs return of each token for the host.
func (g goal) outputs() []string {
	if g.settings.Bonus.On {
		return []string{"logprobs", "entropies"}
	}
	return []string{"logprobs"}
}

// params are a goal's inputs of a program: the temperature, then the loss's numbers [k] if it has any.
func (g goal) params() []engine.Param {
	params := []engine.Param{{Name: "temperature", Shape: engine.F32()}}
	if n := len(g.Numbers()); n > 0 {
		params = append(params, engine.Param{Name: "numbers", Shape: engine.F32(n)})
	}
	return params
}

// upload gives the devices what params names.
func (g goal) upload(e *engine.Engine) ([]engine.Buffer, error) {
	temperature, err := e.Upload([]float32{float32(cmp.Or(g.settings.Temperature, 1))})
	if err != nil {
		return nil, err
	}
	flat := g.Numbers()
	if len(flat) == 0 {
		return []engine.Buffer{temperature}, nil
	}
	numbers, err := e.Upload(flat, len(flat))
	if err != nil {
		engine.Free(temperature)
		return nil, err
	}
	return []engine.Buffer{temperature, numbers}, nil
}

// numbers cuts a loss's numbers [k], in a list of one node or none, into scalars.
func numbers(in []*Node) (each []*Node) {
	for _, x := range in {
		for i := range x.Shape().Dimensions[0] {
			each = append(each, Reshape(Slice(x, AxisRange(i, i+1))))
		}
	}
	return each
}
