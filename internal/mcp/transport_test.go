package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

// sseServer is a server of 2024-11-05; with a token, and refusing the next POST if broken is set.
func sseServer(t *testing.T, broken *atomic.Bool) string {
	t.Helper()
	handler := bearer("sesame-sesame",
		mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return newFixture(nil) }, nil))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && broken.CompareAndSwap(true, false) {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func TestFallBackToSSE(t *testing.T) {
	for _, kind := range []string{"", "http", "sse"} {
		var broken atomic.Bool
		s := Server{Type: kind, URL: sseServer(t, &broken),
			Headers: map[string]string{"Authorization": "Bearer sesame-sesame"}, Isolation: PerSession}
		config := configOf(t, map[string]Server{"s": s})
		catalog, err := Discover(context.Background(), config)
		if err != nil {
			t.Fatal(err)
		}
		if catalog.Servers[0].Transport != viaSSE || len(catalog.Servers[0].Tools) == 0 {
			t.Fatalf("type %q: %s, %d tools", kind, catalog.Servers[0].Transport, len(catalog.Servers[0].Tools))
		}
		p, err := NewPool(context.Background(), config, catalog, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := open(t, p, "e")
		if r := ask(e, "add", `{"A":1,"B":1}`); r.Text != `{"sum":2}` {
			t.Errorf("%+v", r)
		}
		broken.Store(true)
		if r := ask(e, "count", "{}"); r.Status != trajectory.CallTransportError ||
			!strings.Contains(r.Error, "HTTP 503") {
			t.Errorf("a refused call: %+v", r)
		}
		if r := ask(e, "count", "{}"); r.Text != "1" {
			t.Errorf("the session after it: %+v", r)
		}
		e.Close()
		p.Close()
	}
}

// A GET that does not answer must not hold up the connect beyond its deadline.
func TestSSEThatHangs(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	defer server.Close()
	defer close(stop)
	config := configOf(t, map[string]Server{"s": {Type: "sse", URL: server.URL, Isolation: PerSession}})
	if _, err := Discover(context.Background(), config, Options{ConnectTimeout: 200 * time.Millisecond}); err == nil ||
		!strings.Contains(err.Error(), "no answer in 200ms") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	const token = "hunter2-hunter2"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad token: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	defer server.Close()
	config, _ := FromFlag(server.URL, token, func(string) (string, bool) { return "", false })
	_, err := Discover(context.Background(), config)
	if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "bad token: [hidden]") {
		t.Errorf("got %v", err)
	}
	s := self(t, "chaos", "start-crashes", string(Legacy), "")
	s.Env = map[string]string{"DB_PASSWORD": "tickets.db"}
	if _, err := Discover(context.Background(), configOf(t, map[string]Server{"s": s})); err == nil ||
		strings.Contains(err.Error(), "tickets.db") {
		t.Errorf("stderr: %v", err)
	}
}

func TestWrapMayChangeOrRefuseTheCommand(t *testing.T) {
	config := configOf(t, map[string]Server{"s": self(t, "tools")})
	asked := ""
	o := Options{Warm: -1, Wrap: func(server, _ string, cmd *exec.Cmd) error {
		asked = server
		cmd.Env = append(cmd.Env, "WRAPPED=yes")
		return nil
	}}
	catalog, err := Discover(context.Background(), config, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPool(context.Background(), config, catalog, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if r := ask(open(t, p, "e"), "env", "{}"); !strings.Contains(r.Text, "WRAPPED=yes") || asked != "s" {
		t.Errorf("asked for %q; %s", asked, r.Text)
	}
	o.Wrap = func(string, string, *exec.Cmd) error { return exec.ErrNotFound }
	if _, err := Discover(context.Background(), config, o); OutcomeOf(err) != trajectory.InfrastructureError {
		t.Errorf("a refusal: %v", err)
	}
}

func TestEraIsProbedOnce(t *testing.T) {
	dir := t.TempDir()
	l, err := newOpener("s", self(t, "chaos", "sound", string(Legacy), dir), configOf(t, nil).Base,
		Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s, err := l.openFrom(context.Background(), start{})
		if err != nil {
			t.Fatal(err)
		}
		if s.era() != legacyEra {
			t.Errorf("era %s", s.era())
		}
		s.close()
	}
	if started := noted(t, dir); started != 4 { // one to probe, thrown away, and the three
		t.Errorf("%d processes for three sessions", started)
	}
}

// A server that is slow to start, as one that is downloaded first, and knows only the newest protocol.
func TestSlowStartOfAModernServer(t *testing.T) {
	starts := 0
	wrap := func(_, _ string, cmd *exec.Cmd) error {
		if starts++; starts == 1 { // it is still being downloaded
			cmd.Path, cmd.Args = "/bin/sleep", []string{"sleep", "600"}
		}
		return nil
	}
	o := Options{ProbeTimeout: 500 * time.Millisecond, Wrap: wrap}.withDefaults()
	l, err := newOpener("s", self(t, "chaos", "sound", string(Modern), ""), configOf(t, nil).Base, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.openFrom(context.Background(), start{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if s.era() != modernEra || starts != 3 {
		t.Errorf("it speaks %s after %d starts", s.era(), starts)
	}
}

// A redirect to the same host without TLS would send the token in clear text.
func TestRedirectOutOfTLS(t *testing.T) {
	var leaked atomic.Value
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked.Store(r.Header.Get("Authorization"))
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://shop.test/mcp", http.StatusTemporaryRedirect)
	}))
	defer secure.Close()
	transport, closeIdle, err := httpTransport(Server{URL: "https://shop.test/mcp",
		Headers: map[string]string{"Authorization": "Bearer sesame"}}, viaHTTP, newWire(1000, &meter{}), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIdle()
	client := transport.(*mcp.StreamableClientTransport).HTTPClient
	base := client.Transport.(*httpTripper).base.(*http.Transport)
	base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		to := map[string]string{"shop.test:80": plain.Listener.Addr().String(),
			"shop.test:443": secure.Listener.Addr().String()}[address]
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	req, err := http.NewRequest(http.MethodPost, "https://shop.test/mcp", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if leaked.Load() != nil {
		t.Errorf("%q went out in clear text", leaked.Load())
	}
}

// A message that waits behind one the server does not read still has its own deadline.
func TestWriteWaitsNoLongerThanItsDeadline(t *testing.T) {
	p, err := startProcess([]string{"/bin/sleep", "1000"}, nil, "", "", leastBound, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c := newStdioConn(p, newWire(1000, &meter{}))
	first := make(chan error, 1)
	long := &jsonrpc.Request{Method: "notifications/x",
		Params: bytes.Join([][]byte{[]byte(`{"x":"`), bytes.Repeat([]byte("y"), 1<<20), []byte(`"}`)}, nil)}
	go func() { first <- c.Write(context.Background(), long) }()
	for len(c.write) == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := c.Write(ctx, &jsonrpc.Request{Method: "notifications/y"}); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-first:
		t.Errorf("the first ended: %v", err)
	default:
	}
	p.close()
	if <-first == nil {
		t.Error("a message to a process that has ended was written")
	}
}
