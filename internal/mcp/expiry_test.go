package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/trajectory"
)

// answer is what a server says in place of a result; %s is the id of the request.
type answer struct {
	status      int
	kind        string // content type
	body        string
	newSession  bool // it opens a new session in place of the one it does not know
	pingIsKnown bool // it answers a ping in any session
}

// forgetful is a server with sessions. One that it does not know gets its answer; tools/call in one that it knows has
// known, or a greeting.
type forgetful struct {
	unknown, known answer

	mu     sync.Mutex
	opened int
	live   map[string]bool
}

func (f *forgetful) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = map[string]bool{}
}

func (f *forgetful) open() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	id := fmt.Sprintf("session-%d", f.opened)
	f.live[id] = true
	return id
}

func (f *forgetful) knows(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live[id]
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		return
	}
	give := func(a answer) {
		if a.newSession {
			w.Header().Set(sessionHeader, f.open())
		}
		w.Header().Set("Content-Type", a.kind)
		w.WriteHeader(a.status)
		fmt.Fprint(w, strings.ReplaceAll(a.body, "%s", string(m.ID)))
	}
	result := func(text string) {
		give(answer{status: 200, kind: "application/json", body: `{"jsonrpc":"2.0","id":%s,"result":` + text + `}`})
	}
	switch {
	case m.Method == "initialize":
		w.Header().Set(sessionHeader, f.open())
		result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
	case m.Method == "server/discover":
		give(answer{status: 200, kind: "application/json",
			body: `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`})
	case m.ID == nil:
		w.WriteHeader(202)
	case m.Method == "ping" && f.unknown.pingIsKnown:
		result("{}")
	case !f.knows(r.Header.Get(sessionHeader)):
		give(f.unknown)
	case m.Method == "tools/list":
		result(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call" && f.known.status != 0:
		give(f.known)
	case m.Method == "tools/call":
		result(`{"content":[{"type":"text","text":"hi"}]}`)
	default:
		result("{}")
	}
}

func forgetfulServer(t *testing.T, f *forgetful) string {
	f.live = map[string]bool{}
	h := httptest.NewServer(f)
	t.Cleanup(h.Close)
	return h.URL
}

// Of a session that the server has forgotten the call at hand says nothing of the model, and the next one is made in a
// new session: where the call was refused unread, that call itself.
func TestForgottenSession(t *testing.T) {
	const jsonKind, plain = "application/json", "text/plain"
	rpc := func(id, message string) string {
		return `{"jsonrpc":"2.0","error":{"code":-32000,"message":"` + message + `"},"id":` + id + `}`
	}
	const noID, noSession = "Bad Request: No valid session ID provided", "Session not found"
	for name, test := range map[string]struct {
		unknown answer
		unread  bool
	}{
		"400, no id":                  {answer{status: 400, kind: jsonKind, body: rpc("null", noID)}, true},
		"400, its own id":             {answer{status: 400, kind: jsonKind, body: rpc("%s", noID)}, true},
		"400, the id server-error":    {answer{status: 400, kind: jsonKind, body: rpc(`"server-error"`, "Bad Request: Missing session ID")}, true},
		"400, its own id, other word": {answer{status: 400, kind: jsonKind, body: rpc("%s", "Bad Request: Server not initialized")}, true},
		"400, text":                   {answer{status: 400, kind: plain, body: "Invalid session"}, true},
		"400, nothing":                {answer{status: 400, kind: plain}, true},
		"400, ping is for all":        {answer{status: 400, kind: jsonKind, body: rpc("null", noID), pingIsKnown: true}, true},
		"400, JSON":                   {answer{status: 400, kind: jsonKind, body: `{"error":"session expired"}`}, true},
		"401, text":                   {answer{status: 401, kind: plain, body: "Unauthorized: Session not found"}, true},
		"401, JSON":                   {answer{status: 401, kind: jsonKind, body: rpc("%s", "Unauthorized")}, true},
		"403":                         {answer{status: 403, kind: plain, body: "Forbidden"}, true},
		"404, text":                   {answer{status: 404, kind: plain, body: "404 page not found"}, true},
		"404, its own id":             {answer{status: 404, kind: jsonKind, body: rpc("%s", noSession)}, true},
		"404, no id":                  {answer{status: 404, kind: jsonKind, body: rpc("null", noSession)}, true},
		"410":                         {answer{status: 410, kind: plain, body: "Gone"}, true},
		"422":                         {answer{status: 422, kind: jsonKind, body: `{"detail":"unknown"}`}, true},
		"500, no id":                  {answer{status: 500, kind: jsonKind, body: rpc("null", noSession)}, true},
		"500, its own id":             {answer{status: 500, kind: jsonKind, body: rpc("%s", noSession)}, true},
		"500, page":                   {answer{status: 500, kind: "text/html", body: "<h1>Internal Server Error</h1>"}, false},
		"502":                         {answer{status: 502, kind: "text/html", body: "<h1>Bad Gateway</h1>"}, false},
		"503, its own id":             {answer{status: 503, kind: jsonKind, body: rpc("%s", noSession)}, true},
		"200, an error":               {answer{status: 200, kind: jsonKind, body: rpc("%s", noSession)}, true},
		"200, an error, other words":  {answer{status: 200, kind: jsonKind, body: rpc("%s", "Server not initialized")}, false},
		"200, an error as an event":   {answer{status: 200, kind: "text/event-stream", body: "data: " + rpc("%s", noSession) + "\n\n"}, true},
		"200, no event":               {answer{status: 200, kind: "text/event-stream", body: ": nothing\n\n"}, false},
		"200, a result": {answer{status: 200, kind: jsonKind,
			body: `{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":"Session expired"}]}}`}, false},
		"200, a page":  {answer{status: 200, kind: "text/html", body: "<h1>Log in</h1>"}, false},
		"200, nothing": {answer{status: 200, kind: jsonKind}, false},
		"202":          {answer{status: 202, kind: plain}, false},
		"200, a new session": {answer{status: 200, kind: jsonKind, newSession: true,
			body: `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hi"}]}}`}, false},
	} {
		for _, isolation := range []Isolation{Shared, PerSession} {
			f := &forgetful{unknown: test.unknown}
			p := newPool(t, configOf(t, map[string]Server{"s": {URL: forgetfulServer(t, f), Isolation: isolation}}),
				Options{})
			e := open(t, p, "e")
			if r := ask(e, "t", "{}"); r.Text != "hi" {
				t.Fatalf("%s, %s: %+v", name, isolation, r)
			}
			f.forget()
			r := ask(e, "t", "{}")
			lost := r.Status == trajectory.CallTransportError && r.Outcome == trajectory.EnvironmentError
			if again := isolation == Shared && test.unread; again && r.Text != "hi" ||
				!again && (!lost || !strings.Contains(r.Text, "no longer knows the session")) {
				t.Errorf("%s, %s: %+v", name, isolation, r)
			}
			e.Close()
			e = open(t, p, "e2")
			if r := ask(e, "t", "{}"); r.Text != "hi" {
				t.Errorf("%s, %s, the next episode: %+v", name, isolation, r)
			}
			e.Close()
		}
	}
}

// What a server answers in a session that it knows is its answer, whatever it speaks of.
func TestSessionThatIsKnown(t *testing.T) {
	const jsonKind = "application/json"
	for name, test := range map[string]struct {
		known answer
		want  trajectory.CallStatus
	}{
		"a tool's own sessions": {answer{status: 200, kind: jsonKind,
			body: `{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":"browser session 7 not found"}]}}`}, trajectory.CallToolError},
		"an error of them": {answer{status: 200, kind: jsonKind,
			body: `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown session 7"}}`},
			trajectory.CallToolError},
		"refused with 400": {answer{status: 400, kind: jsonKind,
			body: `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown session 7"}}`},
			trajectory.CallToolError},
		"broken with 500": {
			answer{status: 500, kind: jsonKind,
				body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"boom"}}`},
			trajectory.CallTransportError,
		},
	} {
		f := &forgetful{known: test.known}
		p := newPool(t, configOf(t, map[string]Server{"s": {URL: forgetfulServer(t, f), Isolation: PerSession}}),
			Options{})
		e := open(t, p, "e")
		for range 2 {
			if r := ask(e, "t", "{}"); r.Status != test.want || strings.Contains(r.Text, "knows") {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if f.opened != 2 { // one to discover its tools
			t.Errorf("%s: %d sessions", name, f.opened)
		}
	}
}
