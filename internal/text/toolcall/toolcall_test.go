package toolcall

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

const (
	hash = "<tool_call>\n{\"name\": \"hash\", \"arguments\": {\"text\": \"hi\"}}\n</tool_call>"
	now  = "<tool_call>{\"arguments\":{},\"name\":\"now\"}</tool_call>"
)

func hashCall(id string) chat.ToolCall {
	return chat.ToolCall{ID: id, Name: "hash", Arguments: `{"text": "hi"}`}
}

func TestParse(t *testing.T) {
	nowCall := chat.ToolCall{ID: "call_1", Name: "now", Arguments: "{}"}
	for name, c := range map[string]struct {
		text string
		want Result
	}{
		"no call":         {"just text\n", Result{Content: "just text\n", Complete: true}},
		"empty":           {"", Result{Complete: true}},
		"one call":        {hash, Result{Calls: []chat.ToolCall{hashCall("call_0")}, Complete: true}},
		"text and call":   {"a\n\n" + hash, Result{Content: "a\n", Calls: []chat.ToolCall{hashCall("call_0")}, Complete: true}},
		"text after":      {hash + "\n b", Result{Content: "\n b", Calls: []chat.ToolCall{hashCall("call_0")}, Complete: true}},
		"space after":     {hash + " \n", Result{Calls: []chat.ToolCall{hashCall("call_0")}, Complete: true}},
		"two calls":       {hash + "\n" + now + "\n", Result{Calls: []chat.ToolCall{hashCall("call_0"), nowCall}, Complete: true}},
		"a tag as text":   {"a <tool_cal b", Result{Content: "a <tool_cal b", Complete: true}},
		"a lone end":      {"</tool_call>", Result{Content: "</tool_call>", Complete: true}},
		"a tag in string": {call(`{"name": "x", "arguments": {"a": "\"</tool_call>\\"}}`), Result{Calls: []chat.ToolCall{{ID: "call_0", Name: "x", Arguments: `{"a": "\"</tool_call>\\"}`}}, Complete: true}},
		"kept as written": {call(`{"name": "x", "arguments": {"b":1.0,  "a": 1e400, "u":"\u00e9"} }`), Result{Calls: []chat.ToolCall{{ID: "call_0", Name: "x", Arguments: `{"b":1.0,  "a": 1e400, "u":"\u00e9"}`}}, Complete: true}},
		"twice serialised": {call(`{"name": "x", "arguments": "{\"a\": 1}"}`), Result{
			Calls: []chat.ToolCall{{ID: "call_0", Name: "x", Arguments: `{"a": 1}`}}, Complete: true,
			Repairs: []string{"arguments were JSON inside a string"}}},
		"another member": {call(`{"id": 7, "name": "x", "arguments": {}}`), Result{
			Calls: []chat.ToolCall{{ID: "call_0", Name: "x", Arguments: `{}`}}, Complete: true,
			Repairs: []string{`ignored member "id" of a call`}}},
	} {
		if got := Parse(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: Parse(%q)\n got  %+v\n want %+v", name, c.text, got, c.want)
		}
	}
}

func call(object string) string { return openTag + object + closeTag }

func TestBadBlocksStayInContent(t *testing.T) {
	for name, c := range map[string]struct{ block, why string }{
		"missing brace":      {call(`{"name": "x", "arguments": {"a": 1}`), "the JSON breaks off"},
		"prose":              {call(`call x`), "invalid character 'c'"},
		"nothing":            {call(``), "the JSON breaks off"},
		"an array":           {call(`[{"name": "x", "arguments": {}}]`), "not a JSON object"},
		"a repeated key":     {call(`{"name": "x", "arguments": {"a": 1, "a": 2}}`), "duplicate"},
		"a repeated name":    {call(`{"name": "x", "name": "y", "arguments": {}}`), "duplicate"},
		"no name":            {call(`{"arguments": {}}`), `"name" is missing`},
		"a number for name":  {call(`{"name": 1, "arguments": {}}`), `"name" is not a string`},
		"no arguments":       {call(`{"name": "x"}`), `"arguments" is missing`},
		"null arguments":     {call(`{"name": "x", "arguments": null}`), `"arguments" is not a JSON object`},
		"text for arguments": {call(`{"name": "x", "arguments": "hi"}`), `"arguments" is not a JSON object`},
		"text after":         {call(`{"name": "x", "arguments": {}} ok`), "follows"},
		"an escape outside":  {call(`{"name": "x"\`), "invalid character"},
		"Python literals":    {call(`{'name': 'x'}`), "invalid character"},
		"unterminated":       {openTag + `{"name": "x", "arguments": {}}`, "unterminated"},
		"open string":        {call(`{"name": "x`), "unterminated"},
	} {
		text := "before\n" + hash + "\n" + c.block
		got := Parse(text)
		if got.Content != "before\n"+c.block || !reflect.DeepEqual(got.Calls, []chat.ToolCall{hashCall("call_0")}) {
			t.Errorf("%s: got %+v", name, got)
		}
		if !strings.Contains(got.Err, c.why) {
			t.Errorf("%s: the reason is %q, want it to say %q", name, got.Err, c.why)
		}
		if got.Complete == (name == "unterminated" || name == "open string") {
			t.Errorf("%s: Complete is %v", name, got.Complete)
		}
	}
	got := Parse(call("bad") + "\n" + hash)
	if got.Content != call("bad") || len(got.Calls) != 1 || got.Err == "" {
		t.Errorf("a good call after a bad one: got %+v", got)
	}
}

// texts draws texts made of what parsers stumble over.
var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		hash, now, openTag, closeTag, "<tool", "\n", " ", "a", "é", `"`, `\`, `{"name": "x", "arguments": {"a": "`, `"}}`, "</tool_call",
	}), 0, 12).Draw(t, "parts"), "")
})

func TestStreamingEqualsParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		want := Parse(text)
		for i := range len(text) + 1 {
			checkStream(t, want, text[:i], text[i:])
		}
		checkStream(t, want, strings.Split(text, "")...)
		rest, chunks := text, []string(nil)
		for rest != "" {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "n")
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		checkStream(t, want, chunks...)
	})
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkStream(t failer, want Result, chunks ...string) {
	var p Parser
	var events []Event
	for _, chunk := range chunks {
		events = append(events, p.Feed(chunk)...)
	}
	last, got := p.Close()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("chunks %q\n got  %+v\n want %+v", chunks, got, want)
	}
	content, calls := "", []chat.ToolCall(nil)
	for _, e := range append(events, last...) {
		content += e.Content
		if e.Call != nil {
			calls = append(calls, *e.Call)
		}
	}
	if content != want.Content || !reflect.DeepEqual(calls, want.Calls) {
		t.Fatalf("chunks %q: events add up to %q and %+v, want %+v", chunks, content, calls, want)
	}
}

func TestContentStreamsAtOnce(t *testing.T) {
	var p Parser
	for chunk, want := range map[string]string{"hello": "hello", "a <b": "a <b"} {
		if events := p.Feed(chunk); len(events) != 1 || events[0].Content != want {
			t.Errorf("Feed(%q) gave %+v", chunk, events)
		}
	}
}

func TestFormatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := chat.ToolCall{ID: "call_0", Name: rapid.StringN(1, 20, -1).Draw(t, "name"), Arguments: rapid.SampledFrom([]string{
			"{}", `{"a": "</tool_call>"}`, `{"b": [1, {"c": "\""}], "a": 1.50}`, "{\n}"}).Draw(t, "arguments")}
		text, err := Format(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := Parse(text); got.Err != "" || got.Content != "" || len(got.Calls) != 1 || got.Calls[0] != want {
			t.Fatalf("%q: got %+v, want %+v", text, got, want)
		}
	})
	for _, bad := range []chat.ToolCall{{Arguments: "{}"}, {Name: "x"}, {Name: "x", Arguments: "[]"}, {Name: "x", Arguments: `{"a":1,"a":1}`}, {Name: "\xff", Arguments: "{}"}} {
		if text, err := Format(bad); err == nil {
			t.Errorf("Format(%+v) = %q", bad, text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{hash + "\n" + now, openTag + "{", call(`{"name": "x", "arguments": "{\"a\": 1}"}`), "a\n" + hash + "b"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		result := Parse(text)
		cut = max(0, min(cut, len(text)))
		checkStream(t, result, text[:cut], text[cut:])
		if !strings.Contains(text, openTag) && (result.Content != text || len(result.Calls) > 0) {
			t.Fatalf("text without a block: %+v", result)
		}
		for _, c := range result.Calls {
			again, err := Format(c)
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if r := Parse(again); len(r.Calls) != 1 || r.Calls[0].Name != c.Name || r.Calls[0].Arguments != c.Arguments {
				t.Fatalf("%+v comes back as %+v", c, r)
			}
		}
	})
}
