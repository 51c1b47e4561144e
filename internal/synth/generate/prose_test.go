package generate

import (
	"encoding/json"
	"fmt"
	"testing"

	"hone/internal/episode/scenario"
)

// A sentence says one number that the call did not.
func TestNumberOfProse(t *testing.T) {
	for _, tc := range []struct{ text, arguments, want string }{
		{"The sum of 54.3 and 37 is 91.3", `{"a":54.3,"b":37}`, "91.3"},
		{"The sum of 2 and 3 is 5.", `{"a":2,"b":3}`, "5"},
		{"5 is 5", `{"a":2}`, "5"},
		{"The difference is -4", `{"a":2,"b":6}`, "-4"},
		{"2 plus 2 is 2", `{"a":2}`, ""},
		{"It is 5 or 6", `{}`, ""},
		{"version 1.2.3 of x86", `{}`, ""},
		{"1,024 rows", `{}`, ""},
		{"a third is 0.3333333333333333", `{}`, ""},
		{"no number", `{}`, ""},
	} {
		got, ok := numberOfProse(tc.text, json.RawMessage(tc.arguments))
		if !ok {
			got = nil
		}
		if string(got) != tc.want {
			t.Errorf("%q: %s", tc.text, got)
		}
	}
}

// Of a server that answers in sentences, results feed calls, and tasks of several calls are held out too.
func TestProseServer(t *testing.T) {
	shop := newShop(t)
	var tools []Tool
	for name, of := range map[string]func(a, b float64) float64{
		"add": func(a, b float64) float64 { return a + b },
		"sub": func(a, b float64) float64 { return a - b },
		"mul": func(a, b float64) float64 { return a * b },
	} {
		shop.tools[name] = func(_ *stock, args map[string]any) (string, error) {
			a, _ := args["a"].(float64)
			b, _ := args["b"].(float64)
			return fmt.Sprintf("The %s of %v and %v is %v", name, a, b, of(a, b)), nil
		}
	}
	for _, name := range []string{"add", "sub", "mul"} {
		tools = append(tools, toolOf(name, "Calculate "+name+".",
			`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`))
		tools[len(tools)-1].Safe = true
	}
	o := optionsOf(shop)
	o.N = 120
	made := run(t, shop, tools, o)
	several, chains := map[string]int{}, 0
	for _, s := range made.Scenarios {
		if len(s.Gold) > 1 {
			several[s.Split]++
		}
		if s.Provenance.Kind == chain {
			chains++
		}
	}
	if chains < 10 || several[scenario.Test] < 5 || several[scenario.Validation] < 2 || several[scenario.Train] < 20 {
		t.Errorf("%d chains, tasks of several calls %v", chains, several)
	}
}
