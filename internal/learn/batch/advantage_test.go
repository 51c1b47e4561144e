package batch_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

func terms(pairs ...any) (list []trajectory.Term) {
	for i := 0; i < len(pairs); i += 3 {
		list = append(list,
			trajectory.Term{Name: pairs[i].(string), Score: pairs[i+1].(float64), Weight: pairs[i+2].(float64)})
	}
	return list
}

// Worked by hand for two groups, with rewards 1 0 0 0 (mean 0.25, std 0.5) and 3 1 (mean 2, std sqrt 2).
func TestAdvantagesByHand(t *testing.T) {
	groups := []batch.Earned{{Rewards: []float64{1, 0, 0, 0}}, {Rewards: []float64{3, 1}}}
	root := math.Sqrt2 + 1e-4
	// All six: mean 5/6, sum of squares 11 - 25/6 = 41/6, std sqrt(41/30).
	all := math.Sqrt(41.0/30) + 1e-4
	for a, want := range map[batch.Advantage][][]float64{
		"": {{0.75 / 0.5001, -0.25 / 0.5001, -0.25 / 0.5001, -0.25 / 0.5001}, {1 / root, -1 / root}},
		batch.AdvantageGroup: {
			{0.75 / 0.5001, -0.25 / 0.5001, -0.25 / 0.5001, -0.25 / 0.5001},
			{1 / root, -1 / root},
		},
		batch.AdvantageCentred:     {{0.75, -0.25, -0.25, -0.25}, {1, -1}},
		batch.AdvantageLeaveOneOut: {{1, -1.0 / 3, -1.0 / 3, -1.0 / 3}, {2, -2}},
		batch.AdvantageBatch:       {{0.75 / all, -0.25 / all, -0.25 / all, -0.25 / all}, {1 / all, -1 / all}},
	} {
		near(t, string(a), a.Of(groups), want)
	}
}

// Two episodes that earn the same in two ways are told apart, and a term of a large scale hides no other: the case of
// GDPO.
func TestPerTermByHand(t *testing.T) {
	z := 0.5 / (math.Sqrt(0.5) + 1e-4) // of scores 1 and 0
	groups := []batch.Earned{
		// a and b cancel
		{Rewards: []float64{1, 1}, Terms: [][]trajectory.Term{terms("a", 1.0, 1.0, "b", 0.0, 1.0), terms("a", 0.0, 1.0, "b", 1.0, 1.0)}},
		// 2z - z, and the other
		{Rewards: []float64{9, 1}, Terms: [][]trajectory.Term{terms("a", 1.0, 2.0, "b", 1.0, -1.0), terms("a", 0.0, 2.0, "b", 0.0, -1.0)}},
		{Rewards: []float64{5, 5}, Terms: [][]trajectory.Term{terms("a", 0.1, 1.0), terms("a", 0.1, 1.0)}},
	}
	std := math.Sqrt(2*z*z/5) + 1e-4 // of 0 0 z -z 0 0
	near(t, "per term", batch.AdvantagePerTerm.Of(groups), [][]float64{{0, 0}, {z / std, -z / std}, {0, 0}})
	// Who lacks a term is no part of its mean; a weight that differs counts as its mean.
	lacks := [][]trajectory.Term{terms("a", 1.0, 1.0), terms("a", 0.0, 3.0), terms("b", 0.5, 1.0)}
	half := 0.25 / (math.Sqrt(0.125) + 1e-4) // of 1 x 1 and 0 x 3, by the mean weight of 2
	near(t, "lacking", [][]float64{batch.PerTerm(lacks)}, [][]float64{{2 * half, -2 * half, 0}})
	// What takes a share of what the others earned counts by what it took: the same score took 2 of the first, 0.5 of
	// the second. Of a weight of 0 nothing is told apart.
	took := [][]trajectory.Term{terms("extra", 0.5, -4.0, "free", 1.0, 0.0),
		terms("extra", 0.5, -1.0, "free", 0.0, 0.0)}
	share := 0.3 / (math.Sqrt(0.18) + 1e-4) // of -2 and -0.5, by the mean size of 2.5
	near(t, "shares", [][]float64{batch.PerTerm(took)}, [][]float64{{-2.5 * share, 2.5 * share}})
	free := []batch.Earned{
		{Rewards: []float64{1, 1}, Terms: [][]trajectory.Term{terms("free", 1.0, 0.0), terms("free", 0.0, 0.0)}},
	}
	near(t, "free", batch.AdvantagePerTerm.Of(free), [][]float64{{0, 0}})
	if _, stats := fromGroups([]trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{withTerms(10, free[0].Terms[0]), withTerms(11, free[0].Terms[1])}},
	},
		batch.Advantages{By: batch.AdvantagePerTerm}, batch.Options{}); stats.ZeroSpread != 1 {
		t.Errorf("a term that weighs nothing teaches: %+v", stats)
	}
}

func withTerms(id int32, of []trajectory.Term) *trajectory.Trajectory {
	t := episode(id, trajectory.OK, 1)
	t.Terms = of
	return t
}

// Failures are pushed down as much as they are said to be; at 0 they are compared with alone.
func TestNegativeAdvantagesWeighLess(t *testing.T) {
	groups := []trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{episode(10, trajectory.OK, 3), episode(11, trajectory.OK, 1)}},
	}
	for _, weight := range []float64{1, 0.25, 0} {
		b, _ := fromGroups(groups, batch.Advantages{By: batch.AdvantageCentred, Negative: &weight}, batch.Options{})
		if up, down := b.Rows[0].Advantages[0], b.Rows[1].Advantages[0]; up != 1 || down != float32(-weight) ||
			b.Normaliser != 6 {
			t.Errorf("weight %g: %g and %g, by %d", weight, up, down, b.Normaliser)
		}
	}
}

// The parts of a step are its rows, each group in one of them, and their normalisers' sum is the whole's.
func TestSplit(t *testing.T) {
	var groups []trajectory.Group
	for i := range int32(5) {
		groups = append(groups, trajectory.Group{Trajectories: []*trajectory.Trajectory{
			episode(10+2*i, trajectory.OK, 1), episode(11+2*i, trajectory.OK, 0),
		}})
	}
	groups[1].Trajectories[0].Reward = 0 // it teaches nothing, and counts
	whole, _ := fromGroups(groups, batch.Advantages{}, batch.Options{})
	for n, want := range map[int][]int{0: {8}, 1: {8}, 2: {4, 4}, 3: {4, 2, 2}, 9: {2, 2, 2, 2}} {
		var sizes []int
		seen, normaliser := map[int]int{}, 0
		for i, part := range whole.Split(n) {
			sizes, normaliser = append(sizes, len(part.Rows)), normaliser+part.Normaliser
			for _, r := range part.Rows {
				if at, ok := seen[r.Group]; ok && at != i {
					t.Errorf("%d parts: group %d is in two", n, r.Group)
				}
				seen[r.Group] = i
			}
		}
		if !slices.Equal(sizes, want) || len(seen) != 4 || normaliser > whole.Normaliser ||
			normaliser <= whole.Normaliser-len(want) {
			t.Errorf("%d parts of %v rows, %d groups, by %d of %d", n, sizes, len(seen), normaliser, whole.Normaliser)
		}
	}
}

func near(t *testing.T, name string, got, want [][]float64) {
	t.Helper()
	for i := range want {
		for j := range want[i] {
			if len(got) != len(want) || len(got[i]) != len(want[i]) || !(math.Abs(got[i][j]-want[i][j]) < 1e-12) {
				t.Fatalf("%s: got %v, want %v", name, got, want)
			}
		}
	}
}

// Of each advantage but the one over terms, the members of a group add up to 0, the order is that of the rewards, and a
// group without spread has exactly 0, whatever its numbers round to.
func TestAdvantagesAreRelative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var groups []batch.Earned
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			n := rapid.IntRange(2, 6).Draw(t, "size")
			e := batch.Earned{Rewards: rapid.SliceOfN(rapid.SampledFrom([]float64{0.1, 0.3, 0.7, 1.9}), n, n).Draw(t,
				"rewards")}
			for _, r := range e.Rewards {
				e.Terms = append(e.Terms, terms("only", r, 1.0))
			}
			groups = append(groups, e)
		}
		for _, a := range []batch.Advantage{
			batch.AdvantageGroup, batch.AdvantageCentred, batch.AdvantageLeaveOneOut, batch.AdvantageBatch,
			batch.AdvantagePerTerm,
		} {
			for i, got := range a.Of(groups) {
				sum := 0.0
				for j, x := range got {
					sum += x
					for k := range got {
						if (groups[i].Rewards[j] > groups[i].Rewards[k]) != (x > got[k]) {
							t.Fatalf("%s: %v of %v", a, got, groups[i].Rewards)
						}
					}
				}
				alike := slices.Min(groups[i].Rewards) == slices.Max(groups[i].Rewards)
				if math.Abs(sum) > 1e-9 || alike && slices.Max(got) != 0 {
					t.Fatalf("%s: %v of %v", a, got, groups[i].Rewards)
				}
			}
		}
	})
}

// What tokens weigh under each reduction, for a group of two episodes with 3 and 3 sampled tokens, one without spread,
// and one that a limit cut.
func TestReductions(t *testing.T) {
	long := episode(12, trajectory.Limit, 0)
	long.Turns[1].CompletionIDs, long.Turns[1].SamplerLogprobs = []int32{5, 6, 7, 8}, []float32{-1, -1, -1, -1}
	groups := []trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{episode(10, trajectory.OK, 1), long}},
		{Trajectories: []*trajectory.Trajectory{episode(20, trajectory.OK, 0.5), episode(21, trajectory.OK, 0.5)}}}
	for _, c := range []struct {
		name       string
		o          batch.Options
		rows       int
		weights    []float32 // of each row's tokens; 0: none are given, which is 1
		normaliser int
	}{
		{"token mean", batch.Options{Reduction: batch.TokenMean}, 2, []float32{0, 0}, 3 + 5 + 6},
		{"as the loss has it", batch.Options{Reduction: batch.LossCISPO.Reduction()}, 2, []float32{0, 0}, 14},
		{"episode mean", batch.Options{Reduction: batch.LossGRPO.Reduction()}, 2, []float32{1.0 / 3, 0.2}, 4},
		{"GSPO", batch.Options{Reduction: batch.LossGSPO.Reduction()}, 2, []float32{1.0 / 3, 0.2}, 4},
		{"constant", batch.Options{Reduction: batch.LossDrGRPO.Reduction(), Length: 100}, 2, []float32{0, 0}, 400},
		{"alike ones too", batch.Options{Reduction: batch.TokenMean, KeepAlike: true}, 4, []float32{0, 0, 0, 0}, 14},
	} {
		b, stats := fromGroups(groups, batch.Advantages{}, c.o)
		if len(b.Rows) != c.rows || b.Normaliser != c.normaliser || stats.ZeroSpread != 1 {
			t.Errorf("%s: %d rows by %d, %+v", c.name, len(b.Rows), b.Normaliser, stats)
			continue
		}
		for i, r := range b.Rows {
			if c.weights[i] == 0 && r.Weights != nil ||
				c.weights[i] != 0 && (len(r.Weights) != len(r.IDs) || r.Weights[len(r.Weights)-1] != c.weights[i]) {
				t.Errorf("%s: row %d weighs %v", c.name, i, r.Weights)
			}
		}
		if a := b.Rows[0].Advantages; !(a[0] > 0.7) { // the reward of the one that is masked is in the group's mean
			t.Errorf("%s: advantage %g", c.name, a[0])
		}
	}
}

// An episode of several rows weighs what one of a single row does.
func TestSplitEpisodesWeighOnce(t *testing.T) {
	split := episode(10, trajectory.OK, 1)
	split.Turns[1].BridgeIDs, split.Turns[1].Rewrite = []int32{1, 7, 3}, "dropped"
	b, _ := fromGroups([]trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{split, episode(12, trajectory.OK, 0)}},
	}, batch.Advantages{}, batch.Options{Reduction: batch.EpisodeMean})
	sum := map[int]float64{}
	for _, r := range b.Rows {
		for i, yes := range r.Trained {
			if yes {
				sum[r.Episode] += float64(r.Weights[i])
			}
		}
	}
	if len(b.Rows) != 3 || math.Abs(sum[0]-1) > 1e-6 || math.Abs(sum[1]-1) > 1e-6 || b.Normaliser != 2 {
		t.Errorf("%d rows weigh %v, by %d", len(b.Rows), sum, b.Normaliser)
	}
}
