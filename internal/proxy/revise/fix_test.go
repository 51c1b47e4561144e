package revise

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

func toolsForTest() []chat.Tool {
	return []chat.Tool{
		{Name: "get_weather", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
			"unit":{"enum":["celsius","fahrenheit"]},"tags":{"type":"array","items":{"type":"string"}},"exact":{"type":"boolean"}},"required":["city"],"additionalProperties":false}`)},
		{Name: "hash", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"options":{"$ref":"#/$defs/o"}},"required":["text"],
			"$defs":{"o":{"type":"object","properties":{"rounds":{"type":"integer"}}}}}`)},
		{Name: "read_graph", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "open", InputSchema: json.RawMessage(`{"type":"any"}`)}, // a schema that nobody can check
	}
}

func call(name, arguments string) chat.Message {
	return chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "x1", Name: name, Arguments: arguments}}}
}

func TestFix(t *testing.T) {
	f := NewFixer(toolsForTest())
	for name, c := range map[string]struct {
		in      chat.Message
		tool    string // "" where no call comes of it
		args    string
		content string
		kinds   string // of the changes
		problem string // part of one, "" for none
	}{
		"valid":                {in: call("get_weather", `{"city" :  "Rome", "days":1}`), tool: "get_weather", args: `{"city" :  "Rome", "days":1}`},
		"a plain answer":       {in: chat.Message{Content: `It is {"warm": true} today.`}, content: `It is {"warm": true} today.`},
		"JSON that is no call": {in: chat.Message{Content: `{"city": "Rome"}`}, content: `{"city": "Rome"}`},
		"case of the tool":     {in: call("getWeather", `{"city":"Rome"}`), tool: "get_weather", args: `{"city":"Rome"}`, kinds: "tool_name"},
		"a prefix":             {in: call("functions.hash", `{"text":"a"}`), tool: "hash", args: `{"text":"a"}`, kinds: "tool_name"},
		"a letter lost":        {in: call("get_wether", `{"city":"Rome"}`), tool: "get_weather", args: `{"city":"Rome"}`, kinds: "tool_name"},
		"no such tool":         {in: call("send_mail", `{}`), tool: "send_mail", args: `{}`, problem: "there is no tool"},
		"empty arguments":      {in: call("read_graph", ``), tool: "read_graph", args: `{}`, kinds: "no_arguments"},
		"quotes":               {in: call("hash", `{'text': 'a'}`), tool: "hash", args: `{"text": "a"}`, kinds: "single_quotes"},
		"twice encoded":        {in: call("hash", `"{\"text\": \"a\"}"`), tool: "hash", args: `{"text": "a"}`, kinds: "double_encoded"},
		"a number as text":     {in: call("get_weather", `{"city":"Rome","days":"3"}`), tool: "get_weather", args: `{"city": "Rome", "days": 3}`, kinds: "coerced"},
		"thousands":            {in: call("get_weather", `{"city":"Rome","days":"1,000"}`), tool: "get_weather", args: `{"city": "Rome", "days": 1000}`, kinds: "coerced"},
		"no whole number": {in: call("get_weather", `{"city":"Rome","days":"1.5"}`), tool: "get_weather",
			args: `{"city":"Rome","days":"1.5"}`, problem: "/days"},
		"a text as number": {in: call("hash", `{"text":1.50}`), tool: "hash", args: `{"text": "1.50"}`, kinds: "coerced"},
		"a word as boolean": {in: call("get_weather", `{"city":"Rome","exact":"True"}`), tool: "get_weather",
			args: `{"city": "Rome", "exact": true}`, kinds: "coerced"},
		"one for a list": {in: call("get_weather", `{"city":"Rome","tags":"a"}`), tool: "get_weather",
			args: `{"city": "Rome", "tags": ["a"]}`, kinds: "coerced"},
		"a list of one": {in: call("hash", `{"text":["a"]}`), tool: "hash", args: `{"text": "a"}`, kinds: "coerced"},
		"below a reference": {in: call("hash", `{"text":"a","options":{"rounds":"2"}}`), tool: "hash",
			args: `{"text": "a", "options": {"rounds": 2}}`, kinds: "coerced"},
		"an enumeration": {in: call("get_weather", `{"city":"Rome","unit":"Celsius"}`), tool: "get_weather",
			args: `{"city": "Rome", "unit": "celsius"}`, kinds: "enum_case"},
		"no such option": {in: call("get_weather", `{"city":"Rome","unit":"kelvin"}`), tool: "get_weather",
			args: `{"city":"Rome","unit":"kelvin"}`, problem: "/unit"},
		"an argument's name":   {in: call("get_weather", `{"citty":"Rome"}`), tool: "get_weather", args: `{"city": "Rome"}`, kinds: "argument_name"},
		"a forbidden argument": {in: call("get_weather", `{"city":"Rome","mood":1}`), tool: "get_weather", args: `{"city": "Rome"}`, kinds: "dropped"},
		"null for an option":   {in: call("get_weather", `{"city":"Rome","days":null}`), tool: "get_weather", args: `{"city": "Rome"}`, kinds: "dropped"},
		"no better by its name": {in: call("get_weather", `{"city":"Rome","Exact":"maybe"}`), tool: "get_weather",
			args: `{"city":"Rome","Exact":"maybe"}`, problem: "'Exact' not allowed"},
		"wrapped":            {in: call("get_weather", `{"arguments":{"city":"Rome"}}`), tool: "get_weather", args: `{"city": "Rome"}`, kinds: "unwrapped"},
		"a value is missing": {in: call("get_weather", `{"days":"3"}`), tool: "get_weather", args: `{"days": 3}`, kinds: "coerced", problem: "missing"},
		"nobody can check":   {in: call("open", `{"a":"1"}`), tool: "open", args: `{"a":"1"}`},
		"in a fence, with text": {
			in: chat.Message{Content: "Sure:\n```json\n" +
				"{\"name\": \"hash\", \"arguments\": {\"text\": \"a\"}}\n```"},
			tool:    "hash",
			args:    `{"text": "a"}`,
			content: "Sure:",
			kinds:   "rescued",
		},
		"in tags": {
			in: chat.Message{Content: "<tool_call>\n{\"name\": \"hash\", \"arguments\": {\"text\": \"a\"}}\n" +
				"</tool_call>"},
			tool:  "hash",
			args:  `{"text": "a"}`,
			kinds: "rescued",
		},
		"other words": {in: chat.Message{Content: `{"tool": "hash", "parameters": {"text": "a"}}`}, tool: "hash", args: `{"text": "a"}`, kinds: "rescued"},
		"cut off": {
			in:      chat.Message{Content: `<tool_call>` + "\n" + `{"name": "hash", "arguments": {"text": "a`},
			content: `<tool_call>` + "\n" + `{"name": "hash", "arguments": {"text": "a`,
			problem: "cannot be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.Fix(c.in)
			if c.tool == "" {
				if len(got.Message.ToolCalls) > 0 {
					t.Fatalf("calls %v", got.Message.ToolCalls)
				}
			} else if len(got.Message.ToolCalls) != 1 || got.Message.ToolCalls[0].Name != c.tool ||
				got.Message.ToolCalls[0].Arguments != c.args {
				t.Fatalf("calls %v, want %s %s (%v)", got.Message.ToolCalls, c.tool, c.args, got.Problems)
			}
			if got.Message.Content != c.content {
				t.Errorf("content %q, want %q", got.Message.Content, c.content)
			}
			var kinds []string
			for _, x := range got.Changes {
				kinds = append(kinds, x.Kind)
			}
			slices.Sort(kinds)
			want := strings.Fields(c.kinds)
			slices.Sort(want)
			if !slices.Equal(kinds, want) {
				t.Errorf("changes %v, want %v", kinds, want)
			}
			text := ""
			for _, p := range got.Problems {
				text += p.String() + "\n"
			}
			if (text == "") != (c.problem == "") || !strings.Contains(text, c.problem) {
				t.Errorf("problems %q, want %q", text, c.problem)
			}
		})
	}
}

// Of two tools that a name may be, none is chosen.
func TestNoGuessing(t *testing.T) {
	f := NewFixer([]chat.Tool{{Name: "get_user"}, {Name: "set_user"}, {Name: "a.get"}, {Name: "b.get"}})
	for _, name := range []string{"xet_user", "get"} {
		if got := f.Fix(call(name, `{}`)); got.Valid() || got.Message.ToolCalls[0].Name != name {
			t.Errorf("%s became %+v", name, got)
		}
	}
}

// anyMessage is a message whose calls are sound, ill-typed, misnamed or broken text.
func anyMessage(t *rapid.T) chat.Message {
	value := rapid.SampledFrom([]string{`"Rome"`, `"3"`, `3`, `3.0`, `1.5`, `true`, `"True"`, `null`, `[]`, `["a"]`,
		`["a", 1]`, `{}`, `{"rounds": "2"}`, `"[1]"`, `"{\"rounds\": 1}"`, `"Celsius"`, `"1,000"`, `{"city": "x"}`})
	key := rapid.SampledFrom([]string{"city", "days", "unit", "tags", "exact", "text", "options", "citty", "Text",
		"mood", "arguments", "rounds"})
	name := rapid.SampledFrom([]string{"get_weather", "hash", "read_graph", "open", "getWeather", "hsh", "nothing", ""})
	args := func() string {
		var b strings.Builder
		b.WriteByte('{')
		n := rapid.IntRange(0, 4).Draw(t, "members")
		for i := range n {
			if i > 0 {
				b.WriteString(rapid.SampledFrom([]string{", ", ",", " "}).Draw(t, "comma"))
			}
			b.WriteString(`"` + key.Draw(t, "key") + `": ` + value.Draw(t, "value"))
		}
		text := b.String() + "}"
		return text[:len(text)-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "cut")%len(text)]
	}
	m := chat.Message{Role: chat.Assistant}
	if rapid.Bool().Draw(t, "in the text") {
		m.Content = rapid.SampledFrom([]string{"", "Sure. ", "```json\n", "<tool_call>\n"}).Draw(t, "before") +
			`{"name": "` + name.Draw(t, "name") + `", "` +
			rapid.SampledFrom([]string{"arguments", "parameters"}).Draw(t, "word") + `": ` + args() + "}" +
			rapid.SampledFrom([]string{"", "\n```", "\n</tool_call>", " there"}).Draw(t, "behind")
		return m
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{Name: name.Draw(t, "name"), Arguments: args()})
	}
	return m
}

// Mending twice is mending once, a valid call stays as it is, byte for byte, and problems are those of what comes out.
func TestFixProperties(t *testing.T) {
	f := NewFixer(toolsForTest())
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage(t)
		before, _ := json.Marshal(m)
		once := f.Fix(m)
		if after, _ := json.Marshal(m); string(after) != string(before) {
			t.Fatalf("what it was given changed: %s", after)
		}
		twice := f.Fix(once.Message)
		if !reflect.DeepEqual(twice.Message, once.Message) || len(twice.Changes) > 0 {
			t.Fatalf("%+v\nonce  %+v\ntwice %+v", m, once, twice)
		}
		if !reflect.DeepEqual(f.Problems(once.Message), once.Problems) {
			t.Fatalf("problems %v, %v", once.Problems, f.Problems(once.Message))
		}
		for i, c := range m.ToolCalls {
			if alone := (chat.Message{ToolCalls: []chat.ToolCall{c}}); len(f.Problems(alone)) == 0 &&
				once.Message.ToolCalls[i] != c {
				t.Fatalf("a valid call %v became %v", c, once.Message.ToolCalls[i])
			}
		}
		if len(once.Message.ToolCalls) < len(m.ToolCalls) {
			t.Fatal("a call is lost")
		}
	})
}

func FuzzFix(f *testing.F) {
	fixer := NewFixer(toolsForTest())
	f.Add("", "hash", `{"text": "a"}`)
	f.Add("Sure: {'name': 'hash', 'arguments': {}}", "", "")
	f.Fuzz(func(t *testing.T, content, name, arguments string) {
		m := chat.Message{Content: content}
		if name != "" {
			m.ToolCalls = []chat.ToolCall{{Name: name, Arguments: arguments}}
		}
		once := fixer.Fix(m)
		if twice := fixer.Fix(once.Message); !reflect.DeepEqual(twice.Message, once.Message) {
			t.Fatalf("once %+v, twice %+v", once, twice)
		}
	})
}
