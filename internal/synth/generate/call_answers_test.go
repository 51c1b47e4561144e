package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Of what a call shows that is asked for which an answer can say: how many things it lists, but for a full page, and a
// number to its first digits. A field of one letter is asked for where there is no other.
func TestAnswersOfCalls(t *testing.T) {
	tasks := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"id":%d,"title":"Task %d"}`, 71+i, i))
		}
		return `{"tasks":[` + strings.Join(all, ",") + `]}`
	}
	const mass = `{"type":"object","properties":{"value":{"type":"number"}},"required":["value"]}`
	m := newMaker(nil, []Tool{toolOf("list_tasks", "List tasks", none),
		toolOf("get_weight", "Get the weight", mass)}, nil, Options{})
	for _, tc := range []struct{ tool, arguments, text, want string }{
		{"list_tasks", `{}`, tasks(7), "7"},
		{"list_tasks", `{}`, tasks(10), ""},
		{"get_weight", `{"value":3}`, `{"pounds":6.613867865546327}`, "6.613867865546327 to 0.0066"},
		{"get_weight", `{"value":3}`, `{"h":41,"lightness":58}`, "58"},
		{"get_weight", `{"value":3}`, `{"h":41}`, "41"},
	} {
		for seed := range 8 { // one of several fields is drawn
			c := &Candidate{Kind: single, Proof: []string{fmt.Sprint("play ", seed)},
				Calls: []Call{{Tool: tc.tool, Arguments: json.RawMessage(tc.arguments)}}}
			p := &Played{Results: []Answered{{"ok", tc.text}}}
			m.answerCheck(c, p, p)
			got := ""
			for _, x := range c.Checks {
				switch {
				case x.Equals != nil:
					got = *x.Equals
				case x.Number != nil:
					got = fmt.Sprintf("%v to %.4f", *x.Number, x.Tolerance)
				}
			}
			if got != tc.want {
				t.Errorf("%s: %q, not %q", tc.text, got, tc.want)
			}
		}
	}
}

// What bounds others is the smaller one, and a key that is not there looks as those do that are.
func TestValuesOfCalls(t *testing.T) {
	of := func(schema string) *subject {
		return &subject{Tool: toolOf("draw", "", schema), schema: readParam(json.RawMessage(schema))}
	}
	f := filler{rand.New(rand.NewPCG(1, 1)), of(`{"properties":{"min_value":{"type":"number"},
		"max_value":{"type":"number"}}}`), &values{}}
	for arguments, want := range map[string]string{
		`{"min_value":9,"max_value":3}`: `{"min_value":3,"max_value":9}`,
		`{"min_value":3,"max_value":9}`: `{"min_value":3,"max_value":9}`,
		`{"min_value":9}`:               `{"min_value":9}`,
	} {
		if got := string(f.upwards(json.RawMessage(arguments))); got != want {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	for key, want := range map[string]string{`"C-1034"`: `"C-9034"`, `"lena"`: `"lena"`, `"9"`: `"9"`, `41`: `91`} {
		if got := string(otherDigits(json.RawMessage(key))); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	known := &values{}
	known.gave(Call{Tool: "list_deals"}, `{"deals":[{"deal_id":"D-1034"}]}`, 0)
	keyed := filler{rand.New(rand.NewPCG(1, 1)),
		of(`{"properties":{"deal_id":{"type":"string"}},"required":["deal_id"]}`), known}
	if got, ok := keyed.missing(); !ok || string(got) != `{"deal_id":"D-9034"}` {
		t.Errorf("what is not there: %s", got)
	}
	known.gave(Call{Tool: "list_contacts"}, `{"contacts":[{"name":"Al de Berg"}]}`, 0)
	finds := filler{rand.New(rand.NewPCG(1, 1)), &subject{Tool: toolOf("search_contacts", "", none)}, known}
	for range 20 { // a part of a name that many others may have finds those
		if w := finds.searchWord(); w == "Al" || w == "de" {
			t.Errorf("searches for %q", w)
		}
	}
	for raw, want := range map[string]string{
		`{"value":28,"from_unit":"kilogram","to_unit":"gram"}`: "28 kilogram to gram",
		`{"value":28,"from_unit":"kilogram"}`:                  "",
	} {
		if got, ok := objectSaid(json.RawMessage(raw)); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}
