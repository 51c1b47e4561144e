package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keeper is a server of one tool, which writes down what it is told at a place: {place} is how it finds it, {start}
// what it does at once, {write} how it writes.
const keeper = `import json, os, sqlite3, sys
HERE = os.path.dirname(os.path.abspath(__file__))
def option(name, usual):
    for i, word in enumerate(sys.argv):
        if word == "--" + name: return sys.argv[i + 1]
        if word.startswith("--" + name + "="): return word.split("=", 1)[1]
    return usual
place = {place}
def write(text):
    {write}
{start}
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q: continue
    r = {"error": {"code": -32601, "message": "no such method"}}
    if q["method"] == "initialize": r = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "keeper", "version": "1"}}}
    if q["method"] == "tools/list": r = {"result": {"tools": [{"name": "note", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}{required}}}]}}
    if q["method"] == "tools/call":
        try:
            write(q["params"]["arguments"].get("text", ""))
            r = {"result": {"content": [{"type": "text", "text": "noted"}]}}
        except Exception as e: r = {"result": {"isError": {told}, "content": [{"type": "text", "text": "Error: " + str(e)}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **r}), flush=True)
`

// A server that writes where it may not is found by doctor, with the option, the variable or the key that has it write
// in its episode's folder.
func TestDoctorFindsWhereDataGo(t *testing.T) {
	t.Parallel()
	found, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip("python3 is not here")
	}
	python := strings.TrimSpace(string(found)) // not a program that looks for it at each start
	const file, required = `open(place, "a").write(text)`, `, "required": ["text"]`
	dir, entries := t.TempDir(), map[string]any{}
	config := filepath.Join(dir, "mcp.json")
	cases := []struct {
		name, place, write, start string
		optional                  bool // the text
		unmarked                  bool // a refusal is no isError
		want                      string
	}{
		{name: "an option of a file", place: `option("memory-path", HERE + "/memory.jsonl")`,
			want: `"--memory-path","${HONE_EPISODE_DIR}/memory.jsonl" to "args"`},
		{
			name:  "an option among others",
			place: `option("db-file", HERE + "/notes.db"); option("log-file", ""); option("data-format", "")`,
			want:  `"--db-file","${HONE_EPISODE_DIR}/notes.db"`,
		},
		{name: "an option of a folder", place: `os.path.join(option("data-dir", HERE), "notes.txt")`, want: `"--data-dir","${HONE_EPISODE_DIR}"`},
		{name: "a variable of a file", place: `os.environ.get("NOTES_FILE_PATH", HERE + "/notes.txt")`,
			want: `{"NOTES_FILE_PATH": "${HONE_EPISODE_DIR}/notes.txt"}`},
		{name: "a variable of a folder", place: `os.path.join(os.getenv("STORAGE_DIR") or HERE, "notes.txt")`, want: `{"STORAGE_DIR": "${HONE_EPISODE_DIR}"}`},
		{name: "where it starts", place: `"notes.txt"`, want: `"cwd": "${HONE_EPISODE_DIR}"`},
		{
			name:  "SQLite",
			place: `option("db-path", HERE + "/notes.db")`,
			write: `sqlite3.connect(place).execute("create table if not exists t(x)")`,
			want:  `"--db-path","${HONE_EPISODE_DIR}/data"`,
		},
		{name: "makes a folder", place: `option("store-path", HERE + "/store")`,
			write: `os.makedirs(place, exist_ok=True)`, want: `"--store-path","${HONE_EPISODE_DIR}/store"`},
		{name: "at its start", place: `option("memory-path", HERE + "/memory.jsonl")`, start: `write("")`,
			want: `"--memory-path","${HONE_EPISODE_DIR}/memory.jsonl"`},
		{name: "nothing need be told", place: `option("memory-path", HERE + "/memory.jsonl")`, optional: true, want: `"--memory-path"`},
		{name: "no isError", place: `option("memory-path", HERE + "/memory.jsonl")`, unmarked: true, want: `"--memory-path"`},
		{name: "no option helps", place: `HERE + "/notes.txt"; option("config-path", "")`, want: "these did not help: "},
		{name: "all is well", place: `os.environ.get("TMPDIR", "/tmp") + "/notes.txt"`},
	}
	for _, c := range cases {
		needs, told, write := required, "True", c.write
		if c.optional {
			needs = ""
		}
		if c.unmarked {
			told = "False"
		}
		if write == "" {
			write = file
		}
		program := strings.NewReplacer("{place}", c.place, "{write}", write, "{start}", c.start, "{required}", needs,
			"{told}", told).Replace(keeper)
		path := filepath.Join(dir, c.name, "server.py")
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(program), 0o644); err != nil {
			t.Fatal(err)
		}
		entries[c.name] = map[string]any{"command": python, "args": []string{path}, "cwd": filepath.Dir(path)}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, said, _ := sandboxedHone(t, "doctor", "--json", "--mcp-config", config)
	var checks []struct{ Name, Detail, Next string }
	if err := json.Unmarshal([]byte(said), &checks); err != nil {
		t.Fatal(err, said)
	}
	for _, c := range cases {
		next := ""
		for _, check := range checks {
			if check.Name == "MCP server "+c.name &&
				strings.HasPrefix(check.Detail, "it wants to keep its data where it may not write: ") {
				next = check.Next
			}
		}
		if (next != "") != (c.want != "") || !strings.Contains(next, c.want) {
			t.Errorf("%s: want %q: %s", c.name, c.want, next)
		}
		if left, err := filepath.Glob(filepath.Join(dir, c.name, "*")); err != nil || len(left) != 1 {
			t.Errorf("%s: beside the program: %v", c.name, left)
		}
	}
}

// keeperJS writes beside itself, where no option says otherwise.
const keeperJS = `#!/usr/bin/env node
const fs = require("fs"), path = require("path"), at = process.argv.indexOf("--memory-path");
const place = at > 0 ? process.argv[at + 1] : path.join(__dirname, "memory.jsonl");
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const q = JSON.parse(line); if (q.id === undefined) return;
  const say = r => console.log(JSON.stringify({jsonrpc: "2.0", id: q.id, ...r}));
  if (q.method === "initialize") say({result: {protocolVersion: "2025-11-25", capabilities: {tools: {}}, serverInfo: {name: "keeper", version: "1"}}});
  else if (q.method === "tools/list") say({result: {tools: [{name: "note", inputSchema: {type: "object"}}]}});
  else if (q.method === "tools/call") {
    let r = {content: [{type: "text", text: "noted"}]};
    try { fs.appendFileSync(place, "x"); } catch (e) { r = {isError: true, content: [{type: "text", text: String(e)}]}; }
    say({result: r});
  } else say({error: {code: -32601, message: "no such method"}});
});
`

// A package that writes into its own folder is told of when it is added, with the whole command that gives it another
// place.
func TestServersAddFindsWhereDataGo(t *testing.T) {
	workFolder(t, nil)
	npmPackage(t, "js.tgz", map[string]string{
		"package.json": `{"name": "keeper", "version": "1.0.0", "bin": "main.js"}`,
		"main.js":      keeperJS,
	})
	py := strings.NewReplacer("{place}", `option("store-path", HERE + "/notes.txt")`, "{write}",
		`open(place, "a").write(text)`, "{start}", "", "{required}", "", "{told}", "True").Replace(keeper)
	head, loop, _ := strings.Cut(py, "\nfor line in")
	wheel(t, "tiny_server-1.2-py3-none-any.whl", map[string]string{
		"tiny.py": head + "\ndef main():\n    for line in" + strings.ReplaceAll(loop, "\n", "\n    ") + "\n",
		"tiny_server-1.2.dist-info/entry_points.txt": "[console_scripts]\ntiny-server = tiny:main\n",
	})
	for _, c := range []struct {
		name, pkg, want string
		args            []string
	}{
		{"js", "npm:./js.tgz", `servers add npm:./js.tgz --name js --force -- --memory-path '${HONE_EPISODE_DIR}/memory.jsonl'`, nil},
		{"py", "pypi:./tiny_server-1.2-py3-none-any.whl", `--name py --force -- --store-path '${HONE_EPISODE_DIR}/notes.txt'`, nil},
		{"more", "npm:./js.tgz", `--force -- --token '[hidden]' 'a b' --memory-path '${HONE_EPISODE_DIR}/memory.jsonl'`,
			[]string{"--", "--token", "open-sesame", "a b"}},
		{"mended", "npm:./js.tgz", "", []string{"--", "--memory-path", "${HONE_EPISODE_DIR}/memory.jsonl"}},
	} {
		code, stdout, stderr := sandboxedHone(t,
			append([]string{"servers", "add", c.pkg, "--name", c.name, "--json"}, c.args...)...)
		var in struct{ Answer, Writes, Next string }
		if err := json.Unmarshal([]byte(stdout), &in); code != 0 || err != nil ||
			in.Answer != "1 tool, protocol 2025-11-25" {
			t.Fatalf("%s: exit code %d, %v, %s%s", c.name, code, err, stdout, stderr)
		}
		if (in.Writes != "") != (c.want != "") || !strings.HasSuffix(in.Next, c.want) ||
			!strings.Contains(stderr, in.Next) {
			t.Errorf("%s: writes %q, next %q", c.name, in.Writes, in.Next)
		}
	}
}
