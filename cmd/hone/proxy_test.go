package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/host"
	"hone/internal/learn/adapter"
	"hone/internal/proxy/initial"
	"hone/internal/screen"
)

// serving starts a verb that serves, and returns what it announces. The verb is stopped, and must end well, at the end of the test.
func serving(t *testing.T, keys map[string]string, args ...string) (url string) {
	t.Helper()
	a, _, stderr := installed(t, "")
	environment := a.LookupEnv
	a.LookupEnv = func(name string) (string, bool) {
		if key, ok := keys[name]; ok {
			return key, true
		}
		return environment(name)
	}
	read, write := io.Pipe()
	a.Data = screen.New(write)
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- a.main(ctx, append(args, "--json"))
		write.Close()
	}()
	t.Cleanup(func() {
		stop()
		if c := <-code; c != 0 {
			t.Errorf("%v: exit code %d, %s", args, c, stderr)
		}
	})
	var s struct{ URL string }
	if err := json.NewDecoder(read).Decode(&s); err != nil {
		t.Fatalf("no announcement: %v, %s", err, stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }() // ends with the pipe
	return s.URL
}

// The openai client speaks through a proxy whose small model makes the first call, with a real hone serve as the upstream.
func TestInitialCallToTheOpenAIClient(t *testing.T) {
	python, err := filepath.Abs("../../.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatal("the openai client is not installed: run make test")
	}
	a, _, _ := installed(t, "")
	dir := filepath.Join(t.TempDir(), "adapter")
	saveNoise(t, a, dir, 1e-4) // it answers as the base model does
	weights, err := os.ReadFile(filepath.Join(dir, adapter.WeightsFile))
	if err != nil || len(weights) == 0 {
		t.Fatal(err)
	}
	c := initial.Calibration{Bias: 9, Mean: 1, Min: 1, Threshold: 0.5}
	if err := c.SaveBeside(dir); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"UPSTREAM_KEY": "sk-upstream", "PROXY_KEY": "sk-proxy"}
	upstream := serving(t, keys, "serve", "--model", "base", "--listen", "127.0.0.1:0", "--key-env", "UPSTREAM_KEY", "--context", "512", "--slots", "2")
	proxied := serving(t, keys, "proxy", "--upstream", upstream, "--upstream-key-env", "UPSTREAM_KEY", "--listen", "127.0.0.1:0", "--key-env", "PROXY_KEY",
		"--mode", "initial-call", "--model", dir, "--context", "512", "--slots", "1", "--deadline", "2m")
	if out, err := exec.CommandContext(t.Context(), python, "testdata/proxy_client.py", upstream, "sk-upstream", proxied, "sk-proxy").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestProxyRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ args, want string }{
		{"proxy", "--upstream is missing"},
		{"proxy --upstream ftp://x", "cannot use the upstream's URL"},
		{"proxy --upstream http://user:pw@x/v1", "cannot use the upstream's URL"},
		{"proxy --upstream anthropic/claude", "does not answer chat completions"},
		{"proxy --upstream http://x/v1 --upstream-key-env HONE_NO_SUCH_KEY", "there is no key for the upstream"},
		{"proxy --upstream http://x/v1 --listen 0.0.0.0:0", "will not serve without a key"},
		{"proxy --upstream http://x/v1 --mode inital-call", "there is no such mode"},
		{"proxy --upstream http://x/v1 --mode initial-call", "the mode has no model"},
		{"proxy --upstream http://x/v1 --model x", "a model is given and no mode"},
		{"proxy --upstream http://x/v1 --listen 127.0.0.1:0 --mode initial-call --model " + dir, "not an adapter"},
		{"eval --initial-call x --dataset testdata/initial.json --split test", "stands before an endpoint"},
		{"eval --calibrate 0.9 --dataset testdata/initial.json --split test", "it is an adapter that is calibrated"},
		{"eval --model http://127.0.0.1:1/v1/m --initial-call " + dir + " --dataset testdata/initial.json --split test", "there is no such adapter"},
	} {
		var stderr bytes.Buffer
		a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: screen.New(io.Discard), Talk: screen.New(&stderr), LookupEnv: func(string) (string, bool) { return "", false }}}
		if code := a.main(t.Context(), strings.Fields(tc.args)); code != 2 || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: exit code %d, said %s", tc.args, code, stderr.String())
		}
	}
}
