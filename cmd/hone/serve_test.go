package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
)

// installed returns an app over the real base model, which make setup installs.
func installed(t *testing.T, stdin string) (a *app, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a = &app{Host: &host.Host{Stdin: strings.NewReader(stdin), Data: sanitize.New(stdout), Talk: sanitize.New(stderr),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	s, err := a.Store()
	if err != nil {
		t.Fatal(err)
	}
	if !s.Has(host.BaseModelAsset()) {
		t.Fatal("the base model is not installed: run make setup")
	}
	return a, stdout, stderr
}

func TestInspect(t *testing.T) {
	for _, tc := range []struct {
		name, args, in, want string
		code                 int
	}{
		{"tokens keeps order and goes on after an error", "inspect tokens",
			"{\"text\":\"hello<|im_end|>\"}\n{\"txt\":1}\nnot json\n{\"text\":\"\"}\n{}\n{\"text\":\"<|im_end|>\"}",
			`{"ids":[28120,2]}` + "\n" + `{"error":"unknown key \"txt\"; did you mean \"text\"?"}` + "\n" +
				`{"error":"it is not JSON: invalid character 'o' in literal null (expecting 'u')"}` + "\n" +
				`{"ids":[]}` + "\n" +
				`{"error":"\"text\" is missing"}` + "\n" + `{"ids":[2]}` + "\n", 3},
		{"decode", "inspect tokens --decode", `{"ids":[28120,2]}` + "\n" + `{"ids":[-1]}`,
			`{"text":"hello<|im_end|>"}` + "\n" +
				`{"error":"ids[0] is -1; the vocabulary has 49152 tokens"}` + "\n", 3},
		{"decode without specials", "inspect tokens --decode --skip-special", `{"ids":[28120,2]}`, `{"text":"hello"}` + "\n", 0},
		{"parse", "inspect parse --format hermes",
			`{"text":"so\n<tool_call>\n{\"name\": \"hash\", \"arguments\": {\"n\": 1.0}}\n</tool_call>","tools":[]}` + "\n" + `{"text":"<tool_call>\n{"}`,
			`{"content":"so","reasoning":"","tool_calls":[{"name":"hash","arguments":"{\"n\": 1.0}"}],"complete":true,"repairs":[]}` + "\n" +
				`{"content":"<tool_call>\n{","reasoning":"","tool_calls":[],"complete":false,"repairs":[],"parse_error":"unterminated tool call: no </tool_call>"}` + "\n", 0},
		{"render", "inspect render",
			`{"messages":[{"role":"system","content":"S"},{"role":"user","content":"é"},{"role":"assistant","content":"ok"}]}` + "\n" +
				`{"messages":[{"role":"system","content":"S"},{"role":"user","content":"u"}],"add_generation_prompt":true}`,
			`{"text":"<|im_start|>system\nS<|im_end|>\n<|im_start|>user\né<|im_end|>\n<|im_start|>assistant\nok<|im_end|>\n","spans":[[83,95]]}` + "\n" +
				`{"text":"<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n","spans":[]}` + "\n", 0},
		{"logprobs of nothing", "inspect logprobs", `{"ids":[1]}` + "\n" + `{"ids":[99999]}`,
			`{"logprobs":[null]}` + "\n" + `{"error":"ids[0] is 99999; the vocabulary has 49152 tokens"}` + "\n", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, stdout, stderr := installed(t, tc.in)
			if code := a.main(t.Context(), strings.Fields(tc.args)); code != tc.code || stdout.String() != tc.want {
				t.Errorf("exit code %d, %s\ngot  %s\nwant %s", code, stderr, stdout, tc.want)
			}
		})
	}
}

// Of an agent's context, as --context has it, the list of tools takes the share of mcp.search_share, whatever
// model.context says; else it is searched.
func TestServeSearchesByItsContext(t *testing.T) {
	url := flatterer(t)
	for context, searched := range map[string]bool{"100": true, "600": false} {
		for _, configured := range []string{"64", "4096"} {
			workFolder(t, map[string]string{
				"hone.yaml": "engine: {backend: go}\nmcp: {search_share: 0.5}\nmodel: {context: " + configured + "}\n",
			})
			toyModel(t, "toy.gguf")
			s := serving(t, nil, "serve", "--model", "base", "--base-model", "toy.gguf", "--listen", "127.0.0.1:0",
				"--slots", "1", "--context", context, "--agent", "--mcp", url, "--allow-findings", "poll")
			if said := s.stop(); strings.Contains(said, "they are searched with search_tools") != searched {
				t.Errorf("--context %s, model.context %s: %s", context, configured, said)
			}
		}
	}
}

func TestServeRefuses(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"serve", "--model is missing"},
		{"serve --model base --slots 0", "--slots must be at least 1"},
		{"serve --model base --context -1", "--context must not be negative"},
		{"serve --model base --key-env HONE_NO_SUCH_KEY", "not set or empty"},
		{"serve --model base --listen nowhere:x", "cannot listen"},
		{"serve --model base --listen 0.0.0.0:0", "will not serve without a key"},
		{"serve --model base --listen :0", "will not serve without a key"},
		{"inspect parse --format xml", `unknown tool-call format "xml"`},
	} {
		var stderr bytes.Buffer
		a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(io.Discard),
			Talk: sanitize.New(&stderr), LookupEnv: func(string) (string, bool) { return "", false }}}
		if code := a.main(t.Context(), strings.Fields(tc.args)); code != 2 ||
			!strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: exit code %d, said %s", tc.args, code, stderr.String())
		}
	}
}
