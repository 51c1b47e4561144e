//go:build soak

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/proxy"
)

// The real clients speak to hone serve and through hone proxy, over SmolLM2-135M. A model takes a core half a minute to
// load and compile, so what can be one is: the server, and the programs of the proxies' small models. Each subtest
// starts what it needs, so it runs alone too.
func TestSoakToTheClients(t *testing.T) {
	python, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the openai client is not installed: run make soak")
	}
	a, _, _ := installed(t, "")
	c := clients{python: python, noise: filepath.Join(t.TempDir(), "adapter"),
		quiet: filepath.Join(t.TempDir(), "quiet"), cache: withPrograms(t, a)}
	saveNoise(t, a, c.noise, 0.1)
	saveNoise(t, a, c.quiet, 1e-4) // it answers as the base model does
	var began server
	c.serve = sync.OnceValue(func() server {
		began = c.serving(t, "serve", "--model", c.noise, "--key-env", "SERVE_KEY", "--context", "512", "--slots", "2",
			"--max-adapters", "2")
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

// clients is what the subtests of TestSoakToTheClients share.
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
	return servingOf(t, clientKeys, func(a *app) { a.CacheDir, a.KeepsPrograms = c.cache, true },
		append(args, "--listen", "127.0.0.1:0")...)
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

// The openai and anthropic clients speak to a server in this process: models, key, tools, streaming. The adapter must
// change answers.
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
	path, err := basemodel.Path(a.Host, host.BaseModelAsset().Name)
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
	var tensors []modelfile.Matrix
	for _, p := range pieces {
		x := modelfile.Matrix{Name: modelfile.AdapterKey(p.Target.Path(p.Layer), p.B), Rows: p.Rows, Cols: p.Cols,
			Data: make([]float32, p.Rows*p.Cols)}
		for i := range x.Data {
			x.Data[i] = float32(r.NormFloat64() * size)
		}
		tensors = append(tensors, x)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := modelfile.AdapterConfig{PEFTType: "LORA", TaskType: "CAUSAL_LM", Rank: lora.Rank, Alpha: lora.Alpha,
		Bias: "none", TargetModules: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
			"down_proj"}}
	if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
		t.Fatal(err)
	}
}

// The openai client speaks through a proxy whose small model makes the first call, with a real hone serve as the
// upstream.
func (c *clients) testInitialCall(t *testing.T) {
	calibration := proxy.Calibration{Bias: 9, Mean: 1, Min: 1, Threshold: 0.5}
	if err := calibration.SaveBeside(c.quiet); err != nil {
		t.Fatal(err)
	}
	upstream := c.serve()
	proxied := c.serving(t, "proxy", "--upstream", upstream.URL, "--upstream-key-env", "UPSTREAM_KEY", "--key-env",
		"PROXY_KEY", "--mode", "initial-call", "--model", c.quiet, "--context", "768", "--slots", "1",
		"--deadline", "2m")
	if _, err := c.run(t, "proxy_client.py", upstream.URL, clientKeys["UPSTREAM_KEY"], proxied.URL,
		clientKeys["PROXY_KEY"], upstream.Models[1]); err != nil {
		t.Error(err)
	}
}

// noisy is an upstream that answers as the model's name says: a right call, one that the fixer mends, one of a tool
// that does not exist, words.
func noisy(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	said, finish := map[string]any{"role": "assistant", "content": "It is done."}, "stop"
	if arguments, calls := map[string]string{"right": `{"text": "cloud"}`, "mend": `{'text': 'cloud'}`,
		"wrong": `{"path": "/cloud"}`}[q.Model]; calls {
		name := "hash"
		if q.Model == "wrong" {
			name = "format_disk"
		}
		said, finish = map[string]any{
			"role": "assistant", "content": nil, "tool_calls": []any{
				map[string]any{"index": 0, "id": "u1", "type": "function",
					"function": map[string]any{"name": name, "arguments": arguments}},
			},
		}, "tool_calls"
	}
	key, object := "message", "chat.completion"
	if q.Stream {
		key, object = "delta", "chat.completion.chunk"
	}
	text, _ := json.Marshal(map[string]any{"id": "u", "object": object, "created": 1, "model": q.Model,
		"choices": []any{map[string]any{"index": 0, key: said, "finish_reason": finish}}})
	if q.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		text = append(append([]byte("data: "), text...), "\n\ndata: [DONE]\n\n"...)
	}
	_, _ = w.Write(text)
}

// The openai client speaks through the sidecar's mode with a real model over a noisy upstream: what it gets, the header
// and the log agree on what became of each answer, and why.
func (c *clients) testSidecar(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(noisy))
	defer upstream.Close()
	proxied := c.serving(t, "proxy", "--upstream", upstream.URL+"/v1", "--key-env", "PROXY_KEY",
		"--mode", "sidecar", "--model", c.quiet, "--context", "768", "--slots", "1", "--deadline", "10m", "--verbose")
	out, err := c.run(t, "sidecar_client.py", proxied.URL, clientKeys["PROXY_KEY"])
	if err != nil {
		t.Fatal(err)
	}
	var told map[string]struct {
		Decision        string
		Calls, Streamed [][2]string
		Content         *string
	}
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := proxied.stop()
	right := [][2]string{{"hash", `{"text": "cloud"}`}}
	for way, want := range map[string]struct {
		verdict string
		asked   bool // the sidecar's model
	}{
		"right": {"untouched", false},
		"mend":  {"mended", false},
		"wrong": {"revised", true},
		"plain": {"untouched", false},
	} {
		got := told[way]
		if !strings.HasPrefix(got.Decision, "sidecar="+want.verdict+"; ") {
			t.Errorf("%s: the header says %q, want %s", way, got.Decision, want.verdict)
		}
		if way == "plain" {
			if got.Content == nil || *got.Content != "It is done." || len(got.Calls)+len(got.Streamed) > 0 {
				t.Errorf("%s: %+v", way, got)
			}
		} else if !reflect.DeepEqual(got.Calls, right) || way != "wrong" && !reflect.DeepEqual(got.Streamed, right) {
			t.Errorf("%s: the client got %q, and streamed %q, want %q", way, got.Calls, got.Streamed, right)
		}
		_, why, _ := strings.Cut(got.Decision, "; ")
		line := ""
		for l := range strings.Lines(log) {
			if strings.Contains(l, "msg=decision") && strings.Contains(l, "request="+way+" ") {
				line = l
			}
		}
		for _, part := range []string{
			"mode=sidecar", "action=" + want.verdict, why[:min(len(why), 20)], fmt.Sprintf("decision.asked=%v",
				want.asked),
		} {
			if !strings.Contains(line, part) {
				t.Errorf("%s: the log's line lacks %q: %s", way, part, line)
			}
		}
	}
}
