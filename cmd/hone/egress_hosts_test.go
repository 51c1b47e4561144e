package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/toolset"
)

// fetcher is a server whose tool asks for a URL, by the proxy that its environment names or past it.
const fetcher = `const http = require("http");
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const q = JSON.parse(line); if (q.id === undefined) return;
  const say = r => console.log(JSON.stringify({jsonrpc: "2.0", id: q.id, ...r}));
  const text = t => say({result: {content: [{type: "text", text: t}]}});
  if (q.method === "initialize") return say({result: {protocolVersion: "2025-11-25", capabilities: {tools: {}}, serverInfo: {name: "fetcher", version: "1"}}});
  if (q.method === "tools/list") return say({result: {tools: [{name: "get", inputSchema: {type: "object"}}]}});
  if (q.method !== "tools/call") return say({error: {code: -32601, message: "no such method"}});
  const {url, past} = q.params.arguments, proxy = new URL(process.env.HTTP_PROXY || "http://127.0.0.1:1");
  http.get(past ? url : {host: proxy.hostname, port: proxy.port, path: url, headers: {host: new URL(url).host}}, r => {
    let body = ""; r.on("data", d => body += d); r.on("end", () => text(r.statusCode + " " + body));
  }).on("error", e => text("failed " + e.code));
});
`

// A server with hosts reaches these and no other, neither past the proxy; doctor says which. Without bubblewrap it is
// not started.
func TestServerWithHosts(t *testing.T) {
	serve := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	named, other := serve("from the named"), serve("from the other")
	entry := func(hosts string) string {
		return fmt.Sprintf(`{"mcpServers": {"fetcher": {"command": "node", "args": ["fetcher.js"], "hosts": [%s]}}}`,
			hosts)
	}
	host := strings.TrimPrefix(named, "http://")
	workFolder(t, map[string]string{"fetcher.js": fetcher, "mcp.json": entry(`"` + host + `", "a.example"`)})
	servers, err := mcp.LoadConfig("mcp.json", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	helper, err := exec.LookPath("hone")
	if err != nil {
		t.Fatal(err)
	}
	a := toyApp(&bytes.Buffer{}, nil)
	a.Helper = []string{helper, sandboxVerb}
	l, err := episodes.Open(t.Context(), a.Host, config.Default(), servers, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Housing.Sandbox.Level() != sandbox.Bubblewrap {
		t.Skipf("no bubblewrap here: %s", l.Housing.Sandbox)
	}
	session, err := l.Selection.Tools.Open(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		fmt.Sprintf(`{"url": %q}`, named): "200 from the named",
		fmt.Sprintf(`{"url": %q}`, other): `403 hone: ` + strings.TrimPrefix(other, "http://") +
			` is not among this server's "hosts"`,
		fmt.Sprintf(`{"url": %q, "past": true}`, named): "failed ECONNREFUSED",
		`{"url": "http://169.254.169.254/latest"}`:      `403 hone: 169.254.169.254:80 is not among`,
	} {
		if r := session.Call(t.Context(),
			[]chat.ToolCall{{ID: "c", Name: "get", Arguments: arguments}})[0]; !strings.HasPrefix(r.Text, want) {
			t.Errorf("%s: %s %s, want %s", arguments, r.Text, r.Error, want)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	checks := doctored(t, sandbox.Bubblewrap, entry(`"`+host+`"`), nil)
	if len(checks) < 2 || !strings.Contains(checks[1].Detail, "network: "+host+" through hone's proxy") {
		t.Errorf("%+v", checks)
	}
	for name, tc := range map[string]struct{ hosts, path, want string }{
		"landlock": {`"a.example"`, t.TempDir(), "install bubblewrap"},
		"no host":  {`"https://a.example"`, "", "is no host"},
	} {
		servers.Servers["fetcher"] = mcp.Server{Command: "node", Hosts: []string{strings.Trim(tc.hosts, `"`)},
			Isolation: mcp.PerProcess}
		a := toyApp(&bytes.Buffer{}, nil)
		a.Helper = []string{helper, sandboxVerb}
		if tc.path != "" {
			a.withEnv(map[string]string{"PATH": tc.path})
		}
		if _, _, err := toolset.OpenSandbox(t.Context(), a.Host, config.DefaultSandbox(),
			servers); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
