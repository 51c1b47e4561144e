package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/testing/learntest"
)

// Chat templates that know tools, and that do not.
const withTools = `{% for t in tools or [] %}{{ '<tools>' + t | tojson + '</tools>' }}{% endfor %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

const withoutTools = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}`

// A template finds reasoning under the key it reads, whichever one the line has (render.FillReasoning).
func TestInspectRenderFillsReasoning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jinja")
	if err := os.WriteFile(file,
		[]byte("{% for m in messages %}{{ m.thinking }}, {{ m.reasoning_content }}{% endfor %}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"reasoning_content", "thinking", "reasoning"} {
		code, out, talk := inspected(t, "inspect render --template "+file,
			`{"messages": [{"role": "assistant", "content": "a", "`+key+`": "Hm."}]}`)
		if code != 0 || !strings.Contains(out, `"text":"Hm., Hm."`) {
			t.Errorf("%s: exit code %d, %s%s", key, code, out, talk)
		}
	}
}

// hone.yaml's variables are those of inspect render too; --set comes before them, and a line's own kwargs before both.
func TestInspectSetsVariables(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"t.jinja": "{{ x }}{{ y }}{{ z }}",
		"hone.yaml": "model: {template_variables: {x: a, y: b, z: c}}\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := "--config " + filepath.Join(dir, "hone.yaml") + " inspect render --template " +
		filepath.Join(dir, "t.jinja") + " --set y=1.50 --set z=null"
	if code, out, talk := inspected(t, args, `{"messages": [], "kwargs": {"z": "[d]"}}`); code != 0 ||
		!strings.Contains(out, `"text":"a1.5[d]"`) {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	if code, _, talk := inspected(t, args+" --set =1", ""); code != 2 ||
		!strings.Contains(talk, "write --set key=value") {
		t.Errorf("exit code %d, %s", code, talk)
	}
}

func inspected(t *testing.T, args, in string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	a := &app{Host: &host.Host{Stdin: strings.NewReader(in), Data: sanitize.New(&out), Talk: sanitize.New(&talk),
		LookupEnv: func(string) (string, bool) { return "", false }}}
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
		{"repairs are shown", "inspect parse --format hermes",
			`{"text": "<tool_call>\n{'name': 'f', 'arguments': {'a': True,}}\n</tool_call>"}`,
			`"tool_calls":[{"name":"f","arguments":"{\"a\": true}"}],"complete":true,"repairs":["`},
		{"not with --strict", "inspect parse --strict --format hermes",
			`{"text": "<tool_call>\n{'name': 'f', 'arguments': {}}\n</tool_call>"}`, `"tool_calls":[],`},
		{"reasoning", "inspect parse --format hermes", `{"text": "<think>\nHm.\n</think>\n\nYes."}`,
			`{"content":"Yes.","reasoning":"Hm.","tool_calls":[],"complete":true,"repairs":[]}`},
		{"reasoning that the prompt began", "inspect parse --format hermes", `{"text": "Hm.\n</think>\n\nYes."}`, `{"content":"Yes.","reasoning":"Hm.",`},
		{
			"a tag in a call", "inspect parse --format hermes",
			`{"text": "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"</think>\"}}\n</tool_call>"}`,
			`{"content":"","reasoning":"","tool_calls":[{"name":"f"`,
		},
	} {
		want := 0
		if strings.Contains(tc.want, "error") || strings.Contains(tc.want, "not JSON") {
			want = 3
		}
		if code, out, talk := inspected(t, tc.args, tc.in); code != want || !strings.Contains(out, tc.want) ||
			strings.Contains(talk, "where: stdin:1") != (want == 3) {
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
		if code, _, talk := inspected(t, args+" --cache /nowhere", ""); code == 0 || !strings.Contains(talk, want) {
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
	code, out, talk := inspected(t, "inspect tokens --tokenizer "+vocabulary, `{"text": "hi<|im_end|>\n"}`)
	if code != 0 || out != `{"ids":[2,3,1,4]}`+"\n" {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	code, out, talk = inspected(t, "inspect render --view --tokenizer "+vocabulary+" --template "+file,
		`{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ss"}]}`)
	// the vocabulary has no other letters
	want := "row 1 of 1: 16 tokens, 3 trained\n<|im_start|>s\nhi<|im_end|>\n<|im_start|>ssis\n«ss<|im_end|>»\n"
	if code != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, "message 1, assistant: tokens ") {
		t.Errorf("exit code %d, %q\nwant %q\n%s", code, out, want, talk)
	}
	code, out, talk = inspected(t, "inspect render --help", "")
	if code != 0 || !strings.Contains(out+talk, `\u003c|im_end|>`) {
		t.Errorf("help: exit code %d, %s%s", code, out, talk)
	}
	if code, out, _ := inspected(t, "inspect render --view --tokenizer "+vocabulary+" --template "+file,
		`{"messages": [{"role": 7}]}`); code != 3 ||
		!strings.Contains(out, `{"error":"\"messages\": \"role\" must be a string, not a number"}`) {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out, _ := inspected(t, "inspect render --view --tokenizer "+vocabulary+" --template "+file,
		`{"messages": [{"role": "user", "content": "hi"}]}`); code != 3 ||
		!strings.Contains(out, `{"error":"the conversation has no assistant message`) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// inspect logprobs says how many programs it compiled, none where an earlier one kept them.
func TestInspectLogprobsKeepsPrograms(t *testing.T) {
	plugin := learntest.Plugin()
	if plugin == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	write(t, "hone.yaml", "engine: {plugin: "+plugin+"}\n")
	for _, want := range []string{"programs: 1 compiled, 0 that were kept", "programs: 0 compiled, 1 that were kept"} {
		var said bytes.Buffer
		a := toyApp(&said, nil)
		a.Stdin, a.KeepsPrograms = strings.NewReader(`{"ids": [1, 2, 3]}`), true
		if code := a.main(t.Context(), []string{"inspect", "logprobs", "--model", "toy.gguf", "--cache",
			"cache"}); code != 0 || !strings.Contains(said.String(), want) {
			t.Errorf("exit code %d, no %q in %s", code, want, &said)
		}
	}
}
