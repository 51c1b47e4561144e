package sidecar

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/proxy/revise"
)

// The confidence is the one that mends most among those that damage few, and what it is said to do is what it does.
func TestConfidence(t *testing.T) {
	right := func(n int, with bool, p float64) (all []weighed) {
		for range n {
			all = append(all, weighed{before: true, without: true, with: with, class: sound, probability: p})
		}
		return all
	}
	wrong := func(n int, with bool, p float64) (all []weighed) {
		for range n {
			all = append(all, weighed{with: with, class: sound, probability: p})
		}
		return all
	}
	all := append(right(1000, true, 0.9), right(10, false, 0.6)...)
	all = append(append(all, right(1, false, 0.95)...), append(wrong(50, true, 0.5), wrong(40, true, 0.8)...)...)
	all = append(all, weighed{with: true}) // a fault: it counts at any confidence
	// Drafts without a call have a confidence of their own.
	all = append(all, weighed{class: plain, with: true, probability: 0.31})
	if c := choose(all); c.NoCall != 1 || c.Mended != 41 { // no right one says that it may
		t.Errorf("%+v", c)
	}
	for range fewestRight {
		all = append(all, weighed{class: plain, before: true, without: true, probability: 0.3})
	}
	if c := choose(all); c.Confidence != 0.8 || c.NoCall != 0.31 || c.Mended != 42 || c.Harmed != 1 ||
		c.Right != 1011+fewestRight || c.Wrong != 92 {
		t.Errorf("%+v", c)
	}
	if c := choose(right(10, false, 1)); c.Confidence != 1 || c.NoCall != 1 || c.Harmed != 0 { // it is not asked then
		t.Errorf("%+v", c)
	}
	rapid.Check(t, func(t *rapid.T) {
		var all []weighed
		for range rapid.IntRange(1, 200).Draw(t, "rows") {
			before := rapid.Bool().Draw(t, "before")
			all = append(all, weighed{
				before:  before,
				without: before || rapid.Bool().Draw(t, "fixed"),
				with:    rapid.Bool().Draw(t, "with"),
				class:   class(rapid.IntRange(0, 2).Draw(t, "class")),
				probability: rapid.Float64Range(0,
					0.999).Draw(t, "p"),
			})
		}
		c, told := choose(all), Confidence{}
		told.Confidence, told.NoCall = c.Confidence, c.NoCall
		for _, w := range all {
			right, harmed, wrong, mended := at([]weighed{w},
				map[class]float64{sound: c.Confidence, plain: c.NoCall}[w.class])
			told.Right, told.Harmed, told.Wrong, told.Mended =
				told.Right+right, told.Harmed+harmed, told.Wrong+wrong, told.Mended+mended
		}
		if faults := slices.ContainsFunc(all,
			func(w weighed) bool { return w.class == faulty && w.before }); c != told ||
			!faults && float64(c.Harmed) > mostHarm*float64(c.Right) {
			t.Fatalf("%+v, but it is %+v", c, told)
		}
	})
}

// A draft's class is by what a rule finds in it, and what becomes of it with the sidecar's word and without is what the
// decision makes of it.
func TestWeighed(t *testing.T) {
	tools := []chat.Tool{
		{Name: "look", InputSchema: []byte(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
	}
	call := func(arguments string) chat.Message {
		return chat.Message{Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: arguments}}}
	}
	says := func(m chat.Message) *revise.Said { return &revise.Said{Message: m, Whole: true, Probability: 0.25} }
	due, end := revise.Point{Gold: []scenario.Gold{{Name: "look", Arguments: []byte(`{"x":1}`)}}},
		revise.Point{Gold: []scenario.Gold{}}
	words := chat.Message{Role: chat.Assistant, Content: "It is 1."}
	for name, c := range map[string]struct {
		at    revise.Point
		draft chat.Message
		said  chat.Message
		want  weighed
	}{
		"a fault, mended":         {due, call(`{}`), call(`{"x":1}`), weighed{with: true, class: faulty, probability: 0.25}},
		"the fixer mends":         {due, call(`{"x":"1"}`), call(`{"x":2}`), weighed{without: true, class: sound, probability: 0.25}},
		"a wrong value":           {due, call(`{"x":2}`), call(`{"x":1}`), weighed{with: true, class: sound, probability: 0.25}},
		"right, and damaged":      {due, call(`{"x":1}`), call(`{"x":3}`), weighed{before: true, without: true, class: sound, probability: 0.25}},
		"no call, and one is due": {due, words, call(`{"x":1}`), weighed{with: true, class: plain, probability: 0.25}},
		"words, and words are due": {end, words, chat.Message{Content: revise.Nothing},
			weighed{before: true, without: true, with: true, class: plain, probability: 0.25}},
		"words, and a call instead": {end, words, call(`{"x":1}`), weighed{before: true, without: true, class: plain, probability: 0.25}},
	} {
		row := revise.Row{Point: c.at, Draft: c.draft}
		row.Right = len(revise.Kinds(c.draft, &c.at, revise.NewFixer(tools), nil)) == 0
		if got := weigh(revise.NewFixer(tools), &row, says(c.said), &revise.Environment{}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What passed in the training of a sidecar are the gold calls behind the fixer, and not what earned something.
func TestWhichEpisodesPassed(t *testing.T) {
	tools := []chat.Tool{
		{Name: "look", InputSchema: []byte(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
	}
	rows := map[string]*revise.Row{
		"due": {Point: revise.Point{Gold: []scenario.Gold{{Name: "look", Arguments: []byte(`{"x":1}`)}}}},
	}
	g := (&training{}).grpo(0.01, &revise.Environment{Rows: rows})
	for arguments, want := range map[string]bool{`{"x":1}`: true, `{"x":"1"}`: true, `{"x":2}`: false} {
		said := chat.Message{Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: arguments}}}
		e := &trajectory.Trajectory{ScenarioID: "due", Tools: tools, Reward: 0.1,
			Turns: []trajectory.Turn{{Calls: said.ToolCalls}}}
		if passed, known := g.Passed(e); passed != want || !known {
			t.Errorf("%s: passed %t, known %t", arguments, passed, known)
		}
		e.ScenarioID = "another"
		if passed, known := g.Passed(e); passed || known {
			t.Error("a row that there is not is known")
		}
	}
}

// What training writes beside an adapter is read again, with the form of the prompt that it was trained in: another
// form is refused, and one that is not known is told of.
func TestRuleFile(t *testing.T) {
	dir := t.TempDir()
	// there is no sidecar to ask
	if r, err := revise.ReadRule(dir); err != nil || r.Confidence != 1 || r.NoCall != 1 || r.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
	if err := writeRule(dir, Confidence{Confidence: 0.75, NoCall: 0.5}); err != nil {
		t.Fatal(err)
	}
	if r, err := revise.ReadRule(dir); err != nil || r.Confidence != 0.75 || r.NoCall != 0.5 || r.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(dir, revise.RuleFile), []byte(`{"confidence": 0.75}`), 0o644); err != nil {
		t.Fatal(err)
	}
	// one of before: it never saw an answer in words
	if r, err := revise.ReadRule(dir); err != nil || r.Confidence != 0.75 || r.NoCall != 1 || !r.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(dir, revise.RuleFile),
		[]byte(`{"confidence": 0.75, "prompt": "0123456789abcdef0123456789abcdef"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := revise.ReadRule(dir)
	if f, is := errors.AsType[*fault.Error](err); !is || f.Code != fault.CodeUsage ||
		!strings.Contains(f.Next, "hone sidecar train") || !strings.Contains(f.Why, revise.PromptForm()) {
		t.Errorf("one that was trained with another prompt: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, revise.RuleFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := revise.ReadRule(dir); err == nil {
		t.Error("a broken file is read")
	}
}

// How copies are looked for is said, and why where they are not.
func TestLooksForCopies(t *testing.T) {
	for _, x := range []struct {
		o      TrainOptions
		drafts int
		want   string
	}{
		{TrainOptions{Method: MethodSFT, ProbeEvery: 20}, 7, "every 20 steps of SFT and at its end the model revises 7 drafts"},
		{TrainOptions{Method: MethodBoth, ProbeEvery: 20}, 0, "none needs a change"},
		{TrainOptions{Method: MethodBoth}, 7, "--probe-every 0"},
		{TrainOptions{Method: MethodGRPO, ProbeEvery: 20}, 7, "in each step"},
	} {
		if said := (&training{o: x.o}).looks(x.drafts); !strings.Contains(said, x.want) {
			t.Errorf("%+v, %d drafts: %q, want %q", x.o, x.drafts, said, x.want)
		}
	}
}
