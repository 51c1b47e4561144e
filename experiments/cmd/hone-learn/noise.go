package main

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/recipe"
)

// noisy is a scorer that is wrong about a share of the episodes, drawn by the seed: what they earned is turned around
// between 0 and the most that an episode earns, so that a success counts as a failure and a failure as a success. It
// tries how much a run bears of a reward that errs.
type noisy struct {
	recipe.Scorer
	share float64
	most  func(*scenario.Scenario) float64 // that an episode of a scenario earns
	seed  uint64
}

// Score implements recipe.Scorer. The term noise says what was added, at the episode's last turn where turns are
// credited.
func (n noisy) Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	scores, err := n.Scorer.Score(ctx, s, g)
	if err != nil {
		return nil, err
	}
	for i, t := range g.Trajectories {
		if !t.Outcome.Trainable() || scores[i].Outcome != "" || !n.errs(t.ID) {
			continue
		}
		by := n.most(s) - 2*scores[i].Reward
		scores[i].Terms = append(scores[i].Terms, trajectory.Term{Name: "noise", Score: 1, Weight: by})
		scores[i].Reward += by
		if turns := scores[i].Turns; len(turns) > 0 {
			turns[len(turns)-1] += by
		}
	}
	return scores, nil
}

// errs follows from the seed and the episode alone, so a run that goes on errs alike.
func (n noisy) errs(episode string) bool {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, n.seed) // a hash takes all
	_, _ = h.Write([]byte(episode))
	return rand.New(rand.NewPCG(h.Sum64(), n.seed)).Float64() < n.share
}
