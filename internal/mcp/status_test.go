package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hone/internal/episode/trajectory"
)

// statusServer is a server with sessions whose first call is answered by an HTTP status and a body, where %s is the id.
func statusServer(t *testing.T, status int, body string) *httptest.Server {
	var calls atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Mcp-Session-Id", "x")
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`, m.ID)
		case "tools/list":
			fmt.Fprintf(w,
				`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`, m.ID)
		case "tools/call":
			if calls.Add(1) == 1 {
				w.WriteHeader(status)
				fmt.Fprint(w, strings.ReplaceAll(body, "%s", string(m.ID)))
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}`, m.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// An error of the protocol is the server's answer whatever its HTTP status, and its words are kept; 429 is refused
// before it was looked at, and without an id nothing is answered. The session goes on.
func TestStatusWithAnError(t *testing.T) {
	const withID, without = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"boom"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"boom"}}`
	for _, test := range []struct {
		status int
		body   string
		want   trajectory.CallStatus
		text   string
	}{
		{400, withID, trajectory.CallToolError, "Error: boom"},
		{403, withID, trajectory.CallToolError, "Error: boom"},
		{500, withID, trajectory.CallToolError, "Error: boom"},
		{503, withID, trajectory.CallToolError, "Error: boom"},
		{400, without, trajectory.CallTransportError, "HTTP 400"},
		{500, without, trajectory.CallTransportError, "HTTP 500"},
		{429, withID, trajectory.CallOK, "fine"},
		{429, without, trajectory.CallOK, "fine"},
	} {
		h := statusServer(t, test.status, test.body)
		e := open(t, newPool(t, configOf(t, map[string]Server{"s": {URL: h.URL}}), Options{}), "e")
		if r := ask(e, "t", "{}"); r.Status != test.want || !strings.Contains(r.Text, test.text) {
			t.Errorf("%d with %s: %s %s", test.status, test.body, r.Status, r.Text)
		}
		if r := ask(e, "t", "{}"); r.Text != "fine" {
			t.Errorf("%d with %s, the next call: %+v", test.status, test.body, r)
		}
	}
}

// A network that does not let us connect is not the server's fault, also where that takes until the deadline.
func TestNoConnectionUntilTheDeadline(t *testing.T) {
	h := statusServer(t, 200, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}`)
	h.Config.SetKeepAlivesEnabled(false) // so that each call connects
	var down atomic.Bool
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	transport := usual.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if down.Load() {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	http.DefaultTransport = transport
	p := newPool(t, configOf(t, map[string]Server{"s": {URL: h.URL}}), Options{})
	e := open(t, p, "e")
	if r := ask(e, "t", "{}"); r.Text != "fine" {
		t.Fatalf("%+v", r)
	}
	down.Store(true)
	p.servers[0].timeout = 200 * time.Millisecond
	if r := ask(e, "t", "{}"); r.Status != trajectory.CallTimeout || r.Outcome != trajectory.InfrastructureError {
		t.Errorf("%+v", r)
	}
	down.Store(false)
}
