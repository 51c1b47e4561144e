package toolcall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

// identifiers are names that every form can carry.
func identifiers() *rapid.Generator[string] { return rapid.StringMatching(`[a-z_][a-z0-9_]{0,8}`) }

// values draws JSON values as text, spaced as models write them.
func values(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var parts []string
		switch n := rapid.IntRange(0, 8).Draw(t, "kind"); {
		case n == 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
		case n <= 2:
			return rapid.SampledFrom([]string{"0", "-3", "1.50", "1e-07", "12345678901234567890", "-0.0",
				"2E+10"}).Draw(t, "number")
		case n == 3 && depth > 0:
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				parts = append(parts, values(depth-1).Draw(t, "item"))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		case n == 4 && depth > 0:
			for _, key := range rapid.SliceOfNDistinct(identifiers(), 0, 3, rapid.ID).Draw(t, "keys") {
				parts = append(parts, quote(key)+": "+values(depth-1).Draw(t, "value"))
			}
			slices.Sort(parts) // as Gemma's templates do
			return "{" + strings.Join(parts, ", ") + "}"
		}
		return quote(
			rapid.OneOf(
				rapid.String(), rapid.SampledFrom([]string{"", "a\nb", "\n", "it's \"x\"", `C:\d\`, "</tool_call>",
					"{}", "7", "true", "<b>", "日本🙂", "[x](y)", "# ,;"}),
			).Draw(t, "text"),
		)
	})
}

func drawCalls(t *rapid.T) (calls []chat.ToolCall, tools []chat.Tool) {
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		name := fmt.Sprintf("%s%d", identifiers().Draw(t, "name"), i)
		var members, properties []string
		for _, key := range rapid.SliceOfNDistinct(identifiers(), 0, 4, rapid.ID).Draw(t, "keys") {
			value := values(2).Draw(t, "value")
			members = append(members, quote(key)+": "+value)
			decoded, _ := chat.Decode([]byte(value), chat.DecodeOptions{LastWins: true})
			properties = append(properties, quote(key)+`: {"type": "`+typeOf(decoded)+`"}`)
		}
		slices.Sort(members)
		calls = append(calls, chat.ToolCall{Name: name, Arguments: "{" + strings.Join(members, ", ") + "}"})
		tools = append(tools, chat.Tool{Name: name,
			InputSchema: json.RawMessage(`{"properties": {` + strings.Join(properties, ", ") + "}}")})
	}
	return calls, tools
}

// What a form writes it reads back, byte for byte; what it could not read back it does not write.
func TestEmitThenParse(t *testing.T) {
	for _, f := range All() {
		t.Run(f.Name(), func(t *testing.T) {
			drawn, written := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				want, tools := drawCalls(t)
				drawn++
				content := rapid.SampledFrom([]string{"", "Let me see.", "a\n", "\n\n", "é <b> {x} [1]"}).Draw(t,
					"content")
				text, err := f.Emit(content, want)
				if err != nil {
					if !strings.Contains(err.Error(), "cannot carry") {
						t.Fatal(err)
					}
					return
				}
				written++
				o := Options{Tools: tools}
				got := f.Parse(text, o)
				if got.Err != "" || got.Content != content || !got.Complete || len(got.Repairs) > 0 ||
					len(got.Calls) != len(want) {
					t.Fatalf("%q: got %+v", text, got)
				}
				for i, c := range got.Calls {
					same := c.Arguments == want[i].Arguments
					// escapes in strings are Python's
					if f.Name() == "lfm2" || f.Name() == "pythonic" || f.Name() == "olmo3" {
						same = sameJSON(c.Arguments, want[i].Arguments)
					}
					if c.Name != want[i].Name || !same {
						t.Fatalf("%q: got %+v, want %+v", text, c, want[i])
					}
				}
				checkStream(t, f, o, got, cut(t, text)...)
			})
			if 2*written < drawn {
				t.Errorf("only %d of %d texts were written", written, drawn)
			}
		})
	}
}

// cut draws the chunks in which a text arrives.
func cut(t *rapid.T, text string) (chunks []string) {
	for text != "" {
		n := rapid.IntRange(1, min(len(text), 9)).Draw(t, "n")
		chunks, text = append(chunks, text[:n]), text[n:]
	}
	return chunks
}

// pieces are what texts that parsers stumble over are made of.
func pieces() []string {
	out := []string{
		"\n", "\n\n", " ", "a", "é", `"`, `\`, "{", "}", "[", "]", "(", ")", ",", ";", "'", "'''", "=", ":",
		"1", "name", "```", "<", "<|", ">", `{"name": "f", "arguments": {}}`, `{"name": "f", "parameters": {"a": "`,
		"f(a=1)", "call:f{a:1}", "functions.f:0", " to=functions.f", "json", "function", "arg_key>", "\xff", "<think>",
	}
	for _, f := range All() {
		text, _ := f.Emit("", []chat.ToolCall{{Name: "f", Arguments: `{"a": "b"}`}, {Name: "g", Arguments: "{}"}})
		out = append(out, text, text[:len(text)/2], text[len(text)/2:])
	}
	return append(out, "<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=a>", "</parameter>",
		"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<minimax:tool_call>", "</minimax:tool_call>",
		`<invoke name="f">`, "</invoke>", `<parameter name="a">`, dsSection, dsSectionEnd, dsCall, dsCallEnd,
		dsSeparator, "<"+dsml+"tool_calls>", "</"+dsml+"function_calls>", "<"+dsml+`invoke name="f">`,
		"</"+dsml+"invoke>", kimiSection, kimiSectionEnd, kimiCall, kimiCallEnd, kimiArguments, "<|tool_call_start|>",
		"<|tool_call_end|>", "<function_calls>", "</function_calls>", "<start_function_call>", "<end_function_call>",
		"<escape>", "<|tool_call>", "<tool_call|>", `<|"|>`, "<|python_tag|>", "<|python_start|>", "<|python_end|>",
		mistralMark, "[ARGS]", "[CALL_ID]", "functools[", hStart, hChannel, hConstrain, hMessage, hEnd, hCall, hReturn)
}

// However a text is cut, its events and result are the same, and they account for every byte.
func TestStreamingEqualsParse(t *testing.T) {
	all := pieces()
	for _, f := range All() {
		t.Run(f.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 0, 10).Draw(t, "pieces"), "")
				o := Options{Repair: rapid.Bool().Draw(t, "repair")}
				want := f.Parse(text, o)
				checkStream(t, f, o, want, text)
				checkStream(t, f, o, want, cut(t, text)...)
				checkStream(t, f, o, want, strings.Split(text, "")...)
				checkResult(t, f, text, want)
			})
		})
	}
}

// checkResult fails where a result contradicts itself.
func checkResult(t failer, f Format, text string, r Result) {
	t.Helper()
	ids := map[string]bool{}
	for _, c := range r.Calls {
		if _, err := members(c.Arguments); err != nil || c.Name == "" || ids[c.ID] ||
			f.validID != nil && !f.validID(c.ID) && f.Name() != "kimi_k2" {
			t.Fatalf("%s: %q: call %+v (%v)", f.Name(), text, c, err)
		}
		ids[c.ID] = true
	}
	if !r.Complete && r.Err == "" {
		t.Fatalf("%s: %q: unterminated without an error: %+v", f.Name(), text, r)
	}
	if len(r.Calls) == 0 && f.Name() != "harmony" && r.Content != text {
		t.Fatalf("%s: %q: no call, but the content is %q", f.Name(), text, r.Content)
	}
}

func FuzzParse(f *testing.F) {
	forms := All()
	for i, piece := range pieces() {
		f.Add(piece+piece, uint(i), uint(i))
	}
	for i, c := range traps() {
		f.Add(c.text, uint(i), uint(7*i))
	}
	f.Fuzz(func(t *testing.T, text string, form, at uint) {
		f := forms[form%uint(len(forms))]
		o := Options{Repair: at%2 == 1}
		r := f.Parse(text, o)
		checkResult(t, f, text, r)
		n := int(at % uint(len(text)+1))
		checkStream(t, f, o, r, text[:n], text[n:])
		if len(text) < 200 {
			checkStream(t, f, o, r, strings.Split(text, "")...)
		}
		if emitted, err := f.Emit("", r.Calls); err == nil && len(r.Calls) > 0 {
			if again := f.Parse(emitted, Options{}); again.Err != "" || len(again.Calls) != len(r.Calls) {
				t.Fatalf("%s: %+v is written as %q and read as %+v", f.Name(), r.Calls, emitted, again)
			}
		}
	})
}

func TestEmitRefuses(t *testing.T) {
	for _, f := range All() {
		for _, bad := range []chat.ToolCall{
			{Arguments: "{}"},
			{Name: "x"},
			{Name: "x", Arguments: "[]"},
			{Name: "x", Arguments: `{"a":1,"a":1}`},
			{Name: "\xff", Arguments: "{}"},
			{Name: "x", Arguments: `{"a": NaN}`},
		} {
			if text, err := f.Emit("", []chat.ToolCall{bad}); err == nil {
				t.Errorf("%s: %+v is written as %q", f.Name(), bad, text)
			}
		}
		if text, err := f.Emit("just text", nil); err != nil || text != "just text" {
			t.Errorf("%s: got %q (%v)", f.Name(), text, err)
		}
	}
	for form, arguments := range map[string]string{
		"qwen3_coder": `{"a": "</parameter>"}`, "glm45": `{"a": "</arg_value>"}`, "minimax_m2": `{"a": "</invoke>"}`,
		"deepseek_v3": `{"a": "<｜tool▁call▁end｜>"}`, "deepseek_v31": `{"a": "<｜tool▁sep｜>"}`,
		"deepseek_v32": `{"a": "</｜DSML｜parameter>"}`, "deepseek_v4": `{"a>": 1}`,
		"kimi_k2": `{"a": "<|tool_call_end|>"}`, "lfm2": `{"a": "<|tool_call_end|>"}`,
		"olmo3": `{"a": "</function_calls>"}`, "functiongemma": `{"a": "<escape>"}`, "gemma4": `{"a": "<|\"|>"}`,
		"pythonic": `{"a b": 1}`,
		"harmony":  `{"a": "<|call|>"}`,
	} {
		f, err := ByName(form)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := f.Emit("", []chat.ToolCall{{Name: "x", Arguments: arguments}}); err == nil ||
			!strings.Contains(err.Error(), "cannot carry") {
			t.Errorf("%s: %s is written as %q (%v)", form, arguments, text, err)
		}
		if text, err := f.Emit("", []chat.ToolCall{{Name: "x (y)", Arguments: "{}"}}); err == nil {
			t.Errorf("%s: a name with spaces is written as %q", form, text)
		}
	}
	for form, arguments := range map[string][]string{
		"gemma4": {`{"": 1}`, `{"a b": 1}`, `{"a": {"b:c": [1]}}`, `{"a": ["<|\"|>"]}`}, "lfm2": {`{"": 1}`,
			`{"a-b": 1}`, `{"1a": 1}`},
		"qwen3_coder": {`{"": 1}`, `{" a": 1}`, `{"a\n": 1}`, `{"a>": 1}`}, "pythonic": {`{"a.b": 1}`},
	} {
		f, err := ByName(form)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range arguments {
			if text, err := f.Emit("", []chat.ToolCall{{Name: "x", Arguments: a}}); err == nil ||
				!strings.Contains(err.Error(), "cannot carry") {
				t.Errorf("%s: %s is written as %q (%v)", form, a, text, err)
			}
		}
	}
	if text, err := harmonyFormat().Emit("<|end|>", []chat.ToolCall{{Name: "x", Arguments: "{}"}}); err == nil {
		t.Errorf("markup in the content is written as %q", text)
	}
}
