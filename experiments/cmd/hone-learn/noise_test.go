package main

import (
	"context"
	"fmt"
	"math"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
)

// fixed is a scorer that gives each episode the same.
type fixed trajectory.Score

func (f fixed) Score(_ context.Context, _ *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	all := make([]trajectory.Score, len(g.Trajectories))
	for i := range all {
		all[i] = trajectory.Score(f)
		all[i].Turns = append([]float64(nil), f.Turns...)
	}
	return all, nil
}

// Noise turns what was earned around between 0 and what the scenario can earn, in the sum and in what turns earned; an
// episode that says nothing of the policy has none. Who is drawn follows from the seed and the episode.
func TestNoise(t *testing.T) {
	g := trajectory.Group{}
	for i := range 1000 {
		g.Trajectories = append(g.Trajectories,
			&trajectory.Trajectory{ID: fmt.Sprint("a/0/", i), Outcome: trajectory.OK})
	}
	g.Trajectories[0].Outcome = trajectory.EnvironmentError
	of := func(share float64, seed uint64) ([]trajectory.Score, int) {
		scores, err := noisy{fixed{Reward: 0.5, Turns: []float64{0.2, 0.3}}, share,
			func(*scenario.Scenario) float64 { return 1.2 }, seed}.Score(t.Context(), &scenario.Scenario{}, g)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, s := range scores {
			want := 0.5
			if len(s.Terms) > 0 {
				n++
				want = 0.7
			}
			if math.Abs(s.Reward-want) > 1e-12 || math.Abs(s.Turns[0]+s.Turns[1]-want) > 1e-12 || s.Turns[0] != 0.2 ||
				i == 0 && len(s.Terms) > 0 {
				t.Fatalf("%d: %+v", i, s)
			}
		}
		return scores, n
	}
	if _, n := of(1, 1); n != 999 {
		t.Errorf("of 999 %d are drawn", n)
	}
	first, n := of(0.2, 1)
	if n < 150 || n > 250 {
		t.Errorf("of 999 a fifth is drawn: %d", n)
	}
	again, _ := of(0.2, 1)
	other, _ := of(0.2, 2)
	same, differ := true, false
	for i := range first {
		same, differ = same && first[i].Reward == again[i].Reward, differ || first[i].Reward != other[i].Reward
	}
	if !same || !differ {
		t.Errorf("the same seed draws the same: %v, another others: %v", same, differ)
	}
	c := config.Default()
	c.GRPO.Advantage = "per_term"
	if err := Compare(t.Context(), job.Env{}, c,
		Options{Split: scenario.Test, RewardNoise: 0.2}); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("noise as a term of its own: %v", err)
	}
}
