package toolcall

import (
	"strings"
	"testing"
)

// Texts that take quadratic time where a parser looks back: these would not end. Every form reads every one of them,
// whole and in pieces.
func TestHostileTexts(t *testing.T) {
	const size = 1 << 16
	for name, piece := range hostile() {
		text := strings.Repeat(piece, size/len(piece))
		for _, f := range All() {
			o := Options{Repair: true}
			want := f.Parse(text, o)
			p := f.Parser(o)
			raw := 0
			for rest := text; rest != ""; rest = rest[min(len(rest), 7):] {
				for _, e := range p.Feed(rest[:min(len(rest), 7)]) {
					raw += len(e.Raw)
				}
			}
			last, got := p.Close()
			for _, e := range last {
				raw += len(e.Raw)
			}
			if raw != len(text) || got.Content != want.Content || len(got.Calls) != len(want.Calls) ||
				got.Err != want.Err {
				t.Errorf("%s: %s: %d of %d bytes, error %q, want %q", f.Name(), name, raw, len(text), got.Err, want.Err)
			}
		}
	}
}

// hostile are pieces that are repeated.
func hostile() map[string]string {
	return map[string]string{
		"brackets": "[", "braces": "{", "quotes": `"`, "angles": "<", "newlines": "\n", "spaces": " ",
		"backslashes": `\`, "open and quote": `<tool_call>"`, "open and escaped quote": `<tool_call>"\"</tool_call>`,
		"call in call": `<tool_call>{"name": `, "functions": "<function=f>\n", "sections": "<tool_call>\n<function=f>",
		"parameters": "<function=f><parameter=x>", "keys": "<tool_call>f<arg_key>x",
		"section and spaces": "<minimax:tool_call>" + strings.Repeat(" ", 1500),
		"calls of Kimi":      kimiSection + kimiCall + "functions.f:0", "DeepSeek": dsCall + dsSeparator + "```",
		"names": `{"name": "f", `, "python": "[f(", "python strings": "\n[f('", "triple quotes": "[f('''",
		"tags": "<|python_tag|>{", "mistral": "[TOOL_CALLS]f{", "mistral lists": "[TOOL_CALLS][",
		"functools": "functools[{", "harmony": "<|start|>assistant<|channel|>",
		"messages": "<|channel|>final<|message|>x<|start|>", "gemma": `<|tool_call>call:f{a:<|"|>`,
		"gemma lists": "<|tool_call>call:f{a:[", "escape": "<start_function_call>call:f{a:<escape>",
		"lists of calls": "<|tool_call_start|>[f(",
		"lines of calls": "<function_calls>f(\n",
	}
}
