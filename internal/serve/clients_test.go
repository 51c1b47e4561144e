package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/text/grammar"
)

// Calls have ids that no other call has, and where they come back the model sees the numbers that training gave them.
func TestCallsAreUniqueAndNumbered(t *testing.T) {
	r := &reading{first: 2, unique: strings.Repeat("ab", 12), reader: &reader{}, decoder: decoder{}}
	var got []chat.Delta
	for _, id := range ids("CALL now {}") {
		got = append(got, r.next(id)...)
	}
	got = append(got, r.close(&policy.Completion{})...)
	if id := got[0].Call.ID; id != "call_2_abababababababababababab" || !isTold(id) {
		t.Fatalf("id %s", id)
	}
	a, b := newID("")[1:], newID("")[1:]
	call := func(id string) chat.Message {
		return chat.Message{Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: id, Name: "n" + id[:6], Arguments: "{}"}}}
	}
	result := func(id string) chat.Message { return chat.Message{Role: chat.ToolRole, ToolCallID: id} }
	// Two conversations put together, and a call that the client made.
	messages := []chat.Message{call(callID(0, a)), result(callID(0, a)), call(callID(0, b)), call("toolu_1"),
		result(callID(0, b)), result("toolu_1")}
	if refused := checkMessages(messages); refused != nil {
		t.Fatal(refused)
	}
	for i, want := range []string{"call_0", "call_0", "call_1", "toolu_1", "call_1", "toolu_1"} {
		m := messages[i]
		if m.Role == chat.Assistant && m.ToolCalls[0].ID != want || m.Role == chat.ToolRole && m.ToolCallID != want {
			t.Errorf("message %d is %+v, want %s", i, m, want)
		}
	}
	if messages[5].Name != "ntoolu_" || messages[1].Name != "ncall_0" {
		t.Errorf("results are of %q and %q", messages[5].Name, messages[1].Name)
	}
	for _, id := range []string{
		"call_0", "call_x_" + a, "call_0_" + a + "0", "call_0_" + strings.ToUpper(a[:23]) + "Z", "toolu_" + a,
	} {
		if isTold(id) {
			t.Errorf("%s is told here", id)
		}
	}
}

// Results have their tools' names in chat completions and where tokens are counted, as some templates write them.
func TestResultsHaveNames(t *testing.T) {
	s := &sampler{says: "x"}
	o := Options{Models: []Model{model(s)}}
	var seen []chat.Message
	o.Models[0].Renderer = watching{seen: &seen}
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := server.Handler()
	body := `"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"hash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"}]}`
	for _, path := range []string{"/v1/chat/completions", "/tokenize"} {
		if w := through(h, path, `{"model":"m",`+body); w.Code != 200 || seen[len(seen)-1].Name != "hash" {
			t.Errorf("%s: %d, %+v", path, w.Code, seen)
		}
	}
}

type watching struct {
	runes
	seen *[]chat.Message
}

func (w watching) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	*w.seen = messages
	return w.runes.Prompt(messages, tools)
}

// Where no tools are offered nothing is read as a call.
func TestReadersKnowWhetherToolsAreOffered(t *testing.T) {
	s := &sampler{says: "x"}
	m, offered := model(s), false
	m.Read = func(_ []int32, tools []chat.Tool) Reader { offered = len(tools) > 0; return &reader{} }
	server, err := New(Options{Models: []Model{m}})
	if err != nil {
		t.Fatal(err)
	}
	tools := `,"tools":[{"type":"function","function":{"name":"hash"}}]`
	for more, want := range map[string]bool{"": false, tools: true, tools + `,"tool_choice":"none"`: false} {
		if w := through(server.Handler(), "/v1/chat/completions", hi+more+"}"); w.Code != 200 || offered != want {
			t.Errorf("%s: %d, %v", more, w.Code, offered)
		}
	}
}

// What coding agents write for the bills of another server is no part of the prompt, and a tool may show what the model
// cannot read.
func TestWhatCodingAgentsSend(t *testing.T) {
	s := &sampler{says: "x", err: &policy.ContextError{NumPrompt: 5000, MaxContext: 4096}}
	h := start(t, s, nil)
	status, body := send(t, "POST", h.URL+"/v1/messages", `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1; cch=1f;"},{"type":"text","text":"Be brief."}],
		"messages":[{"role":"user","content":"see"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aa"}}]}]}]}`)
	if got := text(s.asked[0].Prompt); !strings.HasPrefix(got, "system:Be brief.\n") ||
		!strings.Contains(got, "one\n[image: this model reads text alone]") {
		t.Errorf("prompt %q", got)
	}
	if status != 400 ||
		!strings.Contains(strings.ReplaceAll(body, `\u003e`, ">"), "prompt is too long: 5000 tokens > 4096 maximum") ||
		!strings.Contains(body, "maximum context length is 4096 tokens") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := send(t, "POST", h.URL+"/v1/chat/completions",
		hi+`,"reasoning_effort":"low","verbosity":"low"}`); status != 400 || !strings.Contains(body, "too long") {
		t.Errorf("status %d: %s", status, body)
	}
}

// An image in a tool's result, and what the provider's own tools did, end no conversation, in whatever dialect.
func TestResultsThatAreNoText(t *testing.T) {
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,aa"}}`
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"see"},{"role":"assistant","content":null,
			"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"one"},` + image + `]}]}`,
		"/v1/responses": `{"model":"m","input":[{"role":"user","content":"see"},{"type":"function_call","call_id":"a","name":"look","arguments":"{}"},
			{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"x"}]}]}`,
		"/v1/messages": `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"see"},{"role":"assistant","content":[
			{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},
			{"type":"tool_use","id":"a","name":"look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"image","source":{}}]}]}]}`,
	} {
		s := &sampler{says: "x"}
		h := start(t, s, nil)
		if status, said := send(t, "POST", h.URL+path, body); status != 200 {
			t.Errorf("%s: status %d: %s", path, status, said)
		} else if got := text(s.asked[0].Prompt); !strings.Contains(got, "one") ||
			!strings.Contains(got, ": this model reads text alone]") {
			t.Errorf("%s: prompt %q", path, got)
		}
	}
	body := `{"model":"m","messages":[{"role":"user","content":[` + image + `]}]}`
	if status, _ := send(t, "POST", start(t, &sampler{says: "x"}, nil).URL+"/v1/chat/completions",
		body); status != 400 {
		t.Errorf("an image of the user: status %d", status)
	}
}

// The result of a second call is not shown under the first one, which has none.
func TestResultsOfSomeCalls(t *testing.T) {
	for results, want := range map[string]int{"": 200, "a": 200, "b": 400, "ba": 200, "ab": 200} {
		body := `{"model":"m","messages":[{"role":"user","content":"see"},{"role":"assistant","content":null,"tool_calls":[
			{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}},
			{"id":"b","type":"function","function":{"name":"look","arguments":"{}"}}]}`
		for _, id := range results {
			body += fmt.Sprintf(`,{"role":"tool","tool_call_id":"%c","content":"of %c"}`, id, id)
		}
		body += `,{"role":"user","content":"and?"}]}`
		if status, said := send(t, "POST", start(t, &sampler{says: "x"}, nil).URL+"/v1/chat/completions",
			body); status != want {
			t.Errorf("results of %q: status %d: %s", results, status, said)
		}
	}
}

// A model is told of by its name, which may be a path.
func TestOneModel(t *testing.T) {
	h := start(t, &sampler{says: "x"}, func(o *Options) { o.Models[0].ID = "runs/a b/final" })
	if status, body := send(t, "GET", h.URL+"/v1/models/runs/a%20b/final", ""); status != 200 ||
		!strings.Contains(body, `"id":"runs/a b/final"`) {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := send(t, "GET", h.URL+"/v1/models/x", ""); status != 404 ||
		!strings.Contains(body, "model_not_found") {
		t.Errorf("status %d: %s", status, body)
	}
}

// A server whose sampler has failed, or that shuts down, says so where balancers ask.
func TestHealth(t *testing.T) {
	failed := false
	s, err := New(Options{Models: []Model{func() Model {
		m := model(&sampler{})
		m.Failed = func() bool { return failed }
		return m
	}()}})
	if err != nil {
		t.Fatal(err)
	}
	health := func() string {
		w := &recorder{header: http.Header{}}
		r, _ := http.NewRequest("GET", "/health", nil)
		s.Handler().ServeHTTP(w, r)
		return http.StatusText(w.Code) + " " + w.body.String()
	}
	if got := health(); !strings.HasPrefix(got, `OK {"status":"ok"}`) {
		t.Error(got)
	}
	failed = true
	if got := health(); !strings.HasPrefix(got, `Service Unavailable {"status":"failed"}`) {
		t.Error(got)
	}
	failed = false
	s.drain()
	if got := health(); !strings.HasPrefix(got, `Service Unavailable {"status":"shutting down"}`) {
		t.Error(got)
	}
}

// recorder is a writer without a connection.
type recorder struct {
	mu     sync.Mutex
	header http.Header
	Code   int
	body   strings.Builder
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(c int)   { r.Code = c }
func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Write(b)
}
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.String()
}

func through(h http.Handler, path, body string, header ...string) *recorder {
	w := &recorder{header: http.Header{}}
	r, _ := http.NewRequest("POST", path, strings.NewReader(body))
	r.Host = "localhost"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	h.ServeHTTP(w, r)
	return w
}

// While nothing is to be told a stream says that it is alive, in a way that no client reads, and a failure behind that
// is told in it.
func TestStreamsAreKeptAlive(t *testing.T) {
	for name, fails := range map[string]bool{"answered": false, "failed": true} {
		synctest.Test(t, func(t *testing.T) {
			s := &sampler{says: "x", gate: make(chan struct{})}
			if fails {
				s.err = errors.New("device")
			}
			server, err := New(Options{Models: []Model{model(s)}})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan *recorder)
			go func() {
				done <- through(server.Handler(), "/v1/messages",
					`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
			}()
			time.Sleep(35 * time.Second)
			close(s.gate)
			w := <-done
			head, rest, _ := strings.Cut(w.text(), "event: ")
			if head != strings.Repeat(": ping\n\n", 3) || w.Code != 200 || w.header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("%s: status %d, begins %q", name, w.Code, head)
			}
			if fails != strings.HasPrefix(rest, "error\n") || fails == strings.HasPrefix(rest, "message_start\n") {
				t.Errorf("%s: %q", name, rest)
			}
		})
	}
}

// Each key has caches of its own: what another left in a slot is neither preferred nor used.
func TestKeysShareNoCache(t *testing.T) {
	s := &sampler{says: "x", numSlots: 2}
	server, err := New(Options{Models: []Model{model(s)}, Keys: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "a", "b"} {
		if w := through(server.Handler(), "/v1/chat/completions", hi+"}", "Authorization",
			"Bearer "+key); w.Code != 200 {
			t.Fatal(w.Code, w.text())
		}
	}
	for i, want := range []policy.Request{
		{Owner: 1, Slot: 0},
		{Owner: 2, Slot: 1},
		{Owner: 1, Slot: 0},
		{Owner: 2, Slot: 1},
	} {
		if got := s.asked[i]; got.Owner != want.Owner || got.Slot != want.Slot {
			t.Errorf("request %d is of owner %d in slot %d", i, got.Owner, got.Slot)
		}
	}
}

// A server that shuts down finishes what it samples, and turns away who waits and who comes, so that they may go
// elsewhere.
func TestDrain(t *testing.T) {
	s := &sampler{says: "x", gate: make(chan struct{}), started: make(chan struct{}, 9)}
	server, err := New(Options{Models: []Model{model(s)}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	ask := func(to chan<- string) {
		res, err := http.Post("http://"+l.Addr().String()+"/v1/chat/completions", "", strings.NewReader(hi+"}"))
		if err != nil {
			to <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		to <- res.Status + res.Header.Get("Retry-After") + string(b)
	}
	first, second := make(chan string, 1), make(chan string, 1)
	go ask(first)
	<-s.started
	go ask(second)
	shared := server.models.slots[s]
	for queued := 0; queued == 0; _, queued = shared.busy() {
		time.Sleep(time.Millisecond)
	}
	stop()
	if got := <-second; !strings.HasPrefix(got, "503 Service Unavailable1") || !strings.Contains(got, "shutting_down") {
		t.Errorf("who waited: %s", got)
	}
	if w := through(server.Handler(), "/v1/chat/completions", hi+"}"); w.Code != 503 {
		t.Errorf("who came: %d %s", w.Code, w.text())
	}
	close(s.gate)
	if got := <-first; !strings.HasPrefix(got, "200") {
		t.Errorf("who was answered: %s", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A full server says so before it does the work of a request.
func TestBusyBeforeWork(t *testing.T) {
	s := &sampler{says: "x", gate: make(chan struct{}), started: make(chan struct{}, 9)}
	m := model(s)
	var rendered []chat.Message
	m.Renderer = watching{seen: &rendered}
	server, err := New(Options{Models: []Model{m}, MaxQueue: -1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan *recorder)
	go func() { done <- through(server.Handler(), "/v1/chat/completions", hi+"}") }()
	<-s.started
	rendered = nil
	if w := through(server.Handler(), "/v1/chat/completions", hi+"}"); w.Code != 429 || rendered != nil {
		t.Errorf("status %d, rendered %v", w.Code, rendered)
	}
	close(s.gate)
	<-done
}

// An answer that its form cannot follow any more says so, and not that tokens are banned.
func TestAFormThatGaveOut(t *testing.T) {
	v := grammar.NewVocabulary(2, func(id int32) grammar.Token {
		return grammar.Token{Text: strings.Repeat("[", int(id)*25000)}
	})
	g, err := grammar.Compile(v, grammar.Wanted{Answer: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	m := g.NewMatcher([]int32{0}, "")
	allowed := policy.NewIDSet(2)
	var out []int32
	for !m.Exhausted() {
		out = append(out, 1)
		m.Narrow(out, allowed)
	}
	none := &policy.ConstraintError{NumSampled: len(out)}
	for _, form := range []policy.Constraint{m, both{m, policy.Banned{1}}} {
		if got := asRefusal(formError(form, none)); got.Code != "form_too_long" || got.Status != 400 {
			t.Errorf("%+v", got)
		}
	}
	if got := asRefusal(formError(policy.Banned{1}, none)); got.Param != "logit_bias" {
		t.Errorf("%+v", got)
	}
}

// Grammars asked for last are kept, as many as have room.
func TestGrammarsAreKeptByBytes(t *testing.T) {
	v := grammar.NewVocabulary(128, func(id int32) grammar.Token { return grammar.Token{Text: string(rune(id))} })
	k := &grammars{}
	of := func(n int) *grammar.Grammar {
		g, refused := k.of(
			v, grammar.Wanted{Answer: json.RawMessage(`{"enum":["` + strings.Repeat("x", 1<<18) + string(rune('a'+n)) +
				`"]}`)}, &request{}, "p",
		)
		if refused != nil {
			t.Fatal(refused)
		}
		return g
	}
	first := of(0)
	for n := range 6 {
		of(n)
		if of(0) != first {
			t.Fatalf("the first was dropped behind %d, though it was asked for between", n)
		}
	}
	if n := len(k.kept); n < 2 || n > 4 {
		t.Errorf("%d grammars of 16 MB are kept in 64 MB", n)
	}
}

// A response is there for the key that it was asked with alone: to another it is as one that never was, to be read,
// continued or deleted.
func TestKeysShareNoResponses(t *testing.T) {
	s := &sampler{says: "x", numSlots: 2}
	server, err := New(Options{Models: []Model{model(s)}, Keys: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(key, method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, stream := range []string{"", `,"stream":true`} {
		_, body := send("a", "POST", "/v1/responses", responsesHi+stream+"}")
		_, rest, _ := strings.Cut(body, `"id":"resp`)
		id, _, found := strings.Cut("resp"+rest, `"`)
		if !found {
			t.Fatal(body)
		}
		for _, step := range []struct {
			what   string
			method string
			path   string
			body   string
			code   int // of the owner; the other's is as that of an id which nobody has
		}{
			{"read", "GET", "/v1/responses/ID", "", 200},
			{"continued", "POST", "/v1/responses", `{"model":"m","previous_response_id":"ID","input":"more"}`, 200},
			{"streamed", "POST", "/v1/responses", `{"model":"m","previous_response_id":"ID","input":"more","stream":true}`, 200},
			{"deleted", "DELETE", "/v1/responses/ID", "", 200},
		} {
			ask := func(key, id string) (int, string) {
				code, body := send(key, step.method, strings.Replace(step.path, "ID", id, 1),
					strings.Replace(step.body, "ID", id, 1))
				return code, strings.ReplaceAll(body, id, "ID")
			}
			asked := len(s.asked)
			code, said := ask("b", id)
			none, nothing := ask("b", "resp-none")
			if code != none || said != nothing || code < 400 || len(s.asked) != asked {
				t.Errorf("%s by another key: %d %s; where there is none: %d %s", step.what, code, said, none, nothing)
			}
			if step.body == "" && code != 404 {
				t.Errorf("%s by another key: %d", step.what, code)
			}
			if code, said := ask("a", id); code != step.code {
				t.Errorf("%s by its own: %d %s", step.what, code, said)
			}
		}
	}
}
