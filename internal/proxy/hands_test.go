package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// desk is servers in memory: hash reads, sell changes something. Each call is noted.
type desk struct {
	mu     sync.Mutex
	calls  []string
	closed int
	fails  error                 // of Open
	status trajectory.CallStatus // of results; "": ok
	block  bool                  // calls take until they are given up
	begun  chan struct{}         // a call that changes something has begun; nil: nobody waits for that
	goOn   chan struct{}         // it may go on
}

func (d *desk) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return atDesk{d}, d.fails
}

type atDesk struct{ *desk }

func (d atDesk) Call(ctx context.Context, calls []chat.ToolCall) (out []trajectory.ToolResult) {
	for _, c := range calls {
		d.mu.Lock()
		d.calls = append(d.calls, c.Name+c.Arguments)
		d.mu.Unlock()
		if d.block {
			<-ctx.Done()
		}
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: "49f6 by " + c.Name}
		if d.begun != nil {
			d.begun <- struct{}{}
			<-d.goOn
			if ctx.Err() != nil {
				r.Status, r.Text = trajectory.CallTimeout, "given up"
			}
		}
		if d.status != "" {
			r.Status, r.Text = d.status, "went wrong"
		}
		out = append(out, r)
	}
	return out
}

func (d atDesk) Probe(context.Context, chat.ToolCall) (r trajectory.ToolResult) { return r }
func (d atDesk) Dir(string) string                                              { return "" }

func (d atDesk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed++
	return nil
}

// made are the calls that were made, and how many sessions were closed.
func (d *desk) made() (calls []string, closed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls), d.closed
}

const both = `"tools":[{"type":"function","function":{"name":"hash","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}},` +
	`{"type":"function","function":{"name":"sell","parameters":{"type":"object"}}},{"type":"function","function":{"name":"mine","parameters":{"type":"object"}}}]`

func asks(more string) string {
	return `{"model":"big","messages":[{"role":"system","content":"S"},{"role":"user","content":"Hash <it>."}` + more +
		`],` + both + `}`
}

// acting is a proxy with servers, before an upstream that is a script.
type acting struct {
	*httptest.Server
	t    *testing.T
	desk *desk
	mode *InitialCall
	ends chan struct{} // a request was answered, or given up

	mu  sync.Mutex
	got []string // requests to the upstream
}

func (a *acting) upstream() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.got)
}

func act(
	t *testing.T, d *desk, speculate bool, model http.HandlerFunc,
	answer func(n int, w http.ResponseWriter, body string),
) *acting {
	t.Helper()
	a := &acting{t: t, desk: d, ends: make(chan struct{}, 16)}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.got = append(a.got, string(body))
		n := len(a.got)
		a.mu.Unlock()
		answer(n, w, string(body))
	}))
	t.Cleanup(up.Close)
	m := httptest.NewServer(model)
	t.Cleanup(m.Close)
	transport := &http.Transport{DisableKeepAlives: true}
	agent := &Agent{Client: &http.Client{Transport: transport}, URL: m.URL, Model: "small",
		Calibration: Calibration{Bias: 3, Min: 1, Threshold: 0.9}}
	mode := &InitialCall{
		Agent:    agent,
		Deadline: 20 * time.Second,
		Hands: &Hands{Tools: d, Speculate: speculate, ReadOnly: map[string]bool{"hash": true, "sell": false},
			Approve: func(_ context.Context, c chat.ToolCall) (string, bool) {
				return "the rule", !strings.Contains(c.Arguments, "forbidden")
			}},
	}
	a.mode = mode
	p, err := New(Options{
		Upstream: Upstream{URL: up.URL, Transport: transport, Stall: 20 * time.Second},
		Mode:     mode,
		Keys:     []string{"k1", "k2"},
		Logger:   slog.New(ending{slog.DiscardHandler, a.ends}),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Server = httptest.NewServer(p.Handler())
	t.Cleanup(a.Close)
	return a
}

// ending is a log that tells when an exchange has ended.
type ending struct {
	slog.Handler
	ends chan struct{}
}

func (ending) Enabled(context.Context, slog.Level) bool { return true }

func (e ending) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "exchange" {
		e.ends <- struct{}{}
	}
	return nil
}

func (a *acting) post(key, body string) (*http.Response, string) {
	a.t.Helper()
	q, err := http.NewRequestWithContext(a.t.Context(), "POST", a.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+key)
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body) // a stream that breaks off is what some look for
	return r, string(text)
}

func (a *acting) metrics() string {
	q, _ := http.NewRequestWithContext(a.t.Context(), "GET", a.URL+"/metrics", nil)
	q.Header.Set("Authorization", "Bearer k1")
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

func says(text string) func(int, http.ResponseWriter, string) {
	return func(_ int, w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, text) }
}

// A call that is sure, of the servers' and allowed is made, and the upstream goes on from the result; any other is the
// client's to make, and one that failed without an effect was never made.
func TestMakesTheCall(t *testing.T) {
	sureOf := func(name, arguments string) http.HandlerFunc { return small(call(name, arguments), -0.01) }
	for name, tc := range map[string]struct {
		desk   *desk
		model  http.HandlerFunc
		body   string
		header string
		made   int
		asked  string // the upstream: "": not; "result": goes on from a result; "same": with what the client sent
	}{
		"reads":                  {&desk{}, sureOf("hash", `{"text":"it"}`), asks(""), "executed; hash, confidence 0.95", 1, "result"},
		"writes":                 {&desk{}, sureOf("sell", `{}`), asks(""), "executed; sell", 1, "result"},
		"no tool of the servers": {&desk{}, sureOf("mine", `{}`), asks(""), "proposed; mine", 0, ""},
		"denied by the rules":    {&desk{}, sureOf("hash", `{"text":"forbidden"}`), asks(""), "proposed; hash", 0, ""},
		"a call is required": {&desk{}, sureOf("hash", `{"text":"it"}`),
			strings.TrimSuffix(asks(""), "}") + `,"tool_choice":"required"}`, "proposed; hash", 0, ""},
		"a read fails":            {&desk{status: trajectory.CallToolError}, sureOf("hash", `{"text":"it"}`), asks(""), "asked-upstream; call-failed", 1, "same"},
		"a read is lost":          {&desk{status: trajectory.CallTransportError}, sureOf("hash", `{"text":"it"}`), asks(""), "asked-upstream; call-failed", 1, "same"},
		"a write fails":           {&desk{status: trajectory.CallToolError}, sureOf("sell", `{}`), asks(""), "executed; sell", 1, "result"},
		"nobody knows of a write": {&desk{status: trajectory.CallTimeout}, sureOf("sell", `{}`), asks(""), "executed; sell", 1, "result"},
		"the servers do not open": {&desk{fails: errors.New("gone")}, sureOf("sell", `{}`), asks(""), "asked-upstream; call-failed", 0, "same"},
		"unsure of a read":        {&desk{}, small(call("hash", `{"text":"it"}`), -2), asks(""), "asked-upstream; unsure", 0, "same"},
		"the client has no tools": {&desk{}, sureOf("hash", `{"text":"it"}`),
			`{"messages":[{"role":"user","content":"hi"}]}`, "asked-upstream; no-tools", 0, "same"},
		"several, one not allowed":  {&desk{}, small(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"sell","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"mine","arguments":"{}"}}]}`, -0.01), asks(""), "proposed; sell", 0, ""},
		"several, and all are made": {&desk{}, small(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"hash","arguments":"{\"text\":\"a\"}"}},{"id":"b","type":"function","function":{"name":"sell","arguments":"{}"}}]}`, -0.01), asks(""), "executed; hash", 2, "result"},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.desk
			a := act(t, d, false, tc.model, says(upstreamSays))
			r, text := a.post("k1", tc.body)
			header := strings.TrimPrefix(r.Header.Get(DecisionHeader), "initial-call=")
			if r.StatusCode != 200 || !strings.HasPrefix(header, tc.header) {
				t.Errorf("status %d, header %q, want %q", r.StatusCode, header, tc.header)
			}
			if made, closed := d.made(); len(made) != tc.made || tc.made > 0 && closed != 1 {
				t.Errorf("made %q, want %d calls; %d sessions closed, want 1", made, tc.made, closed)
			}
			got := a.upstream()
			switch tc.asked {
			case "":
				if len(got) != 0 || !strings.Contains(text, `"id":"call_initial`) {
					t.Errorf("the upstream got %q, the client %s", got, text)
				}
			case "same":
				if len(got) != 1 || got[0] != tc.body || text != upstreamSays {
					t.Errorf("the upstream got %q, the client %s", got, text)
				}
			case "result":
				if len(got) != 1 {
					t.Fatalf("the upstream got %q", got)
				}
				goesOn(t, got[0], tc.made)
				want := strings.TrimSuffix(upstreamSays, "}") + `,"hone":{"steps":[`
				if !strings.HasPrefix(text, want) || strings.Count(text, `"status":`) != tc.made {
					t.Errorf("the client is told %s, want %s", text, want)
				}
			}
		})
	}
}

// goesOn holds that an upstream was shown the client's messages, then the calls with as many results, and nothing else
// was touched.
func goesOn(t *testing.T, body string, calls int) {
	t.Helper()
	var q struct{ Messages []chat.Message }
	if err := json.Unmarshal([]byte(body), &q); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(body,
		strings.TrimSuffix(asks("")[:strings.Index(asks(""), `],`)], "")+`,{"role":"assistant"`) ||
		!strings.HasSuffix(body, both+"}") {
		t.Errorf("the upstream got %s", body)
	}
	said := q.Messages[2:]
	if len(said) != 1+calls || len(said[0].ToolCalls) != calls {
		t.Fatalf("the upstream was told %+v, want %d calls with results", said, calls)
	}
	for i, c := range said[0].ToolCalls {
		if r := said[1+i]; !strings.HasPrefix(c.ID, mark) || r.ToolCallID != c.ID || r.Role != chat.ToolRole ||
			r.Content == "" {
			t.Errorf("call %+v, result %+v", c, r)
		}
	}
}

// upstreamCalls is an answer with a call of hash.
func upstreamCalls(id, arguments string) string {
	return fmt.Sprintf(`{"id":"u","choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":60,"completion_tokens":9,"total_tokens":69}}`,
		strings.Replace(call("hash", arguments), "call_0", id, 1))
}

// Of a call that is not sure and changes nothing the result is there when the upstream makes the same one; in all other
// cases the client gets what the upstream says, and nothing that changes something is made.
func TestSpeculates(t *testing.T) {
	unsure := small(call("hash", `{"text":"it"}`), -2)
	for name, tc := range map[string]struct {
		desk   *desk
		model  http.HandlerFunc
		first  string // of the upstream
		made   int
		agreed string // the counter's label; "": nothing was tried
	}{
		"the upstream agrees":        {&desk{}, unsure, upstreamCalls("x1", `{"text":"it"}`), 1, "agreed"},
		"in other spelling":          {&desk{}, unsure, upstreamCalls("x1", `{ "text" : "it" }`), 1, "agreed"},
		"other arguments":            {&desk{}, unsure, upstreamCalls("x1", `{"text":"him"}`), 1, "differed"},
		"one argument more":          {&desk{}, unsure, upstreamCalls("x1", `{"text":"it","salt":1}`), 1, "differed"},
		"arguments that are no JSON": {&desk{}, unsure, upstreamCalls("x1", `{"text":`), 1, "differed"},
		"an argument twice":          {&desk{}, unsure, upstreamCalls("x1", `{"text":"it","text":"it"}`), 1, "differed"},
		"it calls nothing":           {&desk{}, unsure, upstreamSays, 1, "differed"},
		"it makes the call twice": {
			&desk{}, unsure, strings.Replace(
				upstreamCalls("x1", `{"text":"it"}`), `"tool_calls":[`, `"tool_calls":[{"id":"x0","type":"function","function":{"name":"hash","arguments":"{\"text\":\"it\"}"}},`, 1,
			), 1, "differed",
		},
		"it cannot be read":                   {&desk{}, unsure, `{"choices":[{"message":{"role":"assistant","content":[{"type":"audio"}]}}]}`, 1, "differed"},
		"the call fails":                      {&desk{status: trajectory.CallToolError}, unsure, upstreamCalls("x1", `{"text":"it"}`), 1, "failed"},
		"the servers do not open":             {&desk{fails: errors.New("gone")}, unsure, upstreamCalls("x1", `{"text":"it"}`), 0, "failed"},
		"a call that changes something":       {&desk{}, small(call("sell", `{}`), -2), strings.Replace(upstreamCalls("x1", `{}`), `"hash"`, `"sell"`, 1), 0, ""},
		"a call that the rules do not allow":  {&desk{}, small(call("hash", `{"text":"forbidden"}`), -2), upstreamCalls("x1", `{"text":"forbidden"}`), 0, ""},
		"the call takes longer than upstream": {&desk{block: true}, unsure, upstreamCalls("x1", `{"text":"him"}`), 1, "differed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.desk
			a := act(t, d, true, tc.model, func(n int, w http.ResponseWriter, _ string) {
				_, _ = io.WriteString(w, []string{tc.first, `{"id":"u2","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":90,"completion_tokens":3,"total_tokens":93}}`}[n-1])
			})
			r, text := a.post("k1", asks(""))
			made, _ := d.made()
			if r.StatusCode != 200 || len(made) > tc.made || tc.agreed == "agreed" && len(made) != tc.made {
				t.Errorf("status %d, made %q, want %d", r.StatusCode, made, tc.made)
			}
			got, metrics := a.upstream(), a.metrics()
			if counted := strings.Contains(metrics,
				"hone:initial_call_speculated_total{"); counted != (tc.agreed != "") ||
				!strings.Contains(metrics, `hone:initial_call_speculated_total{result="`+tc.agreed) && counted {
				t.Errorf("want %q in %s", tc.agreed, metrics)
			}
			if got[0] != asks("") {
				t.Errorf("the upstream got %s", got[0])
			}
			if tc.agreed != "agreed" {
				if text != tc.first || len(got) != 1 {
					t.Errorf("the client is told %s, the upstream %q", text, got)
				}
				return
			}
			if len(got) != 2 || !strings.Contains(got[1],
				`{"role":"tool","content":"49f6 by hash","tool_call_id":"x1","name":"hash"}`) {
				t.Fatalf("the upstream got %q", got)
			}
			for _, want := range []string{
				`"content":"hello"`, `"prompt_tokens":150,"completion_tokens":12,"total_tokens":162`,
				`"hone":{"steps":[{"id":"x1"`,
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the client is told %s, which lacks %s", text, want)
				}
			}
			for _, want := range []string{
				`hone:user_turns_total{initial_call="speculated"} 1`,
				`hone:user_turn_upstream_requests_total{initial_call="speculated"} 2`,
				`hone:initial_call_executed_total{status="ok"} 1`,
			} {
				if !strings.Contains(metrics, want) {
					t.Errorf("lacks %s in %s", want, metrics)
				}
			}
		})
	}
}

// streams sends events.
func streams(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e+"\n\n")
	}
}

func chunkOf(delta, finish, more string) string {
	return `data: {"id":"u","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]` + more + `}`
}

// A stream tells of a call in a comment, before the upstream's own events, which follow as they came; of a speculation
// that agreed the usage is of both requests.
func TestStreamsTheMadeCall(t *testing.T) {
	text := []string{
		chunkOf(`{"role":"assistant","content":"hel"}`, "null", ""), chunkOf(`{"content":"lo"}`, `"stop"`,
			""), `data: {"id":"u","choices":[],"usage":{"prompt_tokens":90,"completion_tokens":3,"total_tokens":93}}`,
		"data: [DONE]",
	}
	calling := []string{chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"x1","type":"function","function":{"name":"hash","arguments":"{\"text\""}}]}`, "null", ""),
		chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":":\"it\"}"}}]}`, `"tool_calls"`, ""),
		`data: {"id":"u","choices":[],"usage":{"prompt_tokens":60,"completion_tokens":9}}`, "data: [DONE]"}
	wordy := append([]string{chunkOf(`{"role":"assistant","content":"Let me see."}`, "null", "")}, calling...)
	body := strings.TrimSuffix(asks(""), "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
	all := func(events []string) string { return strings.Join(events, "\n\n") + "\n\n" }
	for name, tc := range map[string]struct {
		logprob float64
		first   []string
		check   func(string) bool
	}{
		"sure": {-0.01, text, func(got string) bool {
			return strings.HasPrefix(got, `: hone.result {"id":"call_initial`) &&
				strings.HasSuffix(got, "\n\n"+all(text)) && strings.Count(got, "hone.result") == 1
		}},
		"agreed": {-2, calling, func(got string) bool {
			return strings.HasPrefix(got, `: hone.result {"id":"x1"`) && strings.Contains(got, all(text[:2])) &&
				strings.Contains(got, `"prompt_tokens":150,"completion_tokens":12,"total_tokens":162`) &&
				!strings.Contains(got, "tool_calls")
		}},
		"words before the call": {-2, wordy, func(got string) bool { return got == all(wordy) }},
	} {
		t.Run(name, func(t *testing.T) {
			a := act(t, &desk{}, true,
				small(call("hash", `{"text":"it"}`), tc.logprob), func(n int, w http.ResponseWriter, _ string) {
					streams(w, [][]string{tc.first, text}[n-1]...)
				})
			if _, got := a.post("k1", body); !tc.check(got) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Where the upstream goes on with calls of its own the client does not know of the first one: it is put back where it
// was, for this client alone.
func TestRemembersTheMadeCall(t *testing.T) {
	a := act(t, &desk{}, false,
		small(call("hash", `{"text":"it"}`), -0.01), func(n int, w http.ResponseWriter, _ string) {
			if n == 1 {
				_, _ = io.WriteString(w, upstreamCalls("x9", `{"text":"more"}`))
				return
			}
			_, _ = io.WriteString(w, upstreamSays)
		})
	a.post("k1", asks(""))
	later := `,{"role":"assistant","content":null,"tool_calls":[{"id":"x9","type":"function","function":{"name":"hash","arguments":"{\"text\":\"more\"}"}}]},{"role":"tool","tool_call_id":"x9","content":"abcd"}`
	a.post("k2", asks(later))
	if got := a.upstream()[1]; got != asks(later) {
		t.Errorf("another client's request became %s", got)
	}
	r, text := a.post("k1", asks(later))
	got := a.upstream()[2]
	hashed, own := strings.Index(got, "49f6 by hash"), strings.Index(got, `"x9"`)
	if r.Header.Get(DecisionHeader) != "initial-call=went-on" || hashed < 0 || own < hashed ||
		strings.Contains(text, "hone") {
		t.Errorf("header %q, the upstream got %s, the client %s", r.Header.Get(DecisionHeader), got, text)
	}
	metrics := a.metrics()
	for _, want := range []string{
		`hone:initial_call_repeated_total{} 1`, `hone:user_turn_upstream_requests_total{initial_call="with"} 2`,
		`hone:user_turn_upstream_requests_total{initial_call="without"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("lacks %s in %s", want, metrics)
		}
	}
}

// Upstreams that break the protocol behind a call that was made: the client has an error of the API's form, and where
// it asks again the call is not made again.
func TestAFailingUpstreamMakesNoCallTwice(t *testing.T) {
	for name, fail := range map[string]func(w http.ResponseWriter){
		"500":              func(w http.ResponseWriter) { w.WriteHeader(500) },
		"429":              func(w http.ResponseWriter) { w.WriteHeader(429) },
		"HTML":             func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"closes":           func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"a stream cut off": func(w http.ResponseWriter) { streams(w, chunkOf(`{"content":"hel"}`, "null", "")) },
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, stream), func(t *testing.T) {
				d := &desk{}
				a := act(t, d, false, small(call("sell", `{}`), -0.01), func(n int, w http.ResponseWriter, _ string) {
					if n == 1 {
						fail(w)
						return
					}
					_, _ = io.WriteString(w, upstreamSays)
				})
				body := asks("")
				if stream {
					body = strings.TrimSuffix(body, "}") + `,"stream":true}`
				}
				if _, text := a.post("k1", body); !strings.Contains(text, `"error":{`) {
					t.Errorf("got %s", text)
				}
				a.post("k1", body)
				got := a.upstream()
				if made, _ := d.made(); len(made) != 1 || len(got) != 2 || !strings.Contains(got[1], "49f6 by sell") {
					t.Errorf("made %q, the upstream got %q", made, got)
				}
				a.post("k1", body)
				if made, _ := d.made(); len(made) != 2 {
					t.Errorf("asked anew, %q was made", made)
				}
			})
		}
	}
}

// A client that leaves while a call is tried ends it.
func TestDisconnectEndsATriedCall(t *testing.T) {
	asked, leave := make(chan struct{}), make(chan struct{})
	d := &desk{block: true}
	a := act(t, d, true, small(call("hash", `{"text":"it"}`), -2), func(_ int, _ http.ResponseWriter, _ string) {
		close(asked)
		<-leave
	})
	ctx, cancel := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", a.URL+"/v1/chat/completions", strings.NewReader(asks("")))
	q.Header.Set("Authorization", "Bearer k1")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q); err == nil {
			r.Body.Close()
		}
	}()
	<-asked
	cancel()
	<-gone
	close(leave) // the desk's call, if it was begun, ends with the request: else the leak check fails
}

// A client that leaves while a call changes something does not cut it off, and where it asks again the call is not made
// again.
func TestDisconnectCutsNoWriteOff(t *testing.T) {
	d := &desk{begun: make(chan struct{}), goOn: make(chan struct{})}
	a := act(t, d, false, small(call("sell", `{}`), -0.01), says(upstreamSays))
	ctx, cancel := context.WithCancel(t.Context())
	q := httptest.NewRequest("POST", a.URL+"/v1/chat/completions", strings.NewReader(asks(""))).WithContext(ctx)
	q.Header.Set("Authorization", "Bearer k1")
	go a.Config.Handler.ServeHTTP(httptest.NewRecorder(), q)
	<-d.begun
	cancel()
	close(d.goOn)
	<-a.ends
	a.post("k1", asks(""))
	if made, _ := d.made(); len(made) != 1 || len(a.upstream()) != 1 ||
		!strings.Contains(a.upstream()[0], "49f6 by sell") {
		t.Errorf("made %q, the upstream got %q", made, a.upstream())
	}
}

// The oldest are forgotten.
func TestMemoryIsBounded(t *testing.T) {
	var m memory
	for i := range 2 * mostKept {
		m.keep(fmt.Sprint(i), hidden{label: with})
	}
	if _, ok := m.find(fmt.Sprint(mostKept - 1)); ok || len(m.kept) != mostKept || len(m.order) != mostKept {
		t.Errorf("%d kept, %d in order", len(m.kept), len(m.order))
	}
	if _, ok := m.find(fmt.Sprint(mostKept)); !ok {
		t.Error("one of the newer is forgotten")
	}
	m.keep(retried+"k", hidden{label: with})
	if w, err := m.begin(t.Context(), "k", false); w == nil || err != nil || len(m.order) != mostKept-1 {
		t.Errorf("%+v, %v, %d in order", w, err, len(m.order))
	}
}
