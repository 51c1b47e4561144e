package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/toolset"
)

// discover, then --diff against what it wrote, then against a catalog that knows other tools; doctor on the same
// server.
func TestDiscoverAndDoctor(t *testing.T) {
	var stdout, stderr bytes.Buffer
	a := &app{Host: &host.Host{Data: sanitize.New(&stdout), Talk: sanitize.New(&stderr), LookupEnv: os.LookupEnv}}
	workFolder(t, map[string]string{"mcp.json": files(t), "template/notes.txt": "4711"})
	verb := func(want int, args ...string) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		a.JSON = false
		if code := a.main(t.Context(), append(args, "--mcp-config", "mcp.json")); code != want {
			t.Fatalf("%s: exit code %d: %s", args, code, &stderr)
		}
	}
	verb(0, "discover", "--out", "catalog.json")
	if !strings.Contains(stdout.String(), "read_text_file") ||
		!strings.Contains(stderr.String(), "sandbox of the servers: none") {
		t.Errorf("%s\n%s", &stdout, &stderr)
	}
	verb(0, "discover", "--diff", "catalog.json", "--json")
	var same struct{ Changes *[]any }
	if err := json.Unmarshal(stdout.Bytes(), &same); err != nil || same.Changes == nil || len(*same.Changes) != 0 {
		t.Errorf("%v: %s", err, &stdout)
	}
	if err := os.WriteFile("none.json", []byte(`{"servers":[],"hash":"`+emptyHash+`"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	verb(3, "discover", "--diff", "none.json")
	if n := strings.Count(stdout.String(), "added"); n != 14 ||
		!strings.Contains(stderr.String(), "tools that are not those of the catalog: 14") {
		t.Errorf("%d added: %s\n%s", n, &stdout, &stderr)
	}
	verb(2, "discover", "--diff", "missing.json")

	// no model is there, so it fails
	a.main(t.Context(), []string{"doctor", "--mcp-config", "mcp.json", "--cache", t.TempDir(), "--plain"})
	for _, part := range []string{"ok\tMCP server files\tprotocol 2025-11-25 over stdio; 14 tools", "(p95)",
		"isolation process works", "warn\tsandbox of the servers\tnone", "next: install bubblewrap"} {
		if !strings.Contains(stdout.String(), part) {
			t.Errorf("doctor does not say %q:\n%s\n%s", part, &stdout, &stderr)
		}
	}
}

// --diff says so where nothing has changed, and nothing of the kind where something has.
func TestDiffSaysThatNothingChanged(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"none.json": `{"servers":[],"hash":"` + emptyHash + `"}`})
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--out", "catalog.json"); code != 0 ||
		strings.Contains(said, "nothing has changed") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--diff", "catalog.json"); code != 0 ||
		!strings.Contains(said, "nothing has changed since catalog.json: 2 tools") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--diff", "none.json"); code != 3 ||
		strings.Contains(said, "nothing has changed") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// What tools cost is what they add to the prompt that the model reads: of each its line, of all also what stands around
// the list. A model that cannot be told of tools is said to be one.
func TestDiscoverCountsWhatIsRendered(t *testing.T) {
	url, _ := shop(t)
	const conf = "model: {base: toy.gguf%s}\nengine: {backend: go}\n"
	workFolder(t, map[string]string{"plain.jinja": withoutTools})
	toyModel(t, "toy.gguf")
	tool := func(name string) string {
		return `{"type": "function", "function": {"name": "` + name +
			`", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}`
	}
	length := func(tools ...string) int { // a byte is a token of the toy's, and so is a special one
		code, stdout, said := invoked(t, fmt.Sprintf(conf, ""),
			`{"messages": [{"role": "user", "content": "?"}], "tools": [`+strings.Join(tools, ", ")+"]}\n",
			"inspect", "render")
		var out struct{ Text string }
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v, %s", code, err, said)
		}
		return len(strings.NewReplacer("<|im_start|>", ".", "<|im_end|>", ".").Replace(out.Text))
	}
	total := length(tool("buy"), tool("look")) - length()
	code, stdout, said := invoked(t, fmt.Sprintf(conf, ""), "", "discover", "--mcp", url, "--json")
	var found toolset.Discovered
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != 0 || found.Tokens == nil {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	if got := found.Tokens; got.Total != total || got.ByTool["buy"] != len("\nbuy(name: string)") ||
		got.ByTool["look"] != len("\nlook(name: string)") || !strings.Contains(said,
		fmt.Sprintf("the 2 tools cost %d tokens of toy.gguf in each prompt", total)) {
		t.Errorf("%+v, want %d; %s", got, total, said)
	}
	code, stdout, said = invoked(t, fmt.Sprintf(conf, ", chat_template: plain.jinja"), "", "discover", "--mcp", url)
	if code != 0 || !strings.Contains(stdout, "SCHEMA BYTES") ||
		!strings.Contains(said, "what the tools cost in a prompt of toy.gguf is not known: ") {
		t.Errorf("exit code %d, %s%s", code, stdout, said)
	}
}

// emptyHash is the hash of a catalog without servers: SHA-256 of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestSandboxFlag(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{Host: &host.Host{Data: sanitize.New(&bytes.Buffer{}), Talk: sanitize.New(&stderr),
		LookupEnv: os.LookupEnv}}
	workFolder(t, nil)
	if code := a.main(t.Context(), []string{"discover", "--mcp", "true", "--sandbox", "maybe"}); code != 2 ||
		!strings.Contains(stderr.String(), "give auto, require or off") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	stderr.Reset()
	if code := a.main(t.Context(), []string{"discover", "--mcp", "true", "--sandbox", "require"}); code != 2 ||
		!strings.Contains(stderr.String(), "required") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// An entry that names tools has the server offer these alone; a name that no tool has is an error with the names that
// there are.
func TestDiscoverOfNamedTools(t *testing.T) {
	script := npmServer(t, "server-memory")
	t.Setenv("MCP_URL", "")
	for tools, want := range map[string]string{
		`["read_*", "search_nodes"]`: "read_graph search_nodes",
		`["read_grap"]`:              "",
	} {
		workFolder(t, map[string]string{
			".mcp.json": fmt.Sprintf(`{"mcpServers": {"memory": {"command": "node", "args": [%q], "tools": %s}}}`,
				script, tools),
		})
		code, out, said := hone(t, "", "discover", "--sandbox", "off", "--json")
		var found struct {
			Servers []struct{ Tools []struct{ Name string } }
		}
		_ = json.Unmarshal([]byte(out), &found)
		var names []string
		for _, s := range found.Servers {
			for _, tool := range s.Tools {
				names = append(names, tool.Name)
			}
		}
		if got := strings.Join(names, " "); got != want || (code == 0) != (want != "") ||
			want == "" && !strings.Contains(said, "next:  name some of ") {
			t.Errorf("%s: exit code %d, %s, %s", tools, code, got, said)
		}
	}
}

// Where no server can be used, each is told of with its own reason.
func TestDiscoverTellsOfAllThatFail(t *testing.T) {
	workFolder(t, map[string]string{
		"mcp.json": `{"mcpServers": {"a": {"command": "./no-a"}, "b": {"command": "./no-b"}, "c": {"comand": "x"}}}`,
	})
	code, _, said := hone(t, "", "discover", "--mcp-config", "mcp.json")
	for _, want := range []string{"no-a", "no-b", `unknown key "comand"`} {
		if code == 0 || strings.Count(said, want) == 0 {
			t.Errorf("exit code %d, no %s: %s", code, want, said)
		}
	}
}
