package batch_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// rows draws rows over two token ids, so that common prefixes are frequent. None begins with a trained token.
func rows(t *rapid.T) []batch.Sequence {
	var rows []batch.Sequence
	withLogprobs := rapid.Bool().Draw(t, "with logprobs")
	for range rapid.IntRange(0, 5).Draw(t, "rows") {
		n := rapid.IntRange(1, 12).Draw(t, "length")
		r := batch.Sequence{IDs: rapid.SliceOfN(rapid.Int32Range(0, 1), n, n).Draw(t, "ids"),
			Trained:    rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "trained"),
			Advantages: batch.Even(n, rapid.Float64().Draw(t, "advantage")), Group: rapid.Int().Draw(t, "group"),
			Episode: rapid.Int().Draw(t, "episode")}
		r.Trained[0] = false
		if withLogprobs {
			r.SamplerLogprobs = rapid.SliceOfN(rapid.Float32Range(-9, 0), n, n).Draw(t, "logprobs")
			r.Columns = map[batch.Column][]float32{
				"ref_logprobs": rapid.SliceOfN(rapid.Float32Range(-9, 0), n, n).Draw(t, "reference"),
			}
			r.Weights = rapid.SliceOfN(rapid.Float32Range(0, 2), n, n).Draw(t, "weights")
		}
		rows = append(rows, r)
	}
	return rows
}

// columnsOf are all columns of a row.
func columnsOf(s batch.Sequence) map[string][]float32 {
	return map[string][]float32{"sampler": s.SamplerLogprobs, "weights": s.Weights,
		"advantages": s.Column(batch.ColumnAdvantages), "reference": s.Column("ref_logprobs")}
}

// Old logprobs are a column of the row's own, else the sampler's.
func TestOldLogprobs(t *testing.T) {
	own, sampled := []float32{-1}, []float32{-2}
	r := batch.Sequence{SamplerLogprobs: sampled}
	if got := r.Column(batch.ColumnOldLogprobs); !slices.Equal(got, sampled) {
		t.Errorf("got %v, want the sampler's", got)
	}
	r.Columns = map[batch.Column][]float32{batch.ColumnOldLogprobs: own}
	if got := r.Column(batch.ColumnOldLogprobs); !slices.Equal(got, own) ||
		!slices.Equal(r.Column(batch.ColumnSamplerLogprobs), sampled) || r.Column("none") != nil {
		t.Errorf("got %v, want the row's own", got)
	}
}

func TestNewSharesThePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []batch.Sequence
		all := rows(t)
		for _, r := range all {
			if r.NumTrained() > 0 {
				want = append(want, r)
			}
		}
		b := batch.New(all)
		if len(b.Rows) != len(want) {
			t.Fatalf("%d rows of %d with trained tokens", len(b.Rows), len(want))
		}
		shared, longer := len(b.Prefix), len(want) > 0
		for i, got := range b.Rows {
			w := want[i]
			if !slices.Equal(slices.Concat(b.Prefix, got.IDs), w.IDs) ||
				!slices.Equal(got.Trained, w.Trained[shared:]) || slices.Contains(w.Trained[:shared], true) ||
				got.Group != w.Group || got.Episode != w.Episode {
				t.Fatalf("row %d: prefix %v and %+v are not %+v", i, b.Prefix, got, w)
			}
			for name, have := range columnsOf(got) {
				if want := columnsOf(w)[name]; (have == nil) != (want == nil) ||
					want != nil && !slices.Equal(have, want[shared:]) {
					t.Fatalf("row %d: %s %v of %v", i, name, have, want)
				}
			}
			if len(got.IDs) == 0 || got.Trained[0] {
				t.Fatalf("row %d begins with a trained token: %+v", i, got)
			}
			// One token more would have to be common to all rows and leave an untrained token in each.
			longer = longer && len(got.IDs) > 1 && got.IDs[0] == b.Rows[0].IDs[0] && !got.Trained[1]
		}
		if longer {
			t.Fatalf("the prefix %v could be longer: %+v", b.Prefix, b.Rows)
		}
	})
}

func TestNewOfNothing(t *testing.T) {
	untrained := batch.Sequence{IDs: []int32{1, 2}, Trained: []bool{false, false}}
	for _, rows := range [][]batch.Sequence{nil, {untrained}} {
		if b := batch.New(rows); len(b.Rows) != 0 || len(b.Prefix) != 0 || b.NumTrained() != 0 {
			t.Errorf("got %+v, want an empty batch", b)
		}
	}
}

// Nothing comes before a first token to predict it, so no row trains it; the caller's rows are left as they were.
func TestNewTrainsNoFirstToken(t *testing.T) {
	rows := []batch.Sequence{
		{IDs: []int32{1, 2, 3}, Trained: []bool{true, false, true}},
		{IDs: []int32{4, 5, 6}, Trained: []bool{false, true, true}},
		{IDs: []int32{7}, Trained: []bool{true}},
	}
	b := batch.New(rows)
	if len(b.Rows) != 2 || b.NumTrained() != 3 {
		t.Fatalf("got %+v", b)
	}
	for i, want := range [][]bool{{false, false, true}, {false, true, true}} {
		if !slices.Equal(b.Rows[i].Trained, want) || !slices.Equal(b.Rows[i].IDs, rows[i].IDs) {
			t.Errorf("row %d: %+v, want %v trained", i, b.Rows[i], want)
		}
	}
	if !rows[0].Trained[0] || !rows[2].Trained[0] {
		t.Errorf("the rows given were changed: %+v", rows)
	}
}

func episode(id int32, outcome trajectory.Outcome, reward float64) *trajectory.Trajectory {
	return &trajectory.Trajectory{Outcome: outcome, Reward: reward, Turns: []trajectory.Turn{
		{BridgeIDs: []int32{1, 2}, CompletionIDs: []int32{id}, SamplerLogprobs: []float32{-0.5}},
		{BridgeIDs: []int32{3}, CompletionIDs: []int32{id, 9}, SamplerLogprobs: []float32{-1, -2}}}}
}

// fromGroups are the rows of a step, and what of it teaches nothing.
func fromGroups(groups []trajectory.Group, a batch.Advantages, o batch.Options) (batch.Batch, batch.Stats) {
	compared := batch.Compare(groups)
	advantages := a.Of(compared.Groups)
	return compared.Rows(advantages, o), compared.GroupStats(advantages)
}

func TestFromGroups(t *testing.T) {
	groups := []trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{
			episode(10, trajectory.OK, 1), episode(11, trajectory.EnvironmentError, 50),
			episode(12, trajectory.Limit, 0), episode(13, trajectory.InfrastructureError, -50), episode(14,
				trajectory.JudgeError, 9),
		}},
		{Trajectories: []*trajectory.Trajectory{episode(20, trajectory.OK, 0.5), episode(21, trajectory.PolicyError, 0.5)}},
		{Trajectories: []*trajectory.Trajectory{episode(30, trajectory.OK, 1), episode(31, trajectory.EnvironmentError, 0)}},
		{}, // nobody came back
		{Trajectories: []*trajectory.Trajectory{episode(40, trajectory.EnvironmentError, 0), episode(41, trajectory.EnvironmentError, 0)}},
	}
	b, stats := fromGroups(groups, batch.Advantages{By: batch.AdvantageCentred}, batch.Options{})
	// a group of one compares nothing
	if want := (batch.Stats{Groups: 5, Empty: 3, ZeroSpread: 1, Masked: 6}); stats != want {
		t.Errorf("got %+v, want %+v", stats, want)
	}
	want := []batch.Sequence{
		{IDs: []int32{2, 10, 3, 10, 9}, Advantages: batch.Even(5, 0.5)}, // masked members are no part of the mean
		{IDs: []int32{2, 12, 3, 12, 9}, Advantages: batch.Even(5, -0.5), Episode: 2},
	}
	if !slices.Equal(b.Prefix, []int32{1}) || len(b.Rows) != len(want) {
		t.Fatalf("got %+v", b)
	}
	for i, r := range b.Rows {
		if !slices.Equal(r.IDs, want[i].IDs) || !slices.Equal(r.Advantages, want[i].Advantages) || r.Group != 0 ||
			r.Episode != want[i].Episode || !slices.Equal(r.Trained, []bool{false, true, false, true, true}) ||
			!slices.Equal(r.SamplerLogprobs, []float32{0, -0.5, 0, -1, -2}) {
			t.Errorf("row %d: got %+v, want %+v", i, r, want[i])
		}
	}
	if b.NumTrained() != 6 || b.Normaliser != 12 { // of the group without spread, two members count
		t.Errorf("%d trained tokens, want 6; normalised by %d, want 12", b.NumTrained(), b.Normaliser)
	}
}

// An episode whose template rewrote what came before is several rows, all with its advantage; each completion is in
// one.
func TestSplitEpisodes(t *testing.T) {
	split := episode(10, trajectory.OK, 1)
	split.Turns[1].BridgeIDs, split.Turns[1].Rewrite = []int32{1, 7, 3}, "dropped"
	b, _ := fromGroups([]trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{split, episode(12, trajectory.OK, 0)}},
	}, batch.Advantages{By: batch.AdvantageCentred}, batch.Options{})
	want := []batch.Sequence{
		{IDs: []int32{2, 10}, Trained: []bool{false, true}, SamplerLogprobs: []float32{0, -0.5}, Advantages: batch.Even(2, 0.5)},
		{IDs: []int32{7, 3, 10, 9}, Trained: []bool{false, false, true, true}, SamplerLogprobs: []float32{0, 0, -1, -2}, Advantages: batch.Even(4, 0.5)},
		{IDs: []int32{2, 12, 3, 12, 9}, Trained: []bool{false, true, false, true, true},
			SamplerLogprobs: []float32{0, -0.5, 0, -1, -2}, Advantages: batch.Even(5, -0.5), Episode: 1},
	}
	if !slices.Equal(b.Prefix, []int32{1}) || !slices.EqualFunc(b.Rows, want, func(a, b batch.Sequence) bool {
		return slices.Equal(a.IDs, b.IDs) && slices.Equal(a.Trained, b.Trained) &&
			slices.Equal(a.SamplerLogprobs, b.SamplerLogprobs) && slices.Equal(a.Advantages, b.Advantages) &&
			a.Episode == b.Episode
	}) {
		t.Errorf("got %+v", b)
	}
}

// The numbers are worked by hand from TRL's (r - mean) / (std + 1e-4) with torch.std's default, ddof 1.
func TestGroupNormalized(t *testing.T) {
	for _, c := range []struct{ rewards, want []float64 }{
		{[]float64{1, 0}, []float64{0.5 / (0.7071067811865476 + 1e-4), -0.5 / (0.7071067811865476 + 1e-4)}},
		{[]float64{1, 0, 0, 0}, []float64{0.75 / 0.5001, -0.25 / 0.5001, -0.25 / 0.5001, -0.25 / 0.5001}}, // var 0.75/3
		{[]float64{1, 2, 3}, []float64{-1 / 1.0001, 0, 1 / 1.0001}},
		{[]float64{0.4, 0.4}, []float64{0, 0}},
		{[]float64{7}, []float64{0}},
		{nil, nil},
	} {
		got := batch.GroupNormalize(slices.Clone(c.rewards))
		if len(got) != len(c.want) {
			t.Fatalf("%v: got %v", c.rewards, got)
		}
		for i := range got {
			if !(math.Abs(got[i]-c.want[i]) < 1e-12) {
				t.Errorf("%v: got %v, want %v", c.rewards, got, c.want)
			}
		}
	}
}

func TestShortenKeepsTheRowsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := batch.New(rows(t))
		n := rapid.IntRange(0, 12).Draw(t, "longest prefix")
		b.Normaliser = 7
		short := b.Shorten(n)
		if short.Normaliser != 7 || n > 0 && len(short.Prefix) > n || len(short.Rows) != len(b.Rows) ||
			short.NumTrained() != b.NumTrained() {
			t.Fatalf("%+v shortened to %d is %+v", b, n, short)
		}
		for i, r := range short.Rows {
			w := b.Rows[i]
			if !slices.Equal(slices.Concat(short.Prefix, r.IDs), slices.Concat(b.Prefix, w.IDs)) ||
				len(r.Trained) != len(r.IDs) || !slices.Equal(r.Trained[len(r.Trained)-len(w.Trained):], w.Trained) ||
				r.Group != w.Group || r.Episode != w.Episode {
				t.Fatalf("row %d: %+v became %+v", i, w, r)
			}
			for name, have := range columnsOf(r) {
				want := columnsOf(w)[name]
				if (have == nil) != (want == nil) ||
					want != nil && (len(have) != len(r.IDs) || !slices.Equal(have[len(have)-len(want):], want)) {
					t.Fatalf("row %d: %s %v became %v", i, name, want, have)
				}
			}
		}
	})
}

// Episodes of earlier steps are rows of their own, with their own advantage, and count as episodes of the step do.
func TestEarlierEpisodes(t *testing.T) {
	sampled := func(reward float64, ids ...int32) *trajectory.Trajectory {
		return &trajectory.Trajectory{Outcome: trajectory.OK, Reward: reward, Turns: []trajectory.Turn{
			{BridgeIDs: []int32{1}, CompletionIDs: ids, SamplerLogprobs: make([]float32, len(ids))},
		}}
	}
	groups := []trajectory.Group{{Trajectories: []*trajectory.Trajectory{sampled(0, 5, 6), sampled(1, 7, 8)}}}
	earlier := []batch.Earlier{{Advantage: 0.25, Rows: []batch.Sequence{
		{IDs: []int32{1, 9, 10}, Trained: []bool{false, true, true}, SamplerLogprobs: []float32{0, -1, -2}},
		{IDs: []int32{1, 2, 11}, Trained: []bool{false, false, true}, SamplerLogprobs: []float32{0, 0, -3}}}}}
	for reduction, want := range map[batch.Reduction]int{
		batch.TokenMean:   2 + 2 + 3,
		batch.EpisodeMean: 3,
		batch.Constant:    3 * 10,
	} {
		b, _ := fromGroups(groups, batch.Advantages{By: batch.AdvantageCentred},
			batch.Options{Reduction: reduction, Length: 10, Earlier: earlier})
		if b.Normaliser != want || len(b.Rows) != 4 {
			t.Fatalf("%s: %d rows by %d, want 4 by %d", reduction, len(b.Rows), b.Normaliser, want)
		}
		for _, r := range b.Rows[2:] {
			last := len(r.IDs) - 1
			if r.Group != 1 || r.Episode != 2 || r.Advantages[last] != 0.25 || (reduction == batch.EpisodeMean) !=
				(r.Weights != nil && math.Abs(float64(r.Weights[last])-1.0/3) < 1e-6) {
				t.Errorf("%s: %+v", reduction, r)
			}
		}
		if got := b.Rows[3].SamplerLogprobs; got[len(got)-1] != -3 {
			t.Errorf("%s: logprobs %v", reduction, got)
		}
	}
	if earlier[0].Rows[0].Advantages != nil {
		t.Error("what was given has changed")
	}
}
