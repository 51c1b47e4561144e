package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth/generate"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hone synth makes scenarios for a server that nobody wrote tasks for, and hone scenarios validate finds nothing wrong
// with them. The same command makes none of the calls again.
func TestSynth(t *testing.T) {
	calc, err := filepath.Abs("../../demo/node_modules/@coo-quack/calc-mcp/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(calc); err != nil {
		t.Fatalf("%v: run make test", err)
	}
	servers := writeFile(t,
		fmt.Sprintf(`{"mcpServers": {"calc": {"command": "node", "args": [%q], "isolation": "shared"}}}`, calc))
	out := filepath.Join(t.TempDir(), "scenarios.json")
	args := []string{"synth", "--mcp-config", servers, "--out", out, "-n", "60", "--seed", "1", "--split-by", "tool",
		"--json", "--kinds", "../../internal/demo/kinds.yaml"}
	// no sandbox holds the tests' servers
	if code, _, said := hone(t, "", args...); code != 3 || !strings.Contains(said, "--call-all") {
		t.Fatalf("%d\n%s", code, said)
	}
	args = append(args, "--call-all")
	code, printed, said := hone(t, "", args...)
	if code != 0 {
		t.Fatalf("%d\n%s", code, said)
	}
	if !strings.Contains(said, "warning: too few tasks need a call") || !strings.Contains(said, "validation ") {
		t.Errorf("nothing warns of a small split:\n%s", said)
	}
	var r generate.Report
	if err := json.Unmarshal([]byte(printed), &r); err != nil || r.Played < 100 || r.Several < 0.3 || r.Abstain < 0.1 ||
		r.Abstain > 0.3 {
		t.Errorf("%v: %+v", err, r)
	}
	for _, row := range r.Tools {
		if row.Answered > 0 && row.Scenarios < 2 {
			t.Errorf("%+v", row)
		}
	}
	list, err := scenario.Load(out)
	if err != nil || len(list) < 50 {
		t.Fatalf("%d scenarios: %v", len(list), err)
	}
	if i := slices.IndexFunc(list,
		func(s scenario.Scenario) bool { return slices.Contains(s.Tags, "kind:days then multiply") }); i < 0 ||
		len(r.Own) != 16 || len(list[i].Gold) != 2 || len(list[i].Checks) != 3 {
		t.Errorf("the demo's kinds: %v", r.Own)
	}
	if p := list[0].Provenance; p == nil || p.Servers["calc"] != "2.1.1" || p.Seed != 1 {
		t.Errorf("provenance %+v", p)
	}
	if code, printed, said := hone(t, "", "scenarios", "validate", out, "--mcp-config", servers); code != 0 ||
		!strings.Contains(said, "nothing is wrong") {
		t.Errorf("%d\n%s%s", code, printed, said)
	}
	before, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if code, printed, said = hone(t, "", args...); code != 0 || !strings.Contains(said, "of an earlier command") {
		t.Fatalf("%d\n%s", code, said)
	}
	after, err := os.ReadFile(out)
	if r = (generate.Report{}); err != nil || json.Unmarshal([]byte(printed), &r) != nil || r.Played != 0 ||
		string(after) != string(before) {
		t.Errorf("the same command played %d anew, or wrote other scenarios: %v", r.Played, err)
	}
}

// What cannot be made is told, with the exit code of it, and leaves no file of scenarios.
func TestSynthRefuses(t *testing.T) {
	servers := writeFile(t, `{"mcpServers": {"gone": {"command": "/nonexistent/server"}}}`)
	out := filepath.Join(t.TempDir(), "scenarios.json")
	for _, tc := range []struct {
		name string
		code int
		want string
		args []string
	}{
		{"no file to write", 2, "--out", []string{"--mcp-config", servers}},
		{"none wanted", 2, "--number 0", []string{"--mcp-config", servers, "--out", out, "-n", "0"}},
		{"an unknown split", 2, `no split by "colour"`, []string{"--mcp-config", servers, "--out", out, "--split-by", "colour"}},
		{"kinds that are none", 2, "none.yaml", []string{"--mcp-config", servers, "--out", out, "--kinds", "none.yaml"}},
		{"kinds that are none, in a rehearsal", 2, "none.yaml", []string{"--mcp-config", servers, "--out", out, "--kinds", "none.yaml", "--dry-run"}},
		{"no session", 2, "--workers 0", []string{"--mcp-config", servers, "--out", out, "--workers", "0"}},
		{"a server that is gone", 5, "gone", []string{"--mcp-config", servers, "--out", out}},
	} {
		code, _, said := hone(t, "", append([]string{"synth"}, tc.args...)...)
		if code != tc.code || !strings.Contains(said, tc.want) {
			t.Errorf("%s: %d\n%s", tc.name, code, said)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was written")
	}
}
