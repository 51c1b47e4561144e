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

const withTools = `{% for t in tools or [] %}{{ '<tools>' + t | tojson + '</tools>' }}{% endfor %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

const withoutTools = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}`

// letters is a vocabulary of printable characters and ChatML's tokens.
func letters(template string) modelfile.Vocabulary {
	v := modelfile.Vocabulary{Tokens: []string{"<|im_start|>", "<|im_end|>", "Ċ", "Ġ"}, TokenTypes: []int32{3, 3, 1, 1},
		EOS: 1, BOS: -1, ChatTemplate: template}
	for c := '!'; c <= '~'; c++ {
		v.Tokens, v.TokenTypes = append(v.Tokens, string(c)), append(v.TokenTypes, 1)
	}
	return v
}

func TestTheModelsTemplateIsUsedWhereItKnowsTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.jinja")
	if err := os.WriteFile(file, []byte(withTools), 0o600); err != nil {
		t.Fatal(err)
	}
	bare := config.Model{ToolFormat: "llama3"}
	for name, tc := range map[string]struct {
		own    string
		c      config.Model
		vendor bool
		format string
		wrong  string
	}{
		"knows tools":          {own: withTools, vendor: true, format: "hermes"},
		"knows none":           {own: withoutTools},
		"has none":             {},
		"named in the config":  {own: withoutTools, c: config.Model{ChatTemplate: file}, vendor: true, format: "hermes"},
		"format named too":     {own: withTools, c: config.Model{ToolFormat: "qwen3_coder"}, vendor: true, format: "qwen3_coder"},
		"a form of hone's":     {own: withTools, c: bare, vendor: true, format: "llama3_json"},
		"hone's, no tools":     {own: withoutTools, c: bare, vendor: true, format: "llama3_json"},
		"hermes without tools": {own: withoutTools, c: config.Model{ToolFormat: "hermes"}},
		"format unknown":       {own: withTools, c: config.Model{ToolFormat: "morse"}, wrong: `unknown tool-call format "morse"`},
		"format without use":   {own: withoutTools, c: config.Model{ToolFormat: "mistral"}, wrong: "its chat template knows none"},
		"variable":             {own: "{{ x }}" + withTools, c: config.Model{TemplateVariables: config.Variables{"x": 1}}, vendor: true, format: "hermes"},
		"misspelt variable": {
			own:   withTools + "{{ x }}",
			c:     config.Model{TemplateVariables: config.Variables{"y": 1}},
			wrong: `the chat template has no variable "y"`,
		},
		"variable without use": {own: withoutTools, c: config.Model{TemplateVariables: config.Variables{"x": 1}}, wrong: "the model's prompt has no variables"},
		"no such file":         {own: withTools, c: config.Model{ChatTemplate: file + "x"}, wrong: "cannot read the chat template"},
	} {
		w, err := ReadText(tc.c, &modelfile.Model{Path: "m.gguf", Vocabulary: letters(tc.own)})
		var r render.Renderer
		if err == nil {
			r, err = w.Renderer("")
		}
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || (r.Prompting().Template != "") != tc.vendor ||
			tc.vendor && r.Prompting().ToolFormat != tc.format {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

// The configuration's variables are in whatever is rendered for a model: prompts, training rows, and the template that
// is written beside an adapter, for servers that are not given them.
func TestTemplateVariables(t *testing.T) {
	const shown = `{{ think }}{{ [effort, n, f, list, nested] }}`
	c, err := config.Parse("hone.yaml", []byte("model:\n  template_variables: {think: false, effort: \"it's\", n: 3, "+
		"f: 2.0, list: [a, null], nested: {k: 1.5}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := ReadText(c.Model, &modelfile.Model{Path: "m.gguf", Vocabulary: letters(shown + withTools)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Renderer("")
	if err != nil {
		t.Fatal(err)
	}
	user := []chat.Message{{Role: chat.User, Content: "q"}}
	const want = `False["it's", 3, 2.0, ['a', None], {'k': 1.5}]`
	ids, err := r.Prompt(user, nil)
	if text := w.Tokenizer.Decode(ids); err != nil || !strings.HasPrefix(text, want) {
		t.Errorf("prompt %q, %v", text, err)
	}
	rows, err := r.Sequences(append(user, chat.Message{Role: chat.Assistant, Content: "a"}), 0, nil)
	if err != nil || !strings.HasPrefix(w.Tokenizer.Decode(rows[0].IDs), want) {
		t.Errorf("row %q, %v", w.Tokenizer.Decode(rows[0].IDs), err)
	}
	beside, err := jinja.Compile("beside", r.Template())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		given []chat.Value
		want  string
	}{{nil, want}, {[]chat.Value{"think", true, "n", "x"}, `True["it's", 'x', 2.0, ['a', None], {'k': 1.5}]`}} {
		variables := chat.NewObject(
			append([]chat.Value{"messages", []chat.Value{}, "tools", nil, "add_generation_prompt", true},
				x.given...)...,
		)
		if got, _, err := beside.Render(jinja.Values{Variables: variables}); err != nil ||
			!strings.HasPrefix(got, x.want) {
			t.Errorf("%v: %q, %v", x.given, got, err)
		}
	}
}

func TestTextOfAFolder(t *testing.T) {
	for name, tc := range map[string]struct {
		files                   map[string]string
		template, bos, eos, bad string
	}{
		"nothing beside the tokenizer": {},
		"in the configuration": {
			files: map[string]string{
				"tokenizer_config.json": `{"chat_template": "T", "bos_token": {"content": "<s>"}, "eos_token": "</s>"}`,
			},
			template: "T",
			bos:      "<s>",
			eos:      "</s>",
		},
		"nulls":             {files: map[string]string{"tokenizer_config.json": `{"chat_template": null, "bos_token": null}`}},
		"a file of its own": {files: map[string]string{"tokenizer_config.json": `{"chat_template": "T"}`, "chat_template.jinja": "F"}, template: "F"},
		"no JSON":           {files: map[string]string{"tokenizer_config.json": `{`}, bad: "tokenizer_config.json"},
		"neither":           {files: map[string]string{"tokenizer_config.json": `{"chat_template": 3}`}, bad: "neither text nor a list"},
	} {
		dir := t.TempDir()
		for file, text := range tc.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, own := &Text{Own: true}, templates{}
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
		if err != nil || w.Template != tc.template || w.BOS != tc.bos || w.EOS != tc.eos || !w.Own {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
	if _, err := ReadText(config.Model{}, &modelfile.Model{Path: t.TempDir()}); err == nil {
		t.Error("a folder without a tokenizer was accepted")
	}
}

func TestSequencesAreOneRowInChatML(t *testing.T) {
	w, err := ReadText(config.Model{}, &modelfile.Model{Path: "m.gguf", Vocabulary: letters("")})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Renderer("S")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.Sequences([]chat.Message{{Role: chat.User, Content: "q"}, {Role: chat.Assistant, Content: "a"},
		{Role: chat.User, Content: "r"}}, 0, nil)
	if err != nil || len(rows) != 1 || len(rows[0].Spans) != 2 || rows[0].Spans[1].Message != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if span := rows[0].Spans[1]; w.Tokenizer.Decode(rows[0].IDs[span.Start:span.End]) != "a<|im_end|>" ||
		span.End != len(rows[0].IDs) {
		t.Errorf("%+v", rows[0])
	}
}

// Where the configuration names a form that the model's template does not write, the model's turns are kept and its
// tools and calls are in that form; a template that writes it already is left as it is, and so is one that the
// configuration names.
func TestFormOfHonesOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.jinja")
	if err := os.WriteFile(file, []byte(withTools), 0o600); err != nil {
		t.Fatal(err)
	}
	prompt := func(c config.Model) string {
		text, err := ReadText(c, &modelfile.Model{Path: "m.gguf", Vocabulary: letters(withTools)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := text.Renderer("S")
		if err != nil {
			t.Fatal(err)
		}
		calls := []chat.ToolCall{{ID: "c", Name: "f", Arguments: `{"x": 1}`}}
		ids, err := r.Prompt([]chat.Message{{Role: chat.User, Content: "q"}, {Role: chat.Assistant, ToolCalls: calls},
			{Role: chat.ToolRole, ToolCallID: "c", Content: "r"}}, []chat.Tool{{Name: "f", InputSchema: []byte(`{}`)}})
		if err != nil {
			t.Fatal(err)
		}
		return text.Tokenizer.Decode(ids)
	}
	own := prompt(config.Model{})
	if !strings.Contains(own, "<tool_call>") || prompt(config.Model{ToolFormat: "hermes"}) != own {
		t.Errorf("the model's own form: %q", own)
	}
	if got := prompt(config.Model{ToolFormat: "llama3_json", ChatTemplate: file}); got != own {
		t.Errorf("the template that is named: %q", got)
	}
	const want = "<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n" +
		`{"name": "f", "parameters": {"x": 1}}` + "<|im_end|>\n" +
		"<|im_start|>user\nResult:\nr<|im_end|>\n<|im_start|>assistant\n"
	got := prompt(config.Model{ToolFormat: "llama3_json"})
	system, rest, _ := strings.Cut(got, want)
	told := strings.HasPrefix(system, "<|im_start|>system\nS\n\n# Tools") && strings.Contains(system, `{"name": "f"`)
	if rest != "" || !told || strings.Contains(got, "tool_call") {
		t.Errorf("%q", got)
	}
}
