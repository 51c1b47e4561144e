package toolcall

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkStream parses a text in chunks. The result must be want, and the events must add up to it and to the text.
func checkStream(t failer, f Format, o Options, want Result, chunks ...string) {
	t.Helper()
	p := f.Parser(o)
	var events []Event
	for _, chunk := range chunks {
		events = append(events, p.Feed(chunk)...)
	}
	last, got := p.Close()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: chunks %q\n got  %+v\n want %+v", f.Name(), chunks, got, want)
	}
	var raw, content, reasoning strings.Builder
	var calls []chat.ToolCall
	for _, e := range append(events, last...) {
		raw.WriteString(e.Raw)
		content.WriteString(e.Content)
		reasoning.WriteString(e.Reasoning)
		if e.Call != nil {
			calls = append(calls, *e.Call)
		}
		if e.Content != "" && e.Content != e.Raw || e.Reasoning != "" && e.Reasoning != e.Raw || e.Raw == "" {
			t.Fatalf("%s: event %+v", f.Name(), e)
		}
		if e.Err != "" && (e.Content == "" || want.Err == "") {
			t.Fatalf("%s: event %+v with result %+v", f.Name(), e, want)
		}
		if e.Call == nil && e.Content == "" && e.Reasoning == "" {
			checkMarkup(t, f, e.Raw)
		}
	}
	if text := strings.Join(chunks, ""); raw.String() != text {
		t.Fatalf("%s: events stand for %q, the text is %q", f.Name(), raw.String(), text)
	}
	if content.String() != want.Content || reasoning.String() != want.Reasoning ||
		!reflect.DeepEqual(calls, want.Calls) {
		t.Fatalf("%s: chunks %q: events add up to %q, %q and %+v, want %+v",
			f.Name(), chunks, content.String(), reasoning.String(), calls, want)
	}
}

// checkMarkup fails where a piece that is neither content nor a call is anything but a form's marks and separators.
func checkMarkup(t failer, f Format, raw string) {
	t.Helper()
	rest := raw
	for _, mark := range []string{
		"<tool_call>", "</tool_call>", "<minimax:tool_call>", "</minimax:tool_call>", "<function_calls>",
		"</function_calls>", dsSection, dsSectionEnd, kimiSection, kimiSectionEnd, "<" + dsml + "tool_calls>",
		"</" + dsml + "tool_calls>", "<" + dsml + "function_calls>", "</" + dsml + "function_calls>",
		"<|tool_call_start|>", "<|tool_call_end|>", "<|python_tag|>", "<|python_start|>", "<|python_end|>", mistralMark,
		"functools",
	} {
		rest = strings.ReplaceAll(rest, mark, "")
	}
	rest = strings.Trim(rest, " \t\r\n[],;")
	if f.Name() == "harmony" {
		if strings.HasPrefix(rest, "<|") || strings.HasPrefix(rest, "to=") {
			return
		}
	}
	if rest != "" {
		t.Fatalf("%s: %q is neither content nor part of a call", f.Name(), raw)
	}
}

func TestStreamingEqualsParseOfWhatIsEmitted(t *testing.T) {
	calls := []chat.ToolCall{
		{Name: "get_weather", Arguments: `{"city": "Paris", "days": 3, "x": [1, {"a": null}], "ok": true}`},
		{Name: "now", Arguments: "{}"},
	}
	for _, f := range All() {
		text, err := f.Emit("Let me see.", calls)
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		r := f.Parse(text, Options{})
		for i := range len(text) + 1 {
			checkStream(t, f, Options{}, r, text[:i], text[i:])
		}
		checkStream(t, f, Options{}, r, strings.Split(text, "")...)
	}
}

// Text is passed on as it comes: what cannot be the beginning of a call is not held back.
func TestTextIsNotHeldBack(t *testing.T) {
	for _, f := range All() {
		p, got := f.Parser(Options{}), ""
		for _, chunk := range []string{"It is ", "a < b, ", "x[1] > y ", "and 1 <", " 2."} {
			for _, e := range p.Feed(chunk) {
				got += e.Content
			}
		}
		if want := "It is a < b, x[1] > y and 1 < 2."; got != want {
			t.Errorf("%s: %q of %q came", f.Name(), got, want)
		}
	}
}

// A call without a name is malformed at once, and not waited for.
func TestMistralWithoutAName(t *testing.T) {
	for _, name := range []string{"mistral", "mistral_v3"} {
		f, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		p := f.Parser(Options{})
		events := p.Feed(`[TOOL_CALLS]{"a": 1} and more`)
		if _, r := p.Close(); len(events) == 0 || events[0].Err == "" || r.Content != `[TOOL_CALLS]{"a": 1} and more` ||
			!strings.HasPrefix(r.Err, "malformed") {
			t.Errorf("%s: %+v, %+v", name, events, r)
		}
	}
}

// One letter between two calls is text, not markup.
func TestLetterBetweenCalls(t *testing.T) {
	f, err := ByName("mistral")
	if err != nil {
		t.Fatal(err)
	}
	r := f.Parse(`[TOOL_CALLS][{"name": "f", "arguments": {}}x{"name": "g", "arguments": {}}]`, Options{})
	if len(r.Calls) != 2 || r.Content != "x" || !strings.Contains(r.Err, "not a call") {
		t.Errorf("%+v", r)
	}
}

// A schema's types are those of the arguments, not of members inside of them that are named alike.
func TestGemmaTypesOfArguments(t *testing.T) {
	f, err := ByName("gemma4")
	if err != nil {
		t.Fatal(err)
	}
	tools := []chat.Tool{{Name: "f", InputSchema: json.RawMessage(`{"properties": {"s": {"type": "string"}}}`)}}
	r := f.Parse(`<|tool_call>call:f{s:7,o:{s:7}}<tool_call|>`, Options{Tools: tools})
	if len(r.Calls) != 1 || r.Calls[0].Arguments != `{"s": "7", "o": {"s": 7}}` {
		t.Errorf("%+v", r)
	}
}
