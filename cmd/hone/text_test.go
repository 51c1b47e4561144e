package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/modelfile"
	"hone/internal/screen"
	"hone/internal/text/render"
)

const withTools = `{% for t in tools or [] %}{{ '<tools>' + t | tojson + '</tools>' }}{% endfor %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

const withoutTools = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}`

// letters is a vocabulary of printable characters and ChatML's tokens.
func letters(template string) modelfile.Vocabulary {
	v := modelfile.Vocabulary{Tokens: []string{"<|im_start|>", "<|im_end|>", "Ċ", "Ġ"}, TokenTypes: []int32{3, 3, 1, 1}, EOS: 1, BOS: -1, ChatTemplate: template}
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
		"format unknown":       {own: withTools, c: config.Model{ToolFormat: "morse"}, wrong: `unknown tool-call format "morse"`},
		"format without use":   {own: withoutTools, c: config.Model{ToolFormat: "mistral"}, wrong: "its chat template knows none"},
		"variable":             {own: "{{ x }}" + withTools, c: config.Model{TemplateVariables: config.Variables{"x": 1}}, vendor: true, format: "hermes"},
		"misspelt variable":    {own: withTools + "{{ x }}", c: config.Model{TemplateVariables: config.Variables{"y": 1}}, wrong: `the chat template has no variable "y"`},
		"variable without use": {own: withoutTools, c: config.Model{TemplateVariables: config.Variables{"x": 1}}, wrong: "the model's prompt has no variables"},
		"no such file":         {own: withTools, c: config.Model{ChatTemplate: file + "x"}, wrong: "cannot read the chat template"},
	} {
		w, err := textOf(tc.c, &modelfile.Model{Path: "m.gguf", Vocabulary: letters(tc.own)})
		var r render.Renderer
		if err == nil {
			r, err = w.renderer("")
		}
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		v, vendor := r.(*render.Vendor)
		if err != nil || vendor != tc.vendor || vendor && v.ToolFormat().Name() != tc.format {
			t.Errorf("%s: got a %T, %v", name, r, err)
		}
	}
}

// The configuration's variables are in whatever is rendered for a model: prompts, training rows, and the template that is
// written beside an adapter, for servers that are not given them.
func TestTemplateVariables(t *testing.T) {
	const shown = `{{ think }}{{ [effort, n, f, list, nested] }}`
	c, err := config.Parse("hone.yaml", []byte("model:\n  template_variables: {think: false, effort: \"it's\", n: 3, f: 2.0, list: [a, null], nested: {k: 1.5}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := textOf(c.Model, &modelfile.Model{Path: "m.gguf", Vocabulary: letters(shown + withTools)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.renderer("")
	if err != nil {
		t.Fatal(err)
	}
	user := []chat.Message{{Role: chat.User, Content: "q"}}
	const want = `False["it's", 3, 2.0, ['a', None], {'k': 1.5}]`
	ids, err := r.Prompt(user, nil)
	if text := w.tok.Decode(ids); err != nil || !strings.HasPrefix(text, want) {
		t.Errorf("prompt %q, %v", text, err)
	}
	rows, err := r.Sequences(append(user, chat.Message{Role: chat.Assistant, Content: "a"}), nil)
	if err != nil || !strings.HasPrefix(w.tok.Decode(rows[0].IDs), want) {
		t.Errorf("row %q, %v", w.tok.Decode(rows[0].IDs), err)
	}
	file := filepath.Join(t.TempDir(), "beside.jinja")
	if err := os.WriteFile(file, []byte(r.Template()), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"": want, " --set think=true --set n=x": `True["it's", 'x', 2.0, ['a', None], {'k': 1.5}]`} {
		_, out, talk := inspect(t, "inspect render --template "+file+args, `{"messages": [], "add_generation_prompt": true}`)
		var got rendered
		if err := json.Unmarshal([]byte(out), &got); err != nil || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%q: %s%s", args, out, talk)
		}
	}
}

// hone.yaml's variables are those of inspect render too; --set comes before them, and a line's own kwargs before both.
func TestInspectSetsVariables(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"t.jinja": "{{ x }}{{ y }}{{ z }}", "hone.yaml": "model: {template_variables: {x: a, y: b, z: c}}\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := "--config " + filepath.Join(dir, "hone.yaml") + " inspect render --template " + filepath.Join(dir, "t.jinja") + " --set y=1.50 --set z=null"
	if code, out, talk := inspect(t, args, `{"messages": [], "kwargs": {"z": "[d]"}}`); code != 0 || !strings.Contains(out, `"text":"a1.5[d]"`) {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	if code, _, talk := inspect(t, args+" --set =1", ""); code != 2 || !strings.Contains(talk, "write --set key=value") {
		t.Errorf("exit code %d, %s", code, talk)
	}
}

func TestWordsOfAFolder(t *testing.T) {
	for name, tc := range map[string]struct {
		files                   map[string]string
		template, bos, eos, bad string
	}{
		"nothing beside the tokenizer": {},
		"in the configuration":         {files: map[string]string{"tokenizer_config.json": `{"chat_template": "T", "bos_token": {"content": "<s>"}, "eos_token": "</s>"}`}, template: "T", bos: "<s>", eos: "</s>"},
		"nulls":                        {files: map[string]string{"tokenizer_config.json": `{"chat_template": null, "bos_token": null}`}},
		"several": {files: map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "tool_use", "template": "U"}, {"name": "default", "template": "D"}]}`},
			template: "U"},
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
		w := &words{own: true}
		err := w.readFolder(dir)
		if tc.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tc.bad) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || w.template != tc.template || w.bos != tc.bos || w.eos != tc.eos || !w.own {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
	if _, err := textOf(config.Model{}, &modelfile.Model{Path: t.TempDir()}); err == nil {
		t.Error("a folder without a tokenizer was accepted")
	}
}

func inspect(t *testing.T, args, in string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	a := &app{Host: &host.Host{Stdin: strings.NewReader(in), Data: screen.New(&out), Talk: screen.New(&talk), LookupEnv: func(string) (string, bool) { return "", false }}}
	code = int(a.main(t.Context(), strings.Fields(args)))
	return code, out.String(), talk.String()
}

// No base model is needed where the flags name all there is.
func TestInspectWithoutAModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jinja")
	source := `{{ bos_token }}{% for m in messages %}{{ m.role }}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}{% endif %}{% endfor %}` +
		`{{ tools | tojson }}{{ x }}{{ strftime_now('%Y') }}{% if add_generation_prompt %}>{% endif %}`
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	render := "inspect render --template " + file
	for _, tc := range []struct{ name, args, in, want string }{
		{"order and number text are kept", render, `{"messages": [{"role": "u"}], "tools": [{"b": 1.50, "a": 1e2}], "kwargs": {"x": "y"}, "now": "2026-03-05T09:07:03", "add_generation_prompt": true, "bos_token": "<s>"}`,
			`{"text":"<s>u[{\"b\": 1.5, \"a\": 100.0}]y2026>","spans":[]}`},
		{"spans", render, `{"messages": [{"role": "assistant", "content": "é"}], "eos_token": "</s>", "now": "2026-01-01", "tools": null}`,
			`{"text":"assistanté</s>null2026","spans":[[9,15]]}`},
		{"no messages", render, `{}`, `{"error":"\"messages\" is missing"}`},
		{"unknown field", render, `{"messages": [], "tool": 1}`, `{"error":"unknown key \"tool\"; did you mean \"tools\"?"}`},
		{"a call of another kind", "inspect parse --format hermes", `{"text": ["x"]}`, `{"error":"\"text\" must be a string, not an array"}`},
		{"no object", "inspect parse --format hermes", `["x"]`, `{"error":"it must be an object, not an array"}`},
		{"half a line", "inspect parse --format hermes", `{"text": "x`, `{"error":"it is not JSON: it ends early"}`},
		{"kwargs", render, `{"messages": [], "kwargs": 3}`, `{"error":"\"kwargs\" is not an object"}`},
		{"now", render, `{"messages": [], "now": "noon"}`, `{"error":"\"noon\" is no date and time: write it as 2026-03-05T09:07:03"}`},
		{"repeated key", render, `{"messages": [{"role": "u", "role": "v"}]}`, `\"messages\": not JSON`},
		{"tools type values", "inspect parse --format qwen3_coder",
			`{"text": "<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\n3\n</parameter>\n</function>\n</tool_call>", "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}}}]}`,
			`"tool_calls":[{"name":"f","arguments":"{\"n\": 3, \"s\": \"3\"}"}],"complete":true,"repairs":[]`},
		{"repairs are shown", "inspect parse --format hermes", `{"text": "<tool_call>\n{'name': 'f', 'arguments': {'a': True,}}\n</tool_call>"}`,
			`"tool_calls":[{"name":"f","arguments":"{\"a\": true}"}],"complete":true,"repairs":["`},
		{"not with --strict", "inspect parse --strict --format hermes", `{"text": "<tool_call>\n{'name': 'f', 'arguments': {}}\n</tool_call>"}`, `"tool_calls":[],`},
		{"reasoning", "inspect parse --format hermes", `{"text": "<think>\nHm.\n</think>\n\nYes."}`, `{"content":"Yes.","reasoning":"Hm.","tool_calls":[],"complete":true,"repairs":[]}`},
		{"reasoning that the prompt began", "inspect parse --format hermes", `{"text": "Hm.\n</think>\n\nYes."}`, `{"content":"Yes.","reasoning":"Hm.",`},
		{"a tag in a call", "inspect parse --format hermes", `{"text": "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"</think>\"}}\n</tool_call>"}`, `{"content":"","reasoning":"","tool_calls":[{"name":"f"`},
	} {
		want := 0
		if strings.Contains(tc.want, "error") || strings.Contains(tc.want, "not JSON") {
			want = 3
		}
		if code, out, talk := inspect(t, tc.args, tc.in); code != want || !strings.Contains(out, tc.want) || strings.Contains(talk, "where: stdin:1") != (want == 3) {
			t.Errorf("%s: exit code %d, %s\ngot  %s\nwant %s", tc.name, code, talk, out, tc.want)
		}
	}
	for args, want := range map[string]string{
		"inspect render --template nowhere.jinja":        "cannot read the chat template",
		"inspect tokens --tokenizer nowhere.json":        "nowhere.json",
		"inspect parse --format morse":                   `unknown tool-call format "morse"`,
		"inspect render --view --model nowhere.gguf":     "cannot open the base model",
		"inspect parse --model nowhere.gguf":             "cannot open the base model",
		"inspect render --tokenizer nowhere.json --view": "nowhere",
	} {
		if code, _, talk := inspect(t, args+" --cache /nowhere", ""); code == 0 || !strings.Contains(talk, want) {
			t.Errorf("%s: exit code %d, said %s", args, code, talk)
		}
	}
}

const tinyTokenizer = `{"added_tokens": [{"id": 0, "content": "<|im_start|>", "special": true, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false},
	{"id": 1, "content": "<|im_end|>", "special": true, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false}],
	"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
	"model": {"type": "BPE", "vocab": {"<|im_start|>": 0, "<|im_end|>": 1, "h": 2, "i": 3, "Ċ": 4, "s": 5}, "merges": []}}`

func TestInspectTokensAndView(t *testing.T) {
	dir := t.TempDir()
	vocabulary, file := filepath.Join(dir, "tokenizer.json"), filepath.Join(dir, "t.jinja")
	if err := os.WriteFile(vocabulary, []byte(tinyTokenizer), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(withTools), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, talk := inspect(t, "inspect tokens --tokenizer "+vocabulary, `{"text": "hi<|im_end|>\n"}`)
	if code != 0 || out != `{"ids":[2,3,1,4]}`+"\n" {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	code, out, talk = inspect(t, "inspect render --view --tokenizer "+vocabulary+" --template "+file,
		`{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ss"}]}`)
	want := "row 1 of 1: 16 tokens, 3 trained\n<|im_start|>s\nhi<|im_end|>\n<|im_start|>ssis\n«ss<|im_end|>»\n" // the vocabulary has no other letters
	if code != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, "message 1, assistant: tokens ") {
		t.Errorf("exit code %d, %q\nwant %q\n%s", code, out, want, talk)
	}
	code, out, talk = inspect(t, "inspect render --help", "")
	if code != 0 || !strings.Contains(out+talk, `\u003c|im_end|>`) {
		t.Errorf("help: exit code %d, %s%s", code, out, talk)
	}
	if code, out, _ := inspect(t, "inspect render --view --tokenizer "+vocabulary+" --template "+file, `{"messages": [{"role": 7}]}`); code != 3 || !strings.Contains(out, `{"error":"\"messages\": \"role\" must be a string, not a number"}`) {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out, _ := inspect(t, "inspect render --view --tokenizer "+vocabulary+" --template "+file, `{"messages": [{"role": "user", "content": "hi"}]}`); code != 3 || !strings.Contains(out, `{"error":"the conversation has no assistant message`) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

var _ = []render.Renderer{(*render.ChatML)(nil), (*render.Vendor)(nil)}

func TestSequencesAreOneRowInChatML(t *testing.T) {
	w, err := textOf(config.Model{}, &modelfile.Model{Path: "m.gguf", Vocabulary: letters("")})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.renderer("S")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.Sequences([]chat.Message{{Role: chat.User, Content: "q"}, {Role: chat.Assistant, Content: "a"}, {Role: chat.User, Content: "r"}}, nil)
	if err != nil || len(rows) != 1 || len(rows[0].Spans) != 2 || rows[0].Spans[1].Message != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if span := rows[0].Spans[1]; w.tok.Decode(rows[0].IDs[span.Start:span.End]) != "a<|im_end|>" || span.End != len(rows[0].IDs) {
		t.Errorf("%+v", rows[0])
	}
}

// A place and a label are said once, whatever the error of a line is.
func TestFailedLinesSayPlacesOnce(t *testing.T) {
	inner := &fault.Error{What: "cannot describe the tool", Where: "tool a", Why: "it is long", Err: io.ErrUnexpectedEOF, Next: "leave it out"}
	for _, x := range []struct {
		lines int
		errs  []error
		want  string
	}{
		{1, []error{io.EOF}, "1 of 1 line failed\n  where: stdin:1\n  why:   EOF\n  next:  correct it"},
		{2, []error{fmt.Errorf("row: %w", inner)}, "1 of 2 lines failed\n  where: stdin:1\n  why:   row: cannot describe the tool: tool a: it is long: unexpected EOF; leave it out\n  next:  correct it; the others are answered"},
		{2, []error{inner, io.EOF}, "2 of 2 lines failed\n  where: stdin\n  why:   stdin:1: cannot describe the tool: tool a: it is long: unexpected EOF; leave it out\n    stdin:2: EOF\n  next:  correct them"},
	} {
		f := failures{lines: x.lines}
		for i, err := range x.errs {
			f.add(i+1, err)
		}
		if err := f.error(); fault.CodeOf(err) != fault.CodeFailures || err.Error() != x.want {
			t.Errorf("got %v\nwant %s", err, x.want)
		}
	}
	if err := (&failures{lines: 3}).error(); err != nil {
		t.Error(err)
	}
}
