package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// discover, then --diff against what it wrote, then against a catalog that knows other tools; doctor on the same server.
func TestDiscoverAndDoctor(t *testing.T) {
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, lookupEnv: os.LookupEnv}
	workFolder(t, map[string]string{"mcp.json": files(t), "template/notes.txt": "4711"})
	verb := func(want int, args ...string) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		a.json = false
		if code := a.main(t.Context(), append(args, "--mcp-config", "mcp.json")); code != want {
			t.Fatalf("%s: exit code %d: %s", args, code, &stderr)
		}
	}
	verb(0, "discover", "--out", "catalog.json")
	if !strings.Contains(stdout.String(), "read_text_file") || !strings.Contains(stderr.String(), "sandbox of the servers: none") {
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
	if n := strings.Count(stdout.String(), "added"); n != 14 || !strings.Contains(stderr.String(), "tools that are not those of the catalog: 14") {
		t.Errorf("%d added: %s\n%s", n, &stdout, &stderr)
	}
	verb(2, "discover", "--diff", "missing.json")

	a.main(t.Context(), []string{"doctor", "--mcp-config", "mcp.json", "--cache", t.TempDir(), "--plain"}) // no model is there, so it fails
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
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--out", "catalog.json"); code != 0 || strings.Contains(said, "nothing has changed") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--diff", "catalog.json"); code != 0 || !strings.Contains(said, "nothing has changed: the 2 tools are those of catalog.json") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", "discover", "--mcp", url, "--diff", "none.json"); code != 3 || strings.Contains(said, "nothing has changed") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// emptyHash is the hash of a catalog without servers: SHA-256 of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestSandboxFlag(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{stdout: &bytes.Buffer{}, stderr: &stderr, lookupEnv: os.LookupEnv}
	workFolder(t, nil)
	if code := a.main(t.Context(), []string{"discover", "--mcp", "true", "--sandbox", "maybe"}); code != 2 || !strings.Contains(stderr.String(), "give auto, require or off") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	stderr.Reset()
	if code := a.main(t.Context(), []string{"discover", "--mcp", "true", "--sandbox", "require"}); code != 2 || !strings.Contains(stderr.String(), "required") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
