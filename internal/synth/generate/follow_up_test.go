package generate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// A task is asked behind a question of its split, whose calls are not made again and whose answer is said between.
func TestFollowUps(t *testing.T) {
	yes := "yes"
	gold := func(calls ...string) (list []scenario.Gold) {
		for _, c := range calls {
			list = append(list, scenario.Gold{Name: c, Arguments: json.RawMessage("{}")})
		}
		return list
	}
	made := func(kind, split string, calls []scenario.Gold, checks ...scenario.Check) scenario.Scenario {
		return scenario.Scenario{ID: "a-" + kind + "-1", Task: kind + "?", Split: split, Gold: calls, GoldAnswer: yes,
			Checks: checks, Provenance: &scenario.Provenance{Kind: kind, Tools: map[string]string{kind: "h"}}}
	}
	answer, state := scenario.Check{Type: scenario.AnswerCheck, Equals: &yes}, scenario.Check{Type: scenario.StateCheck}
	m := &maker{byName: map[string]*subject{}}
	for _, name := range []string{"list", "look", "write"} {
		m.byName[name] = &subject{Tool: Tool{Tool: chat.Tool{Name: name}, ReadOnly: name != "write"}}
	}
	ask := made("ask", scenario.Train, gold("list", "look"), answer)
	do := made("do", scenario.Train, gold("list", "write"), state)
	for name, x := range map[string]struct {
		first, then scenario.Scenario
		want        bool
	}{
		"a change behind a question":    {ask, do, true},
		"a change behind a change":      {do, made("do", scenario.Train, gold("look", "write"), state), false},
		"of another split":              {made("ask", scenario.Test, gold("list", "look"), answer), do, false},
		"of which all is known":         {ask, made("again", scenario.Train, gold("look", "list"), answer), false},
		"behind what is asked back":     {made("ask_back", scenario.Train, gold("list"), answer), do, false},
		"behind a change and its state": {made("both", scenario.Train, gold("list", "write"), answer, state), do, false},
	} {
		got := 0
		for seed := range uint64(400) {
			out := m.followUps(rand.New(rand.NewPCG(seed, 1)), []scenario.Scenario{x.first, x.then})
			if len(out) != 2 || out[0].User != nil {
				t.Fatalf("%s: %+v", name, out)
			}
			if s := out[1]; s.User != nil {
				got++
				if s.ID != "follow-up-1" || s.Task != "" || s.User.Says[0] != "ask?" ||
					!strings.HasSuffix(s.User.Says[1], "do?") || s.Provenance.Kind != followUp ||
					len(s.Provenance.Tools) != 2 || len(s.Checks) != 2 || !s.Checks[0].AnyTurn || s.Checks[1].AnyTurn ||
					!slices.EqualFunc(s.Gold, gold("list", "look", "write"), func(a, b scenario.Gold) bool {
						return a.Name == b.Name && (a.Asks == yes) == (a.Name == "write")
					}) {
					t.Fatalf("%s: %+v", name, s)
				}
			}
		}
		if (got > 0) != x.want {
			t.Errorf("%s: %d of 400", name, got)
		}
	}
}

// Only a question may come first, and only a task that stands by itself comes behind it.
func TestWhatIsAskedBehindAnother(t *testing.T) {
	yes := "yes"
	m := &maker{byName: map[string]*subject{}}
	for _, name := range []string{"look", "query"} {
		m.byName[name] = &subject{Tool: Tool{Tool: chat.Tool{Name: name}, ReadOnly: name == "look"}}
	}
	answer, unchanged := scenario.Check{Type: scenario.AnswerCheck}, scenario.Check{Type: scenario.UnchangedCheck}
	for name, x := range map[string]struct {
		change          func(s *scenario.Scenario)
		follows, begins bool
	}{
		"a question":         {func(*scenario.Scenario) {}, true, true},
		"by a tool that can": {func(s *scenario.Scenario) { s.Gold[0].Name = "query" }, true, true},
		"with an idle state": {func(s *scenario.Scenario) {
			s.Gold[0].Name, s.Checks = "query", append(s.Checks, unchanged)
		}, true, true},
		"that changes the rest": {func(s *scenario.Scenario) {
			s.Gold[0].Name = "query"
			s.Checks = append(s.Checks, scenario.Check{Type: scenario.UnchangedCheck, Ignore: []string{"a"}})
		}, true, false},
		"that changes a state": {func(s *scenario.Scenario) {
			s.Gold[0].Name, s.Checks = "query", append(s.Checks, scenario.Check{Type: scenario.StateCheck})
		}, true, false},
		"without an answer check": {func(s *scenario.Scenario) { s.Checks = []scenario.Check{unchanged} }, true, false},
		"with a working":          {func(s *scenario.Scenario) { s.GoldReasoning = "1 + 1" }, true, false},
		"with a slip":             {func(s *scenario.Scenario) { s.Slips = make([]scenario.Slip, 1) }, false, false},
		"with a user":             {func(s *scenario.Scenario) { s.User = &scenario.User{} }, false, false},
		"with messages":           {func(s *scenario.Scenario) { s.Messages = make([]chat.Message, 1) }, false, false},
		"without an answer":       {func(s *scenario.Scenario) { s.GoldAnswer = "" }, false, false},
		"without a call":          {func(s *scenario.Scenario) { s.Gold = nil }, false, false},
		"that wants calls": {func(s *scenario.Scenario) {
			s.Checks = append(s.Checks, scenario.Check{Type: scenario.MaxCallsCheck})
		}, false, false},
	} {
		s := scenario.Scenario{Task: "a?", GoldAnswer: yes, Gold: []scenario.Gold{{Name: "look"}},
			Checks: []scenario.Check{answer}, Provenance: &scenario.Provenance{}}
		x.change(&s)
		if follows(&s) != x.follows || m.isQuestion(&s) != x.begins {
			t.Errorf("%s: follows %v, begins %v", name, follows(&s), m.isQuestion(&s))
		}
	}
}

// Tasks stand behind each other over the same state alone; of a call with other arguments nothing was shown; words
// between them are of the split; and what proves both proves the whole, which an episode has room for.
func TestOneTaskBehindAnother(t *testing.T) {
	of := func(calls ...string) (list []scenario.Gold) {
		for _, c := range calls {
			list = append(list, scenario.Gold{Name: "look", Arguments: json.RawMessage(c)})
		}
		return list
	}
	for want, setup := range map[bool][]scenario.Gold{true: of(`{"a": 1}`), false: of(`{"a": 2}`)} {
		a, b := scenario.Scenario{Setup: of(`{"a": 1}`)}, scenario.Scenario{Setup: setup}
		if sameSetup(&a, &b) != want {
			t.Errorf("%s: the same: %v", setup[0].Arguments, !want)
		}
	}
	task := func(calls []scenario.Gold, proof string) *scenario.Scenario {
		return &scenario.Scenario{ID: "a-1", Task: proof + "?", Split: scenario.Test, Gold: calls,
			Provenance: &scenario.Provenance{Proof: []string{proof}}}
	}
	first, then := task(of("1", "2"), "x"), task(of("2", "3"), "y")
	for seed := range uint64(40) {
		both, ok := after(rand.New(rand.NewPCG(seed, 1)), first, then)
		words := strings.TrimSuffix(both.User.Says[1], "y?")
		if !ok || len(both.Gold) != 3 || !slices.Equal(both.Provenance.Proof, []string{"x", "y"}) ||
			!slices.Contains(behind[scenario.Test], words) {
			t.Fatalf("%v: %+v", ok, both)
		}
	}
	var many []scenario.Gold
	for i := range mostCalls - 1 {
		many = append(many, of(strconv.Itoa(10+i))...)
	}
	for calls, want := range map[int]bool{mostCalls - 2: true, mostCalls - 1: false} {
		if _, ok := after(rand.New(rand.NewPCG(1, 1)), first, task(many[:calls], "y")); ok != want {
			t.Errorf("behind two calls %d more: %v", calls, ok)
		}
	}
}

// The tasks that are not over the state of the one behind are passed over.
func TestFollowUpsShareTheirState(t *testing.T) {
	yes := "yes"
	m := &maker{byName: map[string]*subject{"look": {Tool: Tool{ReadOnly: true}}}}
	task := func(id, setup string) scenario.Scenario {
		look := func(text string) []scenario.Gold {
			return []scenario.Gold{{Name: "look", Arguments: json.RawMessage(text)}}
		}
		return scenario.Scenario{ID: "a-" + id, Task: id, Split: scenario.Train, GoldAnswer: yes,
			Setup: look(setup), Gold: look(id),
			Checks: []scenario.Check{{Type: scenario.AnswerCheck}}, Provenance: &scenario.Provenance{}}
	}
	got := 0
	for seed := range uint64(200) {
		list := []scenario.Scenario{task("1", "1"), task("2", "2"), task("3", "1")}
		for i, s := range m.followUps(rand.New(rand.NewPCG(seed, 1)), list) {
			if s.User == nil {
				continue
			}
			got++
			if i == 1 || s.User.Says[0] == "2" {
				t.Fatalf("%d behind %s", i+1, s.User.Says[0])
			}
		}
	}
	if got == 0 {
		t.Error("no task is asked behind another")
	}
}

// What is said in two messages is looked up after the first, and what the second says is asked for before the change.
func TestARequestInTwoMessages(t *testing.T) {
	m := &maker{byName: map[string]*subject{"look": {}, "write": {}}}
	m.byName["look"].ReadOnly = true
	one := scenario.Scenario{Task: "Ana is spelt wrong. ¶ It is Anna.",
		Gold: []scenario.Gold{{Name: "look"}, {Name: "write"}, {Name: "write"}}}
	got := m.inTwo(one, "", 0)
	if got.Task != "" || !slices.Equal(got.User.Says, []string{"Ana is spelt wrong.", "It is Anna."}) ||
		got.Gold[0].Asks != "" || got.Gold[1].Asks != programs.WhichSpelling || got.Gold[2].Asks != "" ||
		one.Gold[1].Asks != "" {
		t.Errorf("%+v of %+v", got, one)
	}
	if one.Task = "Ana is spelt Anna."; m.inTwo(one, "", 0).Task != one.Task {
		t.Error("one message became two")
	}
}

// Between two messages of a program its first answer is said, before the calls of the second; where the first was
// answered in a conversation before, the episode begins with that, and only the second is to be done.
func TestASecondMessageNeedsTheFirst(t *testing.T) {
	m := &maker{byName: map[string]*subject{"look": {Tool: Tool{ReadOnly: true}}}}
	calls := []scenario.Gold{{Name: "look"}, {Name: "look"}, {Name: "look"}}
	d := draftOf{Scenario: scenario.Scenario{Task: "Which is oldest? ¶ And its mass?", Gold: calls}, between: "Ana"}
	got := m.inTwo(d.Scenario, d.between, 1)
	if !slices.Equal(got.User.Says, []string{"Which is oldest?", "And its mass?"}) || got.Gold[2].Asks != "Ana" ||
		got.Gold[0].Asks+got.Gold[1].Asks != "" || calls[2].Asks != "" {
		t.Errorf("%+v", got)
	}
	roles := func(s scenario.Scenario) (list []string) {
		for _, x := range s.Messages {
			list = append(list, x.Role)
		}
		return list
	}
	told := []string{chat.User, chat.Assistant, chat.User}
	if s := d.recall(got); !slices.Equal(roles(s), told) || s.User != nil || s.Messages[1].Content != "Ana" ||
		s.Gold[2].Asks != "" {
		t.Errorf("%+v", s)
	}
	d.recalled, d.shown = &Call{Tool: "look", Arguments: json.RawMessage(`{}`)}, "[('Ana',)]"
	s := d.recall(got)
	shown := []string{chat.User, chat.Assistant, chat.ToolRole, chat.Assistant, chat.User}
	if !slices.Equal(roles(s), shown) || s.Messages[2].Content != d.shown || s.Messages[1].ToolCalls[0].Name != "look" {
		t.Errorf("%+v", s)
	}
}
