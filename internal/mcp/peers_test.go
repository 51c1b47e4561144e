package mcp

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Each test here is a defect found in the source of another trainer's MCP client.

// chaosPool is a pool on one misbehaving server, and the server where it is in this process.
func chaosPool(
	t *testing.T, behaviour string, era Era, transport string, isolation Isolation, o Options,
) (*Pool, *ChaosServer) {
	t.Helper()
	b, ok := Find(behaviour)
	if !ok {
		t.Fatalf("no behaviour %q", behaviour)
	}
	var s *ChaosServer
	server := Server{Isolation: isolation}
	if transport == viaHTTP {
		s = New(b, era, "")
		h := httptest.NewServer(s)
		t.Cleanup(h.Close)
		t.Cleanup(s.Stop)
		server.URL = h.URL
	} else {
		server = self(t, "chaos", behaviour, string(era), t.TempDir())
		server.Isolation = isolation
	}
	return newPool(t, configOf(t, map[string]Server{"s": server}), o), s
}

func TestDefectToolsPastPageOneVanish(t *testing.T) {
	for _, behaviour := range []string{"list-endless", "list-empty-cursor"} {
		p, _ := chaosPool(t, behaviour, Legacy, viaHTTP, PerSession, Options{})
		if len(p.tools.names) < 3 {
			t.Errorf("%s: tools %v", behaviour, p.tools.names)
		}
	}
}

func TestDefectTimeoutIsNotPassedOn(t *testing.T) {
	p, _ := chaosPool(t, "call-hangs", Modern, viaHTTP, PerSession, Options{Timeout: 50 * time.Millisecond})
	if r := ask(open(t, p, "e"), "target", "{}"); r.Status != trajectory.CallTimeout {
		t.Errorf("%+v", r)
	}
}

func TestDefectSameToolOnTwoServersOverwrites(t *testing.T) {
	c := discover(t, map[string]Server{"a": self(t, "tools"), "b": self(t, "tools")})
	names := map[string]bool{}
	for _, tool := range c.Tools() {
		names[tool.Name] = true
		server, own, ok := c.Resolve(tool.Name)
		if !ok || server+"__"+own != tool.Name {
			t.Errorf("%s resolves to %s, %s", tool.Name, server, own)
		}
	}
	if len(names) != 2*len(c.Servers[0].Tools) || !names["a__add"] || !names["b__add"] {
		t.Errorf("model names %v", names)
	}
}

func TestDefectMissingConfigurationFileIsAWarning(t *testing.T) {
	if _, err := LoadConfig("/no/such/mcp.json", nil); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("got %v", err)
	}
}

func TestDefectErrorFlagAndStructuredContentAreDropped(t *testing.T) {
	for behaviour, want := range map[string]func(r trajectory.ToolResult) bool{
		"call-is-error": func(r trajectory.ToolResult) bool {
			return r.Status == trajectory.CallToolError && r.Text == "disk full"
		},
		"call-breaks-output-schema": func(r trajectory.ToolResult) bool { return string(r.StructuredContent) == `{"n":"one"}` },
		"call-binary": func(r trajectory.ToolResult) bool {
			text := string(r.Content)
			return strings.Contains(text, `"data":"AQID"`) && strings.Contains(text, "audio/wav") &&
				strings.Contains(text, "resource_link") && strings.Contains(text, `"blob":"AQ=="`)
		},
	} {
		p, _ := chaosPool(t, behaviour, Modern, viaHTTP, PerSession, Options{})
		if r := ask(open(t, p, "e"), "target", "{}"); !want(r) {
			t.Errorf("%s: %+v", behaviour, r)
		}
	}
}

func TestDefectNewSessionForEveryCall(t *testing.T) {
	e := open(t, newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{}), "e")
	for i := 1; i <= 3; i++ {
		if r := ask(e, "count", "{}"); r.Text != fmt.Sprint(i) {
			t.Fatalf("call %d counts %s: the session's state is gone", i, r.Text)
		}
	}
}

func TestDefectRetryRunsAWriteTwice(t *testing.T) {
	for _, behaviour := range []string{
		"call-503", "call-500", "call-crashes", "call-cut-events", "call-no-body", "call-hangs", "call-garbage",
	} {
		o := Options{}
		if behaviour == "call-hangs" {
			o.Timeout = 3 * time.Second // in which the call has to arrive
		}
		p, s := chaosPool(t, behaviour, Legacy, viaHTTP, PerSession, o)
		r := ask(open(t, p, "e"), "target", "{}")
		if n := s.Calls.Load(); n != 1 || r.Status == trajectory.CallOK {
			t.Errorf("%s: delivered %d times, %s", behaviour, n, r.Status)
		}
	}
}

func TestDefectOneTokenBucketForAllRollouts(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{Parallel: 1})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	hanging := open(t, p, "hanging")
	wg.Go(func() { hanging.Call(ctx, []chat.ToolCall{{Name: "hang", Arguments: "{}"}}) })
	e := open(t, p, "e")
	for range 100 { // what hangs in one episode holds up no other
		if r := ask(e, "add", `{"A":1,"B":1}`); r.Status != trajectory.CallOK {
			t.Errorf("%+v", r)
		}
	}
	cancel()
	wg.Wait()
}

func TestDefectOnlyTheFirstOfParallelCallsRuns(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{Parallel: 3})
	var calls []chat.ToolCall
	for i := range 20 {
		calls = append(calls, chat.ToolCall{Name: "add", Arguments: fmt.Sprintf(`{"A":%d,"B":0}`, i)})
	}
	for i, r := range open(t, p, "e").Call(context.Background(), calls) {
		if want := fmt.Sprintf(`{"sum":%d}`, i); r.Text != want {
			t.Errorf("result %d is %s", i, r.Text)
		}
	}
}

func TestDefectLongResultRaises(t *testing.T) {
	e := open(t, newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{MaxResult: 1000}), "e")
	r := ask(e, "long", "{}") // of 9000
	if r.Status != trajectory.CallOK || len(r.Text) > 1000 || !strings.HasPrefix(r.Text, "xxx") ||
		!strings.HasSuffix(r.Text, "xxx") {
		t.Errorf("%s %d bytes", r.Status, len(r.Text))
	}
	if len(r.Content) < 9000 {
		t.Errorf("the record keeps %d bytes of 9000", len(r.Content))
	}
}

func TestDefectMalformedToolBreaksAll(t *testing.T) {
	p, _ := chaosPool(t, "list-malformed-tools", Legacy, viaHTTP, PerSession, Options{})
	if r := ask(open(t, p, "e"), "add", "{}"); r.Text != "3" {
		t.Errorf("%+v", r)
	}
}
