package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/mcp/sandbox"
)

// cluster makes pods that are servers of this process.
type cluster struct {
	mu         sync.Mutex
	made, gone int
}

func (c *cluster) open(_ context.Context, server string, p sandbox.Pod, port int) (string, func(), error) {
	if server != "s" || p.Image != "fixture:1" || port != 8000 {
		return "", nil, fmt.Errorf("asked for %s at %d for server %s", p.Image, port, server)
	}
	fixture := newFixture(nil)
	answers := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fixture }, nil)
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		answers.ServeHTTP(w, r)
	}))
	c.count(&c.made)
	return strings.TrimPrefix(pod.URL, "http://"), func() {
		pod.CloseClientConnections()
		pod.Close()
		c.count(&c.gone)
	}, nil
}

func (c *cluster) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func (c *cluster) numbers() (made, gone int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made, c.gone
}

func inPods(path string) Config {
	return Config{Servers: map[string]Server{"s": {URL: "http://pod:8000" + path, Isolation: PerSession,
		Pod: &sandbox.Pod{Image: "fixture:1"}}}}
}

func TestEachEpisodeHasAPod(t *testing.T) {
	c := &cluster{}
	o := Options{Pod: c.open}
	catalog, err := Discover(t.Context(), inPods("/mcp"), o)
	if err != nil {
		t.Fatal(err)
	}
	if made, gone := c.numbers(); made != 1 || gone != 1 {
		t.Fatalf("listing the tools made %d pods and ended %d, want 1 of each", made, gone)
	}
	p, err := NewPool(t.Context(), inPods("/mcp"), catalog, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	together(t.Context(), t, p, 8, func(i int, e *Episode) {
		for n := range 3 {
			if r := ask(e, "count", "{}"); r.Text != fmt.Sprint(n+1) {
				t.Errorf("episode %d counts %s, want %d", i, r.Text, n+1)
			}
		}
	})
	if made, gone := c.numbers(); made != 9 || gone != 9 {
		t.Errorf("8 episodes made %d pods and ended %d", made-1, gone-1)
	}
}

func TestPodThatIsOfNoUse(t *testing.T) {
	made := &cluster{}
	refuse := func(context.Context, string, sandbox.Pod, int) (string, func(), error) {
		return "", nil, errors.New("exceeded quota")
	}
	for _, c := range []struct {
		name, path string
		open       func(context.Context, string, sandbox.Pod, int) (string, func(), error)
		want, next string
	}{
		{"no MCP server is at the path", "/other", made.open, "404", ""},
		{"the cluster refuses", "/mcp", refuse, "server s, start: exceeded quota", ""},
		{"there is no cluster", "/mcp", nil, "does not run in a cluster", "hone cluster render"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Discover(t.Context(), inPods(c.path), Options{Pod: c.open})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(Mending(err), c.next) {
				t.Errorf("error %v with the advice %q, want %q and %q", err, Mending(err), c.want, c.next)
			}
			if made, gone := made.numbers(); made != gone {
				t.Errorf("%d pods made, %d ended", made, gone)
			}
		})
	}
}
