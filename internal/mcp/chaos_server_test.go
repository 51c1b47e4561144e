package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// A server of chaos misbehaves in one way at a time, over stdio and HTTP, in both protocol eras: what the client is
// tried on. It speaks JSON-RPC by hand, for the SDK would keep it from misbehaving.

// Era is the family of protocol revisions a server speaks.
type Era string

// The two families.
const (
	Modern Era = "modern" // 2026-07-28: stateless, opened by server/discover
	Legacy Era = "legacy" // 2025-11-25: opened by initialize
)

// Behaviour is one way to misbehave. Its server is otherwise sound: it has the tool "target", which takes {"text":
// string} and answers "hello", and the tool "add", which answers "3".
type Behaviour struct {
	Name  string
	Only  string // stdio or http; "" for both
	Era   Era    // "" for both
	about string // one of open, list, call: the request on which do runs; "" for each
	do    func(r *Request)
	start func(s *ChaosServer) // on stdio, before the first message is read
}

// Behaviours returns all of them, sorted as they are told: opening, listing, calling, HTTP.
func Behaviours() []Behaviour {
	var all []Behaviour
	for _, part := range [][]Behaviour{
		openBehaviours(), listBehaviours(), callBehaviours(), processBehaviours(), httpBehaviours(),
	} {
		all = append(all, part...)
	}
	return all
}

// Find returns the behaviour of a name, and whether there is one.
func Find(name string) (Behaviour, bool) {
	for _, b := range Behaviours() {
		if b.Name == name {
			return b, true
		}
	}
	return Behaviour{}, false
}

// ChaosServer misbehaves as its Behaviour says.
type ChaosServer struct {
	Behaviour Behaviour
	Era       Era
	Dir       string // every process writes a file named by its id there; "" for none

	// Calls counts the calls of target that arrived.
	Calls atomic.Int64

	write   sync.Mutex
	changed atomic.Bool // the tools are now others
	stopped chan struct{}
}

// New makes a server.
func New(b Behaviour, era Era, dir string) *ChaosServer {
	return &ChaosServer{Behaviour: b, Era: era, Dir: dir, stopped: make(chan struct{})}
}

// Request is one request, and the way to answer it.
type Request struct {
	*ChaosServer
	ID     json.RawMessage
	Method string
	Cursor *string
	Tool   string
	Normal string // the answer a sound server gives

	Send  func(message string)           // one whole message
	Raw   func(bytes string)             // bytes as they are, at once
	Hang  func()                         // returns when the client or the test gives up
	Crash func()                         // does not return
	HTTP  func(status int, kv ...string) // the status and headers instead of an answer; "body" is the body
}

// message is what is read of an incoming message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cursor *string `json:"cursor"`
		Name   string  `json:"name"`
	} `json:"params"`
}

// handle answers one message; notifications and answers need none.
func (s *ChaosServer) handle(m message, r *Request) {
	if m.ID == nil || m.Method == "" || m.Method == "subscriptions/listen" { // the last has no end, and so no answer
		return
	}
	r.ChaosServer, r.ID, r.Method, r.Cursor, r.Tool = s, m.ID, m.Method, m.Params.Cursor, m.Params.Name
	r.Normal = s.normal(r)
	phase := s.phase(r)
	if phase == "call" {
		s.Calls.Add(1)
	}
	if s.Behaviour.do != nil && (phase == s.Behaviour.about || s.Behaviour.about == "") {
		s.Behaviour.do(r)
		return
	}
	r.Send(r.Normal)
}

func (s *ChaosServer) phase(r *Request) string {
	switch {
	case r.Method == "server/discover" && s.Era == Modern, r.Method == "initialize" && s.Era == Legacy:
		return "open"
	case r.Method == "tools/list":
		return "list"
	case r.Method == "tools/call" && r.Tool == "target":
		return "call"
	}
	return "other"
}

const target = `{"name":"target","description":"Misbehaves.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
const add = `{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}`

// normal is what a sound server answers.
func (s *ChaosServer) normal(r *Request) string {
	capabilities := `"capabilities":{"tools":{"listChanged":true}}`
	info := `{"name":"chaos","version":"1"}`
	switch {
	case r.Method == "server/discover" && s.Era == Modern:
		return r.Result(`"supportedVersions":["2026-07-28"],` + capabilities +
			`,"_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}`)
	case r.Method == "initialize" && s.Era == Legacy:
		return r.Result(`"protocolVersion":"2025-11-25",` + capabilities + `,"serverInfo":` + info)
	case r.Method == "tools/list":
		return r.Tools(target, add)
	case r.Method == "tools/call" && r.Tool == "target":
		return r.Text("hello")
	case r.Method == "tools/call" && r.Tool == "add":
		return r.Text("3")
	case r.Method == "ping":
		return r.Result("")
	}
	return r.Error(-32601, "method not found")
}

// Result is a whole answer with these members in its result.
func (r *Request) Result(members string) string {
	if r.Era == Modern {
		members = strings.TrimSuffix(`"resultType":"complete",`+members, ",")
	}
	return r.Answer(`{` + members + `}`)
}

// Answer is a whole answer with this result.
func (r *Request) Answer(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

// Error is a whole answer that is an error.
func (r *Request) Error(code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, r.ID, code, text)
}

// Tools is the answer to tools/list.
func (r *Request) Tools(tools ...string) string {
	return r.Result(`"tools":[` + strings.Join(tools, ",") + `]`)
}

// Text is a call's answer of one text.
func (r *Request) Text(text string) string {
	return r.Content(fmt.Sprintf(`{"type":"text","text":%q}`, text))
}

// Content is a call's answer of these parts.
func (r *Request) Content(parts ...string) string {
	return r.Result(`"content":[` + strings.Join(parts, ",") + `]`)
}
