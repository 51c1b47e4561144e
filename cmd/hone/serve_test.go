package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
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

// The openai and anthropic clients speak to a server in this process: models, key, tools, streaming. The adapter must change answers.
func TestServeToTheOpenAIClient(t *testing.T) {
	python, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the openai client is not installed: run make test")
	}
	a, _, stderr := installed(t, "")
	dir := filepath.Join(t.TempDir(), "adapter")
	saveNoise(t, a, dir, 0.1)

	const key = "test-key"
	environment := a.LookupEnv
	a.LookupEnv = func(name string) (string, bool) {
		if name == "SERVE_KEY" {
			return key, true
		}
		return environment(name)
	}
	read, write := io.Pipe()
	a.Data = screen.New(write)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	code := make(chan int, 1)
	go func() {
		code <- a.main(ctx, []string{"serve", "--model", dir, "--listen", "127.0.0.1:0", "--key-env", "SERVE_KEY", "--context", "512", "--slots", "2", "--max-adapters", "2", "--json"})
		write.Close()
	}()
	var s struct {
		URL    string
		Models []string
	}
	if err := json.NewDecoder(read).Decode(&s); err != nil {
		t.Fatalf("no announcement: %v, exit code %d, %s", err, <-code, stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }() // ends with the pipe
	out, err := exec.CommandContext(ctx, python, "testdata/openai_client.py", s.URL, key, s.Models[0], s.Models[1], dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(ctx, python, "testdata/agent_clients.py", s.URL, key, s.Models[1]).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
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
	stop()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d after a stop, %s", c, stderr)
	}
	for _, want := range []string{"Authorization: Bearer $SERVE_KEY", s.URL + "/chat/completions"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q: %s", want, stderr)
		}
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
