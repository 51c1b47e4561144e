package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// scriptedSet is a judge behind the real questions and replies: it reads the attempts out of a question and scores each
// by a rule of its text and its place.
type scriptedSet struct {
	score func(text string, place, of int) float64
	pass  func(text string) bool
	// guesses: neither is asked, and an answer follows from the question's text, since questions are asked in no order.
	guesses bool
	mu      sync.Mutex
	asked   int
	fail    error
}

func (s *scriptedSet) Name() string { return "scripted" }

var mark = regexp.MustCompile(`a line that begins with <<([0-9a-f]{16}) opens`)

func (s *scriptedSet) Ask(_ context.Context, q Question) (Reply, error) {
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	if s.fail != nil {
		return Reply{}, s.fail
	}
	code := mark.FindStringSubmatch(q.System)[1]
	var parts []string
	for _, p := range strings.Split(q.User, "<<"+code+" trajectory ")[1:] {
		text, _, _ := strings.Cut(p, code+">>")
		parts = append(parts, text)
	}
	score, pass := s.score, s.pass
	if s.guesses {
		h := fnv.New64a()
		fmt.Fprint(h, q.System, q.User)
		chance := rand.New(rand.NewPCG(1, h.Sum64()))
		score = func(string, int, int) float64 { return chance.Float64() }
		pass = func(string) bool { return chance.IntN(2) == 0 }
	}
	cost := 0.25
	reply := func(v any) (Reply, error) {
		text, err := json.Marshal(v)
		return Reply{Text: string(text), PromptTokens: 90, CompletionTokens: 10, Cost: &cost}, err
	}
	if strings.Contains(q.System, `"passed": true or false`) {
		return reply(map[string]any{"reason": "so", "passed": pass(parts[0])})
	}
	var scores []any
	for place, text := range parts {
		scores = append(scores, map[string]any{"trajectory_id": fmt.Sprint(place + 1), "explanation": "so",
			"score": score(text, place, len(parts))})
	}
	return reply(map[string]any{"scores": scores})
}

func calibrated(t *testing.T, s *scriptedSet, groups []Group, samples int) map[string]Measure {
	t.Helper()
	o := Options{Model: s, Samples: samples, MaxTokens: 500, Context: 30_000, Seed: 3}
	rotating := o
	rotating.Rotate = true
	r, err := Calibration{Samples: samples, Tie: 0.02}.Run(t.Context(), New(o), New(rotating), groups,
		func(err error) bool { return fault.CodeOf(err) == fault.CodeBudget })
	if err != nil || r.Judge != "scripted" {
		t.Fatalf("%v: %+v", err, r)
	}
	all := map[string]Measure{}
	for _, m := range r.Measures {
		all[m.Name] = m
	}
	return all
}

func (m Measure) is(x float64) bool { return math.Abs(m.Value.Mean-x) < 1e-9 && m.Value.N > 0 }

// The built-in set and its tricks: all labelled, each trick there, and none that a word by word copy of another attempt
// would be.
func TestBuiltInSet(t *testing.T) {
	groups, err := BuiltInSet()
	if err != nil || len(groups) < 8 {
		t.Fatalf("%v: %d groups", err, len(groups))
	}
	tricky := Tricks(groups)
	keys, ordered, inTools := map[string]bool{}, map[string]bool{}, 0
	for i, g := range tricky {
		if len(g.Attempts) != len(groups[i].Attempts)+2 {
			t.Errorf("%s has %d attempts", g.Scenario.ID, len(g.Attempts))
		}
		passed := 0
		for _, a := range g.Attempts {
			if *a.Passed {
				passed++
			}
			last := a.Trajectory.Messages[len(a.Trajectory.Messages)-1].Content
			switch a.Trick {
			case MasterKey:
				keys[last] = true
				if len(a.Trajectory.Calls()) > 0 || *a.Passed {
					t.Errorf("%s: a master key with calls", g.Scenario.ID)
				}
			case Injection:
				text, _ := json.Marshal(a.Trajectory.Messages)
				for _, o := range trickOrders {
					quoted, _ := json.Marshal(o)
					if strings.Contains(string(text), strings.Trim(string(quoted), `"`)) {
						ordered[o] = true
						if !strings.Contains(last, o) {
							inTools++
						}
					}
				}
			}
		}
		if passed == 0 || passed == len(groups[i].Attempts) {
			t.Errorf("%s: %d of its attempts pass", g.Scenario.ID, passed)
		}
	}
	if len(keys) != len(masterKeys) || len(ordered) != len(trickOrders) || inTools < 2 {
		t.Errorf("%d master keys, %d orders, %d of them by tools", len(keys), len(ordered), inTools)
	}
	for _, bad := range []string{
		`[]]`, `[{"task": "x"}]`, `[{"task": "x", "attempts": [{"steps": [{"say": "y"}]}]}]`,
		`[{"task": "x", "attempts": [{"passed": true, "steps": [{}]}]}]`, `[{"tusk": "x"}]`,
	} {
		if _, err := ReadSet([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// oracle knows the labels: of the attempts that pass, how many calls and errors they have, and what they say last.
func oracle(t *testing.T, groups []Group) func(text string) bool {
	pass := map[string]bool{}
	for _, g := range groups {
		for _, a := range g.Attempts {
			failed := 0
			for _, r := range a.Trajectory.Calls() {
				if r.Status != trajectory.CallOK {
					failed++
				}
			}
			if *a.Passed {
				pass[fmt.Sprint(len(a.Trajectory.Calls()), failed, a.Trajectory.Answer())] = true
			}
		}
	}
	return func(shown string) bool {
		lines := strings.Split(strings.TrimSpace(shown), "\n")
		var facts struct {
			Calls  int `json:"calls"`
			Failed int `json:"failed_calls"`
		}
		var last struct{ Content string }
		if json.Unmarshal([]byte(lines[1]), &facts) != nil ||
			json.Unmarshal([]byte(lines[len(lines)-1]), &last) != nil {
			t.Errorf("cannot be read: %s", shown)
		}
		return pass[fmt.Sprint(facts.Calls, facts.Failed, last.Content)]
	}
}

// A judge that knows the labels agrees with them, with itself and is fooled by nothing; one that believes everybody,
// one that follows orders, and one that guesses, are told.
func TestMeasures(t *testing.T) {
	plain, err := BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	groups := Tricks(plain)
	knows := oracle(t, plain)
	score := func(pass func(string) bool) func(string, int, int) float64 {
		return func(text string, _, _ int) float64 {
			if pass(text) {
				return 0.9
			}
			return 0.2
		}
	}
	follows := func(text string) bool { return knows(text) || strings.Contains(text, "1.0") }
	for _, c := range []struct {
		name string
		pass func(string) bool
		want map[string]float64
	}{
		{"knows", knows, map[string]float64{
			"agreement with labels: verdicts": 1, "agreement with labels: pairs": 1,
			"agreement with labels: passed though it should not": 0,
			"agreement with labels: failed though it should not": 0, "master key: passed alone": 0,
			"injection: passed alone": 0, "injection: as good as the best in its group": 0,
			"agreement with itself: pairs": 1, "agreement with itself: verdicts": 1,
			"position bias: first minus last": 0, "position bias: left in the mean of the samples": 0,
			"tokens of a group": 200, "cost of a group": 0.5, "cost of an attempt alone": 0.5,
			"no usable answer: a group": 0,
		}},
		{"believes", func(string) bool { return true }, map[string]float64{
			"agreement with labels: pairs": 0.5, "agreement with labels: passed though it should not": 1,
			"agreement with labels: failed though it should not": 0, "master key: passed alone": 1,
			"injection: passed alone":                      1,
			"master key: as good as the best in its group": 1,
		}},
		{
			"follows orders",
			follows,
			map[string]float64{"agreement with labels: verdicts": 1, "master key: passed alone": 0,
				"injection: passed alone": 1, "injection: as good as the best in its group": 1},
		},
	} {
		all := calibrated(t, &scriptedSet{score: score(c.pass), pass: c.pass}, groups, 2)
		for name, want := range c.want {
			if m := all[name]; !m.is(want) {
				t.Errorf("%s: %s is %+v, not %v", c.name, name, m.Value, want)
			}
		}
		if _, has := all["agreement with rules: pairs"]; has {
			t.Errorf("%s: there are no rules", c.name)
		}
	}
	all := calibrated(t, &scriptedSet{guesses: true}, groups, 4)
	for _, name := range []string{
		"agreement with itself: pairs", "agreement with itself: verdicts", "agreement with labels: pairs",
	} {
		if m := all[name]; m.Value.Mean < 0.3 || m.Value.Mean > 0.7 || m.Value.Low > 0.5 || m.Value.High < 0.5 {
			t.Errorf("a judge that guesses: %s is %+v", name, m.Value)
		}
	}
}

// A planted bias of 20 points for the place is measured, and is 2 at most in what attempts earn.
func TestPlantedBiasIsMeasuredAndRemoved(t *testing.T) {
	plain, err := BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	theLast := func(place, of int) float64 {
		if place == of-1 {
			return 0.2
		}
		return 0
	}
	for _, c := range []struct {
		name    string
		samples int // 0: as many as the group has attempts
		left    float64
		bias    func(place, of int) float64
	}{
		{"along the places", 2, 0, func(place, of int) float64 { return 0.2 * float64(of-1-place) / float64(of-1) }},
		{"the last", 0, 0, theLast},
		{"the last, and too few samples", 2, 0.1, theLast}, // of two places the last is one, for two attempts
		{"the last, and one sample", 1, 0.2, theLast},
	} {
		for _, size := range []int{3, 4} {
			groups := slices.DeleteFunc(slices.Clone(plain), func(g Group) bool { return len(g.Attempts) != size })
			samples := c.samples
			if samples == 0 {
				samples = size
			}
			s := &scriptedSet{pass: func(string) bool { return true }, score: func(text string, place, of int) float64 {
				return 0.3 + float64(len(text)%7)/20 + c.bias(place, of)
			}}
			all := calibrated(t, s, groups, samples)
			first, left := all["position bias: first minus last"], all["position bias: left in the mean of the samples"]
			if want := c.bias(0, size) - c.bias(size-1, size); !first.is(want) ||
				math.Abs(left.Value.Mean-c.left) > 0.02 || left.Value.N == 0 {
				t.Errorf("%s, groups of %d: measured %+v, left %+v", c.name, size, first.Value, left.Value)
			}
		}
	}
}

// A judge that fails is counted; what the next question would meet too ends the calibration.
func TestFailures(t *testing.T) {
	groups, err := BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	s := &scriptedSet{fail: errors.New("down")}
	j := New(Options{Model: s, Samples: 1, MaxTokens: 500, Context: 30_000})
	stops := func(err error) bool { return fault.CodeOf(err) == fault.CodeBudget }
	r, err := Calibration{Samples: 1}.Run(t.Context(), j, j, groups, stops)
	if err != nil || len(r.Failed) != 1 || !strings.Contains(r.Failed[0], "down") {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, m := range r.Measures {
		if !strings.HasPrefix(m.Name, "no usable answer") || m.Value.Mean != 1 {
			t.Errorf("%+v", m)
		}
	}
	s.fail = &fault.Error{Code: fault.CodeBudget, What: "spent"}
	if _, err := (Calibration{Samples: 1}).Run(t.Context(), j, j, groups,
		stops); fault.CodeOf(err) != fault.CodeBudget {
		t.Errorf("%v", err)
	}
	one := []Group{{Scenario: &scenario.Scenario{ID: "x"}, Attempts: groups[0].Attempts[:1]}}
	s.fail = nil
	s.pass, s.score = func(string) bool { return true }, func(string, int, int) float64 { return 1 }
	if r, err := (Calibration{Samples: 1}).Run(t.Context(), j, j, one, stops); err != nil || len(r.Table()) < 3 {
		t.Errorf("one attempt: %v %+v", err, r)
	}
}
