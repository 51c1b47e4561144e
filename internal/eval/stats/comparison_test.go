package stats

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/trajectory"
)

// drawn are the rows of a system on n scenarios with k repeats each, whose scenarios are hard and easy in both systems.
func drawn(t *rapid.T, name string, n, k int) System {
	s := System{Name: name, Excluded: map[trajectory.Outcome]int{}}
	for i := range n {
		for j := range k {
			r := Row{
				ScenarioID: fmt.Sprint("s", i),
				Repeat:     j,
				NumGold:    i % 3,
				Kind:       fmt.Sprint("k", i%2),
				Tools:      []string{fmt.Sprint("t", i%4)},
				Difficulty: fmt.Sprint("d", i%3),
				Episode:    rapid.Bool().Draw(t, "done"),
				FirstCall:  rapid.Bool().Draw(t, "first"),
				NumTurns:   rapid.IntRange(1, 6).Draw(t, "turns"),
				NumCalls:   rapid.IntRange(0, 5).Draw(t, "calls"),
				Seconds:    rapid.Float64Range(0, 9).Draw(t, "seconds"),
				Reward:     rapid.Float64Range(-1, 2).Draw(t, "reward"),
			}
			if i%5 > 2 {
				r.Family = fmt.Sprint("f", i%2)
			}
			if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				s.Lost, s.Excluded[trajectory.EnvironmentError] =
					append(s.Lost, r), s.Excluded[trajectory.EnvironmentError]+1
				continue
			}
			s.Rows = append(s.Rows, r)
		}
	}
	return s
}

// Episodes end in any order, and the numbers are the same to the last bit; a second look at the same rows says the
// same.
func TestResultsDoNotDependOnTheOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "k")
		c := Comparison{Systems: []System{drawn(t, "a", n, k), drawn(t, "b", n, k), drawn(t, "c", n, k)},
			Bootstrap: Bootstrap{NumResamples: 50}}
		want, err := json.Marshal(c.Results())
		if err != nil {
			t.Fatal(err)
		}
		was := runtime.GOMAXPROCS(1)
		again, _ := json.Marshal(c.Results())
		if runtime.GOMAXPROCS(was); string(again) != string(want) {
			t.Fatalf("on one core: %s\n%s", again, want)
		}
		for i, s := range c.Systems {
			c.Systems[i].Rows, c.Systems[i].Lost =
				rapid.Permutation(s.Rows).Draw(t, "rows"), rapid.Permutation(s.Lost).Draw(t, "lost rows")
		}
		if again, _ := json.Marshal(c.Results()); string(again) != string(want) {
			t.Fatalf("in another order: %s\n%s", again, want)
		}
	})
}

// Rows that repeat what is there are no evidence: intervals stay as wide.
func TestDuplicatesDoNotNarrowIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(2, 20).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "k")
		a, b := drawn(t, "a", n, k), drawn(t, "b", n, k)
		times := rapid.IntRange(2, 5).Draw(t, "times")
		for _, m := range Metrics() {
			o := Bootstrap{NumResamples: 200}
			once, more := Estimate(a.Rows, m, o), Estimate(slices.Repeat(a.Rows, times), m, o)
			if more.High-more.Low < (once.High-once.Low)*(1-1e-9) || more.N != once.N {
				t.Fatalf("%s: %+v of each row once, %+v of each %d times", m.Name, once, more, times)
			}
			once, more = Compare(a.Rows, b.Rows, m, o), Compare(slices.Repeat(a.Rows, times),
				slices.Repeat(b.Rows, times), m, o)
			if more.High-more.Low < (once.High-once.Low)*(1-1e-9) {
				t.Fatalf("difference of %s: %+v of each row once, %+v of each %d times", m.Name, once, more, times)
			}
		}
	})
}

// A tool that the new system lost is found, whatever else changes by chance, and stands first; so does its worst
// scenario.
func TestPlantedRegressionIsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		systems := []System{{Name: "base"}, {Name: "sft"}, {Name: "grpo"}}
		const scenarios, tools, repeats = 96, 8, 6
		broken := rapid.IntRange(0, tools-1).Draw(t, "tool")
		for i := range systems {
			for s := range scenarios {
				for k := range repeats {
					rate := []float64{0.1, 0.9}[s%2]
					if s%tools == broken {
						rate = []float64{0.99, 0.99, 0.01}[i]
					}
					systems[i].Rows = append(systems[i].Rows, Row{ScenarioID: fmt.Sprintf("s%03d", s), Repeat: k,
						Tools: []string{fmt.Sprint("t", s%tools)}, Episode: r.Float64() < rate})
				}
			}
		}
		c := Comparison{Systems: systems, Bootstrap: Bootstrap{NumResamples: 50}}
		first, parts := c.Regressions()[0], partRegressions(c.Breakdowns(), c.pairs())
		if first.System != "grpo" || !first.Every {
			t.Fatalf("%+v", first)
		}
		var id int
		if _, err := fmt.Sscanf(first.ScenarioID, "s%d", &id); err != nil || id%tools != broken {
			t.Fatalf("%+v is first, and tool %d is broken", first, broken)
		}
		for i := range 2 {
			if p := parts[i]; p.Property != "tool" || p.Value != fmt.Sprint("t", broken) || p.New != "grpo" ||
				p.Delta.Mean > -0.7 {
				t.Fatalf("%d: %+v, and tool %d is broken", i, p, broken)
			}
		}
	})
}

// Any number of systems is compared, each with all before it, and what one does less often than others is said once.
func TestRegressionsAgainstAll(t *testing.T) {
	c := Comparison{Systems: []System{
		{Name: "a", Rows: table("1101")},
		{Name: "b", Rows: table("1011")},
		{Name: "c", Rows: table("1101")},
		{Name: "d", Rows: table("1000")},
	}}
	got := c.Results()
	var pairs []string
	for _, d := range got.Deltas {
		pairs = append(pairs, d.New+"-"+d.Old)
	}
	if want := []string{"b-a", "c-b", "c-a", "d-c", "d-b", "d-a"}; !slices.Equal(pairs, want) {
		t.Errorf("%q", pairs)
	}
	text, err := json.Marshal(got.Regressions)
	if want := `[{"scenario_id":"s3","system":"d","rate":0,"others":{"a":1,"b":1,"c":1},"fall":1,"every":true},{"scenario_id":"s1","system":"b","rate":0,"others":{"a":1},"fall":1,"every":true},` +
		`{"scenario_id":"s1","system":"d","rate":0,"others":{"a":1,"c":1},"fall":1,"every":false},{"scenario_id":"s2","system":"c","rate":0,"others":{"b":1},"fall":1,"every":false},` +
		`{"scenario_id":"s2","system":"d","rate":0,"others":{"b":1},"fall":1,"every":false}]`; err != nil ||
		string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	if !slices.Equal(got.AlwaysDone, []string{"s0"}) || got.NeverDone != nil ||
		!slices.Equal(got.Order, []string{"a", "b", "c", "d"}) {
		t.Errorf("always %q, never %q, order %q", got.AlwaysDone, got.NeverDone, got.Order)
	}
	c.Systems = c.Systems[3:]
	if got := c.Results(); !slices.Equal(got.NeverDone, []string{"s1", "s2", "s3"}) || len(got.Regressions) > 0 {
		t.Errorf("%+v", got)
	}
}

// Each property of the scenarios that takes several values is a table of its own.
func TestBreakdowns(t *testing.T) {
	yes, no := true, false
	rows := []Row{
		{ScenarioID: "a", Kind: "k1", Tools: []string{"t1", "t2"}, Servers: []string{"s1"}, Difficulty: "easy",
			SeenTools: &yes, SeenServers: &yes, NumGold: 1, Episode: true, Tags: []string{"kind:k1", "wording:new"}},
		{ScenarioID: "b", Kind: "k2", Tools: []string{"t2"}, Servers: []string{"s2"}, Difficulty: "hard",
			SeenTools: &no, SeenServers: &no, NumGold: 1, Tags: []string{"kind:k2", "wording:old", "family:x"}},
		{ScenarioID: "c", Kind: "k2", NoTool: true, Tags: []string{"difficulty:hard"}}, {ScenarioID: "d", Kind: "k2",
			MissingTool: true},
	}
	c := Comparison{Systems: []System{{Name: "old", Rows: rows}, {Name: "new", Rows: rows}}}
	var got []string
	for _, b := range c.Results().Breakdowns {
		for _, v := range b.Values {
			got = append(got, fmt.Sprintf("%s=%s %d/%d/%d", b.Name, v.Value, v.First[1].N, v.Whole[0].N, v.Deltas[0].N))
		}
	}
	if want := []string{"kind=k1 1/1/1", "kind=k2 1/3/3", "tool=t1 1/1/1", "tool=t2 2/2/2", "server=s1 1/1/1",
		"server=s2 1/1/1", "difficulty=easy 1/1/1", "difficulty=hard 1/1/1", "tools in training=seen 1/1/1",
		"tools in training=unseen 1/1/1", "servers in training=seen 1/1/1", "servers in training=unseen 1/1/1",
		"tool that fits=missing 0/1/1", "tool that fits=none 0/1/1", "tool that fits=there is one 2/2/2",
		"wording=new 1/1/1", "wording=old 1/1/1"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Of a tag that has a value for nearly each scenario, the 50 of the most scenarios are told, and how many others there
// are.
func TestBreakdownOfManyValues(t *testing.T) {
	var rows []Row
	for i := range 80 {
		for k := range 1 + i%3 {
			rows = append(rows, Row{ScenarioID: fmt.Sprint(i, "/", k), Tags: []string{fmt.Sprintf("day:%02d", i)}})
			rows = append(rows,
				Row{ScenarioID: fmt.Sprint(79-i, "/0"), Repeat: 1, Tags: []string{fmt.Sprintf("day:%02d", 79-i)}})
		}
	}
	b := Comparison{Systems: []System{{Name: "a", Rows: rows}}}.Breakdowns()
	if len(b) != 1 || b[0].Name != "day" || len(b[0].Values) != 50 || b[0].LeftOut != 30 {
		t.Fatalf("%d breakdowns, %d values, %d left out", len(b), len(b[len(b)-1].Values), b[len(b)-1].LeftOut)
	}
	threes, ones := 0, 0
	for i, v := range b[0].Values {
		if i > 0 && v.Value <= b[0].Values[i-1].Value {
			t.Fatalf("%s after %s", v.Value, b[0].Values[i-1].Value)
		}
		threes, ones = threes+int(oneIf(v.Whole[0].N == 3)), ones+int(oneIf(v.Whole[0].N == 1))
	}
	if threes != 26 || ones != 0 {
		t.Errorf("%d values of three scenarios, %d of one", threes, ones)
	}
}

func TestQuantile(t *testing.T) {
	var rows []Row
	for i := range 100 {
		rows = append(rows, Row{ScenarioID: fmt.Sprint(i), Seconds: float64(i + 1)})
	}
	// The share 0.5 of 100 has Wilson's interval [0.4038, 0.5962], whose ends are the 41st and the 60th value.
	if got := Quantile(rows, 0.5, Bootstrap{}); got.Mean != 50 || got.Low != 41 || got.High != 60 || got.N != 100 {
		t.Errorf("median: %+v", got)
	}
	if got := Quantile(rows, 0.95, Bootstrap{}); got.Mean != 95 || got.Low >= 95 || got.High <= 95 || got.High > 100 {
		t.Errorf("95%%: %+v", got)
	}
	// 60 take as long as the median: the interval of their share lies around 0.6, and the median is 0.5
	for i := range rows {
		rows[i].Seconds = float64(1 + i/60)
	}
	if got := Quantile(rows, 0.5, Bootstrap{}); got.Mean != 1 || got.Low != 1 || got.High != 1 {
		t.Errorf("with ties: %+v", got)
	}
	for i := range rows {
		rows[i].Seconds = 3
	}
	if got := Quantile(rows, 0.5, Bootstrap{}); got.Mean != 3 || got.Low != 3 || got.High != 3 {
		t.Errorf("all alike: %+v", got)
	}
	if got := Quantile(nil, 0.5, Bootstrap{}); got != (Interval{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// What a person waits for: twelve systems of 167 scenarios each, each held against all before it.
func BenchmarkResults(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	c := Comparison{}
	for i := range 12 {
		s := System{Name: fmt.Sprint(i)}
		for k := range 167 {
			s.Rows = append(s.Rows, Row{
				ScenarioID: fmt.Sprint(k), Kind: fmt.Sprint(k % 4), Tools: []string{fmt.Sprint("t", k%7)},
				Difficulty: fmt.Sprint(k % 3), NumGold: 1 + k%2, Episode: r.Float64() < 0.5,
				FirstCall: r.Float64() < 0.6, NumCalls: 1 + r.IntN(4), NumTurns: 2, NumPromptTokens: r.IntN(999),
				NumCompletionTokens: r.IntN(99), Reward: r.Float64(), Seconds: r.Float64(), ModelSeconds: r.Float64(),
			})
		}
		c.Systems = append(c.Systems, s)
	}
	for b.Loop() {
		c.Results()
	}
}
