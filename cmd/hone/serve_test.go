package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"hone/internal/assets"
	"hone/internal/basemodel"
	"hone/internal/host"
	"hone/internal/learn/adapter"
	"hone/internal/learn/model"
	"hone/internal/modelfile"
	"hone/internal/screen"
)

// installed returns an app over the real base model, which make setup installs.
func installed(t *testing.T, stdin string) (a *app, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a = &app{Host: &host.Host{Stdin: strings.NewReader(stdin), Data: screen.New(stdout), Talk: screen.New(stderr), LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	s, err := a.Store()
	if err != nil {
		t.Fatal(err)
	}
	if !s.Installed(assets.Model()) {
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
				`{"error":"it is not JSON: invalid character 'o' in literal null (expecting 'u')"}` + "\n" + `{"ids":[]}` + "\n" +
				`{"error":"\"text\" is missing"}` + "\n" + `{"ids":[2]}` + "\n", 3},
		{"decode", "inspect tokens --decode", `{"ids":[28120,2]}` + "\n" + `{"ids":[-1]}`,
			`{"text":"hello<|im_end|>"}` + "\n" + `{"error":"ids[0] is -1; the vocabulary has 49152 tokens"}` + "\n", 3},
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

// The real clients speak to hone serve and through hone proxy, over SmolLM2-135M. A model takes a core half a minute to load and compile, so what can be
// one is: the server, and the programs of the proxies' small models. Each subtest starts what it needs, so it runs alone too.
func TestToTheOpenAIClient(t *testing.T) {
	python, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the openai client is not installed: run make test")
	}
	a, _, _ := installed(t, "")
	c := clients{python: python, noise: filepath.Join(t.TempDir(), "adapter"), quiet: filepath.Join(t.TempDir(), "quiet"), cache: withPrograms(t, a)}
	saveNoise(t, a, c.noise, 0.1)
	saveNoise(t, a, c.quiet, 1e-4) // it answers as the base model does
	var began server
	c.serve = sync.OnceValue(func() server {
		began = c.serving(t, "serve", "--model", c.noise, "--key-env", "SERVE_KEY", "--context", "512", "--slots", "2", "--max-adapters", "2")
		return began
	})
	t.Run("Serve", c.testServe)
	t.Run("InitialCall", c.testInitialCall)
	t.Run("Sidecar", c.testSidecar)
	if began.stop == nil {
		return
	}
	said := began.stop()
	for _, want := range []string{"Authorization: Bearer $SERVE_KEY", began.URL + "/chat/completions"} {
		if !strings.Contains(said, want) {
			t.Errorf("stderr lacks %q: %s", want, said)
		}
	}
}

// clients is what the subtests of TestToTheOpenAIClient share.
type clients struct {
	python       string
	noise, quiet string        // adapters: of noise that is heard, and that is not
	cache        string        // of downloads and programs
	serve        func() server // hone serve with the adapter of noise and the base model, from the first call on
}

// clientKeys are what the variables of keys hold.
var clientKeys = map[string]string{"SERVE_KEY": "sk-serve", "UPSTREAM_KEY": "sk-serve", "PROXY_KEY": "sk-proxy"}

// serving starts a verb that serves, with the shared programs.
func (c *clients) serving(t *testing.T, args ...string) server {
	t.Helper()
	return servingOf(t, clientKeys, func(a *app) { a.CacheDir, a.KeepsPrograms = c.cache, true }, append(args, "--listen", "127.0.0.1:0")...)
}

// run runs a client's script.
func (c *clients) run(t *testing.T, script string, args ...string) ([]byte, error) {
	t.Helper()
	var said bytes.Buffer
	q := exec.CommandContext(t.Context(), c.python, append([]string{"testdata/" + script}, args...)...)
	q.Stderr = &said
	out, err := q.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", script, err, &said)
	}
	return out, err
}

// withPrograms is a cache with the downloads of the user's, and programs of its own.
func withPrograms(t *testing.T, a *app) string {
	t.Helper()
	s, err := a.Store()
	if err != nil {
		t.Fatal(err)
	}
	has, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, x := range has {
		if x.Name() == "programs" {
			continue
		}
		if err := os.Symlink(filepath.Join(s.Dir, x.Name()), filepath.Join(dir, x.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The openai and anthropic clients speak to a server in this process: models, key, tools, streaming. The adapter must change answers.
func (c *clients) testServe(t *testing.T) {
	s := c.serve()
	out, err := c.run(t, "openai_client.py", s.URL, clientKeys["SERVE_KEY"], s.Models[0], s.Models[1], c.noise)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.run(t, "agent_clients.py", s.URL, clientKeys["SERVE_KEY"], s.Models[1]); err != nil {
		t.Error(err)
	}
	var said struct {
		Adapter, Base any
		Calls         [][2]string
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(said.Calls) == 0 || said.Calls[0] != [2]string{"hash", `{"text": "cloud"}`} {
		t.Errorf("the base model did not call as the turns before show: %s", out)
	}
	if reflect.DeepEqual(said.Adapter, said.Base) {
		t.Errorf("an adapter of noise answers as the base model does: %s", out)
	}
}

// saveNoise writes an adapter of random matrices that fits the base model.
func saveNoise(t *testing.T, a *app, dir string, size float64) {
	t.Helper()
	path, err := basemodel.Path(a.Host, assets.Model().Name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modelfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lora := model.LoRA{Rank: 2, Alpha: 4}
	pieces, _ := lora.Pieces(model.Spec{Config: file.Config})
	r := rand.New(rand.NewPCG(1, 2))
	var tensors []adapter.Tensor
	for _, p := range pieces {
		x := adapter.Tensor{Name: adapter.Key(p.Target.Path(p.Layer), p.B), Rows: p.Rows, Cols: p.Cols, Data: make([]float32, p.Rows*p.Cols)}
		for i := range x.Data {
			x.Data[i] = float32(r.NormFloat64() * size)
		}
		tensors = append(tensors, x)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := adapter.Config{PEFTType: "LORA", TaskType: "CAUSAL_LM", Rank: lora.Rank, Alpha: lora.Alpha, Bias: "none",
		TargetModules: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}}
	if err := adapter.Save(dir, c, tensors); err != nil {
		t.Fatal(err)
	}
}

// Of an agent's context, as --context has it, the list of tools takes the share of mcp.search_share, whatever model.context says; else it is searched.
func TestServeSearchesByItsContext(t *testing.T) {
	url := flatterer(t)
	for context, searched := range map[string]bool{"100": true, "600": false} {
		for _, configured := range []string{"64", "4096"} {
			workFolder(t, map[string]string{"hone.yaml": "engine: {backend: go}\nmcp: {search_share: 0.5}\nmodel: {context: " + configured + "}\n"})
			toyModel(t, "toy.gguf")
			s := serving(t, nil, "serve", "--model", "base", "--base-model", "toy.gguf", "--listen", "127.0.0.1:0", "--slots", "1", "--context", context,
				"--agent", "--mcp", url, "--allow-findings", "poll")
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
		a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: screen.New(io.Discard), Talk: screen.New(&stderr), LookupEnv: func(string) (string, bool) { return "", false }}}
		if code := a.main(t.Context(), strings.Fields(tc.args)); code != 2 || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: exit code %d, said %s", tc.args, code, stderr.String())
		}
	}
}
