package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hone/internal/fault"
)

// An entry is added before the others; all else of the file, comments too, stays byte for byte.
func TestAddServer(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"no file", "", "{\n  \"mcpServers\": {\n    \"new\": {\"command\":\"./x\",\"args\":[\"<a>\"]}\n  }\n}\n"},
		{"empty", `{"mcpServers": {}}`, "{\"mcpServers\": {\n    \"new\": {\"command\":\"./x\",\"args\":[\"<a>\"]}}}"},
		{
			"comments", "{ // \"mcpServers\": {\n \"mcpServers\": /* { */ { // ours\n" +
				"  \"a\": {\"command\": \"x\"}, // last\n }\n}",
			"{ // \"mcpServers\": {\n \"mcpServers\": /* { */ {\n    \"new\": " +
				"{\"command\":\"./x\",\"args\":[\"<a>\"]}, // ours\n  \"a\": {\"command\": \"x\"}, // last\n }\n}",
		},
		{"VS Code's", `{"inputs": [{"servers": {}}], "servers": {"a": {"command": "x"}}}`,
			"{\"inputs\": [{\"servers\": {}}], \"servers\": {\n" +
				"    \"new\": {\"command\":\"./x\",\"args\":[\"<a>\"]},\"a\": {\"command\": \"x\"}}}"},
	} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		if tc.before != "" {
			if err := os.WriteFile(path, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := AddServer(path, "new", Server{Command: "./x", Args: []string{"<a>"}}); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		got, err := os.ReadFile(path)
		if string(got) != tc.after || err != nil {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.after)
		}
		c, err := LoadConfig(path, os.LookupEnv)
		if err != nil || c.Servers["new"].Args[0] != "<a>" ||
			len(c.Servers) != 1+strings.Count(tc.before, `"command"`) {
			t.Errorf("%s: %+v, %v", tc.name, c, err)
		}
		if has, err := HasServer(path, "new"); !has || err != nil {
			t.Errorf("%s: %v, %v", tc.name, has, err)
		}
		if err := AddServer(path, "new", Server{}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%s: a second time: %v", tc.name, err)
		}
		if again, _ := os.ReadFile(path); string(again) != tc.after {
			t.Errorf("%s: changed by what was refused: %s", tc.name, again)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".mcp-*")); len(left) > 0 {
			t.Errorf("%s: left behind %q", tc.name, left)
		}
	}
	for _, text := range []string{"{", "[]", `{"other": {}}`, `{"mcpServers": []}`} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AddServer(path, "new", Server{Command: "x"}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%s: %v", text, err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// An entry is taken out with its comma; all else of the file, comments too, stays byte for byte.
func TestRemoveServer(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"alone": {"{\"mcpServers\": { // ours\n  \"a\": {\"command\": \"x\"}\n}}", "{\"mcpServers\": { // ours\n}}"},
		"first": {
			"{\"mcpServers\": {\n  // one, two\n  \"a\": {\"command\": \"x\"}, // three, four\n" +
				"  \"b\": {\"command\": \"y\"}\n}}",
			"{\"mcpServers\": {\n  // one, two // three, four\n  \"b\": {\"command\": \"y\"}\n}}",
		},
		"last": {`{"servers": {"b": {"command": "y"}, "a": {"command": "x"}}, "inputs": []}`, `{"servers": {"b": {"command": "y"} }, "inputs": []}`},
		"middle": {
			"{\"mcpServers\": {\n  \"b\": {\"command\": \"y\"},\n  \"a\": {\"command\": \"x\"},\n" +
				"  \"c\": {\"command\": \"z\"}\n}}",
			"{\"mcpServers\": {\n  \"b\": {\"command\": \"y\"},\n  \"c\": {\"command\": \"z\"}\n}}",
		},
		"with a comma too many": {"{\"mcpServers\": {\n  \"b\": {\"command\": \"y\"},\n" +
			"  \"a\": {\"command\": \"x\"},\n}}", "{\"mcpServers\": {\n  \"b\": {\"command\": \"y\"},\n}}"},
	} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(path, []byte(tc.before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := RemoveServer(path, "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(path); string(got) != tc.after || err != nil {
			t.Errorf("%s: %q, want %q", name, got, tc.after)
		}
		if has, err := HasServer(path, "a"); has || err != nil {
			t.Errorf("%s: it is still there: %v", name, err)
		}
		if err := RemoveServer(path, "a"); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%s: a second time: %v", name, err)
		}
		if err := ReplaceServer(path, "a", Server{Command: "z"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := ReplaceServer(path, "a", Server{Command: "w"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c, err := LoadConfig(path, os.LookupEnv); err != nil || c.Servers["a"].Command != "w" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// Commands that write at the same time lose nothing of each other.
func TestAddServersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := AddServer(path, fmt.Sprint("s", i), Server{Command: "true"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := LoadConfig(path, os.LookupEnv)
	if err != nil || len(c.Servers) != 16 {
		t.Errorf("%d servers, %v", len(c.Servers), err)
	}
}
