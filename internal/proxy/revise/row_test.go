package revise

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

// point is one at which get_weather is to be called; hash comes later.
func point() *Point {
	return &Point{
		ID:       "s#0",
		Scenario: "s",
		Split:    scenario.Train,
		Server:   "w",
		Messages: []chat.Message{{Role: chat.User, Content: "Weather in Rome for 3 days?"}},
		Tools:    []string{"get_weather", "hash", "read_graph"},
		Gold: []scenario.Gold{
			{Name: "get_weather", Arguments: json.RawMessage(`{"city": "Rome", "days": 3, "tags": ["a", "b"]}`)},
		},
		Later: []scenario.Gold{{Name: "hash", Arguments: json.RawMessage(`{"text":"a"}`)}},
	}
}

func TestKinds(t *testing.T) {
	tools := NewFixer(toolsForTest()[:3])
	for text, c := range map[string]struct {
		draft chat.Message
		want  []string
	}{
		"right":       {call("get_weather", `{"days":3.0,"city":"Rome","tags":["a","b"]}`), nil},
		"nothing":     {chat.Message{Content: "Sure."}, []string{NoCall}},
		"prose":       {chat.Message{Content: `Here: {"name": "get_weather", "arguments": {"city": "Rome", "days": 3, "tags": ["a", "b"]}}`}, []string{Prose}},
		"cut":         {chat.Message{Content: "<tool_call>\n{\"name\": \"get_weather\", \"argum"}, []string{Truncated}},
		"format":      {chat.Message{Content: "<tool_call>\n{\"name\" \"get_weather\"}\n</tool_call>"}, []string{Format}},
		"bad JSON":    {call("get_weather", `{"city"`), []string{Format}},
		"made up":     {call("weather_tool", `{}`), []string{HallucinatedTool}},
		"wrong":       {call("read_graph", `{}`), []string{WrongTool}},
		"too early":   {call("hash", `{"text":"a"}`), []string{Order}},
		"missing":     {call("get_weather", `{"city":"Rome","tags":["a","b"]}`), []string{MissingArgument}},
		"extra":       {call("get_weather", `{"city":"Rome","days":3,"tags":["a","b"],"x":1}`), []string{ExtraArgument}},
		"type, value": {call("get_weather", `{"city":"Oslo","days":"3","tags":["a","b"]}`), []string{IllTyped, WrongValue}},
	} {
		if got := Kinds(c.draft, point(), tools, nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", text, got, c.want)
		}
	}
	twice := call("get_weather", `{"city":"Rome","days":3,"tags":["a","b"]}`)
	twice.ToolCalls = append(twice.ToolCalls, twice.ToolCalls[0])
	if got := Kinds(twice, point(), tools, nil); !slices.Equal(got, []string{ExtraCall}) {
		t.Errorf("twice: %v", got)
	}
}

// A corruption that was fitted to one kind of error makes mostly that kind, and each kind now and then; what it makes
// is wrong.
func TestCorruption(t *testing.T) {
	tools := NewFixer(toolsForTest()[:3])
	var seen []Row
	for range 500 {
		seen = append(seen, Row{Kinds: []string{MissingArgument}})
	}
	c := Fit(append(seen, Row{Right: true}))
	count := map[string]int{}
	for seed := range uint64(1000) {
		m, ok := c.Draft(point(), tools, seed)
		again, _ := c.Draft(point(), tools, seed)
		if !ok || fmt.Sprint(m) != fmt.Sprint(again) {
			t.Fatalf("seed %d: %v, %v", seed, m, again)
		}
		kinds := Kinds(m, point(), tools, nil)
		if len(kinds) == 0 {
			t.Fatalf("seed %d: %v is right", seed, m)
		}
		for _, k := range kinds {
			count[k]++
		}
	}
	if count[MissingArgument] < 850 {
		t.Errorf("kinds %v", count)
	}
	even := Fit(nil)
	clear(count)
	for seed := range uint64(2000) {
		m, _ := even.Draft(point(), tools, seed)
		for _, k := range Kinds(m, point(), tools, nil) {
			count[k]++
		}
	}
	for _, k := range AllKinds() {
		if k != MissingCall && count[k] < 20 { // of one gold call none is missing
			t.Errorf("%s: %d of 2000 (%v)", k, count[k], count)
		}
	}
}

func TestCopies(t *testing.T) {
	var c Copies
	draft := call("get_weather", `{"city": "Rome", "days": 3, "tags": ["a", "b", "c", "d"]}`)
	c.Add(draft, call("get_weather", `{"city":"Rome","days":3,"tags":["a","b","c","d"]}`), false)
	c.Add(draft, call("get_weather", `{"city": "Rome", "days": 4, "tags": ["a", "b", "c", "d"]}`), true)
	c.Add(draft, call("hash", `{"text": "x"}`), false)
	if c != (Copies{Rows: 3, Equal: 1, Near: 2, Fixed: 1}) {
		t.Errorf("%+v", c)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		x := Overlap(a, b)
		if !(x >= 0 && x <= 1) || x != Overlap(b, a) || Overlap(a, a) != 1 {
			t.Fatalf("%q %q: %v", a, b, x)
		}
	})
}
