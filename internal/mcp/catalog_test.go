package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"hone/internal/blob"
	"hone/internal/fault"
)

func discover(t *testing.T, servers map[string]Server) *Catalog {
	t.Helper()
	c, err := Discover(context.Background(), configOf(t, servers))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiscoverPagesAndBytes(t *testing.T) {
	c := discover(t, map[string]Server{"raw": self(t, "pages")})
	s := c.Servers[0]
	if s.Era != "2024-11-05" || s.Transport != "stdio" || len(s.Tools) != 3 {
		t.Fatalf("got %+v", s)
	}
	const want = `{"type":"object","properties":{"z":{"type":"number","default":1.50},"a":{"type":"string","description":"a <b> \u00e9"}},"required":["z"]}`
	if got := string(s.Tools[0].InputSchema); got != want {
		t.Errorf("the schema became\n%s\nwant\n%s", got, want)
	}
	if got := s.Tools[1]; got.Status != StatusUncheckable || len(got.Findings) != 1 {
		t.Errorf("a schema that does not compile, on a page that was read once: %+v", got)
	}
	findings := strings.Join(s.Tools[2].Findings, "\n")
	if got := s.Tools[2]; string(got.InputSchema) != `{"type":"object"}` ||
		!strings.Contains(findings, "instruction at") || !strings.Contains(findings, "hidden-character at") {
		t.Errorf("no schema, a tag with an instruction and a hidden character: %+v", got)
	}
	if findings := s.Tools[0].Findings; len(findings) != 0 {
		t.Errorf("findings on a clean tool: %v", findings)
	}
	if names := modelNames(c); names[1] != "second" || !allowedName.MatchString(names[0]) || names[0] == "get.item" {
		t.Errorf("model names %v", names)
	}
	if got := c.Defaults()(modelNames(c)[0]); string(got["z"]) != "1.50" {
		t.Errorf("defaults %v", got)
	}
}

func TestDiscoverStopsAtTheCap(t *testing.T) {
	if c := discover(t, map[string]Server{"raw": self(t, "endless")}); len(c.Servers[0].Tools) != maxPages {
		t.Fatalf("%d tools", len(c.Servers[0].Tools))
	}
}

func TestDiscoverSkipsStrayLines(t *testing.T) {
	c := discover(t, map[string]Server{"s": self(t, "stray")})
	if c.Servers[0].StrayLines != 3 || len(c.Servers[0].Tools) == 0 {
		t.Fatalf("%d stray lines, %d tools", c.Servers[0].StrayLines, len(c.Servers[0].Tools))
	}
	if c.Servers[0].Era != modernEra {
		t.Errorf("era %s", c.Servers[0].Era)
	}
}

func TestProbeFallback(t *testing.T) {
	for _, mode := range []string{"dies-when-probed", "hangs-when-probed"} {
		config := configOf(t, nil)
		l, err := newOpener(mode, self(t, mode), config.Base,
			Options{ConnectTimeout: 30 * time.Second, ProbeTimeout: 500 * time.Millisecond}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.openFrom(context.Background(), start{})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if era := s.client.InitializeResult().ProtocolVersion; era != "2024-11-05" {
			t.Errorf("%s: era %s", mode, era)
		}
		s.close()
	}
}

func TestDiscoverFailures(t *testing.T) {
	tests := []struct {
		name   string
		server Server
		limit  time.Duration // 0 where an answer is due, for the machine may be busy
		want   string
	}{
		{"the server's stderr is shown", self(t, "broken"), 0, "no such database"},
		{"and its exit status", self(t, "broken"), 0, "exit status 4"},
		{"silence", self(t, "silent"), 500 * time.Millisecond, "no answer in 500ms"},
		{"no such program", Server{Command: "no-such-program"}, 0, "not on PATH"},
		{"nobody listens", Server{URL: "http://127.0.0.1:1/mcp"}, 0, "refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Discover(context.Background(), configOf(t, map[string]Server{"s": test.server}),
				Options{ConnectTimeout: test.limit})
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.CodeUnavailable || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestDiscoverHTTP(t *testing.T) {
	for _, jsonAnswers := range []bool{true, false} {
		for _, stateless := range []bool{true, false} {
			t.Run(fmt.Sprintf("json=%v stateless=%v", jsonAnswers, stateless), func(t *testing.T) {
				server := httptest.NewServer(bearer("sesame",
					mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newFixture(nil) },
						&mcp.StreamableHTTPOptions{JSONResponse: jsonAnswers, Stateless: stateless})))
				defer server.Close()
				config, err := FromFlag(server.URL, "sesame", func(string) (string, bool) { return "", false })
				if err != nil {
					t.Fatal(err)
				}
				overHTTP, err := Discover(context.Background(), config)
				if err != nil {
					t.Fatal(err)
				}
				overStdio := discover(t, map[string]Server{"s": self(t, "tools")})
				// The tap must give on HTTP what it gives on stdio: the server's bytes.
				if !reflect.DeepEqual(overHTTP.Servers[0].Tools, overStdio.Servers[0].Tools) {
					t.Errorf("HTTP %+v\nstdio %+v", overHTTP.Servers[0].Tools, overStdio.Servers[0].Tools)
				}
				if config, _ = FromFlag(server.URL, "wrong", func(string) (string, bool) { return "", false }); true {
					if _, err := Discover(context.Background(), config); err == nil {
						t.Error("a wrong token was accepted")
					}
				}
			})
		}
	}
}

func TestTokenStaysWithItsHost(t *testing.T) {
	leaked := make(chan string, 16)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("Authorization")
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	config, _ := FromFlag(first.URL, "sesame", func(string) (string, bool) { return "", false })
	if _, err := Discover(context.Background(), config); err == nil || len(leaked) != 0 {
		t.Fatalf("redirected with %d requests, error %v", len(leaked), err)
	}
}

func TestSaveLoad(t *testing.T) {
	c := discover(t, map[string]Server{"raw": self(t, "pages"), "s": self(t, "tools")})
	path := filepath.Join(t.TempDir(), "catalog.json")
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, back) {
		t.Errorf("saved %+v\nloaded %+v", c, back)
	}
	data, _ := os.ReadFile(path)
	for _, edit := range [][2]string{
		{"first", "worst"},
		{`"name": "raw"`, `"name": "war"`},
		{`"model_name": "second"`, `"model_name": "zweite"`},
	} {
		edited := strings.Replace(string(data), edit[0], edit[1], 1)
		if edited == string(data) {
			t.Fatalf("nothing to edit: %s", edit[0])
		}
		os.WriteFile(path, []byte(edited), 0o600)
		if _, err := Load(path); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%v: %v", edit, err)
		}
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 1 {
		t.Errorf("Save left %v", left)
	}
}

func TestOnly(t *testing.T) {
	c := discover(t, map[string]Server{"raw": self(t, "pages"), "s": self(t, "tools")})
	some, err := c.Only("second", "add")
	if err != nil || len(some.Tools()) != 2 || some.Hash == c.Hash || some.Hash != some.hash() {
		t.Fatalf("%+v %v", some, err)
	}
	if _, err := c.Only("second", "none"); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), `"none"`) {
		t.Fatalf("unknown tool: %v", err)
	}
}

func modelNames(c *Catalog) (names []string) {
	for _, t := range c.Tools() {
		names = append(names, t.Name)
	}
	return names
}

func TestCollidingNamesArePrefixed(t *testing.T) {
	servers := []ServerTools{
		{Name: "a", Tools: []Tool{{Name: "get"}, {Name: "only"}}},
		{Name: "b", Tools: []Tool{{Name: "get"}}},
	}
	nameTools(servers)
	if got := modelNames(&Catalog{Servers: servers}); !reflect.DeepEqual(got, []string{"a__get", "only", "b__get"}) {
		t.Fatal(got)
	}
}

// Whatever servers call their tools, model names are allowed, unique, and the same in any order of servers.
func TestModelNames(t *testing.T) {
	name := rapid.OneOf(rapid.SampledFrom([]string{"get", "get.x", "a", "a__get", "b__a", strings.Repeat("n", 70)}),
		rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		var servers, reversed []ServerTools
		for _, server := range rapid.SliceOfNDistinct(name, 1, 4, rapid.ID[string]).Draw(t, "servers") {
			s := ServerTools{Name: server}
			for _, tool := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID[string]).Draw(t, "tools") {
				s.Tools = append(s.Tools, Tool{Name: tool})
			}
			servers = append(servers, s)
			s.Tools = append([]Tool(nil), s.Tools...)
			reversed = append([]ServerTools{s}, reversed...)
		}
		nameTools(servers)
		nameTools(reversed)
		seen := map[string]bool{}
		for i, s := range servers {
			for j, tool := range s.Tools {
				if !allowedName.MatchString(tool.ModelName) || seen[tool.ModelName] {
					t.Fatalf("%q of %q is %q: refused by hosts, or taken", tool.Name, s.Name, tool.ModelName)
				}
				seen[tool.ModelName] = true
				if again := reversed[len(servers)-1-i].Tools[j].ModelName; again != tool.ModelName {
					t.Fatalf("%q is %q or %q by order", tool.Name, tool.ModelName, again)
				}
			}
		}
	})
}

// A server that knows another's tools could name its own such that a hash falls together with one of theirs.
func TestNamesCannotBeTaken(t *testing.T) {
	servers := []ServerTools{{Name: "a", Tools: []Tool{{Name: "t"}}},
		{Name: "b", Tools: []Tool{
			{Name: "t"},
			{Name: "a__t"},
			{Name: withHash("a__t", blob.Parts("a", "t").String())},
		}}}
	nameTools(servers)
	seen := map[string]bool{}
	for _, s := range servers {
		for _, tool := range s.Tools {
			if seen[tool.ModelName] || !allowedName.MatchString(tool.ModelName) {
				t.Errorf("%s/%s is called %s", s.Name, tool.Name, tool.ModelName)
			}
			seen[tool.ModelName] = true
		}
	}
}
