package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
)

// server is a verb that serves, and what it says meanwhile.
type server struct {
	URL    string
	Models []string
	stop   func() (said string) // and wait until it has ended well
}

// serving starts a verb that serves. It is stopped, and must end well, at the end of the test.
func serving(t *testing.T, keys map[string]string, args ...string) server {
	t.Helper()
	return servingOf(t, keys, func(*app) {}, args...)
}

// servingOf is serving with an app that is changed before it starts.
func servingOf(t *testing.T, keys map[string]string, change func(*app), args ...string) server {
	t.Helper()
	a, _, stderr := installed(t, "")
	change(a)
	environment := a.LookupEnv
	a.LookupEnv = func(name string) (string, bool) {
		if key, ok := keys[name]; ok {
			return key, true
		}
		return environment(name)
	}
	read, write := io.Pipe()
	a.Data = sanitize.New(write)
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- a.main(ctx, append(args, "--json"))
		write.Close()
	}()
	s := server{stop: sync.OnceValue(func() string {
		cancel()
		if c := <-code; c != 0 {
			t.Errorf("%v: exit code %d, %s", args, c, stderr)
		}
		return stderr.String()
	})}
	t.Cleanup(func() { s.stop() })
	if err := json.NewDecoder(read).Decode(&s); err != nil {
		t.Fatalf("no announcement: %v, %s", err, s.stop())
	}
	go func() { _, _ = io.Copy(io.Discard, read) }() // ends with the pipe
	return s
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
		{"proxy --upstream http://x/v1 --mode sidecar --mcp-config x.json", "only the mode initial-call makes calls"},
		{"proxy --upstream http://x/v1 --mode initial-call --model x --speculate", "there are no servers to make calls on"},
		{"proxy --upstream http://x/v1 --listen 127.0.0.1:0 --mode initial-call --model " + dir, "not an adapter"},
		{"eval --initial-call x --dataset testdata/initial.json --split test", "needs an endpoint"},
		{"eval --calibrate 0.9 --dataset testdata/initial.json --split test", "it is an adapter that is calibrated"},
		{"eval --model http://127.0.0.1:1/v1/m --initial-call " + dir + " --dataset testdata/initial.json --split test", "there is no such adapter"},
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
