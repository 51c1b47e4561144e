package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/toolset"
)

// sandboxAt opens a sandbox of one level, or skips and says why it is not to be had here. Its helper is the program
// hone that the tests of this package install on PATH.
func sandboxAt(
	t *testing.T, level sandbox.Level, c config.Sandbox, servers mcp.Config,
) func(server, folder string, cmd *exec.Cmd) error {
	t.Helper()
	helper, err := exec.LookPath("hone")
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	a := &app{Host: &host.Host{Talk: sanitize.New(&said), LookupEnv: os.LookupEnv,
		Helper: []string{helper, sandboxVerb}}}
	if level == sandbox.Landlock { // without bubblewrap on PATH
		a.withEnv(map[string]string{"PATH": t.TempDir()})
	}
	s, wrap, err := toolset.OpenSandbox(t.Context(), a.Host, c, servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.Level() != level {
		t.Skipf("no %s here: %s", level, s)
	}
	if !strings.Contains(said.String(), "sandbox of the servers: "+string(level)) {
		t.Errorf("the level is not said: %s", said.String())
	}
	return wrap
}

// A real server works in each sandbox: it is discovered, reads and writes its episode's folder, and no other.
func TestServersInASandbox(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			outside := t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("4711"), 0o644); err != nil {
				t.Fatal(err)
			}
			// The folder outside is one that the server itself would allow.
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
				"files": map[string]any{"command": "node", "args": []string{npmServer(t, "server-filesystem"), mcp.EpisodeDir, outside}},
				"every": map[string]any{
					"command": "node", "args": []string{npmServer(t, "server-everything")}, "isolation": "session",
					"env": map[string]string{"DECLARED": "yes"},
				}}})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "mcp.json")
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			servers, err := mcp.LoadConfig(path, os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			c := config.DefaultSandbox()
			c.Read = []string{"files:" + outside}
			o := mcp.Options{Wrap: sandboxAt(t, level, c, servers), Warm: -1}
			catalog, err := mcp.Discover(t.Context(), servers, o)
			if err != nil {
				t.Fatal(err)
			}
			pool, err := mcp.NewPool(t.Context(), servers, catalog, o)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			session, err := pool.Open(t.Context(), "e")
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			inSession(t, session.Call, session.(interface{ Dir(string) string }).Dir("files"), outside)
		})
	}
}

func inSession(
	t *testing.T, do func(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult, dir, outside string,
) {
	t.Helper()
	for _, tc := range []struct {
		name, arguments string
		status          trajectory.CallStatus
		says            string
	}{
		{"write_file", fmt.Sprintf(`{"path":%q,"content":"hello"}`, dir+"/a.txt"), trajectory.CallOK, "wrote"},
		{"read_text_file", fmt.Sprintf(`{"path":%q}`, dir+"/a.txt"), trajectory.CallOK, "hello"},
		{"read_text_file", fmt.Sprintf(`{"path":%q}`, outside+"/secret.txt"), trajectory.CallOK, "4711"}, // granted
		{"write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, outside+"/new.txt"), trajectory.CallToolError, ""},
		{"echo", `{"message":"hi"}`, trajectory.CallOK, "hi"},
		{"get-env", `{}`, trajectory.CallOK, `"DECLARED": "yes"`},
	} {
		r := do(t.Context(), []chat.ToolCall{{ID: "c", Name: tc.name, Arguments: tc.arguments}})[0]
		if r.Status != tc.status || !strings.Contains(r.Text, tc.says) {
			t.Errorf("%s %s: %s %q %s, want %s %q",
				tc.name, tc.arguments, r.Status, r.Text, r.Error, tc.status, tc.says)
		}
	}
	if data, err := os.ReadFile(dir + "/a.txt"); string(data) != "hello" {
		t.Errorf("the episode's file: %q, %v", data, err)
	}
	if _, err := os.Stat(outside + "/new.txt"); err == nil {
		t.Error("the server wrote to a folder that it was not granted")
	}
}

func TestSandboxRequired(t *testing.T) {
	a := &app{Host: &host.Host{Talk: sanitize.New(&bytes.Buffer{}),
		LookupEnv: func(string) (string, bool) { return "", false }, Helper: []string{"hone", sandboxVerb}}}
	_, _, err := toolset.OpenSandbox(t.Context(), a.Host, config.Sandbox{Mode: "require"}, mcp.Config{})
	if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), "bwrap is not on PATH") {
		t.Errorf("%v", err)
	}
}

func TestSandboxHelper(t *testing.T) {
	helper := sandboxHelper()
	if len(helper) != 2 || !filepath.IsAbs(helper[0]) || helper[1] != sandboxVerb {
		t.Errorf("%q", helper)
	}
}

// A server that is exempt from the sandbox is still not handed what hone's own parent left open.
func TestExemptInheritsNoOpenFiles(t *testing.T) {
	leaked, err := syscall.Open(t.TempDir(), syscall.O_DIRECTORY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	c := config.DefaultSandbox()
	c.Exempt = []string{"ls"}
	cmd := exec.Command("ls", "/proc/self/fd")
	if err := sandboxAt(t, sandbox.Bubblewrap, c,
		mcp.Config{Servers: map[string]mcp.Server{"ls": {Command: "ls"}}})("ls", "", cmd); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.Output(); string(out) != "0\n1\n2\n3\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

// A package would need the network, so what is looked at is that npm starts in the sandbox and finds the cache it is
// given.
func TestNpxInASandbox(t *testing.T) {
	helper, err := exec.LookPath("hone")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	a := &app{Host: &host.Host{Talk: sanitize.New(&said), LookupEnv: os.LookupEnv,
		Helper: []string{helper, sandboxVerb}}}
	o, err := toolset.House(t.Context(), a.Host, config.Default(),
		mcp.Config{Servers: map[string]mcp.Server{"s": {Command: "npx"}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal(err)
	}
	cache := o.Servers.Servers["s"].Env["npm_config_cache"]
	cmd := exec.Command(npm, "config", "get", "cache")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "npm_config_cache=" + cache}
	if err := o.Options.Wrap("s", "", cmd); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != cache {
		t.Errorf("%v: %s, want %s; %s", err, out, cache, said.String())
	}
}
