package basemodel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/jinja"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
)

// Of several templates the one is taken that transformers takes, for a conversation with tools and for one without.
func TestSeveralTemplates(t *testing.T) {
	const inConfig, inFile, more = "tokenizer_config.json", "chat_template.jinja", "additional_chat_templates/"
	list := func(names ...string) string {
		var out []string
		for _, name := range names {
			out = append(out, `{"name": "`+name+`", "template": "of `+name+`{{ '{% raw' }}"}`)
		}
		return `{"chat_template": [` + strings.Join(out, ",") + `]}`
	}
	for name, tc := range map[string]struct {
		files       map[string]string
		tools, none string // what begins the prompt
		bad         string
	}{
		"a list":                 {map[string]string{inConfig: list("default", "tool_use")}, "of tool_use{% raw", "of default{% raw", ""},
		"in the other order":     {map[string]string{inConfig: list("rag", "tool_use", "default")}, "of tool_use", "of default", ""},
		"the default alone":      {map[string]string{inConfig: list("default")}, "of default", "of default", ""},
		"a default and another":  {map[string]string{inConfig: list("rag", "default")}, "of default", "of default", ""},
		"tools alone":            {map[string]string{inConfig: list("tool_use")}, "of tool_use", "of tool_use", ""},
		"a list without default": {map[string]string{inConfig: list("rag", "chat")}, "", "", "none is its default: chat, rag"},
		"one of another name":    {map[string]string{inConfig: list("chatml")}, "", "", "none is its default: chatml"},
		"one of capitals":        {map[string]string{inConfig: list("Default")}, "", "", "none is its default: Default"},
		"a name twice": {
			map[string]string{
				inConfig: `{"chat_template": [{"name": "default", "template": "a"}, {"name": "default", "template": "b"}]}`,
			}, "b", "b", "",
		},
		"an object":                    {map[string]string{inConfig: `{"chat_template": {"default": "a", "tool_use": "b"}}`}, "b", "a", ""},
		"an empty list":                {map[string]string{inConfig: `{"chat_template": []}`}, "", "", ""},
		"a list of texts":              {map[string]string{inConfig: `{"chat_template": ["a"]}`}, "", "", "neither text nor a list"},
		"no template in it":            {map[string]string{inConfig: `{"chat_template": [{"name": "default"}]}`}, "", "", "chat_template[0] has no name or no template"},
		"files":                        {map[string]string{inFile: "a", more + "tool_use.jinja": "b"}, "b", "a", ""},
		"files before the list":        {map[string]string{inConfig: list("default", "tool_use"), inFile: "a"}, "a", "a", ""},
		"a file of tools and a text":   {map[string]string{inConfig: `{"chat_template": "a"}`, more + "tool_use.jinja": "b"}, "b", "b", ""},
		"the default among the others": {map[string]string{more + "default.jinja": "a"}, "a", "a", ""},
		"others alone":                 {map[string]string{more + "rag.jinja": "a", more + "chat.jinja": "b"}, "", "", "none is its default: chat, rag"},
		"others beside a default":      {map[string]string{inFile: "a", more + "rag.jinja": "b"}, "a", "a", ""},
		"no templates among the files": {map[string]string{inFile: "a", more + "README.md": "b"}, "a", "a", ""},
		"the same":                     {map[string]string{inFile: "a", more + "tool_use.jinja": "a"}, "a", "a", ""},
		"blanks at the ends": {
			map[string]string{inFile: "\n  {% if 1 %}a{% endif %}  \n",
				more + "tool_use.jinja": "\n\n{%- set x = 'b' %}{{ x }} \n\n"}, "b \n\n<", "\na  \n<", "",
		},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, more), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range tc.files {
			if strings.HasSuffix(file, ".jinja") {
				text += withTools
			}
			text = strings.ReplaceAll(text, `{{ '{% raw' }}"`,
				`{{ '{% raw' }}`+strings.NewReplacer("\n", `\n`, `\`, `\\`, `"`, `\"`).Replace(withTools)+`"`)
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, own := &Text{Own: true, Name: dir}, templates{}
		err := w.readFolder(dir, own)
		if err == nil {
			w.Template, err = own.text(dir)
		}
		if tc.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tc.bad) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || (w.Template == "") != (tc.tools == "") {
			t.Errorf("%s: %q, %v", name, w.Template, err)
		}
		if w.Template != "" {
			prompts(t, name, w.Template, tc.tools, tc.none)
		}
	}
}

// prompts tests what a template's prompts begin with, where there are tools and where there are none.
func prompts(t *testing.T, name, source, tools, none string) {
	t.Helper()
	if !strings.Contains(source, withTools) { // of a list that is written as it is
		source += withTools
	}
	w, err := ReadText(config.Model{}, &modelfile.Model{Path: "m.gguf", Vocabulary: letters(source)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Renderer("")
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	user := []chat.Message{{Role: chat.User, Content: "q"}}
	for want, list := range map[string][]chat.Tool{
		tools: {{Name: "f", Description: "d", InputSchema: []byte(`{}`)}},
		none:  nil,
	} {
		if tools == none && list == nil {
			continue
		}
		ids, err := r.Prompt(user, list)
		if text := w.Tokenizer.Decode(ids); err != nil || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %d tools: the prompt is %q, want %q, %v", name, len(list), text, want, err)
		}
	}
	if _, vendor := r.(*render.Vendor); !vendor {
		t.Errorf("%s: hone's own form is used", name)
	}
}

// A merged model and a template that the configuration names need no default.
func TestTemplateInPlaceOfSeveral(t *testing.T) {
	v := letters("")
	v.Templates = map[string]string{"rag": withTools, "chat": withTools}
	file := filepath.Join(t.TempDir(), "mine.jinja")
	if err := os.WriteFile(file, []byte(withTools), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadText(config.Model{}, &modelfile.Model{Path: "m.gguf", Vocabulary: v}); err == nil ||
		!strings.Contains(err.Error(), "chat, rag") {
		t.Errorf("without a default: %v", err)
	}
	if _, err := ReadText(config.Model{ChatTemplate: file},
		&modelfile.Model{Path: "m.gguf", Vocabulary: v}); err != nil {
		t.Errorf("with one that is named: %v", err)
	}
	v.Templates = map[string]string{"tool_use": "b" + withTools}
	v.ChatTemplate = "a" + withTools
	w, err := ReadText(config.Model{}, &modelfile.Model{Path: "m.gguf", Vocabulary: v})
	if err != nil {
		t.Fatal(err)
	}
	prompts(t, "GGUF", w.Template, "b", "a")
}

// In the template of both each renders as it does alone, whatever stands at its ends.
func TestTemplatesTogether(t *testing.T) {
	render := func(source string, tools chat.Value) string {
		compiled, err := jinja.Compile("", source)
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := compiled.Render(jinja.Values{Variables: chat.NewObject("tools", tools, "messages",
			[]chat.Value{})})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ends := []string{"a", "\n a \n", "\n\n", "{%- if 1 %}a{%- endif -%}", "  {% if 1 %}a{% endif %}  \n",
		"{# c #}\na{# c #}\n", "{{- 'a' -}}\n", "{% macro m() %}a{% endmacro %}{{ m() }}\n"}
	for _, a := range ends {
		for _, b := range ends {
			both, err := templates{"tool_use": a, "default": b + "x"}.text("")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := render(both, []chat.Value{}), render(a, nil); got != want {
				t.Errorf("%q with tools: %q, want %q", a, got, want)
			}
			if got, want := render(both, nil), render(b+"x", nil); got != want {
				t.Errorf("%q without: %q, want %q", b, got, want)
			}
		}
	}
}
