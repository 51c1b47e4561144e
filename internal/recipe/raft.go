package recipe

import (
	"context"
	"fmt"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// RAFT is rejection sampling again and again (arXiv 2304.06767; ReST-EM, arXiv 2312.06585): each step fine-tunes on
// those episodes of its groups that passed, and has no policy gradient. Of a group these are the ones with the fewest
// failed calls, and of these the ones with the fewest calls, each wording once. The loss is their negative
// log-likelihood at the rollouts' temperature. The rows that imitation and demonstrations add have theirs too, weighed
// by the sizes of the advantages that they would have:
//
//	loss = - (sum over what passed of log p + sum over added rows of |A| log p) / number of all these tokens
//
// So beside the loss all is as in GRPO: scenarios, rollouts, explorations, memory, demonstrations, optimiser steps. It
// tells what of a result the policy gradient made.
type RAFT struct {
	None
	stage *stage
}

// Begin implements Addition.
func (r *RAFT) Begin(s *stage) error { r.stage = s; return nil }

// AddRows implements Addition. Groups in which all passed are learnt from too.
func (r *RAFT) AddRows(_ context.Context, s *Step) error {
	s.Objective = batch.Objective{Loss: batch.LossLikelihood, Temperature: r.stage.Temperature}
	s.Alike = true
	return nil
}

// Compare implements Addition.
func (r *RAFT) Compare(_ context.Context, s *Step) error {
	kept, own := r.kept(s.Groups)
	b := batch.Batch{Prefix: s.Rows.Prefix}
	said, passed := map[string]bool{}, map[int]bool{}
	for _, row := range s.Rows.Rows {
		weights := batch.Even(len(row.IDs), 1)
		if row.Episode < own {
			key := fmt.Sprint(row.Group, row.IDs)
			if !kept[row.Episode] || said[key] {
				continue
			}
			said[key], passed[row.Episode] = true, true
		} else {
			for i, a := range row.Advantages {
				weights[i] = max(a, -a)
			}
		}
		row.Weights, row.Advantages = weights, batch.Even(len(row.IDs), 1)
		b.Rows = append(b.Rows, row)
	}
	b.Normaliser = b.NumTrained()
	s.Rows = b
	s.Metrics["raft/episodes"] = float64(len(passed))
	return nil
}

// kept are the episodes of a step that are learnt from, by their number in it, of so many.
func (r *RAFT) kept(groups []trajectory.Group) (kept map[int]bool, episodes int) {
	kept = map[int]bool{}
	good := Rejection{Keep: func(t *trajectory.Trajectory) bool {
		passed, n := r.stage.Passed.count(trajectory.Group{Trajectories: []*trajectory.Trajectory{t}})
		return n > 0 && passed > 0
	}}
	for _, g := range groups {
		best := good.best(g)
		for i, t := range g.Trajectories {
			kept[episodes+i] = slices.Contains(best, t)
		}
		episodes += len(g.Trajectories)
	}
	return kept, episodes
}
