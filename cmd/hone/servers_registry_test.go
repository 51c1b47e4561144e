package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"hone/internal/console/sanitize"
)

// keyedPython is a server that gives away its key: in what it answers, and on stderr.
const keyedPython = `import json, os, sys
key = os.environ["SHOP_DSN"]
def main():
    print("started with", key, file=sys.stderr, flush=True)
    for line in sys.stdin:
        q = json.loads(line)
        if "id" not in q: continue
        r = {"error": {"code": -32601, "message": "no such method"}}
        if q["method"] == "initialize": r = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "shop", "version": "1"}}}
        if q["method"] == "tools/list": r = {"result": {"tools": [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}}
        if q["method"] == "tools/call": r = {"result": {"content": [{"type": "text", "text": "region " + os.environ["REGION"] + ", key " + key + ", args " + " ".join(sys.argv[1:])}]}}
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **r}), flush=True)
`

const keyedEntry = `{"name": "io.example/shop", "description": "A shop", "version": "1.2", "packages": [{"registryType": "pypi", "identifier": "tiny-server", "version": "1.2", "transport": {"type": "stdio"},
  "packageArguments": [{"type": "named", "name": "--store", "valueHint": "store", "isRequired": true}],
  "environmentVariables": [{"name": "SHOP_DSN", "description": "Your key", "isRequired": true, "isSecret": true}, {"name": "REGION", "default": "eu"}]}]}`

// grep returns the files below dir that hold a text.
func grep(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// An entry of a registry is installed with the values that it asks for. Its secret is in one file that only the user
// can read, reaches the server, and is in no file of a run.
func TestServersAddEntry(t *testing.T) {
	workFolder(t, map[string]string{"entries/shop.json": keyedEntry, "tasks.jsonl": `{"id": "a", "task": "Look.", "gold": [{"name": "look", "arguments": {}}], "checks": [{"type": "call", "name": "look", "arguments": {}}]}` + "\n"})
	wheel(t, "tiny_server-1.2-py3-none-any.whl", map[string]string{"tiny.py": keyedPython,
		"tiny_server-1.2.dist-info/entry_points.txt": "[console_scripts]\ntiny-server = tiny:main\n"})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", here)
	const key = "s3cr3t-of-the-shop"
	add := []string{"servers", "add", "io.example/shop", "--registry", "entries", "--mcp-config", "mcp.json"}
	for _, tc := range []struct {
		more []string
		says string
	}{
		{nil, "it needs a value for store"},
		{[]string{"--set", "store=main"}, "SHOP_DSN (Your key)"},
		{[]string{"--set", "SHOP_DSN=x"}, "shell's history"},
		{[]string{"--set", "shop=x"}, "asks for no value"},
	} {
		if code, _, said := sandboxedHone(t, append(add, tc.more...)...); code != 2 ||
			!strings.Contains(said, tc.says) {
			t.Errorf("%q: %d\n%s", tc.more, code, said)
		}
	}
	t.Setenv("SHOP_DSN", key)
	code, stdout, said := sandboxedHone(t, append(add, "--set", "store=main")...)
	if code != 2 || !strings.Contains(said, "SHOP_DSN is not given to the program of pypi:tiny-server==1.2") ||
		len(grep(t, ".", key)) > 0 {
		t.Errorf("taken from the environment unasked: %d\n%s%s", code, stdout, said)
	}
	code, stdout, said = sandboxedHone(t, append(add, "--set", "store=main", "--env", "SHOP_DSN")...)
	if code != 0 || !strings.Contains(said, "SHOP_DSN goes to the program of pypi:tiny-server==1.2") ||
		strings.Contains(stdout+said, key) {
		t.Fatalf("%d\n%s%s", code, stdout, said)
	}
	t.Setenv("SHOP_DSN", "")
	if err := os.Unsetenv("SHOP_DSN"); err != nil { // from now on the file is what knows it
		t.Fatal(err)
	}
	if text := contents(t, "mcp.json"); !strings.Contains(
		text, `"args":["--store","main"],"env":{"REGION":"eu","SHOP_DSN":"${SHOP_DSN}"},"envFile":".hone/secrets/.env.shop"`,
	) {
		t.Errorf("%s", text)
	}
	if info, err := os.Stat(".hone/secrets/.env.shop"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if code, _, said := sandboxedHone(t, "collect", "--gold", "--yes", "--mcp-config", "mcp.json", "--dataset",
		"tasks.jsonl", "--split", "all", "--output-dir", "shown"); code != 0 {
		t.Fatalf("%d\n%s", code, said)
	}
	if text := contents(t,
		"shown/trajectories.jsonl"); !strings.Contains(text, "region eu, key [hidden], args --store main") ||
		!strings.Contains(text, "started with [hidden]") {
		t.Errorf("%s", text)
	}
	if found := grep(t, ".", key); len(found) != 1 || found[0] != ".hone/secrets/.env.shop" {
		t.Errorf("the secret is in %q", found)
	}
	if code, _, said := sandboxedHone(t, "servers", "rm", "shop", "--mcp-config", "mcp.json"); code != 0 ||
		len(grep(t, ".", key)) != 0 {
		t.Errorf("%d %s: the secret is left in %q", code, said, grep(t, ".", key))
	}
}

// A person who types is asked once for what an entry must be given, and does not see the secret.
func TestServersAddAsks(t *testing.T) {
	workFolder(t, map[string]string{"entries/remote.json": `{"name": "io.example/remote", "remotes": [{"type": "streamable-http", "url": "https://{tenant}.example.com/mcp", "variables": {"tenant": {"isRequired": true}},
	  "headers": [{"name": "Authorization", "value": "Bearer {token}", "isRequired": true, "variables": {"token": {"isRequired": true, "isSecret": true, "description": "Your token"}}}]}]}`})
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	shown := make(chan string)
	go func() {
		var all bytes.Buffer
		sent := 0
		for buffer := make([]byte, 4096); ; {
			n, err := master.Read(buffer)
			all.Write(buffer[:n])
			for i, ask := range []string{
				"tenant: ", "give the environment's TOKEN to https://{tenant}.example.com/mcp? [y/N] ",
				"token (Your token): ",
			} {
				if sent == i && strings.Contains(all.String(), ask) {
					sent++
					_, _ = master.WriteString([]string{"acme\n", "\n", "tok3n-typed\n"}[i])
				}
			}
			if err != nil || strings.Contains(all.String(), "END") {
				shown <- all.String()
				return
			}
		}
	}()
	a := toyApp(terminal, map[string]string{"TOKEN": "sk-of-the-user"})
	a.Stdin, a.Data = terminal, sanitize.New(terminal)
	if code := a.main(t.Context(), []string{"servers", "add", "io.example/remote", "--registry", "entries",
		"--mcp-config", "mcp.json"}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	fmt.Fprintln(terminal, "END")
	select {
	case text := <-shown:
		if strings.Contains(text, "tok3n") || !strings.Contains(text, "acme") {
			t.Errorf("the terminal shows %q", text)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was asked")
	}
	if text := contents(t, "mcp.json"); !strings.Contains(text, `"remote": {"envFile":".hone/secrets/.env.remote","url":"https://acme.example.com/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}`) {
		t.Errorf("%s", text)
	}
	if text := contents(t, ".hone/secrets/.env.remote"); text != "TOKEN=\"tok3n-typed\"\n" {
		t.Errorf("%s", text)
	}
}

// A bundle is taken from its URL by its hash, and its server runs from what is in it.
func TestServersAddBundle(t *testing.T) {
	workFolder(t, nil)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{"manifest.json": `{"manifest_version": "0.3", "name": "tiny", "version": "2.0", "server": {"type": "node", "entry_point": "server/main.js",
	  "mcp_config": {"command": "node", "args": ["${__dirname}/server/main.js"], "env": {"LEVEL": "${user_config.level}"}}}, "user_config": {"level": {"type": "number", "default": 3}}}`, "server/main.js": tinyJS} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		_, _ = out.Write(b.Bytes())
	}))
	defer files.Close()
	sum := fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
	for _, tc := range []struct {
		sum  string
		code int
	}{{strings.Repeat("0", 64), 2}, {sum, 0}} {
		entry := fmt.Sprintf(`{"name": "io.example/bundle", "packages": [{"registryType": "mcpb", "identifier": "%s/tiny.mcpb", "fileSha256": "%s", "transport": {"type": "stdio"}}]}`, files.URL, tc.sum)
		if err := os.WriteFile("entry.json", []byte(entry), 0o644); err != nil {
			t.Fatal(err)
		}
		code, _, said := sandboxedHone(t, "servers", "add", "io.example/bundle", "--registry", "entry.json",
			"--mcp-config", "mcp.json")
		if code != tc.code || code != 0 && !strings.Contains(said, "not the one that was published") {
			t.Errorf("%d\n%s", code, said)
		}
		if code, _, said := sandboxedHone(t, "servers", "add", "bundle", "--registry", "entry.json", "--mcp-config",
			"part.json"); code != 2 || !strings.Contains(said, "hone servers add io.example/bundle") {
			t.Errorf("by the last part of a name, which anyone may choose: %d\n%s", code, said)
		}
		if left, _ := filepath.Glob(".hone/servers/*"); code != 0 && len(left) > 0 {
			t.Errorf("left behind %q", left)
		}
	}
	if code, stdout, said := sandboxedHone(t, "discover", "--mcp-config", "mcp.json"); code != 0 ||
		!strings.Contains(stdout, "js_tool") || !strings.Contains(contents(t, "mcp.json"), `"LEVEL":"3"`) {
		t.Errorf("%d\n%s%s", code, stdout, said)
	}
}

// What a search prints of hostile entries moves no terminal and forges no line; it keeps what it finds in a form that
// it reads.
func TestServersSearch(t *testing.T) {
	text, err := json.Marshal(map[string]any{"servers": []map[string]any{
		{"name": "io.example/owned", "title": owned, "description": owned, "version": owned, "repository": map[string]string{"url": owned}},
		{"name": owned, "description": "x"},
		{"name": "io.example/bad", "packages": []map[string]string{{"registryType": "npm", "identifier": owned}}},
		{"name": "io.example/good", "description": "Plain", "packages": []map[string]any{
			{"registryType": "npm", "identifier": "good",
				"environmentVariables": []map[string]any{{"name": "KEY", "isRequired": true, "isSecret": true}}},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	workFolder(t, map[string]string{"list.json": string(text)})
	for _, args := range [][]string{nil, {"--json"}, {"--plain", "--verbose"}} {
		code, stdout, said := hone(t, "", append([]string{"servers", "search", "--registry", "list.json"}, args...)...)
		if code != 0 || !strings.Contains(stdout, "io.example/good") || !strings.Contains(said, "left out") ||
			strings.Contains(stdout, `"name": "io.example/bad"`) {
			t.Errorf("%q: %d\n%s%s", args, code, stdout, said)
		}
		tame(t, fmt.Sprintf("%q", args), stdout, said)
	}
	code, stdout, _ := hone(t, "", "servers", "search", "plain", "--registry", "list.json", "--save", "kept.json")
	if code != 0 || !strings.Contains(stdout, "KEY*") || strings.Contains(stdout, "owned") {
		t.Errorf("%d %s", code, stdout)
	}
	if code, again, said := hone(t, "", "servers", "search", "--registry", "kept.json"); code != 0 || again != stdout {
		t.Errorf("%d %s%s", code, again, said)
	}
	if code, _, said := hone(t, "", "servers", "search", "--registry", "list.json", "--since",
		"yesterday"); code != 2 || !strings.Contains(said, "--since yesterday") {
		t.Errorf("%d %s", code, said)
	}
}
