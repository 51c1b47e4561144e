package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/mcp"
	"hone/internal/servers"
)

// Each server of a list comes as far as it can, its reason is told, and no one keeps another from being tried. The second time
// nothing is installed; ls knows what was found without starting any.
func TestServersTry(t *testing.T) {
	pkg := func(name, identifier, rest string) string {
		return fmt.Sprintf(`{"name": "io.example/%s", "packages": [{"registryType": "pypi", "identifier": "%s", "version": "1.2", "transport": {"type": "stdio"}%s}]}`, name, identifier, rest)
	}
	entries := `{"servers": [` + strings.Join([]string{
		pkg("good", "tiny-server", ""),
		pkg("again", "tiny-server", `, "packageArguments": [{"type": "named", "name": "--root", "format": "filepath", "isRequired": true}]`),
		pkg("keyed", "tiny-server", `, "environmentVariables": [{"name": "SOME_KEY", "isRequired": true, "isSecret": true}]`),
		pkg("missing", "tiny-server-that-is-not-there", ""),
		pkg("dies", "tiny-server", `, "packageArguments": [{"type": "positional", "value": "--die"}]`),
		`{"name": "io.example/image", "packages": [{"registryType": "oci", "identifier": "images.example.com/x/y:1", "transport": {"type": "sse"}}]}`,
	}, ",") + `]}`
	mute := `{"servers": [` + pkg("mute", "tiny-server", `, "packageArguments": [{"type": "positional", "value": "--mute"}]`) + `]}`
	workFolder(t, map[string]string{"entries.json": entries, "mute.json": mute})
	moody := strings.NewReplacer("def main():", "def main():\n    if '--die' in sys.argv: sys.exit('no mood today')",
		`if q["method"] == "tools/list": r =`, `if q["method"] == "tools/list" and '--mute' in sys.argv: continue
        if q["method"] == "tools/list": r =`).Replace(tinyPython)
	wheel(t, "tiny_server-1.2-py3-none-any.whl", map[string]string{"tiny.py": moody, "tiny_server-1.2.dist-info/entry_points.txt": "[console_scripts]\ntiny-server = tiny:main\n"})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", here)
	args := []string{"servers", "try", "--registry", "entries.json", "--cache", "cache", "--json", "--timeout", "60s"}
	code, stdout, said := sandboxedHone(t, args...)
	var r servers.Report
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
	}
	want := map[string][2]string{"good": {servers.Answered, ""}, "again": {servers.Answered, ""}, "keyed": {servers.Lacking, "SOME_KEY"}, "missing": {servers.NotInstalled, "tiny-server-that-is-not-there"},
		"dies": {servers.NotStarted, "no mood today"}, "image": {servers.Unsupported, "serves sse by itself"}}
	installs := 0
	for _, x := range r.Tried {
		w := want[strings.TrimPrefix(x.Name, "io.example/")]
		if x.Outcome != w[0] || !strings.Contains(x.Why, w[1]) || w[1] == "" && x.Why != "" {
			t.Errorf("%s: %s: %s", x.Name, x.Outcome, x.Why)
		}
		if x.InstallSeconds > 0 {
			installs++
		}
	}
	if len(r.Tried) != 6 || installs != 1 || r.Tried[0].Server == nil || r.Tried[0].Server.Era != "2025-11-25" || r.Tried[0].ReadySeconds <= 0 {
		t.Errorf("%d installations of one package, %+v", installs, r.Tried[0])
	}
	if len(r.Yields) != 2 || r.Yields[0] != (servers.Yield{From: "entries.json", Kind: "pypi", Entries: 5, Installed: 3, Started: 2, Answered: 2}) || r.Yields[1].Kind != "oci" || r.Yields[1].Installed != 0 {
		t.Errorf("%+v", r.Yields)
	}
	r = servers.Report{} // in 15 s it has to start: it is silent later
	code, stdout, said = sandboxedHone(t, "servers", "try", "--registry", "mute.json", "--cache", "cache", "--json", "--timeout", "15s")
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Tried) != 1 || r.Tried[0].Outcome != servers.NoAnswer || !strings.Contains(r.Tried[0].Why, "no answer in") {
		t.Errorf("one that does not answer: %d %v\n%s%s", code, err, stdout, said)
	}
	r = servers.Report{}
	code, stdout, said = sandboxedHone(t, append(args, "io.example/good")...)
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil || len(r.Tried) != 1 || r.Tried[0].Outcome != servers.Answered || r.Tried[0].InstallSeconds != 0 {
		t.Errorf("a second time: %d %v\n%s%s", code, err, stdout, said)
	}
	r = servers.Report{}
	code, stdout, said = sandboxedHone(t, append(args, "pypi:tiny-server==1.2", "io.example/dies")...)
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil || len(r.Tried) != 2 || r.Tried[0].Outcome != servers.Answered || r.Tried[0].Next != "hone servers add pypi:tiny-server==1.2" ||
		!strings.HasPrefix(r.Tried[1].Why, "server io.example/dies, connect: ") || !strings.Contains(r.Tried[1].Next, "mend what it says") || strings.Count(said, "no mood today") != 1 {
		t.Errorf("a package and an entry: %d %v\n%s%s", code, err, stdout, said)
	}
	if code, _, said := sandboxedHone(t, append(args, "io.example/dies")...); code != 3 || !strings.Contains(said, "no server answered") || !strings.Contains(said, "mend what it says") {
		t.Errorf("none answers: %d %s", code, said)
	}
	if code, table, _ := hone(t, "", "servers", "ls", "--cache", "cache"); code != 0 || !strings.Contains(table, "WHY") || !strings.Contains(table, "no mood today") {
		t.Errorf("ls does not say why: %d %s", code, table)
	}
	code, stdout, said = hone(t, "", "servers", "ls", "--cache", "cache", "--json")
	var k servers.Known
	if err := json.Unmarshal([]byte(stdout), &k); code != 0 || err != nil || len(k.Tried) != 8 || len(k.Twins) != 1 || strings.Join(k.Twins[0], " ") != "io.example/again/py_tool io.example/good/py_tool pypi:tiny-server==1.2/py_tool" {
		t.Errorf("%d %v\n%s%s", code, err, stdout, said)
	}
	if _, err := os.Stat("mcp.json"); err == nil {
		t.Error("a trial wrote a configuration")
	}
}

// Entries choose the names of the variables that they ask for. A server of a stranger gets none that the user did not name.
func TestServersTryKeepsKeys(t *testing.T) {
	got := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.URL.String() + " " + fmt.Sprint(r.Header)
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	remote := func(name, path, rest string) string {
		return fmt.Sprintf(`{"name": "io.example/%s", "remotes": [{"type": "streamable-http", "url": "%s%s"%s}]}`, name, server.URL, path, rest)
	}
	header := func(flags string) string { return `, "headers": [{"name": "openai-api-key", ` + flags + `}]` }
	workFolder(t, map[string]string{"e/entries.json": `{"servers": [` + strings.Join([]string{
		remote("secret", "", header(`"isRequired": true, "isSecret": true`)), remote("required", "", header(`"isRequired": true`)), remote("optional", "", header(`"isSecret": true`)),
		remote("default", "", header(`"isSecret": true, "default": "none"`)),
		remote("url", "/{OPENAI_API_KEY}", `, "variables": {"OPENAI_API_KEY": {"isRequired": true}}`)}, ",") + `]}`,
		"e/mcp.json": `{"mcpServers": {"escaped": {"url": "` + server.URL + `", "headers": {"K": "\u0024{OPENAI_API_KEY}"}}}}`})
	t.Setenv("OPENAI_API_KEY", "sk-of-the-user")
	try := func(more ...string) (r servers.Report, sent string) {
		code, stdout, said := hone(t, "", append([]string{"servers", "try", "--registry", "e", "--cache", "cache", "--json", "--timeout", "5s"}, more...)...)
		if err := json.Unmarshal([]byte(stdout), &r); code != 3 || err != nil {
			t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
		}
		for len(got) > 0 {
			sent += <-got + "\n"
		}
		return r, sent
	}
	r, sent := try()
	if strings.Contains(sent, "sk-of-the-user") || !strings.Contains(sent, "none") {
		t.Errorf("sent to strangers: %s", sent)
	}
	keyed := 0
	for _, x := range r.Tried {
		if x.Outcome == servers.Lacking && x.Why == "keyed: needs OPENAI_API_KEY" {
			keyed++
		}
	}
	if len(r.Tried) != 6 || keyed != 4 || r.Yields[0].Installed != 0 {
		t.Errorf("%d keyed: %+v", keyed, r.Tried)
	}
	if _, sent := try("--env", "OPENAI_API_KEY", "io.example/secret"); !strings.Contains(sent, "sk-of-the-user") {
		t.Errorf("what --env names is not sent: %q", sent)
	}
	if _, sent := try("--env", "OPENAI_API_KEY", "escaped"); !strings.Contains(sent, "sk-of-the-user") {
		t.Errorf("what --env names is not sent to a command of an mcp.json file: %q", sent)
	}
}

// BenchmarkServersLs lists 500 servers of 10 tools each, as many as servers have on average, from what is kept of them, and groups the
// tools: once where all texts are still to be looked at, and once where what is in them is kept too.
func BenchmarkServersLs(b *testing.B) {
	dir := b.TempDir()
	tried := filepath.Join(dir, "servers", "tried")
	if err := os.MkdirAll(tried, 0o755); err != nil {
		b.Fatal(err)
	}
	verbs := []string{"read", "write", "list", "search", "update", "delete", "create", "send", "convert", "export"}
	var all [][]byte
	for i := range 500 {
		from := mcp.ServerTools{Name: fmt.Sprintf("io.example/s%d", i), Era: "2025-11-25"}
		for _, verb := range verbs {
			from.Tools = append(from.Tools, mcp.Tool{Name: verb + "_thing", Description: fmt.Sprintf("Use this tool to %s the things of workspace %d. It takes an identifier, and returns the thing as JSON with its name, its owner and when it was changed. Give limit to bound how many are returned.", verb, i),
				InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"thing_%d_id":{"type":"string","description":"Identifier of the thing, as list_thing gives it"},"limit":{"type":"integer","description":"How many at most","default":20}},"required":["thing_%d_id"]}`, i/3, i/3))})
		}
		text, err := json.Marshal(servers.Tried{Name: from.Name, From: "list", Kind: "npm", Outcome: servers.Answered, Server: &from})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, text)
	}
	fresh := func() { // nothing has been looked at
		for i, text := range all {
			if err := os.WriteFile(filepath.Join(tried, fmt.Sprintf("%d.json", i)), text, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	list := func() {
		var said strings.Builder
		a := toyApp(&said, map[string]string{"XDG_STATE_HOME": dir})
		if code := a.main(b.Context(), []string{"servers", "ls", "--cache", dir, "--mcp-config", dir + "/none"}); code != 0 {
			b.Fatal(said.String())
		}
	}
	b.Run("linted", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			fresh()
			b.StartTimer()
			list()
		}
	})
	b.Run("again", func(b *testing.B) {
		fresh()
		list() // which keeps what is found in the texts
		b.ResetTimer()
		for b.Loop() {
			list()
		}
	})
}
