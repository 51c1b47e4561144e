package local

import (
	"encoding/json"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/serve"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// What is served under a name reads calls by the schemas of the tools that it is asked with, and no calls without any.
func TestServedModelsReadByTheTools(t *testing.T) {
	const template = "{% for m in messages %}<|im_start|>{{ m.role }}|{{ m.content }}<|im_end|>{% endfor %}" +
		"{% if add_generation_prompt %}<|im_start|>assistant|{% endif %}"
	tokens, types := []string{"<|im_start|>", "<|im_end|>"}, []int32{tokenizer.TypeControl, tokenizer.TypeControl}
	for letter := '!'; letter <= '~'; letter++ {
		tokens, types = append(tokens, string(letter)), append(types, 1)
	}
	tok, err := tokenizer.New(tokenizer.Options{Tokens: tokens, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	tools := []chat.Tool{
		{Name: "name", InputSchema: json.RawMessage(`{"properties": {"n": {"type": "string"}}}`)},
		{Name: "count", InputSchema: json.RawMessage(
			`{"properties": {"n": {"type": "integer"}, "zip": {"type": "string"}, "meta": {"type": "object"}}}`)},
	}
	for form, write := range map[string]func(tool, parameter, value string) string{
		"qwen3_coder": func(tool, parameter, value string) string {
			return "<tool_call>\n<function=" + tool + ">\n<parameter=" + parameter + ">\n" + value +
				"\n</parameter>\n</function>\n</tool_call>"
		},
		"glm45": func(tool, parameter, value string) string {
			return "<tool_call>" + tool + "\n<arg_key>" + parameter + "</arg_key>\n<arg_value>" + value +
				"</arg_value>\n</tool_call>"
		},
	} {
		format, err := toolcall.ByName(form)
		if err != nil {
			t.Fatal(err)
		}
		r, err := render.NewVendor(tok, render.VendorOptions{Template: template, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		p := &places{base: &basemodel.Model{Text: &basemodel.Text{Tokenizer: tok}}}
		m := p.model("m", r)
		for _, x := range []struct{ tool, parameter, value, want string }{
			{"name", "n", "7", `{"n": "7"}`},
			{"count", "n", "7", `{"n": 7}`},
			{"count", "zip", "10115", `{"zip": "10115"}`},
			{"count", "meta", "{'a': True}", `{"meta": {"a": true}}`},
		} {
			text := write(x.tool, x.parameter, x.value)
			content, calls := readWhole(m.Read(nil, tools), text)
			if len(calls) != 1 || calls[0].Name != x.tool || calls[0].Arguments != x.want || content != "" {
				t.Errorf("%s: %s = %s: %q %+v, want %s", form, x.parameter, x.value, content, calls, x.want)
			}
			if content, calls := readWhole(m.Read(nil, nil), text); len(calls) > 0 || content != text {
				t.Errorf("%s, without tools: %q %+v", form, content, calls)
			}
		}
	}
}

func readWhole(r serve.Reader, text string) (content string, calls []chat.ToolCall) {
	for _, d := range append(r.Feed(text), r.Close()...) {
		if content += d.Content; d.Call != nil {
			calls = append(calls, *d.Call)
		}
	}
	return content, calls
}
