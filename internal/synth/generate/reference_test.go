package generate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// pupil is a reference that solves what its rule says.
type pupil struct {
	solves func(s scenario.Scenario, run int) bool
	lost   func(s scenario.Scenario, run int) bool
	fails  error

	mu    sync.Mutex
	tries int
}

func (*pupil) Name() string { return "pupil" }

func (p *pupil) Try(_ context.Context, s scenario.Scenario, run int) (bool, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	if p.fails != nil {
		return false, false, p.fails
	}
	if p.lost != nil && p.lost(s, run) {
		return false, false, nil
	}
	return p.solves(s, run), true, nil
}

// What a reference never solves is left out, or kept where that is wished; its pass rate stands in the provenance and
// makes the difficulty. The same command tries nothing again.
func TestReference(t *testing.T) {
	s := newShop(t)
	p := &pupil{solves: func(s scenario.Scenario, run int) bool {
		return len(s.Gold) == 0 || len(s.Gold) == 1 && run < 2 ||
			len(s.Gold) == 2 && s.Gold[0].Name == "get_item" && run == 0
	}}
	o := optionsOf(s)
	o.N, o.Reference, o.ReferenceRuns = 30, p, 3
	path := filepath.Join(t.TempDir(), "work.jsonl")
	first := ledgerIn(t, path)
	made, err := Run(t.Context(), s, steadyTools(), first, o)
	_ = first.Close() // so that another may open it
	if err != nil {
		t.Fatal(err)
	}
	stage := stageOf(t, made.Report, "reference")
	if stage.Reasons["the reference never solves it"] == 0 || p.tries != 3*stage.In || stage.Out == stage.In {
		t.Errorf("%+v, %d tries", stage, p.tries)
	}
	for _, x := range made.Scenarios {
		got := x.Provenance.Reference
		want := map[int]scenario.Reference{0: {By: "pupil", Runs: 3, Passed: 3}, 1: {By: "pupil", Runs: 3, Passed: 2},
			2: {By: "pupil", Runs: 3, Passed: 1}}[len(x.Gold)]
		level := map[int]string{0: easy, 1: medium, 2: medium}[len(x.Gold)]
		if got == nil || *got != want || x.Difficulty != level {
			t.Errorf("%s: %+v, %s", x.Task, got, x.Difficulty)
		}
	}
	if n := made.Report.PassRates["2/3"]; n == 0 || made.Report.PassRates["0/3"] != 0 {
		t.Errorf("%v", made.Report.PassRates)
	}
	before := p.tries
	o.KeepUnsolved = true
	kept, err := Run(t.Context(), s, steadyTools(), ledgerIn(t, path), o)
	if err != nil || p.tries != before || kept.Report.PassRates["0/3"] == 0 {
		t.Errorf("%d tries more, %v %v", p.tries-before, kept.Report.PassRates, err)
	}
}

// Runs that say nothing are in no rate and are tried again; an error ends the synthesis; a spent budget does not.
func TestReferenceLost(t *testing.T) {
	s := newShop(t)
	o := optionsOf(s)
	p := &pupil{solves: func(scenario.Scenario, int) bool { return true },
		lost: func(_ scenario.Scenario, run int) bool { return run == 0 }}
	o.N, o.Reference, o.ReferenceRuns = 12, p, 2
	path := filepath.Join(t.TempDir(), "work.jsonl")
	first := ledgerIn(t, path)
	made, err := Run(t.Context(), s, steadyTools(), first, o)
	_ = first.Close() // so that another may open it
	if err != nil || len(made.Scenarios) != 12 || made.Report.PassRates["1/1"] != 12 {
		t.Fatalf("%v %v", err, made)
	}
	before := p.tries
	if _, err = Run(t.Context(), s, steadyTools(), ledgerIn(t, path), o); err != nil || 2*(p.tries-before) != before {
		t.Errorf("%d of %d tries again, %v", p.tries-before, before, err)
	}
	o.Reference = &pupil{fails: &fault.Error{Code: fault.CodeBudget, What: "spent"}}
	if made, err = Run(t.Context(), s, steadyTools(), ledgerIn(t, filepath.Join(t.TempDir(), "w")), o); err != nil ||
		len(made.Scenarios) != 0 || !made.Report.BudgetSpent() {
		t.Errorf("%v", err)
	}
	gone := errors.New("gone")
	o.Reference = &pupil{fails: gone}
	if _, err = Run(t.Context(), s, steadyTools(), ledgerIn(t, filepath.Join(t.TempDir(), "w")),
		o); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// A task whose checks a call passes that is not its own is thrown out.
func TestBlindCalls(t *testing.T) {
	s := newShop(t)
	log := tool("log_visit", "Record a visit of a person.",
		`{"type":"object","properties":{"person":{"type":"string"}},"required":["person"]}`)
	visits := tool("count_visits", "Count the visits.", none)
	s.tools["log_visit"] = func(s *stock, args map[string]any) (string, error) { // who came is not kept
		s.items = append(s.items, item{ID: -1, Name: fmt.Sprint(args["person"])})
		return "noted", nil
	}
	s.tools["count_visits"] = func(s *stock, _ map[string]any) (string, error) {
		n := 0
		for _, i := range s.items {
			if i.ID == -1 {
				n++
			}
		}
		return asJSON(map[string]int{"visits": n})
	}
	tools := slices.DeleteFunc(steadyTools(), func(t Tool) bool {
		return t.Name != "count_words" && t.Name != "get_item"
	})
	made := run(t, s, append(tools, log, visits), optionsOf(s))
	if n := stageOf(t, made.Report, "validate").Reasons["a call that does not read the task passes the checks"]; n < 3 {
		t.Errorf("%d fell; %v", n, made.Report.Rows())
	}
	for _, x := range made.Scenarios {
		if len(x.Gold) == 1 && x.Gold[0].Name == "log_visit" {
			t.Errorf("%s: %s", x.Task, strings.TrimSpace(text(t, []scenario.Scenario{x})))
		}
	}
}

// A blind call is of the same tool with other values where there was one, which fools more checks; else one of another
// tool that changes something.
func TestBlindCall(t *testing.T) {
	call := func(tool, n string) Call { return Call{Tool: tool, Arguments: []byte(`{"n":` + n + `}`)} }
	added, listed := trial{call: call("add", "1"), effects: true}, trial{call: call("list", "1")}
	for _, tc := range []struct {
		name string
		good []trial
		want string
	}{
		{"the same tool behind another", []trial{added, listed, {call: call("get", "7")}, {call: call("get", "2")}}, `get{"n":2}`},
		{"its own calls alone", []trial{listed, added, {call: call("get", "7")}}, `add{"n":1}`},
		{"nothing that changes", []trial{listed, {call: call("get", "7")}}, ""},
	} {
		m := &maker{worlds: []*realm{{good: tc.good}}}
		got, ok := m.blindCall(&Candidate{Calls: []Call{call("add", "9"), call("get", "7")}})
		if got.key() != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %s", tc.name, got.key())
		}
	}
}

func TestDifficulty(t *testing.T) {
	call := func(args string, fed string) Call {
		return Call{Tool: "t", Arguments: []byte(args), Fed: fed}
	}
	for want, list := range map[string][]*Candidate{
		easy: {
			{Kind: single, Calls: []Call{call(`{}`, "")}},
			{Kind: single, Calls: []Call{call(`{"a":1,"b":2}`, "")}},
			{Kind: noTool},
			{Kind: chain, Runs: 4, PassRate: 0.75, Calls: []Call{call(`{}`, ""), call(`{}`, "x")}},
		},
		medium: {
			{Kind: single, Calls: []Call{call(`{"a":1,"b":2,"c":3}`, "")}},
			{Kind: pair, Calls: []Call{call(`{}`, ""), call(`{}`, "")}},
			{Kind: askBack},
			{Kind: single, Runs: 4, PassRate: 0.25},
		},
		hard: {
			{Kind: chain, Calls: []Call{call(`{}`, ""), call(`{"x":1}`, "x")}},
			{Kind: recovery, Calls: []Call{call(`{}`, ""), call(`{}`, "")}},
			{Kind: single, Runs: 4},
		},
	} {
		for i, c := range list {
			if got := difficultyOf(c); got != want {
				t.Errorf("%s %d: %s", want, i, got)
			}
		}
	}
}
