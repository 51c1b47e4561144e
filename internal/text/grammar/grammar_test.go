package grammar

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/episode/policy"
)

const (
	stopID = 256 + iota
	openID
	closeID
	firstLong
)

// words is a vocabulary of all bytes, a stop, two added tokens, and some tokens of several bytes, of which some cross
// the seams of JSON.
func words() *Vocabulary {
	long := []string{`{"`, `": "`, `", "`, `"}`, `"}}`, `": `, `, "`, "tr", "ue", "null", "12", ".5", "e1", `\u00`, "é",
		"世", "abc", "\n  ", `}]`, `"]`}
	return NewVocabulary(firstLong+len(long), func(id int32) Token {
		switch {
		case id < 256:
			return Token{Text: string([]byte{byte(id)})}
		case id == stopID:
			return Token{Text: "<end>", Added: true}
		case id == openID:
			return Token{Text: "<tool_call>", Added: true}
		case id == closeID:
			return Token{Text: "</tool_call>", Added: true}
		}
		return Token{Text: long[id-firstLong]}
	})
}

func answer(t interface{ Fatal(...any) }, v *Vocabulary, s string) *Grammar {
	g, err := Compile(v, Wanted{Answer: json.RawMessage(s)})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWhatASchemaAccepts(t *testing.T) {
	v := words()
	for name, tc := range map[string]struct {
		schema  string
		yes, no []string
		unheld  string
	}{
		"object": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}`,
			[]string{`{"b":1}`, `{"a": "x", "b": -20}`, "{\n  \"a\": \"\",\n  \"b\": 0\n}", `{"a":"\u00e9é\"","b":1}`},
			[]string{`{}`, `{"a":"x"}`, `{"b":1,"a":"x"}`, `{"b":01}`, `{"b":1.5}`, `{"b":1,}`, `{"b":1}x`,
				`{"a":"` + "\n" + `","b":1}`, `{"a":"\ud800","b":1}`, `{"c":1,"b":1}`, `{,"b":1}`}, ""},
		"optional only": {`{"properties":{"a":{"type":"null"},"b":{"type":"boolean"}}}`,
			[]string{`{}`, `{"a":null}`, `{"b":true}`, `{"a":null,"b":false}`}, []string{`{,"b":true}`,
				`{"a":null"b":true}`, `{"a":null,}`}, ""},
		"enum":  {`{"enum":["a b",1.50,null,{"k":[1]}]}`, []string{`"a b"`, `1.50`, `null`, `{"k": [1]}`}, []string{`"a"`, `1.5`, `{"k":[]}`}, ""},
		"const": {`{"const":"q\"\\\n"}`, []string{`"q\"\\\n"`}, []string{`"q"`}, ""},
		"anyOf": {`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, []string{`1`, `"x"`}, []string{`1.5`, `null`}, ""},
		"types": {`{"type":["number","null"]}`, []string{`1`, `-0.5`, `1e10`, `null`}, []string{`"1"`, `.5`, `1.`, `+1`}, ""},
		"array": {`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3}`,
			[]string{`[1]`, `[1, 2,3]`}, []string{`[]`, `[1,2,3,4]`, `[1,]`}, ""},
		"tuple":  {`{"prefixItems":[{"type":"integer"},{"type":"string"}]}`, []string{`[1,"a"]`}, []string{`[1]`, `["a",1]`}, ""},
		"none":   {`{"type":"array","maxItems":0}`, []string{`[]`}, []string{`[1]`}, ""},
		"length": {`{"type":"string","minLength":1,"maxLength":2}`, []string{`"a"`, `"é世"`, `"\n\n"`}, []string{`""`, `"abc"`}, ""},
		"bounds": {`{"type":"integer","minimum":-3,"exclusiveMaximum":121}`,
			[]string{`-3`, `-1`, `0`, `9`, `10`, `99`, `120`}, []string{`-4`, `121`, `130`, `1000`, `00`, `-0`}, ""},
		"from 8":   {`{"type":"integer","minimum":8,"maximum":1234}`, []string{`8`, `99`, `100`, `999`, `1000`, `1234`}, []string{`7`, `1235`, `2000`, `-8`}, ""},
		"free":     {`{"type":"object"}`, []string{`{}`, `{"x":[1,{"y":null}]}`}, []string{`[]`, `{"x"}`}, ""},
		"map":      {`{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{"x":1,"y":2}`, `{}`}, []string{`{"x":"1"}`}, ""},
		"closed":   {`{"type":"object","additionalProperties":false}`, []string{`{}`}, []string{`{"x":1}`}, ""},
		"anything": {`{}`, []string{`[1,"a",{}]`, `true`, `[]`}, []string{`tru`, `[1,]`}, ""},
		"itself": {`{"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/n"}`,
			[]string{`{"v":1,"next":{"v":2,"next":null}}`}, []string{`{"v":1}`, `{"v":1,"next":1}`}, ""},
		"allOf": {`{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"null"}},"required":["y"]}],"$defs":{"a":{"type":"object","properties":{"x":{"type":"integer"}}}}}`, []string{`{"x":1,"y":null}`, `{"y":null}`}, []string{`{"x":1}`}, ""},
		"long": {
			`{"type":"string","minLength":3,"maxLength":9000}`, []string{`"abc"`,
				`"` + strings.Repeat("é", 9000) + `"`}, []string{`"ab"`, `"` + strings.Repeat("x", 9001) + `"`}, "",
		},
		"keys": {
			`{"type":"integer"}`, []string{`1912345678901234567`, `-9199999999999999999`, `8999999999999999999`},
			[]string{`9300000000000000000`, `10000000000000000000`}, "",
		},
		"keys from 1": {`{"type":"integer","minimum":1}`, []string{`1`, `1912345678901234567`, `999999999999999999`},
			[]string{`0`, `-1`, `9300000000000000000`}, ""},
		"anyOf beside": {`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			[]string{`{"a":1}`, `{"b":1}`, `{"a":1,"b":2}`}, []string{`{}`, `{"a":"x"}`, `1`}, ""},
		"anyOf narrows": {
			`{"type":["integer","null"],"minimum":3,"anyOf":[{"type":"number","maximum":5},{"type":"string"}]}`,
			[]string{`3`, `5`}, []string{`2`, `6`, `null`, `"x"`, `3.5`}, "",
		},
		"ref beside": {`{"$defs":{"a":{"type":"integer","minimum":0}},"$ref":"#/$defs/a","maximum":9}`, []string{`0`, `9`}, []string{`10`, `-1`}, ""},
		"ref to a list": {`{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/anyOf/0"}}]}`,
			[]string{`1`, `[1,2]`}, []string{`[null]`, `["a"]`}, ""},
		"escaped ref":      {`{"$defs":{"a b/c":{"type":"null"}},"$ref":"#/$defs/a%20b~1c"}`, []string{`null`}, []string{`1`}, ""},
		"ref to an anchor": {`{"$defs":{"a":{"$anchor":"n","type":"integer"}},"$ref":"#n"}`, []string{`1`}, []string{`"x"`}, ""},
		"ref to an $id": {`{"$defs":{"a":{"$id":"n.json","type":"integer"}},"items":{"$ref":"n.json"}}`,
			[]string{`[1]`}, []string{`["x"]`}, ""},
		"dynamic ref": {`{"$dynamicAnchor":"n","type":"object","properties":{"next":{"$dynamicRef":"#n"}}}`,
			[]string{`{}`, `{"next":{"next":{}}}`}, []string{`{"next":1}`}, ""},
		"dynamic ref beside": {
			`{"$defs":{"a":{"$dynamicAnchor":"n","type":"integer","minimum":0}},"$dynamicRef":"#n","maximum":9}`,
			[]string{`0`, `9`}, []string{`10`, `-1`}, "",
		},
		"recursive ref": {`{"$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`, []string{`[[],[[]]]`}, []string{`[1]`}, ""},
		"members by pattern": {`{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false}`,
			[]string{`{}`, `{"x":1}`}, []string{`{"x":"a"}`, `1`}, "patternProperties at #"},
		"members by patterns and others": {`{"type":"object","patternProperties":{"^x":{"type":"integer"},"^y":false},"additionalProperties":{"type":"null"}}`,
			[]string{`{"x":1,"z":null}`}, []string{`{"x":"a"}`}, "patternProperties at #"},
		"allOf in allOf": {`{"allOf":[{"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["a"]}]},{"properties":{"a":{"maximum":3}}}]}`,
			[]string{`{"a":3}`}, []string{`{}`, `{"a":4}`, `{"a":null}`}, ""},
		"two enums":     {`{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}`, []string{`"b"`}, []string{`"a"`, `"c"`}, ""},
		"tree by allOf": {`{"$defs":{"n":{"type":"object","properties":{"next":{"allOf":[{"$ref":"#/$defs/n"}]}}}},"allOf":[{"$ref":"#/$defs/n"}]}`, []string{`{}`, `{"next":{"next":{}}}`}, []string{`{"next":1}`}, ""},
		"closed beside": {`{"allOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}}}]}`,
			[]string{`{}`}, nil, "additionalProperties at #"},
		"no way": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"type":"null"}},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}}}`,
			[]string{`{}`, `{"b":null}`}, []string{`{"a":{"n":{}}}`}, ""},
		"array and object": {`{"items":{"type":"integer"},"properties":{"a":{}}}`, []string{`[1]`, `{"a":null}`}, []string{`1`}, ""},
		"pattern": {`{"type":"object","properties":{"a":{"type":"string","pattern":"^x"}}}`,
			[]string{`{"a":"y"}`}, []string{`{"a":1}`}, "pattern at #/properties/a"},
		"half": {`{"type":"number","minimum":0.5}`, []string{`0.1`}, []string{`""`}, "minimum at #"},
	} {
		g := answer(t, v, tc.schema)
		for _, text := range tc.yes {
			if !g.Matches(text) {
				t.Errorf("%s: %s is refused", name, text)
			}
		}
		for _, text := range tc.no {
			if g.Matches(text) {
				t.Errorf("%s: %s is accepted", name, text)
			}
		}
		if got := strings.Join(g.Unheld, ", "); got != tc.unheld {
			t.Errorf("%s: not held %q, want %q", name, got, tc.unheld)
		}
	}
}

func TestWhatIsNoSchema(t *testing.T) {
	for s, want := range map[string]string{
		`[]`: "no object", `{"type":"text"}`: `"text"`, `{"$ref":"#/$defs/x"}`: "nothing is",
		`{"$ref":"https://x.test/y"}`: "another document", `{"enum":[]}`: "enum at #",
		`{"type":"object","properties":{"a":7}}`: "#/properties/a", `{"$ref":"#"}`: "no value fits",
		`{"allOf":[7]}`: "#/allOf/0", `{"$ref":"#nowhere"}`: "nothing is", `{"$dynamicRef":"#x"}`: "nothing is",
		`{"type":"object","additionalProperties":7}`: "no object", `{"anyOf":7}`: "#/anyOf",
		`{"type":[]}`: "no type",
		strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat("}", 200): "too deep",
	} {
		if _, err := Compile(words(), Wanted{Answer: json.RawMessage(s)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", s, err, want)
		}
	}
}

// spell draws tokens that a matcher allows, until it stops.
func spell(t *rapid.T, v *Vocabulary, m *Matcher) (text string, ids []int32, ended bool) {
	allowed := policy.NewIDSet(v.size)
	for range 400 {
		allowed.Fill()
		m.Narrow(ids, allowed)
		if allowed.Len() == 0 {
			t.Fatalf("nothing may follow %q", text)
		}
		if allowed.Has(stopID) {
			return text, ids, true
		}
		var may []int32
		closing := false
		for id := range int32(v.size) {
			if allowed.Has(id) {
				may = append(may, id)
				closing = closing || strings.ContainsAny(v.texts[id].Text, `"}]`)
			}
		}
		if closing && rapid.IntRange(0, 3).Draw(t, "close") > 0 { // strings have no end else
			n := 0
			for _, id := range may {
				if strings.ContainsAny(v.texts[id].Text, `"}]`) {
					may[n] = id
					n++
				}
			}
			may = may[:n]
		}
		id := rapid.SampledFrom(may).Draw(t, "id")
		ids, text = append(ids, id), text+v.texts[id].Text
	}
	return text, ids, false
}

// anySchema draws a schema that the grammar holds whole.
func anySchema(t *rapid.T, depth int) map[string]any {
	kinds := []string{"integer", "number", "string", "boolean", "null", "enum", "bounds"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "anyOf")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "enum":
		return map[string]any{
			"enum": rapid.SampledFrom([][]any{{"a", "b\"c"}, {1, nil}, {true, []int{1}}}).Draw(t, "enum"),
		}
	case "bounds":
		least := rapid.IntRange(-1500, 1500).Draw(t, "least")
		return map[string]any{"type": "integer", "minimum": least,
			"maximum": least + rapid.IntRange(0, 3000).Draw(t, "width")}
	case "string":
		least := rapid.IntRange(0, 2).Draw(t, "least")
		return map[string]any{"type": "string", "minLength": least,
			"maxLength": least + rapid.IntRange(0, 5).Draw(t, "more")}
	case "array":
		least := rapid.IntRange(0, 2).Draw(t, "least")
		return map[string]any{"type": "array", "items": anySchema(t, depth-1), "minItems": least,
			"maxItems": least + rapid.IntRange(0, 2).Draw(t, "more")}
	case "anyOf":
		return map[string]any{"anyOf": []any{anySchema(t, depth-1), anySchema(t, depth-1)}}
	case "object":
		properties, required := map[string]any{}, []string{}
		for i := range rapid.IntRange(0, 3).Draw(t, "properties") {
			name := fmt.Sprintf("p%d", i)
			properties[name] = anySchema(t, depth-1)
			if rapid.Bool().Draw(t, "required") {
				required = append(required, name)
			}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false}
	default:
		return map[string]any{"type": kind}
	}
}

// Whatever tokens are drawn of those that may come: what is written is a value of the schema.
func TestWhatIsWrittenFitsTheSchema(t *testing.T) {
	v := words()
	rapid.Check(t, func(t *rapid.T) {
		s, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"x": anySchema(t, 3)},
			"required": []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		g := answer(t, v, string(s))
		if len(g.Unheld) > 0 {
			t.Fatalf("%s: not held: %v", s, g.Unheld)
		}
		text, _, ended := spell(t, v, g.NewMatcher([]int32{stopID}, ""))
		if !ended {
			t.Skip("no end within the tokens")
		}
		if verdict, why := schema.Compile(s).Validate(text); verdict != schema.Valid {
			t.Fatalf("%s: %s is %s: %v", s, text, verdict, why)
		}
	})
}

var frame = Frame{Open: "<tool_call>\n{\"name\": \"", Middle: "\", \"arguments\": ", Close: "}\n</tool_call>",
	Between: "\n"}

func tools() []chat.Tool {
	return []chat.Tool{
		{Name: "hash", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":3}},"required":["text"]}`)},
		{Name: "now", InputSchema: json.RawMessage(`{"type":"object","properties":{"zone":{"enum":["UTC","CET"]}},"required":["zone"]}`)},
	}
}

// Calls are in their frame, whose markup is written with the template's own tokens; one, or as many as are wanted.
func TestCalls(t *testing.T) {
	v := words()
	many := false
	rapid.Check(t, func(t *rapid.T) {
		g, err := Compile(v, Wanted{Tools: tools(), Frame: frame, Many: rapid.Bool().Draw(t, "many")})
		if err != nil {
			t.Fatal(err)
		}
		text, ids, ended := spell(t, v, g.NewMatcher([]int32{stopID}, ""))
		if !ended {
			t.Fatal("no end: ", text)
		}
		if ids[0] != openID || ids[len(ids)-1] != closeID {
			t.Fatalf("the markup is spelt: %v", ids)
		}
		if !strings.HasPrefix(text, frame.Open) || strings.Contains(
			strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(text, frame.Close+frame.Between+frame.Open, ""),
				frame.Open), frame.Close), "\n",
		) {
			t.Fatalf("line ends in a call: %q", text)
		}
		many = many || strings.Count(text, "<tool_call>") > 1
		inner := strings.TrimSuffix(strings.TrimPrefix(text, "<tool_call>\n"), "\n</tool_call>")
		var call struct {
			Name      string
			Arguments json.RawMessage
		}
		if err := json.Unmarshal([]byte(inner), &call); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, tool := range tools() {
			if tool.Name != call.Name {
				continue
			}
			if verdict, why := schema.Compile(tool.InputSchema).Validate(string(call.Arguments)); verdict !=
				schema.Valid {
				t.Fatalf("%s: %v", text, why)
			}
			return
		}
		t.Fatalf("no tool is called: %s", text)
	})
}

func feed(m *Matcher, v *Vocabulary, ids ...int32) *policy.IDSet {
	allowed := policy.NewIDSet(v.size)
	for n := range len(ids) + 1 {
		allowed.Fill()
		m.Narrow(ids[:n], allowed)
	}
	return allowed
}

func spelt(text string) (ids []int32) {
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids
}

// A watcher lets anything be written, and holds a call from the moment that it is one.
func TestWatcher(t *testing.T) {
	v := words()
	g, err := Compile(v, Wanted{Tools: tools()[1:], Frame: frame})
	if err != nil {
		t.Fatal(err)
	}
	watch := func(once bool) *Matcher { return g.NewWatcher([]int32{stopID}, frame.Open, once) }
	if may := feed(watch(true), v, spelt("so {\"na")...); may.Len() != v.size {
		t.Errorf("%d of %d tokens may come in free text", may.Len(), v.size)
	}
	head := append([]int32{'s', openID}, spelt("\n{\"name\": \"")...)
	if may := feed(watch(true), v, head...); may.Len() != 1 || !may.Has('n') {
		t.Errorf("behind the frame's beginning %d tokens may come", may.Len())
	}
	call := append(append(head, spelt("now\", \"arguments\": {\"zone\":\"UTC\"}}\n")...), closeID)
	if may := feed(watch(true), v, call...); may.Len() != 1 || !may.Has(stopID) {
		t.Errorf("behind the only call %d tokens may come", may.Len())
	}
	if may := feed(watch(false), v, call...); may.Len() != v.size {
		t.Errorf("behind a call %d of %d tokens may come", may.Len(), v.size)
	}
	if may := feed(watch(false), v,
		append(append(call, spelt("\n")...), append(head, 'n', 'o')...)...); may.Len() != 1 || !may.Has('w') {
		t.Errorf("in a second call %d tokens may come", may.Len())
	}
}

// What a model thinks before it answers is free.
func TestFreeUntilTheReasoningEnds(t *testing.T) {
	v := words()
	g := answer(t, v, `{"const":true}`)
	m := g.NewMatcher([]int32{stopID}, "</think>")
	if may := feed(m, v, spelt("hm</thin")...); may.Len() != v.size-1 {
		t.Errorf("%d of %d tokens may come", may.Len(), v.size)
	}
	m = g.NewMatcher([]int32{stopID}, "</think>")
	if may := feed(m, v, spelt("hm</think>")...); may.Len() != 2 || !may.Has('t') || !may.Has(firstLong+7) {
		t.Errorf("behind it %d tokens may come", may.Len())
	}
}

// A schema or an answer that would take states without end takes no more than there may be.
func TestStatesAreBounded(t *testing.T) {
	v := words()
	g := answer(t, v, `{}`)
	g.most = 500
	if g.Matches(strings.Repeat("[", 3*g.most)+strings.Repeat("]", 3*g.most)) || len(g.states) > g.most {
		t.Errorf("%d states", len(g.states))
	}
	if !g.Large() {
		t.Error("it is not seen to be large")
	}
}

// bomb is a schema in which each of n parts refers to the next one twice.
func bomb(n int, link string) string {
	defs := []string{fmt.Sprintf(`"d%d":{"type":"object","properties":{"x":{"type":"integer"}}}`, n)}
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":`+link, i, i+1, i+1))
	}
	return `{"$defs":{` + strings.Join(defs, ",") + `},"$ref":"#/$defs/d0"}`
}

// A small schema that would have rules without end is compiled once for each of its parts, or refused; it takes neither
// time nor memory.
func TestSchemaBombs(t *testing.T) {
	for name, tc := range map[string]struct {
		link string
		ok   bool
	}{
		"references":         {`{"type":"object","properties":{"p":{"$ref":"#/$defs/d%d"},"q":{"$ref":"#/$defs/d%d"}}}`, true},
		"lone allOf":         {`{"type":"object","properties":{"p":{"allOf":[{"$ref":"#/$defs/d%d"}]},"q":{"allOf":[{"$ref":"#/$defs/d%d"}]}}}`, true},
		"allOf of two":       {`{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, false},
		"anyOf beside":       {`{"minimum":1,"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, false},
		"allOf beside a key": {`{"type":"object","properties":{"p":{"type":"object","allOf":[{"$ref":"#/$defs/d%d"}]},"q":{"type":"object","allOf":[{"$ref":"#/$defs/d%d"}]}}}`, true},
	} {
		_, err := Compile(words(), Wanted{Answer: json.RawMessage(bomb(30, tc.link))})
		if tc.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", name, err)
		}
	}
	big := `{"enum":["` + strings.Repeat("x", maxSize) + `"]}`
	if _, err := Compile(words(), Wanted{Answer: json.RawMessage(big)}); err == nil ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("a large text: %v", err)
	}
}

// The tokens that may come are the same whether they are taken from what is known of like states, or looked for one by
// one.
func TestMasksAreShared(t *testing.T) {
	v := words()
	rapid.Check(t, func(t *rapid.T) {
		s, err := json.Marshal(map[string]any{
			"type": "object", "properties": map[string]any{"x": anySchema(t, 2), "y": map[string]any{"type": "string",
				"minLength": rapid.IntRange(0, 12).Draw(t, "least"), "maxLength": rapid.IntRange(12,
					40).Draw(t, "most")}},
			"required": []string{"x", "y"},
		})
		if err != nil {
			t.Fatal(err)
		}
		g := answer(t, v, string(s))
		_, ids, _ := spell(t, v, g.NewMatcher([]int32{stopID}, ""))
		at := g.start
		for _, id := range ids {
			got, want := g.nextTokens(at), policy.NewIDSet(v.size)
			for id := range int32(v.size) {
				if text := v.texts[id]; !text.Added && !g.readText(at, text.Text).dead() {
					want.Add(id)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %d tokens may come, want %d", s, got.Len(), want.Len())
			}
			at = g.read(at, id)
		}
	})
}

// A text of many characters takes a few states for each that was written, and no mask of its own.
func TestLongTextsAreCheap(t *testing.T) {
	v := words()
	g := answer(t, v, `{"type":"object","properties":{"a":{"type":"string","maxLength":100000},"b":{"type":"array","items":{"type":"string","maxLength":900},"maxItems":5000}},"required":["a","b"]}`)
	m := g.NewMatcher([]int32{stopID}, "")
	text := `{"a":"` + strings.Repeat("word ", 2000) + `","b":["` + strings.Repeat("x", 800) + `"` +
		strings.Repeat(`,"y"`, 500)
	allowed := policy.NewIDSet(v.size)
	ids := spelt(text)
	for n := range ids {
		allowed.Fill()
		if m.Narrow(ids[:n], allowed); !allowed.Has(ids[n]) {
			t.Fatalf("%q may not follow %d bytes", ids[n], n)
		}
	}
	if len(g.states) > 2*len(text) || len(g.masks) > 300 || m.Exhausted() {
		t.Errorf("%d states and %d masks for %d bytes", len(g.states), len(g.masks), len(text))
	}
}

// What must come behind a model's reasoning comes: the completion does not end before.
func TestNoEndWithinTheReasoning(t *testing.T) {
	v := words()
	m := answer(t, v, `{"const":true}`).NewMatcher([]int32{stopID}, "</think>")
	if may := feed(m, v, spelt("hm")...); may.Has(stopID) || may.Len() != v.size-1 {
		t.Errorf("%d of %d tokens may come", may.Len(), v.size)
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"anyOf":[{"$ref":"#/anyOf/0"}]}`,
		`{"allOf":[{"$ref":"#"}]}`, `{"type":"array","minItems":2000,"items":{"$ref":"#"}}`,
	} {
		f.Add(s)
	}
	v := words()
	f.Fuzz(func(t *testing.T, s string) {
		g, err := Compile(v, Wanted{Answer: json.RawMessage(s)})
		if err != nil {
			return
		}
		allowed := policy.NewIDSet(v.size)
		allowed.Fill()
		g.NewMatcher([]int32{stopID}, "").Narrow(nil, allowed)
	})
}
