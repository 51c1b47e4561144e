package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

var update = flag.Bool("update", false, "write the templates that make_chatml.py renders; run it afterwards")

// The golden file holds what Jinja makes of Template() and Hugging Face's tokenizer of that.
func TestPromptEqualsTemplate(t *testing.T) {
	dir := filepath.Join(referenceDir, "chatml")
	var goldens []struct {
		Format   ToolFormat
		Messages []chat.Message
		Tools    []chat.Tool
		Text     string
		IDs      []int32 // absent where content looks like a special token
	}
	data, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err == nil {
		err = json.Unmarshal(data, &goldens)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	seen := map[ToolFormat]int{}
	tok, err := vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	for format, c := range goldenRenderers(t) {
		name := filepath.Join(dir, string(format)+".jinja")
		if *update {
			if err := os.WriteFile(name, []byte(c.Template()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		stored, err := os.ReadFile(name)
		if err != nil || string(stored) != c.Template() {
			t.Errorf("%s is not Template(): %v; run this test with -update, then make_chatml.py", name, err)
		}
		for i, g := range goldens {
			if g.Format != format {
				continue
			}
			seen[format]++
			got, err := c.Prompt(g.Messages, g.Tools)
			if err != nil {
				t.Errorf("conversation %d: %v", i, err)
			}
			if text := tok.Decode(got); text != g.Text {
				t.Errorf("conversation %d\n got  %q\n want %q", i, text, g.Text)
			}
			if g.IDs != nil && !slices.Equal(got, g.IDs) {
				t.Errorf("conversation %d: ids\n got  %v\n want %v", i, got, g.IDs)
			}
		}
	}
	if !*update && (seen[ToolsJSON] < 10 || seen[ToolsCompact] < 5 || seen["bare"] < 10) {
		t.Errorf("the golden file holds too little: %v", seen)
	}
}

// goldenRenderers are ChatML in both forms, and, as "bare", its template with calls of another form.
func goldenRenderers(t *testing.T) map[ToolFormat]Renderer {
	t.Helper()
	renderers := map[ToolFormat]Renderer{}
	var source string
	for _, format := range []ToolFormat{ToolsCompact, ToolsJSON} {
		c := newChatML(t, Options{ToolFormat: format, System: "You're \"hone\" \\ 世界\nand help."})
		renderers[format], source = c, c.Template()
	}
	f, err := toolcall.ByName("llama3_json")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := Rewritten(source, f)
	tok, err := vocabulary()
	if err == nil {
		renderers["bare"], err = NewVendor(tok, VendorOptions{Template: text, Format: f})
	}
	if err != nil {
		t.Fatal(err)
	}
	return renderers
}
