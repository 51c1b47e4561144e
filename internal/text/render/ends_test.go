package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
)

// A row is not trained on a call that would be read as another: what a form writes as text alone is typed by the
// schema.
func TestCallsThatAreReadOtherwiseAreRefused(t *testing.T) {
	v := newVendor(t, own("opens"), nil)
	for arguments, refused := range map[string]bool{
		`{"text": "3"}`: false,
		`{"text": 3}`:   true,
		`{"text": "a"}`: false,
	} {
		_, err := v.Sequences([]chat.Message{{Role: chat.User, Content: "Hash."}, {Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: arguments}}}}, 0, tools)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "is read as hash(") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// Where a template ends no message, a completion is trained to end with what opens the next one: that of a result
// behind a call, that of a user behind a text.
func TestCompletionsEndWithWhatFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open.jinja")
	const source = `{%- for m in messages %}{% if m.role == 'assistant' %}{{ '<|assistant|>' + m.content }}` +
		`{%- for c in m.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n</tool_call>' }}{% endfor %}` +
		`{%- else %}{{ '<|' + m.role + '|>' + m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}{% if tools %}{% endif %}`
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	v := newVendor(t, path, func(o *VendorOptions) { o.Template += "{# <|user|> <|tool|> #}" })
	user := chat.Message{Role: chat.User, Content: "Hash a."}
	for end, m := range map[string]chat.Message{
		"<|tool|>": {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: `{"text":"a"}`}}},
		"<|user|>": {Role: chat.Assistant, Content: "Done."},
	} {
		rows, err := v.Sequences([]chat.Message{user, m}, 0, tools)
		if err != nil {
			t.Fatal(err)
		}
		row := rows[len(rows)-1]
		if text := v.tok.Decode(row.IDs); !strings.HasSuffix(text, end) || !row.Trained[len(row.IDs)-1] {
			t.Errorf("%+v: the row is %q", m, text)
		}
	}
}
