package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

// A server whose first answers to tools/call are lost after the call was carried out.
func TestOnlyHarmlessCallsAreMadeAgain(t *testing.T) {
	tests := []struct {
		name        string
		annotations *mcp.ToolAnnotations
		lost        int64
		carriedOut  int64
		status      trajectory.CallStatus
	}{
		{"nothing said", nil, 1, 1, trajectory.CallTransportError},
		{"read only", &mcp.ToolAnnotations{ReadOnlyHint: true}, 1, 2, trajectory.CallOK},
		{"idempotent", &mcp.ToolAnnotations{IdempotentHint: true}, 1, 2, trajectory.CallOK},
		{"read only, for good", &mcp.ToolAnnotations{ReadOnlyHint: true}, 99, 3, trajectory.CallTransportError},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var carriedOut, lost atomic.Int64
			s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "work", Annotations: test.annotations},
				func(context.Context, *mcp.CallToolRequest, noArgs) (*mcp.CallToolResult, any, error) {
					carriedOut.Add(1)
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
				})
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
				&mcp.StreamableHTTPOptions{JSONResponse: true})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"tools/call"`)) && lost.Add(1) <= test.lost {
					handler.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				handler.ServeHTTP(w, r)
			}))
			defer server.Close()
			p := newPool(t, configOf(t, map[string]Server{"s": {URL: server.URL, Isolation: PerSession}}), Options{})
			e := open(t, p, "e")
			if r := ask(e, "work", "{}"); r.Status != test.status || carriedOut.Load() != test.carriedOut {
				t.Errorf("%s %s; carried out %d times", r.Status, r.Error, carriedOut.Load())
			}
			if stats := p.Stats()[0]; int64(stats.Repeated) != test.carriedOut-1 ||
				int64(stats.Calls) != test.carriedOut {
				t.Errorf("%+v", stats)
			}
			e.Close()
			p.Close()
		})
	}
}

func TestRefusedBeforeDeliveryIsMadeAgain(t *testing.T) {
	p, s := chaosPool(t, "call-429-once", Modern, viaHTTP, PerSession, Options{})
	if r := ask(open(t, p, "e"), "target", "{}"); r.Text != "hello" || s.Calls.Load() != 2 {
		t.Errorf("%+v after %d", r, s.Calls.Load())
	}
	p, s = chaosPool(t, "call-429", Modern, viaHTTP, PerSession, Options{Retries: -1})
	if r := ask(open(t, p, "e"), "target", "{}"); r.Status != trajectory.CallTransportError || s.Calls.Load() != 1 {
		t.Errorf("%+v after %d", r, s.Calls.Load())
	}
}

func TestWhoseFaultALostCallIs(t *testing.T) {
	p, _ := chaosPool(t, "call-500", Legacy, viaHTTP, PerSession, Options{})
	if r := ask(open(t, p, "e"), "target", "{}"); r.Outcome != trajectory.EnvironmentError {
		t.Errorf("the server answers 500: %+v", r)
	}
	server := httptest.NewServer(
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newFixture(nil) },
			&mcp.StreamableHTTPOptions{Stateless: true}),
	)
	p = newPool(t, configOf(t, map[string]Server{"s": {URL: server.URL, Isolation: PerSession}}), Options{})
	e := open(t, p, "e")
	server.Close()
	ask(e, "count", "{}") // may still go to the connection that is being closed
	if r := ask(e, "count", "{}"); r.Outcome != trajectory.InfrastructureError ||
		!strings.Contains(r.Error, "refused") {
		t.Errorf("nobody listens any more: %+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dial(ctx, "s", self(t, "tools"), nil, Options{}); err == nil ||
		OutcomeOf(err) != trajectory.InfrastructureError {
		t.Errorf("we gave up connecting: %v", err)
	}
	p, _ = chaosPool(t, "sound", Legacy, viaStdio, PerSession, Options{})
	if r := open(t, p, "e").Probe(ctx, chatCall("target")); r.Outcome != trajectory.InfrastructureError {
		t.Errorf("we gave up: %+v", r)
	}
}

// A server that has forgotten an idle session has not carried out the call that it refuses.
func TestSharedSessionExpires(t *testing.T) {
	fixture := newFixture(nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fixture }, nil)
	var expire atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if expire.Swap(false) {
			end := httptest.NewRequest(http.MethodDelete, "/", nil)
			end.Header.Set(sessionHeader, r.Header.Get(sessionHeader))
			handler.ServeHTTP(httptest.NewRecorder(), end)
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	for isolation, want := range map[Isolation]trajectory.CallStatus{
		Shared:     trajectory.CallOK,
		PerSession: trajectory.CallTransportError,
	} {
		config := configOf(t, map[string]Server{"s": {URL: server.URL, Isolation: isolation}})
		catalog, err := Discover(context.Background(), config)
		if err != nil {
			t.Fatal(err)
		}
		catalog.Servers[0].Era = legacyEra // which has sessions
		p, err := NewPool(context.Background(), config, catalog, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := open(t, p, "e")
		if r := ask(e, "count", "{}"); r.Status != trajectory.CallOK {
			t.Errorf("%s: %+v", isolation, r)
		}
		expire.Store(true)
		if r := ask(e, "count", "{}"); r.Status != want ||
			want != trajectory.CallOK && !strings.Contains(r.Error, "HTTP 404") {
			t.Errorf("%s, after its end: %+v", isolation, r)
		}
		e.Close()
		p.Close()
	}
}

// Every question a Client asks has a deadline.
func TestClientDeadlines(t *testing.T) {
	b := self(t, "deaf")
	// it has to start in the last
	o := Options{Timeout: 200 * time.Millisecond, ProbeTimeout: 500 * time.Millisecond, ConnectTimeout: 6 * time.Second}
	c, err := Dial(context.Background(), "s", b, configOf(t, nil).Base, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Resource(context.Background(), "file:///a"); OutcomeOf(err) != trajectory.EnvironmentError {
		t.Errorf("resource: %v", err)
	}
	if _, err := c.Prompt(context.Background(), "p", nil); OutcomeOf(err) != trajectory.EnvironmentError {
		t.Errorf("prompt: %v", err)
	}
	if _, err := c.List(context.Background()); OutcomeOf(err) != trajectory.EnvironmentError ||
		!strings.Contains(err.Error(), "no answer in 6s") {
		t.Errorf("list: %v", err)
	}
}
