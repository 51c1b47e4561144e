package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// rates is a server whose sessions answer with their text, in which %d is the number of the session.
type rates struct {
	says     string
	sessions int
}

type rate struct {
	environment.Session
	says string
}

func (r *rates) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	r.sessions++
	return rate{says: strings.ReplaceAll(r.says, "%d", fmt.Sprint(r.sessions))}, nil
}

func (rate) Close() error { return nil }

func (r rate) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	return []trajectory.ToolResult{{Call: calls[0], Status: trajectory.CallOK, Text: r.says}}
}

// A value is mended only where a second session answers it too: what is another in each is no check.
func TestMendAsksTwice(t *testing.T) {
	answer := "1.5"
	s := scenario.Scenario{
		Task:       "What is the rate?",
		GoldAnswer: answer,
		Gold:       []scenario.Gold{{Name: "rate", Arguments: []byte(`{}`)}},
		Checks:     []scenario.Check{{Type: scenario.AnswerCheck, Equals: &answer}},
	}
	for _, tc := range []struct{ says, want, why string }{
		{`{"rate":2.5}`, "2.5", ""},
		{`{"rate":2.%d}`, "1.5", "another at each time"},
	} {
		from := &rates{says: tc.says}
		out, _, why, err := Mend(t.Context(), from, s, `{"rate":1.5}`)
		if err != nil || *out.Checks[0].Equals != tc.want || !strings.Contains(why, tc.why) ||
			(why == "") != (tc.why == "") || from.sessions != 2 {
			t.Errorf("%s: %q, %q, %d sessions, %v", tc.says, *out.Checks[0].Equals, why, from.sessions, err)
		}
	}
}

func TestTouch(t *testing.T) {
	now := Now{Tools: map[string]string{"a": "1", "b": "9"},
		Version: map[string]string{"s": "2", "p": "2 (installed duck==1.1)", "mute": "(installed duck==1.1)"}}
	gold := func(names ...string) (s scenario.Scenario) {
		for _, name := range names {
			s.Gold = append(s.Gold, scenario.Gold{Name: name})
		}
		return s
	}
	made := func(s scenario.Scenario, version string, tools map[string]string) scenario.Scenario {
		s.Provenance = &scenario.Provenance{Tools: tools, Servers: map[string]string{"s": version}}
		return s
	}
	installed := func(version string) scenario.Scenario {
		s := made(gold("a"), "2", map[string]string{"a": "1"})
		s.Provenance.Servers = map[string]string{"p": version}
		return s
	}
	looks := gold("a")
	looks.Checks = []scenario.Check{{Type: scenario.StateCheck, Name: "b"}}
	for _, tc := range []struct {
		name   string
		s      scenario.Scenario
		before map[string]string
		want   string
		known  bool
	}{
		{"as it was", made(gold("a"), "2", map[string]string{"a": "1"}), nil, "", true},
		{"changed", made(gold("a", "b"), "2", map[string]string{"a": "1", "b": "2"}), nil, "b changed", true},
		{"another version alone", made(gold("a"), "1", map[string]string{"a": "1"}), nil, "s 1 -> 2", true},
		{"another package that states the same", installed("2 (installed duck==1.0)"), nil, "p 2 (installed duck==1.0) -> 2 (installed duck==1.1)", true},
		{"one that states nothing", func() scenario.Scenario {
			s := installed("2")
			s.Provenance.Servers = map[string]string{"mute": ""}
			return s
		}(), nil, "", true},
		{"the same package", installed("2 (installed duck==1.1)"), nil, "", true},
		{"made before packages were noted", installed("2"), nil, "", true},
		{"another version, made before packages were noted", installed("1"), nil, "p 1 -> 2", true},
		{"gone", made(gold("c"), "2", map[string]string{"c": "3"}), nil, "c is gone", true},
		{"of the setup", made(gold("a"), "2", map[string]string{"a": "1", "c": "3"}), nil, "c is gone", true},
		{"by hand, unknown", gold("b"), nil, "", false},
		{"by hand, with a catalog", gold("b"), map[string]string{"b": "2"}, "b changed", true},
		{"by hand, as it was", gold("a"), map[string]string{"a": "1"}, "", true},
		{"what a check looks at", looks, map[string]string{"a": "1", "b": "2"}, "b changed", true},
		{"without a call", gold(), nil, "", true},
	} {
		got := Touch(tc.s, tc.before, now)
		if why := strings.Join(got.Why(), "; "); why != tc.want || got.Any() != (tc.want != "") ||
			HasProvenance(tc.s, tc.before) != tc.known {
			t.Errorf("%s: %q, known %v", tc.name, why, HasProvenance(tc.s, tc.before))
		}
	}
	s := made(gold("a", "b"), "1", map[string]string{"a": "0", "b": "0"})
	old := s.Provenance
	Stamp(&s, now)
	if s.Provenance.Tools["b"] != "9" || s.Provenance.Servers["s"] != "2" || old.Tools["b"] != "0" {
		t.Errorf("%+v, before %+v", s.Provenance, old)
	}
}

// A value is found again where it stood.
func TestPlaces(t *testing.T) {
	for _, tc := range []struct{ name, before, old, now, want string }{
		{"all of it", "42\n", "42", " 43 ", "43"},
		{"in JSON", `{"a": {"rate": 1.5}, "n": 2}`, "1.5", `{"n": 3, "a": {"rate": 1.75}}`, "1.75"},
		{"by its number in a list alone", `[{"x": "p"}, {"x": "q"}]`, "q", `[{"x": "p"}, {"x": "r"}]`, ""},
		{"of texts in a list", `["p", "q"]`, "q", `["p", "r"]`, ""},
		{"the only one of a list", `{"rows": [{"n": 3}]}`, "3", `{"rows": [{"n": 4}]}`, "4"},
		{"by a sibling", `[{"name": "a", "x": 1}, {"name": "b", "x": 2}]`, "2", `[{"name": "b", "x": 3}, {"name": "a", "x": 1}]`, "3"},
		{"a sibling that is gone", `[{"name": "a", "x": 1}, {"name": "b", "x": 2}]`, "2", `[{"name": "a", "x": 1}, {"name": "c", "x": 3}]`, ""},
		{"two of a name", `[{"name": "a", "x": 1}, {"name": "a", "x": 2}]`, "2", `[{"name": "a", "x": 1}, {"name": "a", "x": 3}]`, ""},
		{"by all texts", `[{"city": "Bern", "day": "Mo", "x": {"t": 1}}, {"city": "Bern", "day": "Tu", "x": {"t": 2}}]`,
			"2", `[{"city": "Bern", "day": "Tu", "x": {"t": 3}}]`, "3"},
		{"repeated labels", "Name: a\nPrice: 1\nName: b\nPrice: 2\n", "2", "Name: a\nPrice: 5\nName: b\nPrice: 2\n", ""},
		{"labels repeated now", "Price: 2\n", "2", "Name: a\nPrice: 5\nName: b\nPrice: 2", ""},
		// not as it stands there
		{"a long number", `{"id": 12345678901234567890}`, "12345678901234567000", `{"id": 1}`, ""},
		{"on a line", "Name: x\nSize: 12 bytes\n", "12", "Name: y\nSize: 13 bytes\n", "13"},
		{"in two places", `{"a": 1, "b": 1}`, "1", `{"a": 2, "b": 3}`, ""},
		{"gone", `{"a": 1}`, "1", `{"b": 1}`, ""},
		{"nowhere", `{"a": 1}`, "7", `{"a": 7}`, ""},
		{"several lines now", "x", "x", "y\nz", ""},
	} {
		got := ""
		if p, ok := placeOf(tc.before, tc.old); ok {
			if value, ok := p.in(tc.now); ok {
				got = value
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// What differs between two looks may be anything, and the rest must be as it is.
func TestFixed(t *testing.T) {
	for _, tc := range []struct{ name, a, b, want string }{
		{"the same", `{"n":1,"l":["x"]}`, `{"l":["x"],"n":1}`, `{"l":["x"],"n":1}`},
		{"a time", `{"n":1,"at":"10:00"}`, `{"n":1,"at":"10:01"}`, `{"at":{"$any":true},"n":1}`},
		{"a list that grows", `{"n":1,"l":["x"]}`, `{"n":1,"l":["x","y"]}`, `{"l":{"$any":true},"n":1}`},
		{"nothing in common", `{"at":1}`, `{"at":2}`, ""},
		{"no JSON", "x", "x", ""},
		{"an operator", `{"$any":1,"n":1}`, `{"$any":1,"n":1}`, ""},
	} {
		got, ok := commonValue(tc.a, tc.b)
		if string(got) != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %s %v", tc.name, got, ok)
		}
	}
}

func TestMendAnswer(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, tc := range []struct{ name, task, before, now, again, why, want string }{
		{"moved", "What is the rate?", `{"rate":1.5}`, `{"rate":2.5}`, `{"rate":2.5}`, "", "2.5"},
		{"another at each time", "What is the rate?", `{"rate":1.5}`, `{"rate":2.5}`, `{"rate":3}`, "another at each time", ""},
		{"given away", "Is it 2.5?", `{"rate":1.5}`, `{"rate":2.5}`, `{"rate":2.5}`, "gives its value away", ""},
		{"elsewhere", "What is the rate?", `{"rate":1.5}`, `{"price":1.5}`, `{"price":1.5}`, "no longer where it stood", ""},
		{"not known, and there", "What is the rate?", "", `rate 1.5`, `rate 1.5`, "", "1.5"},
		{"not known, and not there", "What is the rate?", "", `rate 2`, `rate 2`, "not known", ""},
	} {
		s := scenario.Scenario{Task: tc.task, GoldAnswer: "1.5",
			Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: text("1.5")}}}
		why := mendCheck(&s, 0, seen{last: tc.now}, seen{last: tc.again}, tc.before)
		if tc.why == "" && (why != "" || *s.Checks[0].Equals != tc.want || s.GoldAnswer != tc.want) ||
			tc.why != "" && !strings.Contains(why, tc.why) {
			out, _ := json.Marshal(s)
			t.Errorf("%s: %q %s", tc.name, why, out)
		}
	}
}

// A state or file that no longer shows what the task or a gold call says is not wanted in its place.
func TestMendKeepsWhatTheTaskSays(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, tc := range []struct {
		name  string
		check scenario.Check
		now   string
		again string
		want  string
	}{
		{"the argument stays", scenario.Check{Equals: text(`{"title":"Buy milk","v":1}`)}, `{"title":"Buy milk","v":2}`, `{"title":"Buy milk","v":2}`, ""},
		{"the argument is gone", scenario.Check{Equals: text(`{"title":"Buy milk","v":1}`)}, `{"items":[],"v":2}`, `{"items":[],"v":2}`, "Buy milk"},
		{"the task's word is gone", scenario.Check{Equals: text("urgent\n")}, "normal\n", "normal\n", "urgent"},
		{"in a pattern", scenario.Check{Matches: []byte(`{"title":"Buy milk","v":1}`)}, `{"title":"","v":1}`, `{"title":"","v":1}`, "Buy milk"},
		{"of a pattern it stays", scenario.Check{Matches: []byte(`{"title":"Buy milk","v":1}`)},
			`{"title":"Buy milk","v":3}`, `{"title":"Buy milk","v":4}`, ""},
		{"a part of a number", scenario.Check{Equals: text(`{"n":7}`)}, `{"n":17}`, `{"n":17}`, "7"},
	} {
		tc.check.Type = scenario.StateCheck
		s := scenario.Scenario{
			Task:   "Note this as urgent, please.",
			Gold:   []scenario.Gold{{Name: "add", Arguments: []byte(`{"title":"Buy milk","n":7}`)}},
			Checks: []scenario.Check{tc.check},
		}
		why := mendCheck(&s, 0, seen{looks: map[int]string{0: tc.now}}, seen{looks: map[int]string{0: tc.again}}, "")
		if (why == "") != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// Without an earlier result an answer holds only where it stands in the new one.
func TestAnswersNotLookedAt(t *testing.T) {
	answer := "1.5"
	s := scenario.Scenario{Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: &answer}}}
	for _, tc := range []struct {
		name, before, now string
		holds, looked     bool
	}{
		{"as it was", `{"rate":1.5}`, `{"rate":1.5}`, true, true},
		{"another now", `{"rate":1.5}`, `{"rate":2}`, false, true},
		{"not known, and there", "", `{"rate":1.5}`, true, true},
		{"not known, and not there", "", `{"rate":2}`, true, false},
		{"not known, and in a longer number", "", `{"rate":11.5, "other": "1.55"}`, true, false},
	} {
		if why, looked := answers(s, tc.before, tc.now); (why == "") != tc.holds || looked != tc.looked {
			t.Errorf("%s: %q, looked %v", tc.name, why, looked)
		}
	}
}
