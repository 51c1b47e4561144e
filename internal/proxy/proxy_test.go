package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/chat"
	"hone/internal/serve"
)

// The clock of patterns in schemas ends by itself, a little after their last use.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

// upstreamFunc answers in an upstream's place.
type upstreamFunc func(w http.ResponseWriter, r *http.Request, body []byte)

// start runs a proxy before an upstream.
func start(t *testing.T, answer upstreamFunc, change func(*Options)) *httptest.Server {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer(w, r, body)
	}))
	t.Cleanup(up.Close)
	return startAt(t, up.URL+"/v1", change)
}

func startAt(t *testing.T, url string, change func(*Options)) *httptest.Server {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := Options{Upstream: Upstream{URL: url, Transport: transport}}
	if change != nil {
		change(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(p.Handler())
	t.Cleanup(h.Close)
	return h
}

// post sends a chat completion, and returns all of the answer.
func post(t *testing.T, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body) // a stream that broke off is what some tests look for
	return r, string(text)
}

const (
	asked    = `{"model":"big","messages":[{"role":"user","content":"hi"}],"strange_knob": {"b":1.0, "a":2}}`
	streamed = `{"model":"big","messages":[{"role":"user","content":"hi"}],"stream":true}`
	answered = `{"id":"c1","object":"chat.completion","created":7,"model":"big","choices":[{"index":0,"message":{"role":"assistant","content":"yes","odd":[1.0]},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2},"vendor":{"z":1,"a":2}}`
)

func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

func delta(text string) string {
	return fmt.Sprintf(
		`data: {"id":"c1","model":"big","x":1.0,"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text,
	)
}

const (
	finished = `data: {"id":"c1","model":"big","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done     = "data: [DONE]"
)

// What a client sends arrives as it was sent, with the proxy's key in place of the client's; what the upstream says
// arrives as it said it.
func TestPassesThrough(t *testing.T) {
	var got []byte
	var header http.Header
	p := start(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		got, header = body, r.Header
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Ratelimit-Remaining-Tokens", "17")
		w.Header().Set("X-Request-Id", "theirs")
		_, _ = io.WriteString(w, answered)
	}, func(o *Options) { o.Upstream.Key, o.Keys = "upstream-key", []string{"client-key"} })
	r, body := post(t, p.URL, asked, "Authorization", "Bearer client-key", "X-Request-Id", "mine")
	if r.StatusCode != 200 || body != answered {
		t.Errorf("status %d: %s", r.StatusCode, body)
	}
	if string(got) != asked {
		t.Errorf("the upstream got %s", got)
	}
	if header.Get("Authorization") != "Bearer upstream-key" || strings.Contains(fmt.Sprint(header), "client-key") {
		t.Errorf("the upstream got the headers %v", header)
	}
	if header.Get("X-Request-Id") != "mine" || r.Header.Get("X-Request-Id") != "mine" ||
		r.Header.Get("X-Upstream-Request-Id") != "theirs" || r.Header.Get("X-Ratelimit-Remaining-Tokens") != "17" {
		t.Errorf("headers %v", r.Header)
	}
	if strings.Contains(fmt.Sprint(r.Header), "upstream-key") {
		t.Errorf("the client got the headers %v", r.Header)
	}
	if r, body := post(t, p.URL, asked, "Authorization", "Bearer upstream-key"); r.StatusCode != 401 {
		t.Errorf("the upstream's key opens the proxy: %d %s", r.StatusCode, body)
	}
	if metrics := scrape(t, p.URL, "client-key"); !strings.Contains(metrics, "hone:upstream_prompt_tokens_total{} 5") ||
		!strings.Contains(metrics, "hone:upstream_completion_tokens_total{} 2") {
		t.Errorf("usage is not counted: %s", metrics)
	}
}

func scrape(t *testing.T, url, key string) string {
	t.Helper()
	q, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/metrics", nil)
	q.Header.Set("Authorization", "Bearer "+key)
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

// The model that the upstream knows goes in the place of the client's, and nothing else changes.
func TestUpstreamModel(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{asked, strings.Replace(asked, `"big"`, `"huge"`, 1)},
		{`{ "messages" : [] }`, `{ "messages" : [] ,"model":"huge"}`},
		{`{}`, `{"model":"huge"}`},
	} {
		var got string
		p := start(t, func(w http.ResponseWriter, _ *http.Request, body []byte) {
			got = string(body)
			_, _ = io.WriteString(w, answered)
		}, func(o *Options) { o.Upstream.Model = "huge" })
		if post(t, p.URL, tc.body); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

// A stream goes on event by event: the client has one before the upstream sends the next.
func TestStreamsEventByEvent(t *testing.T) {
	next := make(chan struct{})
	defer close(next)
	events := []string{": waiting", delta("a"), delta("b"), finished, done}
	p := start(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		for _, e := range events {
			sse(w, e)
			<-next
		}
	}, nil)
	q, _ := http.NewRequestWithContext(t.Context(), "POST", p.URL+"/v1/chat/completions", strings.NewReader(streamed))
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for _, want := range events {
		lines.Scan()
		if lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
		lines.Scan() // the empty line
		next <- struct{}{}
	}
}

// hostile are upstreams that break the protocol, and what a client is told, whether it asked for a stream or not: the
// status, and the code of the error.
func hostile() map[string]struct {
	answer         upstreamFunc
	status         int
	code           string
	streamedStatus int    // 0: status
	streamedCode   string // "": code
} {
	type row = struct {
		answer         upstreamFunc
		status         int
		code           string
		streamedStatus int
		streamedCode   string
	}
	raw := func(text string) upstreamFunc {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			c, b, _ := w.(http.Hijacker).Hijack()
			_, _ = b.WriteString(text)
			_ = b.Flush()
			_ = c.Close()
		}
	}
	status := func(code int, body string) upstreamFunc {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	return map[string]row{
		"closes the connection": {raw(""), 502, "upstream_unreachable", 0, ""},
		"is no HTTP":            {raw("SSH-2.0-x\r\n"), 502, "upstream_unreachable", 0, ""},
		"500 in the API's form": {status(500, `{"error":{"message":"out of memory","code":"theirs"}}`), 500, "theirs", 0, ""},
		"400 in the API's form": {status(400, `{"error":{"message":"bad","code":"context_length_exceeded"}}`), 400, "context_length_exceeded", 0, ""},
		"502 of a gateway":      {status(502, "<html>Bad Gateway</html>"), 502, "upstream_502", 0, ""},
		"503 in plain text":     {status(503, "busy"), 503, "upstream_503", 0, ""},
		"429 in plain text":     {status(429, "slow down"), 429, "upstream_429", 0, ""},
		"401 tells the key": {
			status(401, `{"error":{"message":"Incorrect API key provided: sk-upstream","code":"invalid_api_key"}}`),
			502, "upstream_unauthorized", 0, "",
		},
		"sends elsewhere": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
		}, 502, "upstream_307", 0, ""},
		"204":                  {status(204, ""), 502, "upstream_204", 0, ""},
		"says nothing":         {func(_ http.ResponseWriter, r *http.Request, _ []byte) { <-r.Context().Done() }, 504, "upstream_timeout", 0, ""},
		"HTML with status 200": {status(200, "<html>welcome</html>"), 502, "upstream_invalid", 0, ""},
		"half of a JSON":       {status(200, answered[:80]), 502, "upstream_invalid", 0, ""},
		"an empty body":        {status(200, ""), 502, "upstream_invalid", 0, ""},
		"a length that is too long": {
			raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n" + answered), 502,
			"upstream_cut", 0, "",
		},
		"a length that is too short": {
			raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n" + answered), 502,
			"upstream_invalid", 0, "",
		},
		"a chunk cut off": {
			raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" +
				delta("a")), 502, "upstream_invalid", 502, "upstream_cut",
		},
		"a stream without an end": {func(w http.ResponseWriter, _ *http.Request, _ []byte) { sse(w, delta("a")) },
			502, "upstream_invalid", 200, "upstream_cut"},
		"a stream that stalls": {
			func(w http.ResponseWriter, r *http.Request, _ []byte) { sse(w, delta("a")); <-r.Context().Done() }, 502,
			"upstream_invalid", 200, "upstream_timeout",
		},
		"a stream that is no JSON": {
			func(w http.ResponseWriter, _ *http.Request, _ []byte) { sse(w, delta("a"), "data: {oops", done) }, 502,
			"upstream_invalid", 200, "upstream_invalid",
		},
		"an error in the stream": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			sse(w, delta("a"), `data: {"error":{"message":"gone","code":"theirs"}}`)
		}, 502, "upstream_invalid", 200, "theirs"},
		"an event without end": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: \""+strings.Repeat("a", 2<<20))
		}, 502, "upstream_invalid", 502, "upstream_too_long"},
		"an answer without end": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			part := bytes.Repeat([]byte(" "), 1<<20)
			for range 2 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, 502, "upstream_too_long", 0, ""},
	}
}

// Whatever an upstream does, the client has an answer of the API's form, and soon.
func TestHostileUpstreams(t *testing.T) {
	for name, tc := range hostile() {
		t.Run(name, func(t *testing.T) {
			stall := time.Minute // a slow machine is no upstream that stalls
			switch name {
			case "says nothing":
				stall = 150 * time.Millisecond
			case "a stream that stalls":
				stall = 3 * time.Second // its beginning has to come in that time
			}
			p := start(t, tc.answer, func(o *Options) {
				o.Upstream.Stall, o.Upstream.Key, o.Upstream.Most = stall, "sk-upstream", 1<<20
			})
			for _, asksStream := range []bool{false, true} {
				body, status, code := asked, tc.status, tc.code
				if asksStream {
					body = streamed
					if tc.streamedStatus != 0 {
						status, code = tc.streamedStatus, tc.streamedCode
					}
				}
				r, text := post(t, p.URL, body)
				if r.StatusCode != status || !strings.Contains(text, `"error":{`) ||
					!strings.Contains(text, fmt.Sprintf(`"code":%q`, code)) || strings.Contains(text, "sk-upstream") {
					t.Errorf("stream %v: status %d, want %d, code %s: %.300s",
						asksStream, r.StatusCode, status, code, text)
				}
				if status == 200 && (!strings.Contains(text, delta("a")) || strings.Contains(text, done)) {
					t.Errorf("the stream does not tell what came, or that it broke off: %s", text)
				}
			}
		})
	}
}

// An upstream that is not there is told of without its address.
func TestUpstreamIsDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	var log bytes.Buffer
	p := startAt(t, "http://"+address+"/v1", func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	r, text := post(t, p.URL, asked)
	if r.StatusCode != 502 || !strings.Contains(text, "upstream_unreachable") || strings.Contains(text, address) {
		t.Errorf("status %d: %s", r.StatusCode, text)
	}
	if !strings.Contains(log.String(), address) {
		t.Errorf("the log does not say why: %s", log.String())
	}
}

// A client that leaves ends the upstream's work.
func TestDisconnectCancelsUpstream(t *testing.T) {
	begun, cancelled := make(chan struct{}, 2), make(chan struct{}, 2)
	p := start(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		if bytes.Contains(body, []byte(`"stream":true`)) {
			sse(w, delta("a"))
		}
		begun <- struct{}{}
		<-r.Context().Done()
		cancelled <- struct{}{}
	}, nil)
	for _, body := range []string{asked, streamed} {
		ctx, leave := context.WithCancel(t.Context())
		q, _ := http.NewRequestWithContext(ctx, "POST", p.URL+"/v1/chat/completions", strings.NewReader(body))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q); err == nil {
				_, _ = io.ReadAll(r.Body)
				r.Body.Close()
			}
		}()
		<-begun
		leave()
		<-cancelled // else the test does not end
		<-ended
	}
	// who hung up is counted so, else the test does not end
	for metrics := ""; strings.Count(metrics, `action="abandoned"} 2`) == 0; metrics = scrape(t, p.URL, "") {
		if strings.Contains(metrics, "shutting_down") {
			t.Fatal(metrics)
		}
	}
}

// More requests than are taken at once are turned away, with when to come again; what is under way when the proxy stops
// is finished.
func TestTurnsAwayAndDrains(t *testing.T) {
	begun, free := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-free
		_, _ = io.WriteString(w, answered)
	}))
	defer up.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	p, err := New(Options{Upstream: Upstream{URL: up.URL, Transport: transport}, Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	var first sync.WaitGroup
	first.Go(func() {
		if r, body := post(t, url, asked); r.StatusCode != 200 || body != answered {
			t.Errorf("the request under way: status %d: %s", r.StatusCode, body)
		}
	})
	<-begun
	if r, body := post(t, url, asked); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" ||
		!strings.Contains(body, "queue_full") {
		t.Errorf("a second one: status %d: %s", r.StatusCode, body)
	}
	stop()
	close(free)
	first.Wait()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What is under way behind the time that the end gives is told so: as an answer where none has begun, else in its
// stream.
func TestCutsOff(t *testing.T) {
	begun := make(chan struct{}, 1)
	waits := mode(func(ctx context.Context, _ *Exchange) error {
		begun <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("asking the model: %w", ctx.Err())
	})
	for name, tc := range map[string]struct {
		begins bool
		mode   Mode
		want   string
	}{
		"before an answer": {want: "503 {\"error\":{"},
		"in a stream":      {begins: true, want: "200 data: {"},
		"in a mode":        {mode: waits, want: "503 {\"error\":{"},
	} {
		begins := tc.begins
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if begins {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, calls+"\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			begun <- struct{}{}
			_, _ = io.Copy(io.Discard, r.Body) // only behind the body is it seen that a client hangs up
			<-r.Context().Done()
		}))
		transport := &http.Transport{}
		p, err := New(Options{Upstream: Upstream{URL: up.URL, Transport: transport}, Grace: time.Nanosecond,
			Mode: tc.mode})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		ended := make(chan error, 1)
		go func() { ended <- p.Serve(ctx, l) }()
		if !begins {
			go func() {
				<-begun
				stop()
			}()
		}
		// else one that nobody tells waits as long as the test may
		client := &http.Client{Timeout: time.Minute, Transport: transport}
		r, err := client.Post("http://"+l.Addr().String()+"/v1/chat/completions", "application/json",
			strings.NewReader(strings.Replace(asked, "{", fmt.Sprintf(`{"stream":%t,`, begins), 1)))
		if err != nil {
			t.Fatal(err)
		}
		if begins { // the client is told that it began
			<-begun
			stop()
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if told := fmt.Sprintf("%d %s", r.StatusCode, text); !strings.HasPrefix(told, tc.want) ||
			!strings.Contains(told, `"code":"shutting_down"`) || strings.Contains(told, "[DONE]") {
			t.Errorf("%s: %s", name, told)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		up.Close()
	}
}

func TestRefusesBodies(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) { t.Error("it was sent on") }, nil)
	for body, status := range map[string]int{
		"": 400, "[]": 400, "{": 400, "null": 400, `{"stream":"yes"}`: 400, `{"a":` + strings.Repeat("[", 20000): 400,
		`{"a":"` + strings.Repeat("a", maxBody) + `"}`: 413,
	} {
		if r, text := post(t, p.URL, body); r.StatusCode != status || !strings.Contains(text, `"error":{`) {
			t.Errorf("%.40q: status %d, want %d: %s", body, r.StatusCode, status, text)
		}
	}
	if _, err := New(Options{Upstream: Upstream{URL: "http://user:secret@host/v1"}}); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// mode is one for tests.
type mode func(ctx context.Context, x *Exchange) error

func (mode) Name() string                                    { return "test" }
func (mode) Metrics() map[string]string                      { return nil }
func (m mode) Answer(ctx context.Context, x *Exchange) error { return m(ctx, x) }

const calls = `data: {"id":"c1","model":"big","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_9","type":"function","function":{"name":"add","arguments":"{\"a\":"}}]},"finish_reason":null}]}`
const callsOn = `data: {"id":"c1","model":"big","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":null}]}`
const callsEnd = `data: {"id":"c1","model":"big","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`

// A mode sees a whole answer and may change it: the client gets the change in the form it asked for, with all else of
// the upstream's.
func TestModeChangesCalls(t *testing.T) {
	wholeCalls := `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"so","odd":1.0,"tool_calls":[{"id":"call_9","type":"function","function":{"name":"add","arguments":{"a": 1}}}]},"finish_reason":"tool_calls"}],"vendor":{"z":1}}`
	change := mode(func(ctx context.Context, x *Exchange) error {
		a, err := x.Follow(ctx, x.Body, nil)
		if err != nil {
			return err
		}
		if len(a.Message.ToolCalls) != 1 || a.Message.ToolCalls[0].Name != "add" ||
			strings.ReplaceAll(a.Message.ToolCalls[0].Arguments, " ", "") != `{"a":1}` || a.Message.Content != "so" {
			t.Errorf("read %+v", a.Message)
		}
		a.Message.ToolCalls[0].Arguments = `{"a":2}`
		a.Replace(a.Message, a.FinishReason)
		x.Decide("revised", "a is 2\nnow")
		return x.Tell(a)
	})
	p := start(t, func(w http.ResponseWriter, _ *http.Request, body []byte) {
		if bytes.Contains(body, []byte(`"stream":true`)) {
			sse(w, delta("so"), calls, callsOn, callsEnd, done)
			return
		}
		_, _ = io.WriteString(w, wholeCalls)
	}, func(o *Options) { o.Mode = change })
	r, text := post(t, p.URL, asked)
	for _, want := range []string{
		`"arguments":"{\"a\":2}"`, `"odd":1.0`, `"vendor":{"z":1}`, `"id":"call_9"`, `"content":"so"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s: %s", want, text)
		}
	}
	if r.Header.Get(DecisionHeader) != "test=revised; a is 2?now" || !json.Valid([]byte(text)) {
		t.Errorf("header %q, %s", r.Header.Get(DecisionHeader), text)
	}
	_, text = post(t, p.URL, streamed)
	want := []string{delta("so"), ": hone-decision test=revised; a is 2?now", `"arguments":"{\"a\":2}"`,
		`"finish_reason":"tool_calls"`, done}
	at := 0
	for _, w := range want {
		i := strings.Index(text[at:], w)
		if i < 0 {
			t.Fatalf("lacks %s, or not in order: %s", w, text)
		}
		at += i
	}
	if strings.Contains(text, `"{\"a\":"`) || strings.Count(text, `"so"`) != 1 {
		t.Errorf("what was changed is told too, or text twice: %s", text)
	}
}

// A mode's own answer takes the form that the client asked for; the upstream is not asked.
func TestModeAnswersItself(t *testing.T) {
	p := start(t, func(http.ResponseWriter, *http.Request, []byte) { t.Error("the upstream was asked") },
		func(o *Options) {
			o.Mode = mode(func(_ context.Context, x *Exchange) error {
				a, err := x.NewAnswer(
					chat.Message{Role: chat.Assistant,
						ToolCalls: []chat.ToolCall{{ID: "c", Name: "add", Arguments: "{}"}}}, "tool_calls", "hone",
					Usage{1, 2, 3},
				)
				if err != nil {
					return err
				}
				x.Decide("proposed", "")
				return x.Tell(a)
			})
		})
	if r, text := post(t, p.URL, asked); r.StatusCode != 200 || !strings.Contains(text, `"name":"add"`) ||
		!strings.Contains(text, `"model":"big"`) {
		t.Errorf("%d: %s", r.StatusCode, text)
	}
	r, text := post(t, p.URL, strings.Replace(streamed, "{", `{"stream_options":{"include_usage":true},`, 1))
	for _, want := range []string{
		`"role":"assistant"`, `"name":"add"`, `"finish_reason":"tool_calls"`, `"completion_tokens":2`, done,
		"chat.completion.chunk",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s: %s", want, text)
		}
	}
	if r.Header.Get(DecisionHeader) != "test=proposed" {
		t.Errorf("header %v", r.Header)
	}
}

// What a mode leaves alone arrives as it was, whether it was held or not; and an upstream that does not stream where it
// was asked to is told as a stream.
func TestModeLeavesAlone(t *testing.T) {
	events := []string{": wait", delta("so"), calls, callsOn, callsEnd, done}
	for name, hold := range map[string]func(string) bool{
		"calls are held": nil,
		"all is held":    func(string) bool { return true },
	} {
		p := start(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) { sse(w, events...) }, func(o *Options) {
			o.Mode = mode(func(ctx context.Context, x *Exchange) error {
				a, err := x.Follow(ctx, x.Body, hold)
				if err != nil {
					return err
				}
				return x.Tell(a)
			})
		})
		if _, text := post(t, p.URL, streamed); text != strings.Join(events, "\n\n")+"\n\n" {
			t.Errorf("%s: %s", name, text)
		}
	}
	p := start(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) { _, _ = io.WriteString(w, answered) }, nil)
	if _, text := post(t, p.URL, streamed); !strings.Contains(text, `"content":"yes"`) ||
		!strings.HasSuffix(text, done+"\n\n") {
		t.Error(text)
	}
}

// Each route is closed to who has no key, but for the one that says whether the proxy lives.
func TestEveryRouteIsGuarded(t *testing.T) {
	p, err := New(Options{Upstream: Upstream{URL: "http://127.0.0.1:1/v1"}, Keys: []string{"right"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(p.routes(), serve.Route{Method: "POST", Path: "/v1/elsewhere"}) {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(r.Method, r.Path, strings.NewReader("{}")))
		if open := r.Path == "/health"; open != (w.Code == 200) || !open && w.Code != 401 {
			t.Errorf("%s %s: status %d", r.Method, r.Path, w.Code)
		}
	}
}
