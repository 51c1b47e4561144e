package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/trajectory"
)

// table makes rows of one episode each: scenario i succeeds where wins[i] is '1'.
func table(wins string) []Row {
	var rows []Row
	for i, w := range wins {
		rows = append(rows, Row{ScenarioID: fmt.Sprint("s", i), NumGold: 1, FirstCall: w == '1', Episode: w == '1'})
	}
	return rows
}

// failed are rows of the same scenarios that earned nothing, so that a difference to them is the rows' own mean.
func failed(rows []Row) []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i].ScenarioID = r.ScenarioID
	}
	return out
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tolerance)
	}
}

// exact enumerates all n^n resamples of n numbers and returns the quantile of their means.
func exact(values []float64, q float64) float64 {
	n := len(values)
	total := int(math.Pow(float64(n), float64(n)))
	means := make([]float64, total)
	for code := range means {
		for k, c := 0, code; k < n; k, c = k+1, c/n {
			means[code] += values[c%n] / float64(n)
		}
	}
	slices.Sort(means)
	return means[int(q*float64(total))]
}

func TestResamplesAgainstAllThereAre(t *testing.T) {
	for _, values := range [][]float64{{3}, {0, 1}, {0, 0, 1}, {1, 2, 4, 8}, {0, 1, 1, 1, 5}, {1, 3, 9, 27, 81, 243}} {
		var pairs [][2]sums
		for _, v := range values {
			pairs = append(pairs, [2]sums{{0, 1}, {v, 1}})
		}
		got := Bootstrap{NumResamples: 100_000, Seed: 3}.resample(pairs)
		// Where clusters do not count evenly the way is a longer one, of the same draws.
		few := Bootstrap{NumResamples: 1000, Seed: 3}
		short := few.resample(pairs)
		pairs[0][0].count = math.Nextafter(1, 2)
		if evenly(pairs) != nil {
			t.Error("they count evenly")
		}
		for i, long := range few.resample(pairs) {
			near(t, fmt.Sprintf("resample %d of %v", i, values), short[i], long, 1e-9)
		}
		spread := slices.Max(values) - slices.Min(values)
		near(t, fmt.Sprint("low of ", values), quantile(got, 0.1), exact(values, 0.1), 0.02*spread)
		near(t, fmt.Sprint("high of ", values), quantile(got, 0.9), exact(values, 0.9), 0.02*spread)
	}
}

func TestQuantileAsNumpy(t *testing.T) {
	// numpy.quantile([1, 2, 4, 10], q)
	for q, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 3, 0.9: 8.2, 1: 10} {
		near(t, fmt.Sprint("quantile ", q), quantile([]float64{1, 2, 4, 10}, q), want, 1e-12)
	}
}

// The examples of Newcombe, Statistics in Medicine 17 (1998), 857-872, and the limit z^2 / (n + z^2) of none.
func TestWilson(t *testing.T) {
	for _, x := range []struct {
		ones, n             int
		low, high, accuracy float64
	}{
		{81, 263, 0.2553, 0.3662, 5e-5}, {15, 148, 0.0624, 0.1605, 5e-5}, {0, 20, 0, 0.1611, 5e-5},
		{1, 29, 0.0061, 0.1718, 5e-5}, {0, 160, 0, 3.841458821 / 163.841458821, 1e-9},
		{160, 160, 160 / 163.841458821, 1, 1e-9},
	} {
		got := Estimate(table(strings.Repeat("1", x.ones)+strings.Repeat("0", x.n-x.ones)), Completion(), Bootstrap{})
		what := fmt.Sprintf(" of %d of %d", x.ones, x.n)
		near(t, "low"+what, got.Low, x.low, x.accuracy)
		near(t, "high"+what, got.High, x.high, x.accuracy)
	}
	if got := Estimate(nil, Completion(), Bootstrap{}); got != (Interval{}) {
		t.Errorf("nothing: %+v", got)
	}
	wide, narrow := Estimate(table("0011"), Completion(), Bootstrap{Level: 0.99}), Estimate(table("0011"), Completion(),
		Bootstrap{Level: 0.8})
	if wide.Low >= narrow.Low || wide.High <= narrow.High {
		t.Errorf("level 0.99 %+v, 0.8 %+v", wide, narrow)
	}
}

// The interval of four families of two scenarios, by hand. With one that won and one that lost there are six of 2, with
// 2, 1, 1, 0, 2, 0 successes: mean 1/2, variance 4 / 144 x 6 / 5 = 1/30, 5 degrees of freedom. So n is 7.5 (z / t)^2,
// and more than Kish's 4.
func TestEffectiveNumber(t *testing.T) {
	rows := table("11100100")
	for i := range rows {
		rows[i].Family = fmt.Sprint(i / 2)
	}
	got := Estimate(rows, Completion(), Bootstrap{})
	n := 7.5 * math.Pow(1.959964/2.570582, 2)
	half := 1.959964 / (1 + 3.841459/n) * math.Sqrt(0.25/n+3.841459/(4*n*n))
	near(t, "low", got.Low, 0.5-half, 1e-6)
	near(t, "high", got.High, 0.5+half, 1e-6)
	if got.N != 8 || got.Clusters != 4 || n < 4 {
		t.Errorf("%+v, n %v", got, n)
	}
}

func TestEstimateClustersByScenario(t *testing.T) {
	// 100 copies of each episode are no new evidence: the interval stays that of the two scenarios.
	var rows []Row
	for range 100 {
		rows = append(rows, table("01")...)
	}
	two := Estimate(table("01"), Completion(), Bootstrap{})
	got := Estimate(rows, Completion(), Bootstrap{})
	if got.Mean != 0.5 || got.N != 2 {
		t.Errorf("clustered = %+v", got)
	}
	near(t, "clustered low", got.Low, two.Low, 1e-12)
	near(t, "clustered high", got.High, two.High, 1e-12)
	for i := range rows {
		rows[i].ScenarioID = fmt.Sprint(i)
	}
	if got := Estimate(rows, Completion(), Bootstrap{}); got.High-got.Low > 0.2 || got.N != 200 {
		t.Errorf("as 200 scenarios = %+v", got)
	}
	// Nor are 98 more episodes of one of them, and they do not give it more weight.
	skewed := table("01")
	for range 98 {
		skewed = append(skewed, Row{ScenarioID: "s1", Episode: true})
	}
	if got := Estimate(skewed, Completion(), Bootstrap{}); got.Mean != 0.5 || math.Abs(got.High-two.High) > 1e-12 ||
		got.N != 2 {
		t.Errorf("99 rows of one and 1 of another scenario = %+v", got)
	}
}

// Episodes end in any order, and the numbers are the same.
func TestOrderOfRows(t *testing.T) {
	old, new := table("0010110100101101"), table("1010010111101001")
	b := Bootstrap{NumResamples: 300, Seed: 5}
	first, whole := Estimate(new, Completion(), b), Compare(old, new, Completion(), b)
	if whole.Low >= whole.High {
		t.Fatalf("no interval: %+v", whole)
	}
	for shift := range old {
		o, n := slices.Concat(old[shift:], old[:shift]), slices.Concat(new[shift:], new[:shift])
		slices.Reverse(n)
		if got := Compare(o, n, Completion(), b); got != whole {
			t.Errorf("shifted by %d: %+v, want %+v", shift, got, whole)
		}
		if got := Estimate(n, Completion(), b); got != first {
			t.Errorf("shifted by %d: %+v, want %+v", shift, got, first)
		}
	}
}

func TestCompareIsPaired(t *testing.T) {
	old, new := table(strings.Repeat("0000011111", 3)), table(strings.Repeat("0000111111", 3))
	got := Compare(old, new, Completion(), Bootstrap{})
	near(t, "mean", got.Mean, 0.1, 1e-12)
	// no scenario got worse, so it is never negative
	if got.Method != PairedBootstrap || got.N != 30 || got.Low < 0 || got.High > 0.27 {
		t.Errorf("%+v", got)
	}
	slices.Reverse(new) // pairs by scenario, not by place
	if again := Compare(old, new, Completion(), Bootstrap{}); again != got {
		t.Errorf("reordered: %+v, want %+v", again, got)
	}
	if got := Compare(old, append(new, Row{ScenarioID: "only new", Episode: true}), Completion(),
		Bootstrap{}); got.N != 30 {
		t.Errorf("a scenario that one side lacks was counted: %+v", got)
	}
	if got := Compare(old, nil, Completion(), Bootstrap{}); got != (Interval{}) {
		t.Errorf("nothing in common: %+v", got)
	}
}

// Where there is no variance to go by, or few clusters, the interval is by formula.
func TestCompareOfFewOrAlike(t *testing.T) {
	// Bonett and Price: 20 pairs, none of which differ, are (0 +- t(21) sqrt((2/22) / 22)).
	alike := Compare(table(strings.Repeat("01", 10)), table(strings.Repeat("01", 10)), Completion(), Bootstrap{})
	half := studentQuantile(0.975, 21) * math.Sqrt(2./22/22)
	near(t, "low", alike.Low, -half, 1e-12)
	near(t, "high", alike.High, half, 1e-12)
	if alike.Mean != 0 || alike.Method != PairedStudent {
		t.Errorf("%+v", alike)
	}
	all := Compare(table(strings.Repeat("0", 20)), table(strings.Repeat("1", 20)), Completion(), Bootstrap{})
	if all.Mean != 1 || all.High != 1 || all.Low > 0.97 || all.Low < 0.7 {
		t.Errorf("all were gained: %+v", all)
	}
	// The paired t-test's interval, by hand: differences 1, 0, 0, 1 have mean 1/2 and variance 1/3.
	few := Compare(table("0010"), table("1011"), Completion(), Bootstrap{})
	near(t, "few low", few.Low, 0.5-3.182446*math.Sqrt(1./12), 1e-6)
	if few.High != 1 || few.Method != PairedStudent {
		t.Errorf("%+v", few)
	}
	if one := Compare(table("0"), table("1"), Completion(), Bootstrap{}); one.Low != -1 || one.High != 1 ||
		one.Mean != 1 {
		t.Errorf("one scenario: %+v", one)
	}
	seconds := Metric{Of: func(r Row) (float64, float64) { return r.Seconds, 1 }}
	if one := Compare([]Row{{ScenarioID: "a", Seconds: 1}}, []Row{{ScenarioID: "a", Seconds: 9}}, seconds,
		Bootstrap{}); one.Mean != 8 || one.Low != 8 || one.High != 8 {
		t.Errorf("one time: %+v", one)
	}
}

// A family is one piece of evidence: of 40 scenarios in 4 families, each of which is all won or all lost, 4 count.
func TestFamiliesAreClusters(t *testing.T) {
	var old, new, four []Row
	for i := range 40 {
		r := Row{ScenarioID: fmt.Sprint("s", i), Family: fmt.Sprint("f", i%4)}
		old = append(old, r)
		r.Episode = i%4 < 3
		new = append(new, r)
	}
	for i := range 4 {
		four = append(four, Row{ScenarioID: fmt.Sprint(i), Episode: i < 3})
	}
	got, want := Compare(old, new, Completion(), Bootstrap{}), Compare(failed(four), four, Completion(), Bootstrap{})
	near(t, "low", got.Low, want.Low, 1e-9)
	near(t, "high", got.High, want.High, 1e-9)
	if got.N != 40 || got.Clusters != 4 || want.Clusters != 0 {
		t.Errorf("%+v, %+v", got, want)
	}
	one, few := Estimate(new, Completion(), Bootstrap{}), Estimate(four, Completion(), Bootstrap{})
	near(t, "low of a rate", one.Low, few.Low, 1e-9)
	near(t, "high of a rate", one.High, few.High, 1e-9)
}

func TestBootstrapProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wins := rapid.StringMatching(`[01]{1,30}`).Draw(t, "wins")
		b := Bootstrap{NumResamples: 200, Seed: rapid.Uint64().Draw(t, "seed")}
		rows := table(wins)
		got := Estimate(rows, Completion(), b)
		if got != Estimate(rows, Completion(), b) {
			t.Fatal("the same seed gave another interval")
		}
		if mean := float64(strings.Count(wins, "1")) / float64(len(wins)); math.Abs(got.Mean-mean) > 1e-12 {
			t.Fatalf("mean %v, want %v", got.Mean, mean)
		}
		if got.Low >= got.High || got.Low > got.Mean || got.High < got.Mean || got.Low < 0 || got.High > 1 {
			t.Fatalf("interval %+v", got)
		}
		if d := Compare(rows, rows, Completion(), b); d.Mean != 0 || d.Low >= 0 || d.High <= 0 {
			t.Fatalf("a system differs from itself: %+v", d)
		}
	})
}

// Of many equal pairs the expanded percentiles are those of the normal distribution.
func TestBootstrapNearWilson(t *testing.T) {
	for _, ones := range []int{60, 150, 240} {
		rows := table(strings.Repeat("1", ones) + strings.Repeat("0", 300-ones))
		got := Compare(failed(rows), rows, Completion(), Bootstrap{Seed: 1})
		low, high := wilson(got.Mean, 300, normalQuantile(0.975))
		near(t, "low", got.Low, low, 0.012)
		near(t, "high", got.High, high, 0.012)
	}
}

func TestNewSystem(t *testing.T) {
	call := func(s trajectory.CallStatus) trajectory.ToolResult { return trajectory.ToolResult{Status: s} }
	ts := []*trajectory.Trajectory{
		{ScenarioID: "a", Outcome: trajectory.OK, Reward: 0.5, Seconds: 2, Turns: []trajectory.Turn{
			{CompletionIDs: []int32{1, 2}, Results: []trajectory.ToolResult{call(trajectory.CallToolError), call(trajectory.CallOK)}},
			{CompletionIDs: []int32{3}, Results: []trajectory.ToolResult{call(trajectory.CallInvalid)}}}},
		{ScenarioID: "b", Outcome: trajectory.Limit},
		{ScenarioID: "c", Outcome: trajectory.EnvironmentError},
		{ScenarioID: "d", Outcome: trajectory.EnvironmentError},
	}
	system := NewSystem("x", ts, Criteria{
		FirstCall: func(t *trajectory.Trajectory) bool { return t.ScenarioID == "a" },
		Episode:   func(t *trajectory.Trajectory) bool { return t.ScenarioID == "b" },
		Describe: func(r *Row) {
			r.Kind, r.NumGold = "kind of "+r.ScenarioID, map[string]int{"a": 2}[r.ScenarioID]
		},
		ExtraCalls: func(t *trajectory.Trajectory) int { return len(t.Turns) - 1 },
	})
	rows, excluded := system.Rows, system.Excluded
	if len(rows) != 2 || excluded[trajectory.EnvironmentError] != 2 {
		t.Fatalf("rows %+v, excluded %v", rows, excluded)
	}
	a := rows[0]
	if !a.FirstCall || a.Episode || a.NumTurns != 2 || a.NumCalls != 3 || a.NumToolErrors != 1 ||
		a.NumInvalidCalls != 1 || a.NumCompletionTokens != 3 || a.NumGold != 2 || a.NumExtraCalls != 1 ||
		rows[1].NumGold != 0 || a.Kind != "kind of a" || a.Reward != 0.5 || !rows[1].Episode {
		t.Errorf("row = %+v", a)
	}
	s := Summarize(system, Bootstrap{})
	if *s.Success != 1 || s.NumWithGold != 1 || *s.ExtraCalls != 1 || s.EpisodeSuccess != 0.5 || s.N != 2 ||
		s.NumExcluded != 2 || s.Turns != 1 || s.CompletionTokens != 1.5 {
		t.Errorf("summary = %+v", s)
	}
}

// Of scenarios without gold calls there is neither a rate of the first call nor an economy, alone or beside others.
func TestWithoutGoldCalls(t *testing.T) {
	none := []Row{{ScenarioID: "a", Episode: true, NumExtraCalls: 7}, {ScenarioID: "b"}}
	old, new := System{Name: "base", Rows: none}, System{
		Name: "sft",
		Rows: append(slices.Clone(none),
			Row{ScenarioID: "c", NumGold: 1, Episode: true, FirstCall: true, NumExtraCalls: 2}),
	}
	r := Comparison{Systems: []System{old, new}}
	results := r.Results()
	deltas, _ := json.Marshal(results.Deltas)
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	if s := results.Systems["base"]; s.Success != nil || s.ExtraCalls != nil || s.EpisodeSuccess != 0.5 || s.N != 2 ||
		s.NumWithGold != 0 || s.FirstCallText() != "-" || s.ExtraCallsText() != "-" {
		t.Errorf("%+v", s)
	}
	if s := results.Systems["sft"]; *s.Success != 1 || *s.ExtraCalls != 2 || s.N != 3 || s.NumWithGold != 1 ||
		s.ExtraCallsText() != "2" || !strings.HasPrefix(s.FirstCallText(), "100.0% [") {
		t.Errorf("%+v", s)
	}
	if d := results.Deltas[0]; d.First.N != 0 || d.First.PointsText() != "-" || d.Episode.N != 2 ||
		d.Episode.PointsText() != "+0.0 [-100.0, +100.0] too few" {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(string(text), `"success":null`) || strings.Contains(string(deltas), `"first_call"`) {
		t.Errorf("%s", text)
	}
}

// What GRPO lost of what SFT could is found, and not only what the base could.
func TestComparison(t *testing.T) {
	base, sft, grpo := table("1100000000"), table("1011110000"), table("0111111100")
	for i := range base {
		for _, rows := range [][]Row{base, sft, grpo} {
			rows[i].Kind, rows[i].Tools = []string{"lookup", "chain"}[i%2], []string{"a", "b"}[:1+i%2]
		}
	}
	c := Comparison{
		Systems: []System{
			{Name: "base", Rows: base},
			{Name: "sft", Rows: sft},
			{Name: "grpo", Rows: grpo, Excluded: map[trajectory.Outcome]int{trajectory.EnvironmentError: 3}},
		},
		Parts: []Part{{"sample", 60, false}, {"train", 36, false}, {"ledger", 4, true}},
	}
	results := c.Results()
	type lost struct {
		old, new      string
		worse, better []string
		wholeDelta    float64
	}
	for i, want := range []lost{{"base", "sft", []string{"s1"}, []string{"s2", "s3", "s4", "s5"}, 0.3},
		{"sft", "grpo", []string{"s0"}, []string{"s1", "s6", "s7"}, 0.2},
		{"base", "grpo", []string{"s0"}, []string{"s2", "s3", "s4", "s5", "s6", "s7"}, 0.5}} {
		d := results.Deltas[i]
		ids := func(list []Change) (out []string) {
			for _, c := range list {
				out = append(out, c.ScenarioID)
			}
			return out
		}
		if d.Old != want.old || d.New != want.new || !slices.Equal(ids(d.Regressions), want.worse) ||
			!slices.Equal(ids(d.Gains), want.better) {
			t.Errorf("%+v, want %+v", d, want)
		}
		near(t, "difference", d.Episode.Mean, want.wholeDelta, 1e-12)
	}
	if d := results.Deltas[0]; len(results.Deltas) != 3 || d.First.Method != PairedStudent ||
		Estimate(table("1"), Completion(), Bootstrap{}).Method != Wilson {
		t.Errorf("the methods are not named: %+v", d)
	}
	if *results.Systems["sft"].Success != 0.5 || results.OrchestrationShare != 0.04 ||
		results.Systems["grpo"].NumExcluded != 3 {
		t.Errorf("results = %+v", results)
	}
	c.Pairs = []Pair{{"grpo", "base"}, {"base", "nobody"}}
	if got := c.Results(); len(got.Deltas) != 1 || got.Deltas[0].New != "base" || len(got.Pairs) != 2 {
		t.Errorf("pairs of its own: %+v", got.Deltas)
	}
	b := Comparison{Systems: c.Systems}.breakdown("tool", func(r Row) []string { return r.Tools })
	if len(b.Values) != 2 || b.Values[0].Value != "a" || b.Values[0].Whole[2].N != 10 || b.Values[1].Whole[2].N != 5 ||
		b.Values[1].Whole[2].Mean != 0.8 || b.Values[1].First[0].Mean != 0.2 {
		t.Errorf("by tool: %+v", b)
	}
}

func TestRegressionsWorstFirst(t *testing.T) {
	old := append(table("111"), table("111")...)
	new := append(table("101"), table("100")...)
	got := Difference(System{Rows: old}, System{Rows: new}, Bootstrap{NumResamples: 1}).Regressions
	if len(got) != 2 || got[0] != (Change{"s1", "", 1, 0}) || got[1] != (Change{"s2", "", 1, 0.5}) {
		t.Errorf("regressions = %+v", got)
	}
}
