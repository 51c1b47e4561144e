package kinds

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

const shop = `
rules:
  price: "{digits 1 3}"
  thing: ["{word} lamp", "{word} chair"]
kinds:
  - name: add and look
    values: {name: "{thing}", price: "{price}", from: "{date 2024-01-01 2024-01-31}", to: "{after from 1 3}", code: "{name | upper | base64}", hex: "#{integer 255 255 | hex 4}"}
    calls:
      - {tool: add, arguments: {name: "{name}", price: "{price | number}", tags: ["{from}", new], more: {to: "{to}", sure: true, n: 2}}, pattern: 'item (\d+)'}
      - {tool: get, arguments: {id: "{result | number}", note: "<{result}>"}, field: item/0/price}
    wordings: ["Add a {name} for {price}."]
    held_out: ["A {name} costs {price}."]
    checks:
      - {type: state, name: get, arguments: {id: "{result}"}, contains: "{name}"}
      - {type: answer, number: "{price | number}"}
`

// Values are drawn in their order, calls are built from them and from the results, and checks are those of the file.
func TestDrawn(t *testing.T) {
	set, err := Parse("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	k := &set.Kinds[0]
	seen := map[string]bool{}
	for seed := range uint64(50) {
		v := k.Draw(rand.New(rand.NewPCG(seed, 1)))
		seen[v["name"]] = true
		for name, form := range map[string]string{
			"name": `^[a-z]+ (lamp|chair)$`, "price": `^[1-9]\d{0,2}$`, "from": `^2024-01-\d\d$`,
			"to": `^2024-0[12]-\d\d$`, "hex": "^#00ff$", "code": `^[A-Za-z0-9+/]+=*$`,
		} {
			if !regexp.MustCompile(form).MatchString(v[name]) || v["to"] <= v["from"] {
				t.Fatalf("%s: %q of %v", name, v[name], v)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d names in 50 draws", len(seen))
	}
	v := Values{"name": `a "b" & c`, "price": "12", "from": "x", "to": "y"}
	first, err := k.Call(0, v, "")
	if want :=
		`{"name": "a \"b\" & c", "price": 12, "tags": ["x", "new"], "more": {"to": "y", "sure": true, "n": 2}}`; err !=
		nil || first.Name != "add" || first.Arguments != want {
		t.Errorf("%v %+v", err, first)
	}
	taken, err := k.Take(0, "added item 7.")
	if err != nil || taken != "7" {
		t.Errorf("%q %v", taken, err)
	}
	second, err := k.Call(1, v, taken)
	if err != nil || second.Arguments != `{"id": 7, "note": "<7>"}` {
		t.Errorf("%v %+v", err, second)
	}
	if _, err := k.Call(1, v, "seven"); err == nil {
		t.Error("a word is taken for a number")
	}
	for text, want := range map[string]string{
		`{"item":[{"price":12.5}]}`: "12.5", `{"item":[{"price":"x"}]}`: "x", `{"item":[]}`: "",
		`{"item":[{"price":null}]}`: "", `{"item":[{"price":[1]}]}`: "", "none": "",
	} {
		if got, err := k.Take(1, text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	if got := v.Fill(k.Wordings[0]); got != `Add a a "b" & c for 12.` {
		t.Error(got)
	}
	checks, err := k.Checks(v, nil, "", "7")
	if err != nil || len(checks) != 2 || string(checks[0].Arguments) != `{"id": "7"}` ||
		*checks[0].Contains != `a "b" & c` || checks[1].Number.Float() != 12 {
		t.Errorf("%v %+v", err, checks)
	}
}

// What cannot be drawn from is refused, with the place and what is wrong there.
func TestParseRefuses(t *testing.T) {
	kind := func(text string) string {
		return "kinds: [{name: k, values: {a: \"{word}\"}, calls: [{tool: t, arguments: {x: \"{a}\"}}], wordings: " +
			"[\"{a}\"]" + text + "}]"
	}
	if _, err := Parse("f.yaml", []byte(kind(""))); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, want string }{
		{"", "no kinds"},
		{"kinds: []", "no kinds"},
		{"kinds: [", "f.yaml"},
		{"knids: []", "knids"},
		{"x: &a 1\ny: *a", "anchors"},
		{strings.Repeat("#", maxFile+1), "bytes"},
		{kind(", extra: 1"), "extra"},
		{kind(`, held_out: ["{a}"]`), "twice"},
		{kind(`, held_out: ["{b}"]`), "nothing fills {b}"},
		{kind(`, held_out: ["{result}"]`), "nothing fills {result}"},
		{kind(`, held_out: ["{a | upper}"]`), "{a | upper} is no slot"},
		{kind(`, held_out: ["{a|number}"]`), "{a|number} is no slot"},
		{kind(`, held_out: ["{a b}"]`), "{a b} is no slot"},
		{kind(`, held_out: ["{first-name}"]`), "nothing fills {first-name}"},
		{`kinds: [{name: k, values: {a: "{word}"}, calls: [{tool: t, arguments: {x: "{a | upper}"}}], wordings: [x]}]`, "{a | upper} is no slot"},
		{`kinds: [{name: k, values: {a: "{word}", b: "{after a 1 3}"}, calls: [{tool: t}], wordings: [x]}]`, "behind a VALUE"},
		{kind(", checks: [{type: answer, equal: x}]"), "equal"},
		{kind(", checks: [x]"), "checks[0]"},
		{kind(`, checks: [{type: answer, equals: "{c}"}]`), "nothing fills {c}"},
		{"kinds: [{name: k, wordings: [x]}]", "no calls"},
		{"kinds: [{name: k, calls: [{tool: t}]}]", "no wordings"},
		{"kinds: [{calls: [{tool: t}], wordings: [x]}]", "name of its own"},
		{"kinds: [{name: k, calls: [{tool: t}], wordings: [x]}, {name: k, calls: [{tool: t}], wordings: [x]}]", "name of its own"},
		{"kinds: [{name: k, calls: [{arguments: {}}], wordings: [x]}]", "names no tool"},
		{`kinds: [{name: k, calls: [{tool: t, arguments: {x: "{result}"}}], wordings: [x]}]`, "nothing fills {result}"},
		{`kinds: [{name: k, calls: [{tool: t, pattern: "x"}], wordings: [x]}]`, "one group"},
		{`kinds: [{name: k, calls: [{tool: t, pattern: "("}], wordings: [x]}]`, "pattern"},
		{`kinds: [{name: k, values: {a: "{b}", b: "{word}"}, calls: [{tool: t}], wordings: [x]}]`, `nothing is called "b"`},
		{`kinds: [{name: k, values: {result: x}, calls: [{tool: t}], wordings: [x]}]`, "not result"},
		{`kinds: [{name: k, values: {a: "{integer 9 0}"}, calls: [{tool: t}], wordings: [x]}]`, "{integer 0 99}"},
		{`kinds: [{name: k, values: {a: "{date 2024-02-30 2025-01-01}"}, calls: [{tool: t}], wordings: [x]}]`, "{date"},
		{`kinds: [{name: k, values: {a: "{after b 1 2}"}, calls: [{tool: t}], wordings: [x]}]`, "{after"},
		{`kinds: [{name: k, values: {a: "{word | rot13}"}, calls: [{tool: t}], wordings: [x]}]`, "no filter"},
		{`kinds: [{name: k, values: {a: "{word | hex}"}, calls: [{tool: t}], wordings: [x]}]`, "hex is for"},
		{`kinds: [{name: k, values: {a: []}, calls: [{tool: t}], wordings: [x]}]`, "no alternatives"},
		{"rules: {a: '{b}', b: ['x', '{a}']}\n" + kind(""), "stands in itself"},
		{"rules: {a: '{c}'}\n" + kind(""), "rules.a"},
		{"rules: {a: {b: c}}\n" + kind(""), "list of texts"},
	} {
		_, err := Parse("f.yaml", []byte(tc.text))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage || !strings.Contains(fmt.Sprint(f.Where, f.Err), tc.want) {
			t.Errorf("%.80s: %v", tc.text, err)
		}
	}
	// braces of a program
	set, err := Parse("f.yaml", []byte(`kinds: [{name: k, values: {a: "7"}, calls: [{tool: t, arguments: {x: 'a{3}{ {"k": {a}} }{return 1}'}}], wordings: ["{a}"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	if call, err := set.Kinds[0].Call(0, Values{"a": "7"}, ""); err != nil ||
		!strings.Contains(call.Arguments, `a{3}{ {\"k\": 7} }{return 1}`) {
		t.Errorf("%+v %v", call, err)
	}
	if _, err := Load("none.yaml"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// Of what is read, tasks can be drawn, whatever it is.
func FuzzParse(f *testing.F) {
	f.Add(shop)
	f.Add(`kinds: [{name: k, values: {a: "{digits 1 15}{integer -5 5 | hex 3}"}, calls: [{tool: t, arguments: {x: [1, null, 2.5, {y: "{a | number}"}]}}], wordings: ["{a}"]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse("f", []byte(text))
		if err != nil || len(text) > 2000 {
			return
		}
		for i := range set.Kinds {
			k := &set.Kinds[i]
			v := k.Draw(rand.New(rand.NewPCG(1, 2)))
			for i := range k.NumCalls() {
				_, _ = k.Call(i, v, "1")
				_, _ = k.Take(i, `{"a": 1}`)
			}
			_, _ = k.Checks(v, nil, "x", "y")
			if slices.Contains(k.Tools(), "") {
				t.Error("a call without a tool")
			}
			for _, w := range k.Wordings {
				_ = v.Fill(w)
			}
		}
	})
}
