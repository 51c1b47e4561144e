package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"hone/internal/host"
	"hone/internal/proxy/initial"
	"hone/internal/screen"
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
	a.Data = screen.New(write)
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

// The openai client speaks through a proxy whose small model makes the first call, with a real hone serve as the upstream.
func (c *clients) testInitialCall(t *testing.T) {
	calibration := initial.Calibration{Bias: 9, Mean: 1, Min: 1, Threshold: 0.5}
	if err := calibration.SaveBeside(c.quiet); err != nil {
		t.Fatal(err)
	}
	upstream := c.serve()
	proxied := c.serving(t, "proxy", "--upstream", upstream.URL, "--upstream-key-env", "UPSTREAM_KEY", "--key-env", "PROXY_KEY",
		"--mode", "initial-call", "--model", c.quiet, "--context", "768", "--slots", "1", "--deadline", "2m")
	if _, err := c.run(t, "proxy_client.py", upstream.URL, clientKeys["UPSTREAM_KEY"], proxied.URL, clientKeys["PROXY_KEY"], upstream.Models[1]); err != nil {
		t.Error(err)
	}
}

// noisy is an upstream that answers as the model's name says: a right call, one that the fixer mends, one of a tool that does not exist, words.
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
	if arguments, calls := map[string]string{"right": `{"text": "cloud"}`, "mend": `{'text': 'cloud'}`, "wrong": `{"path": "/cloud"}`}[q.Model]; calls {
		name := "hash"
		if q.Model == "wrong" {
			name = "format_disk"
		}
		said, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"index": 0, "id": "u1", "type": "function",
			"function": map[string]any{"name": name, "arguments": arguments}}}}, "tool_calls"
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

// The openai client speaks through the sidecar's mode with a real model over a noisy upstream: what it gets, the header and the log agree on
// what became of each answer, and why.
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
	}{"right": {"untouched", false}, "mend": {"mended", false}, "wrong": {"revised", true}, "plain": {"untouched", false}} {
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
		for _, part := range []string{"mode=sidecar", "action=" + want.verdict, why[:min(len(why), 20)], fmt.Sprintf("decision.asked=%v", want.asked)} {
			if !strings.Contains(line, part) {
				t.Errorf("%s: the log's line lacks %q: %s", way, part, line)
			}
		}
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
		{"proxy --upstream http://x/v1 --mode sidecar --mcp-config x.json", "only the mode initial-call makes calls"},
		{"proxy --upstream http://x/v1 --mode initial-call --model x --speculate", "there are no servers to make calls on"},
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
