package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
)

// tinyJS and tinyPython are servers without dependencies, so that a package manager needs no registry. Each has one
// tool.
const tinyJS = `#!/usr/bin/env node
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const q = JSON.parse(line); if (q.id === undefined) return;
  const say = r => console.log(JSON.stringify({jsonrpc: "2.0", id: q.id, ...r}));
  if (q.method === "initialize") say({result: {protocolVersion: "2025-11-25", capabilities: {tools: {}}, serverInfo: {name: "tiny", version: "1"}}});
  else if (q.method === "tools/list") say({result: {tools: [{name: "js_tool", inputSchema: {type: "object"}}]}});
  else say({error: {code: -32601, message: "no such method"}});
});
`

const tinyPython = `import json, sys
def main():
    for line in sys.stdin:
        q = json.loads(line)
        if "id" not in q: continue
        r = {"error": {"code": -32601, "message": "no such method"}}
        if q["method"] == "initialize": r = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}}
        if q["method"] == "tools/list": r = {"result": {"tools": [{"name": "py_tool", "inputSchema": {"type": "object"}}]}}
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **r}), flush=True)
`

// npmPackage packs files as npm pack does.
func npmPackage(t *testing.T, path string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o755,
			Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wheel packs files as a wheel (PyPA specifications, binary distribution format).
func wheel(t *testing.T, path string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	w, record := zip.NewWriter(&b), ""
	info := "tiny_server-1.2.dist-info/"
	files[info+"METADATA"] = "Metadata-Version: 2.1\nName: tiny-server\nVersion: 1.2\n"
	files[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	for _, name := range append(slices.Sorted(maps.Keys(files)), info+"RECORD") {
		text := files[name]
		if name == info+"RECORD" {
			text = record + name + ",,\n"
		}
		sum := sha256.Sum256([]byte(text))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
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
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sandboxedHone is hone with its sandbox.
func sandboxedHone(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	helper, err := exec.LookPath("hone")
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	a := toyApp(&said, nil)
	a.Data, a.Helper = sanitize.New(&out), []string{helper, sandboxVerb}
	code = a.main(t.Context(), args)
	return code, out.String(), said.String()
}

// A package of each registry's kind is installed by its real package manager, locked, written into the configuration,
// and runs.
func TestServersAdd(t *testing.T) {
	tinyPackages(t)
	for _, tc := range tinyKinds() {
		addTiny(t, tc)
	}
	runsTiny(t)
}

// tinyKind is a package of one kind, and what is known of it once it is installed.
type tinyKind struct{ pkg, name, version, lock, holds string }

func tinyKinds() []tinyKind {
	return []tinyKind{
		{"npm:./tiny.tgz", "js", "1.1.0", "package-lock.json", `"integrity": "sha512-`},
		{"pypi:./tiny_server-1.2-py3-none-any.whl", "py", "1.2", "requirements.lock", "tiny-server==1.2 --hash=sha256:"},
	}
}

// tinyPackages is a folder with a package of each kind, and a configuration below it.
func tinyPackages(t *testing.T) {
	t.Helper()
	workFolder(t, map[string]string{"sub/mcp.json": "{\"mcpServers\": {\n  // ours\n}}\n"})
	npmPackage(t, "tiny.tgz", map[string]string{"package.json": `{"name": "@us/tiny-server", "version": "1.1.0", "bin": {"tiny": "main.js"}, "scripts": {"install": "touch ran"}}`, "main.js": tinyJS})
	wheel(t, "tiny_server-1.2-py3-none-any.whl", map[string]string{"tiny.py": tinyPython,
		"tiny_server-1.2.dist-info/entry_points.txt": "[console_scripts]\ntiny-server = tiny:main\n"})
}

// addTiny installs one.
func addTiny(t *testing.T, tc tinyKind) {
	t.Helper()
	code, stdout, stderr := sandboxedHone(t, "servers", "add", tc.pkg, "--name", tc.name, "--mcp-config",
		"sub/mcp.json", "--json", "--", "--flag", "${HONE_EPISODE_DIR}")
	var in struct{ Version, Lock, Command, Answer string }
	if err := json.Unmarshal([]byte(stdout), &in); code != 0 || err != nil || in.Version != tc.version ||
		in.Answer != "1 tool, protocol 2025-11-25" {
		t.Fatalf("%s: exit code %d, %v, %s%s", tc.pkg, code, err, stdout, stderr)
	}
	if lock, err := os.ReadFile(in.Lock); filepath.Base(in.Lock) != tc.lock ||
		!strings.Contains(string(lock), tc.holds) {
		t.Errorf("%s: %v, the lock %s: %s", tc.pkg, err, in.Lock, lock)
	}
	if ran, _ := filepath.Glob("sub/.hone/servers/js/node_modules/@us/tiny-server/ran"); len(ran) > 0 {
		t.Error("the package's own script ran")
	}
}

// runsTiny wants both in the configuration, and answering.
func runsTiny(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("sub/mcp.json")
	if err != nil || !strings.Contains(string(text),
		`"command":"./.hone/servers/js/node_modules/.bin/tiny","args":["--flag","${HONE_EPISODE_DIR}"]`) ||
		!strings.Contains(string(text), "// ours") {
		t.Errorf("%v, %s", err, text)
	}
	code, stdout, stderr := sandboxedHone(t, "discover", "--mcp-config", "sub/mcp.json")
	if code != 0 || !strings.Contains(stdout, "js_tool") || !strings.Contains(stdout, "py_tool") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}

// A server that is installed and does not start stays added, and that is said, with what to do.
func TestServersAddSaysWhatDoesNotStart(t *testing.T) {
	workFolder(t, nil)
	npmPackage(t, "tiny.tgz", map[string]string{
		"package.json": `{"name": "tiny", "version": "1.0.0", "bin": "main.js"}`,
		"main.js":      "#!/usr/bin/env node\nconsole.error('no mood today'); process.exit(1)\n",
	})
	code, stdout, stderr := sandboxedHone(t, "servers", "add", "npm:./tiny.tgz", "--json")
	var in struct{ Answer, Next string }
	if err := json.Unmarshal([]byte(stdout), &in); code != 0 || err != nil ||
		!strings.Contains(in.Answer, "no mood today") || !strings.Contains(in.Next, "mend what it says") ||
		!strings.Contains(stderr, "does not answer") || strings.Contains(stderr, "next: hone doctor") {
		t.Errorf("exit code %d, %v, %s%s", code, err, stdout, stderr)
	}
	if text := contents(t, ".mcp.json"); !strings.Contains(text, `"tiny"`) {
		t.Errorf("it is not added: %s", text)
	}
	npmPackage(t, "built.tgz", map[string]string{
		"package.json": `{"name": "built", "version": "1.0.0", "bin": "main.js", "scripts": {"install": "touch made"}}`,
		"main.js":      "#!/usr/bin/env node\nrequire('./missing')\n",
	})
	code, stdout, stderr = sandboxedHone(t, "servers", "add", "npm:./built.tgz", "--name", "b")
	if code != 0 || !strings.Contains(stderr, "install scripts did not run, of built") ||
		!strings.Contains(stderr, "servers add npm:./built.tgz --name b --force --build;") ||
		!strings.Contains(stdout, "no: Error: Cannot find module") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr = sandboxedHone(t, "servers", "add", "npm:./built.tgz", "--name", "b", "--force",
		"--build"); code != 0 || !strings.Contains(stderr, "does not answer") || strings.Contains(stderr, "--build") {
		t.Errorf("built: exit code %d, %s", code, stderr)
	}
}

// What cannot be installed leaves nothing: no folder, no entry.
func TestServersAddFails(t *testing.T) {
	workFolder(t, map[string]string{
		"mcp.json":         `{"mcpServers": {"old": {"command": "x"}}}`,
		"broken.tgz":       "no archive",
		"empty.json":       `{"servers": []}`,
		"pkg/package.json": `{"name": "x", "version": "1.0.0", "bin": "m.js"}`,
		"pkg/m.js":         tinyJS,
	})
	npmPackage(t, "two.tgz", map[string]string{
		"package.json": `{"name": "pair", "version": "1.0.0", "bin": {"a": "m.js", "b": "m.js"}}`,
		"m.js":         tinyJS,
	})
	npmPackage(t, "none.tgz", map[string]string{"package.json": `{"name": "none", "version": "1.0.0"}`, "m.js": tinyJS})
	wheel(t, "tiny_server-1.2-py3-none-any.whl", map[string]string{"tiny.py": tinyPython,
		"tiny_server-1.2.dist-info/entry_points.txt": "[console_scripts]\ntiny-server = tiny:main\n"})
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"pypi:./tiny_server-1.2-py3-none-any.whl", "--constraint", "tiny-server<1"}, 5, "tiny-server<1"},
		{[]string{"npm:./two.tgz", "--bin", "b", "--constraint", "x<1"}, 2, "bounds no version"},
		{[]string{"pypi:./tiny_server-1.2-py3-none-any.whl", "--constraint", "--index-url=evil"}, 2, "bounds no version"},
		{[]string{"npm:./broken.tgz"}, 5, "cannot install the package"},
		{[]string{"npm:./two.tgz"}, 2, "name one with --bin"},
		{[]string{"npm:./pkg"}, 2, "a folder cannot be locked"},
		{[]string{"npm:./none.tgz"}, 2, "no program to start"},
		{[]string{"pypi:./broken.tgz", "--python", "no-such-python"}, 2, "no-such-python is not on PATH"},
		{[]string{"npm:"}, 2, "write the name behind it, as in npm:NAME"},
		{
			[]string{"calculator", "--registry", "empty.json"}, 2, "hone servers search --registry empty.json finds " +
				"names; a package is written npm:calculator or pypi:calculator",
		},
		{[]string{"gem:x"}, 2, "write npm:NAME or pypi:NAME"},
		{[]string{"npm:--registry=evil"}, 2, "is a flag"},
		{[]string{"npm:x", "--name", "../x"}, 2, "cannot be a server's name"},
		{[]string{"npm:x", "--name", "old"}, 2, "already"},
		{[]string{"npm:x", "y"}, 2, "one package"},
	} {
		code, stdout, stderr := sandboxedHone(t,
			append([]string{"servers", "add", "--mcp-config", "mcp.json"}, tc.args...)...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("%q: exit code %d, %s%s", tc.args, code, stdout, stderr)
		}
		left, err := filepath.Glob(".hone/servers/*")
		if text, _ := os.ReadFile("mcp.json"); err != nil || len(left) > 0 ||
			string(text) != `{"mcpServers": {"old": {"command": "x"}}}` {
			t.Errorf("%q: left behind %q, %s", tc.args, left, text)
		}
	}
	if code, _, stderr := sandboxedHone(t, "servers", "add", "npm:./two.tgz", "--bin", "b", "--mcp-config",
		"mcp.json"); code != 0 {
		t.Errorf("with --bin: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := sandboxedHone(t, "servers", "add", "https://shop.example/mcp", "--mcp-config",
		"mcp.json"); code != 0 {
		t.Errorf("a URL: exit code %d, %s", code, stderr)
	}
	if text, _ := os.ReadFile("mcp.json"); !strings.Contains(string(text),
		`"shop.example": {"url":"https://shop.example/mcp"}`) {
		t.Errorf("%s", text)
	}
}
