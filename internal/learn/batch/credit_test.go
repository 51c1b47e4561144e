package batch_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Worked by hand: three members whose turns earned 1 2, 0 4 and 3, with a discount of a half. Returns 2 2, 2 4 and 3;
// the first turns' mean is 7/3, the second turns' 3. The third member has no second turn.
func TestTurnCreditByHand(t *testing.T) {
	c := batch.Credit{Level: batch.CreditTurn, Discount: 0.5}
	groups := []batch.Earned{
		{Rewards: []float64{3, 4, 3}, Turns: [][]float64{{1, 2}, {0, 4}, {3}}},
		// the second alone has turns 1 and 2: 1.5 against its group's mean of 1.5
		{Rewards: []float64{1, 2}, Turns: [][]float64{{1}, {0.5, 0.5, 1}}},
		{Rewards: []float64{5, 7}}, // not known
	}
	got := c.Of(batch.AdvantageCentred, groups)
	near(t, "first", got[0], [][]float64{{2 - 7.0/3, -1}, {2 - 7.0/3, 1}, {3 - 7.0/3}})
	near(t, "second", got[1], [][]float64{{0}, {0, 0.5, 0.5}}) // returns 1 and 0.5 + 0.25 + 0.25
	near(t, "unknown", got[2], [][]float64{{-1}, {1}})
	std := math.Sqrt(((2-7.0/3)*(2-7.0/3)*2+(3-7.0/3)*(3-7.0/3))/2) + 1e-4
	root := math.Sqrt2 + 1e-4
	near(t, "normalised", c.Of(batch.AdvantageGroup, groups)[0],
		[][]float64{{(2 - 7.0/3) / std, -1 / root}, {(2 - 7.0/3) / std, 1 / root}, {(3 - 7.0/3) / std}})
	if x := batch.Returns([]float64{1, 2, 3}, 0.5); x[0] != 2.75 || x[1] != 3.5 || x[2] != 3 {
		t.Errorf("%v", x)
	}
}

// Of members with one turn each, credit by turn is that by episode, whatever the advantage; and by episode turns change
// nothing.
func TestTurnCreditOfOneTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one, none []batch.Earned
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			rewards := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.3, 1.9}), 2, 5).Draw(t, "rewards")
			e := batch.Earned{Rewards: rewards}
			for _, r := range rewards {
				e.Turns = append(e.Turns, []float64{r})
			}
			one, none = append(one, e), append(none, batch.Earned{Rewards: rewards})
		}
		for _, a := range []batch.Advantage{
			batch.AdvantageGroup, batch.AdvantageCentred, batch.AdvantageLeaveOneOut, batch.AdvantageBatch,
		} {
			want := batch.Credit{}.Of(a, none)
			for _, got := range [][][][]float64{
				batch.Credit{Level: batch.CreditTurn, Discount: 0.7}.Of(a, one),
				batch.Credit{Level: batch.CreditEpisode}.Of(a, one),
			} {
				for i := range want {
					for j := range want[i] {
						if len(got[i][j]) != 1 || math.Abs(got[i][j][0]-want[i][j][0]) > 1e-12 {
							t.Fatalf("%s: %v, want %v", a, got, want)
						}
					}
				}
			}
		}
	})
}

// Each token has the advantage of its turn, also where the episode is several rows; a group whose rewards are equal
// teaches where its turns differ.
func TestTurnsOfRows(t *testing.T) {
	split := func(id int32, turns ...float64) *trajectory.Trajectory {
		e := episode(id, trajectory.OK, 2)
		e.TurnRewards = turns
		return e
	}
	a, b := split(10, 2, 0), split(11, 0, 2)
	b.Turns[1].BridgeIDs, b.Turns[1].Rewrite = []int32{1, 7, 3}, "dropped"
	got, stats := fromGroups([]trajectory.Group{{Trajectories: []*trajectory.Trajectory{a, b}}},
		batch.Advantages{By: batch.AdvantageCentred, Credit: batch.Credit{Level: batch.CreditTurn, Discount: 1}},
		batch.Options{})
	if stats.ZeroSpread != 0 || len(got.Rows) != 3 {
		t.Fatalf("%+v, %d rows", stats, len(got.Rows))
	}
	var of [][]float32
	for _, r := range got.Rows {
		var each []float32
		for i, yes := range r.Trained {
			if yes {
				each = append(each, r.Advantages[i])
			}
		}
		of = append(of, each)
		if len(r.Advantages) != len(r.IDs) {
			t.Errorf("%d advantages of %d tokens", len(r.Advantages), len(r.IDs))
		}
	}
	// Returns 2 0 and 2 2: the first turns are alike, of the second the other's is better by 2.
	n := len(a.Turns[0].CompletionIDs)
	for i, x := range of[0] {
		if want := float32(0); i >= n && x != -1 || i < n && x != want {
			t.Errorf("the first: token %d has %g", i, x)
		}
	}
	if of[1][0] != 0 || of[2][0] != 1 {
		t.Errorf("the second: %v", of)
	}
	if _, stats := fromGroups([]trajectory.Group{{Trajectories: []*trajectory.Trajectory{a, b}}},
		batch.Advantages{By: batch.AdvantageCentred}, batch.Options{}); stats.ZeroSpread != 1 {
		t.Errorf("by episode: %+v", stats)
	}
}
