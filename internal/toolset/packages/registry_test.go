package packages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hone/internal/fault"
)

// standIn is the official registry's API as its OpenAPI document has it, over a list: pages by cursor, search,
// updated_since, one server's latest version. broken makes requests fail, by their number.
type standIn struct {
	list   []response
	base   string // v0.1 or v0
	broken map[int]func(http.ResponseWriter)
	asked  []string
	keys   []string
}

type response struct {
	Server Entry          `json:"server"`
	Meta   map[string]any `json:"_meta"`
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked, s.keys = append(s.asked, r.URL.String()), append(s.keys, r.Header.Get("Authorization"))
	if fail := s.broken[len(s.asked)]; fail != nil {
		fail(w)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/"+s.base+"/servers")
	if !ok {
		http.Error(w, `{"title":"Not Found","status":404,"detail":"Endpoint not found"}`, http.StatusNotFound)
		return
	}
	if rest != "" {
		name, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/versions/latest"))
		for _, one := range s.list {
			if err == nil && one.Server.Name == name {
				_ = json.NewEncoder(w).Encode(one)
				return
			}
		}
		http.Error(w, `{"title":"Not Found","status":404,"detail":"Server not found"}`, http.StatusNotFound)
		return
	}
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("cursor"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	since, _ := time.Parse(time.RFC3339, q.Get("updated_since"))
	var page []response
	next := ""
	for i, one := range s.list {
		updated, _ := time.Parse(time.RFC3339, fmt.Sprint(one.Meta[official].(map[string]any)["updatedAt"]))
		if i < from || !strings.Contains(one.Server.Name, q.Get("search")) || updated.Before(since) {
			continue
		}
		if len(page) == limit {
			next = strconv.Itoa(i)
			break
		}
		page = append(page, one)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"servers": page,
		"metadata": map[string]any{"nextCursor": next, "count": len(page)}})
}

func listOf(n int) (list []response) {
	for i := range n {
		day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		list = append(list, response{
			Entry{Name: fmt.Sprintf("io.example/server-%d", i), Description: "Number " + strconv.Itoa(i),
				Version: "1.0.0"},
			map[string]any{official: map[string]any{"status": "active", "updatedAt": day.Format(time.RFC3339),
				"isLatest": true}},
		})
	}
	return list
}

func start(t *testing.T, s *standIn) Source {
	t.Helper()
	if s.base == "" {
		s.base = "v0.1"
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	source, err := ParseSource(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// noWait is a clock that does not wait, but writes down for how long it was to.
func noWait(waits *[]time.Duration) func(context.Context, time.Duration) error {
	return func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}
}

func TestPages(t *testing.T) {
	for _, base := range []string{"v0.1", "v0"} {
		s := &standIn{list: listOf(250), base: base}
		source := start(t, s)
		f, err := (Client{}).List(t.Context(), source, Query{})
		if err != nil || len(f.Entries) != 250 || f.Entries[249].Name != "io.example/server-249" || f.More {
			t.Errorf("%s: %d entries, %v", base, len(f.Entries), err)
		}
		f, err = (Client{}).List(t.Context(), source, Query{Limit: 120})
		if err != nil || len(f.Entries) != 120 || !f.More {
			t.Errorf("%s: %d entries, more %v, %v", base, len(f.Entries), f.More, err)
		}
	}
}

// The words of a query, the time since, and the key of a list reach the API.
func TestQuery(t *testing.T) {
	s := &standIn{list: listOf(40)}
	source := start(t, s)
	f, err := (Client{}).List(t.Context(), source,
		Query{Text: "server-3 number", Since: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)})
	var names []string
	for _, e := range f.Entries {
		names = append(names, e.Name)
	}
	if err != nil || len(names) != 9 || names[0] != "io.example/server-31" {
		t.Errorf("%v %v", names, err)
	}
	if len(s.asked) != 1 || !strings.Contains(s.asked[0], "search=server-3") || !strings.Contains(s.asked[0],
		"updated_since=2026-02-01T00%3A00%3A00Z") || !strings.Contains(s.asked[0], "version=latest") {
		t.Errorf("asked %q", s.asked)
	}
	e, err := (Client{Key: func(Source) string { return "k" }}).Get(t.Context(), source, "io.example/server-7")
	if err != nil || e.Description != "Number 7" || e.Status != "active" || s.keys[len(s.keys)-1] != "Bearer k" {
		t.Errorf("%+v %v, keys %q", e, err, s.keys)
	}
	if e, err = (Client{}).Get(t.Context(), source, "server-8"); err != nil || e.Name != "io.example/server-8" {
		t.Errorf("by its last part: %+v %v", e, err)
	}
	if _, err = (Client{}).Get(t.Context(), source, "io.example/none"); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("none: %v", err)
	}
}

func TestBusyAndBroken(t *testing.T) {
	busy := func(after string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", after)
			http.Error(w, `{"status":429,"detail":"rate limited"}`, http.StatusTooManyRequests)
		}
	}
	down := func(w http.ResponseWriter) { http.Error(w, "<html>", http.StatusBadGateway) }
	for _, tc := range []struct {
		name   string
		broken map[int]func(http.ResponseWriter)
		waits  []time.Duration
		says   string // "" where it works
	}{
		{"asks to wait", map[int]func(http.ResponseWriter){1: busy("7")}, []time.Duration{7 * time.Second}, ""},
		{"fails twice", map[int]func(http.ResponseWriter){1: down, 2: down}, []time.Duration{time.Second, 2 * time.Second}, ""},
		{"stays down", map[int]func(http.ResponseWriter){1: down, 2: down, 3: down, 4: down},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, "502"},
		{"asks for an hour", map[int]func(http.ResponseWriter){1: busy("3600")}, nil, "1h0m0s"},
		{"refuses", map[int]func(http.ResponseWriter){1: func(w http.ResponseWriter) { http.Error(w, `{"error":"no"}`, http.StatusForbidden) }}, nil, "403 no"},
		{"is no list", map[int]func(http.ResponseWriter){1: func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }}, nil, "cannot be read"},
		{"sends on", map[int]func(http.ResponseWriter){1: func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(http.StatusFound)
		}}, []time.Duration{time.Second}, ""},
		{"sends without end", map[int]func(http.ResponseWriter){1: func(w http.ResponseWriter) {
			for range 9 << 10 {
				fmt.Fprint(w, strings.Repeat(" ", 1024))
			}
		}}, nil, "larger than 8 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var waits []time.Duration
			f, err := (Client{Wait: noWait(&waits)}).List(t.Context(),
				start(t, &standIn{list: listOf(3), broken: tc.broken}), Query{})
			if tc.says == "" && (err != nil || len(f.Entries) != 3) || tc.says != "" &&
				(err == nil || !strings.Contains(err.Error(), tc.says) || fault.CodeOf(err) != fault.CodeUnavailable) {
				t.Errorf("%d entries, %v", len(f.Entries), err)
			}
			if !slices.Equal(waits, tc.waits) {
				t.Errorf("waited %v, want %v", waits, tc.waits)
			}
		})
	}
}

func TestCircleOfPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"servers":[],"metadata":{"nextCursor":"same"}}`)
	}))
	defer server.Close()
	source, err := ParseSource(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Client{}).List(t.Context(), source, Query{}); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Error(err)
	}
}

func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What the entries of real servers, in the published forms, are to be installed as, and what they ask for.
func TestEntriesOfRealServers(t *testing.T) {
	source, err := ParseSource("testdata/entries")
	if err != nil {
		t.Fatal(err)
	}
	f, err := (Client{}).List(t.Context(), source, Query{})
	if err != nil || len(f.Entries) != 18 || len(f.Skipped) != 0 {
		t.Fatalf("%d entries, skipped %q, %v", len(f.Entries), f.Skipped, err)
	}
	for _, tc := range []struct{ name, pkg, needs, why string }{
		{"filesystem", "npm:@modelcontextprotocol/server-filesystem@2026.8.31", "target_dir!f", ""},
		{"time", "pypi:mcp-server-time", "local-timezone", ""},
		{"git-mcp-server", "npm:@cyanheads/git-mcp-server@2.15.3", "MCP_LOG_LEVEL GIT_BASE_DIR", ""},
		{"brave-search-mcp-server", "npm:@brave/brave-search-mcp-server@2.1.3", "BRAVE_API_KEY!s", ""},
		{"context7", "npm:@upstash/context7-mcp@1.0.26", "CONTEXT7_API_KEYs", ""},
		{"github-mcp-server", "", "token!s", ""}, // the URL is taken before the image
		{"knapcode-samplemcpserver", "", "", `packages of type "nuget" are not installed`},
		{"text-editor", "mcpb:https://github.com/modelcontextprotocol/text-editor-mcpb/releases/download/v1.0.2/text-editor.mcpb#fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce", "", ""},
	} {
		e, err := (Client{}).Get(t.Context(), source, tc.name)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		c, err := e.Choose()
		if tc.why != "" && (err == nil || !strings.Contains(err.Error(), tc.why)) || tc.why == "" && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		var needs []string
		for _, n := range c.Needs {
			needs = append(needs, n.Name+map[bool]string{true: "!"}[n.Required]+map[bool]string{true: "s"}[n.Secret]+
				map[bool]string{true: "f"}[n.File])
		}
		if c.Package != tc.pkg || strings.Join(needs, " ") != tc.needs {
			t.Errorf("%s: %q, needs %q", tc.name, c.Package, needs)
		}
	}
}

func TestFill(t *testing.T) {
	in := func(text string) (e Entry) {
		t.Helper()
		p, err := Decode([]byte(text), "x")
		if err != nil || len(p.Entries) != 1 {
			t.Fatalf("%v %q", err, p.Skipped)
		}
		return p.Entries[0]
	}
	pkg := func(rest string) string {
		return `{"name":"a/b","packages":[{"registryType":"npm","identifier":"b","transport":{"type":"stdio"},` +
			rest + `}]}`
	}
	for _, tc := range []struct {
		name, entry string
		values      map[string]string
		want        Launch
		err         string
	}{
		{"a value with variables", pkg(`"packageArguments":[{"type":"named","name":"--mount","value":"src={from},dst=/data,{other}","variables":{"from":{"isRequired":true}}}]`), map[string]string{"from": "/home/x"},
			Launch{Args: []string{"--mount", "src=/home/x,dst=/data,{other}"}}, ""},
		{"a default, a choice, a flag", pkg(`"packageArguments":[{"type":"named","name":"--mode","default":"local","choices":["local","cached"]},{"type":"named","name":"-v","format":"boolean","value":"true"},{"type":"named","name":"--port"}]`), nil,
			Launch{Args: []string{"--mode", "local", "-v"}}, ""},
		{
			"none of the choices",
			pkg(`"packageArguments":[{"type":"named","name":"--mode","choices":["local","cached"]}]`),
			map[string]string{"mode": "far"}, Launch{}, "none of local, cached",
		},
		{"required", pkg(`"environmentVariables":[{"name":"API_KEY","description":"of the service","isRequired":true,"isSecret":true}]`), nil, Launch{}, "needs a value for API_KEY (of the service)"},
		{"a secret is a variable", pkg(`"environmentVariables":[{"name":"API_KEY","isRequired":true,"isSecret":true},{"name":"REGION","default":"eu"}],"packageArguments":[{"type":"named","name":"--dsn","value":"pg://u:{db-pass}@h","isSecret":true,"variables":{"db-pass":{"isRequired":true}}}]`),
			map[string]string{"API_KEY": "s3cret", "db-pass": "p4ss"},
			Launch{Args: []string{"--dsn", "pg://u:${DB_PASS}@h"}, Env: map[string]string{"API_KEY": "${API_KEY}",
				"REGION": "eu"}, Secrets: map[string]string{"API_KEY": "s3cret", "DB_PASS": "p4ss"}}, ""},
		{"a remote", `{"name":"a/b","remotes":[{"type":"sse","url":"https://x.example/sse"},{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{"isRequired":true}},"headers":[{"name":"X-Api-Key","isSecret":true,"isRequired":true},{"name":"X-Region","default":"eu"}]}]}`,
			map[string]string{"tenant": "acme", "X-Api-Key": "k1"},
			Launch{URL: "https://acme.example.com/mcp", Headers: map[string]string{"X-Api-Key": "${X_API_KEY}",
				"X-Region": "eu"}, Secrets: map[string]string{"X_API_KEY": "k1"}}, ""},
		{"a remote led elsewhere", `{"name":"a/b","remotes":[{"type":"streamable-http","url":"{base}/mcp","variables":{"base":{"isRequired":true}}}]}`, map[string]string{"base": "http://10.0.0.1"}, Launch{}, "not reached by https"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := in(tc.entry).Choose()
			if err != nil {
				t.Fatal(err)
			}
			l, err := c.Fill(tc.values)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%v", err)
				}
				return
			}
			same := func(a, b map[string]string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
			if err != nil || !slices.Equal(l.Args, tc.want.Args) || !same(l.Env, tc.want.Env) ||
				!same(l.Headers, tc.want.Headers) || !same(l.Secrets, tc.want.Secrets) || l.URL != tc.want.URL {
				t.Errorf("%+v %v", l, err)
			}
		})
	}
}

// Entries of strangers that could be taken for something else are left out, each with its reason, and do not spoil the
// others.
func TestHostileEntries(t *testing.T) {
	npm := func(rest string) string {
		return `{"name":"a/b","packages":[{"registryType":"npm","identifier":"b",` + rest + `}]}`
	}
	for _, tc := range []struct{ entry, why string }{
		{`{"name":"a/b/../../c"}`, "name"},
		{`{"name":"a/` + strings.Repeat("x", 300) + `"}`, "name"},
		{`{"name":"a/\u001b[2J"}`, "name"},
		{`{"name":"a/b","description":"` + strings.Repeat("x", 5000) + `"}`, "longer than"},
		{`{"name":"a/b","packages":[{"registryType":"npm","identifier":"../../evil"}]}`, "no name of a npm package"},
		{`{"name":"a/b","packages":[{"registryType":"npm","identifier":"--registry=http://evil"}]}`, "no name of a npm package"},
		{`{"name":"a/b","packages":[{"registryType":"npm","identifier":"git+https://evil/x"}]}`, "no name of a npm package"},
		{`{"name":"a/b","packages":[{"registryType":"pypi","identifier":"x @ https://evil/x.whl"}]}`, "no name of a pypi package"},
		{`{"name":"a/b","packages":[{"registryType":"npm","identifier":"x","version":"1 --foo"}]}`, "no version"},
		{`{"name":"a/b","packages":[{"registryType":"mcpb","identifier":"http://evil.example/x.mcpb","fileSha256":"00"}]}`, "SHA-256"},
		{npm(`"environmentVariables":[{"name":"LD_PRELOAD","value":"./x.so"}]`), "which programs run"},
		{npm(`"environmentVariables":[{"name":"npm_config_registry","value":"https://evil.example"}]`), "which programs run"},
		{npm(`"environmentVariables":[{"name":"DYLD_INSERT_LIBRARIES","value":"./x"}]`), "which programs run"},
		{npm(`"environmentVariables":[{"name":"NODE_PATH","value":"./x"}]`), "which programs run"},
		{npm(`"environmentVariables":[{"name":"NODE_OPTIONS","value":"--require ./x"}]`), "which programs run"},
		{npm(`"environmentVariables":[{"name":"A","default":"${AWS_SECRET_ACCESS_KEY}"}]`), "variable of this machine"},
		{npm(`"packageArguments":[{"type":"named","name":"--x\u0000"}]`), "no name of an argument"},
		{npm(`"packageArguments":[{"type":"named","name":"--x","variables":{"v":{"default":"${HOME}"}},"value":"{v}"}]`), "variable of this machine"},
		{`{"name":"a/b","remotes":[{"type":"sse","url":"https://x.example/${GITHUB_TOKEN}"}]}`, "variable of this machine"},
		{`{"name":"a/b","remotes":[{"type":"sse","url":"http://169.254.169.254/latest"}]}`, "not reached by https"},
		{`{"name":"a/b","remotes":[{"type":"sse","url":"https://x.example","headers":[{"name":"X: y\r\nHost","value":"z"}]}]}`, "no name of a variable"},
		{`{"name":"a/b","remotes":[{"type":"sse","url":"https://x.example","headers":[{"name":"X","value":"a\r\nB: c"}]}]}`, "line end"},
		{
			`{"name":"a/b","packages":[` + strings.Repeat(`{"registryType":"npm","identifier":"x"},`, 70) +
				`{"registryType":"npm","identifier":"x"}]}`,
			"too many",
		},
		{`{"name":"a/b","packages":"x"}`, "cannot unmarshal"},
	} {
		p, err := Decode([]byte(`{"servers":[`+tc.entry+`,{"name":"good/one"}]}`), "x")
		if err != nil || len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0], tc.why) || len(p.Entries) != 1 ||
			p.Entries[0].Name != "good/one" {
			t.Errorf("%.80s: %v, skipped %.200q, kept %d", tc.entry, err, p.Skipped, len(p.Entries))
		}
	}
	p, err := Decode([]byte(`{"name":"a/b","written":{"command":"rm"}}`), "x")
	if err != nil || p.Entries[0].Written != nil {
		t.Errorf("a list says what a file of this machine says: %+v %v", p, err)
	}
}

func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"": "https://registry.modelcontextprotocol.io", "smithery": "https://api.smithery.ai/servers",
		"glama=https://mirror.example/x": "https://mirror.example/x",
		"https://own.example":            "https://own.example", "testdata": "",
	} {
		if s, err := ParseSource(text); err != nil || s.url != want {
			t.Errorf("%q: %+v %v", text, s, err)
		}
	}
	for _, text := range []string{"nowhere", "http://own.example", "glama=ftp://x", "https://user:pw@own.example"} {
		_, err := ParseSource(text)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{
		"smithery.json", "smithery-one.json", "smithery-bundle.json", "glama.json", "mcp.json",
		"entries/github-mcp-server.json",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data, "x")
		if err != nil {
			return
		}
		for _, e := range p.Entries {
			c, err := e.Choose()
			if err != nil {
				continue
			}
			values := map[string]string{}
			for _, n := range c.Needs {
				values[n.Name] = "v"
				if len(n.Choices) > 0 {
					values[n.Name] = n.Choices[0]
				}
			}
			l, err := c.Fill(values)
			if err != nil {
				continue
			}
			for _, text := range append(l.Args, l.URL) { // only a variable that Fill made may stand in it
				for rest := text; ; {
					_, after, found := strings.Cut(rest, "${")
					if !found {
						break
					}
					name, _, _ := strings.Cut(after, "}")
					if _, ours := l.Secrets[name]; !ours {
						t.Fatalf("%q asks for %q", text, name)
					}
					rest = after
				}
			}
		}
	})
}

// What an entry of an mcp.json file asks for is known, so that a user can give it: a default is taken only where the
// variable is not one that every process has.
func TestCommandsAskFor(t *testing.T) {
	p, err := DecodeFile([]byte(`{"mcpServers":{"a":{"command":"x","args":["${B}","${HONE_EPISODE_DIR}/x${env:A}","${C:-c}","${HOME:-h}"]},"b":{"command":"x","args":["${input:key}"]}}}`), "x")
	if err != nil || len(p.Entries) != 2 {
		t.Fatalf("%v %+v", err, p)
	}
	if _, needs, ok := p.Entries[0].Command(); !ok || strings.Join(needs, " ") != "A B HOME" {
		t.Errorf("%v %q", ok, needs)
	}
	if _, _, ok := p.Entries[1].Command(); ok {
		t.Error("what an editor asks its user for is no variable of the environment")
	}
}

// A package is an entry too, and a name that a package manager would read as something else is none.
func TestOfPackage(t *testing.T) {
	for text, want := range map[string]string{
		"npm:@us/tiny@1.2": "npm:@us/tiny@1.2", "npm:@us/tiny": "npm:@us/tiny", "pypi:tiny": "pypi:tiny",
		"pypi:tiny==1.2": "pypi:tiny==1.2", "pypi:tiny@1.2": "pypi:tiny==1.2", "npm:--registry=x": "", "npm:": "",
		"oci:x/y:1": "", "pypi:../x": "", "gem:x": "",
	} {
		e, err := OfPackage(text)
		if f, is := errors.AsType[*fault.Error](err); want == "" {
			if !is || f.Code != fault.CodeUsage {
				t.Errorf("%s: %+v, %v", text, e, err)
			}
			continue
		}
		if c, bad := e.Choose(); err != nil || bad != nil || c.Package != want || e.Name != text {
			t.Errorf("%s: %+v %v %v", text, c, err, bad)
		}
	}
}

// A host whose name is not known is not asked again, and the reason does not hold the whole address.
func TestUnknownHostIsAskedOnce(t *testing.T) {
	asked := 0
	c := Client{
		HTTP: &http.Client{Transport: fails(func() error {
			asked++
			return &net.DNSError{Err: "no such host", Name: "r.example", IsNotFound: true}
		})},
		Wait: func(context.Context, time.Duration) error { return nil },
	}
	s, err := ParseSource("https://r.example/api")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.List(t.Context(), s, Query{Text: "words"})
	if f, is := errors.AsType[*fault.Error](err); !is || asked != 1 || strings.Contains(f.Err.Error(), "search=") ||
		!strings.Contains(f.Err.Error(), "no such host") {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

type fails func() error

func (f fails) RoundTrip(*http.Request) (*http.Response, error) { return nil, f() }

// What is started as it stands in an mcp.json file gets nothing of this machine: no variable, however it is written,
// and none of hone's own keys. A registry that is reached by HTTP gives no commands.
func TestCommandsOfOthers(t *testing.T) {
	for _, key := range []string{
		`"command":"x","args":["\u0024{AWS_SECRET_ACCESS_KEY}"]`, `"command":"x","env":{"K":"$\u007bA}"}`,
		`"url":"http://localhost/\u0024{A}","headers":{"H":"v"}`,
		`"command":"x","env":{"\u0024{A}":"v"}`, `"url":"https://x.example","headers":{"K":"\u0024{A}"}`,
		`"COMMAND":"\u0024{A}"`,
	} {
		p, err := DecodeFile([]byte(`{"mcpServers":{"a":{`+key+`}}}`), "x")
		if err != nil || len(p.Entries) != 1 {
			t.Fatalf("%s: %v %q", key, err, p.Skipped)
		}
		if raw, needs, ok := p.Entries[0].Command(); ok && len(needs) == 0 {
			t.Errorf("%s is started", raw)
		}
	}
	p, err := DecodeFile([]byte(`{"mcpServers":{"a":{"command":"x","args":["y"],"env":{"A":"b"},"type":"stdio","hosts":["evil.example"],"cwd":"/","template":"/home",
		"envFile":"/home/u/.env","EnvFile":"z","oauth":{"private_key_file":"/home/u/.ssh/id"},"headers":{"H":"v"},"reset":{"from":"/","to":"x"}}}}`), "x")
	raw, _, ok := p.Entries[0].Command()
	if want := `{"command":"x","args":["y"],"env":{"A":"b"},"headers":{"H":"v"}}`; err != nil || !ok ||
		string(raw) != want {
		t.Errorf("%v %v, kept %s", err, ok, raw)
	}
	for _, text := range []string{`{"mcpServers":{"a":{"command":"x"}}}`, `{"servers":{"a":{"command":"x"}}}`} {
		if p, err := Decode([]byte(text), "x"); err == nil || len(p.Entries) > 0 {
			t.Errorf("a registry gives a command: %s", text)
		}
	}
	// Each part is harmless, and together they name a variable.
	if p, err := Decode([]byte(`{"name":"a/b","remotes":[{"type":"sse","url":"https://x.example/{d}{AWS_SECRET_ACCESS_KEY}","variables":{"d":{"default":"$"}}}]}`), "x"); err != nil || len(p.Skipped) != 1 {
		t.Errorf("%v %+v", err, p.Entries)
	}
}

// The names of images come in several forms; an image's rights on the machine are no entry's to decide.
func TestImages(t *testing.T) {
	sum := "sha256:" + strings.Repeat("a", 64)
	for _, tc := range []struct{ pkg, want, skipped string }{
		{`"identifier": "images.example.com/github/github-mcp-server:0.20.1"`, "oci:images.example.com/github/github-mcp-server:0.20.1", ""},
		{`"identifier": "mcp/time", "version": "1.0"`, "oci:docker.io/mcp/time:1.0", ""},
		{`"identifier": "mcp/time", "registryBaseUrl": "https://docker.io", "version": "` + sum + `"`, "oci:docker.io/mcp/time@" + sum, ""},
		{`"identifier": "x/y", "registryBaseUrl": "https://images.example.com"`, "oci:images.example.com/x/y", ""},
		{`"identifier": "localhost:5000/x:1@` + sum + `", "version": "2"`, "oci:localhost:5000/x:1@" + sum, ""},
		{`"identifier": "plain"`, "oci:docker.io/library/plain", ""},
		{`"identifier": "--privileged"`, "", "none of an image"},
		{`"identifier": "x/y z"`, "", "none of an image"},
		{`"identifier": "x/y", "runtimeArguments": [{"name": "-e", "value": "LD_PRELOAD=/x"}]`, "", "which programs run"},
		{`"identifier": "x/y", "runtimeArguments": [{"name": "-e", "value": "KEY=${AWS_SECRET_ACCESS_KEY}"}]`, "", "variable of this machine"},
	} {
		p, err := Decode([]byte(`{"name": "io.example/image", "packages": [{"registryType": "oci", `+tc.pkg+`}]}`),
			"list")
		if tc.skipped != "" {
			if len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0], tc.skipped) {
				t.Errorf("%s: %v %q", tc.pkg, err, p.Skipped)
			}
			continue
		}
		if err != nil || len(p.Entries) != 1 {
			t.Errorf("%s: %v %q", tc.pkg, err, p.Skipped)
			continue
		}
		if c, err := p.Entries[0].Choose(); err != nil || c.Package != tc.want {
			t.Errorf("%s: %q %v", tc.pkg, c.Package, err)
		}
	}
}
