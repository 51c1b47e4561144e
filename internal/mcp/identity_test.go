package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two entries of one server are the same, and those of two servers are not; no secret is in what tells them apart.
func TestIdentity(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := os.WriteFile(filepath.Join(dir, "server.py"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	python := func(cwd string, args ...string) Server { return Server{Command: "python3", Args: args, Cwd: cwd} }
	expanded := Server{Command: "db", Args: []string{"--dsn", "${DB_PASSWORD}@here"}}
	for _, tc := range []struct {
		name string
		a, b Server
		same bool
	}{
		{"one command", python("", "-m", "a"), python("", "-m", "a"), true},
		{"another argument", python("", "-m", "a"), python("", "-m", "b"), false},
		{"arguments that are joined", python("", "a b"), python("", "a", "b"), false},
		{"files of two projects", python(one, "server.py"), python(two, "server.py"), false},
		{"a file by its whole path", python(one, "server.py"), python(two, filepath.Join(one, "server.py")), true},
		{"another secret", python("", "--api-key", "first-of-all", "-m"), python("", "--api-key", "no", "-m"), true},
		{"another joined secret", python("", "--token=first-of-all"), python("", "--token=no"), true},
		{"the folder of an episode", python("", "--db", EpisodeDir+"/d"), python("", "--db", EpisodeDir+"/d"), true},
		{"another environment", Server{Command: "a", Env: map[string]string{"API_KEY": "first-of-all"}}, Server{Command: "a"}, true},
		{"one address", Server{URL: "https://u:p@a.example/mcp?key=first-of-all"}, Server{URL: "https://a.example/mcp?key=no"}, true},
		{"another path", Server{URL: "https://a.example/mcp"}, Server{URL: "https://a.example/other"}, false},
	} {
		a, b := tc.a.Identity(), tc.b.Identity()
		if (a == b) != tc.same || strings.Contains(a, "first-of-all") {
			t.Errorf("%s: %q and %q", tc.name, a, b)
		}
	}
	if err := expanded.expand(func(string) (string, bool) { return "first-of-all", true }, nil); err != nil ||
		strings.Contains(expanded.Identity(), "first") {
		t.Errorf("%v, %q", err, expanded.Identity())
	}
}
