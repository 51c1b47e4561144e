package mcp

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hone/internal/episode/trajectory"
)

// realServer is a server from npm, pinned and installed for the tests of the command line.
func realServer(t *testing.T, name string, args ...string) Server {
	t.Helper()
	script, err := filepath.Abs("../../cmd/hone/testdata/servers/node_modules/@modelcontextprotocol/" + name +
		"/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("%v\nmake test installs it", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	return Server{Command: node, Args: append([]string{script}, args...)}.withDefaults()
}

// Each episode has files of its own; make soak plays 16 at once.
func TestFilesystemServerIsIsolated(t *testing.T) { isolatedFiles(t, 4) }

func isolatedFiles(t *testing.T, episodes int) {
	template := t.TempDir()
	os.WriteFile(filepath.Join(template, "note.txt"), []byte("original"), 0o600)
	s := realServer(t, "server-filesystem", EpisodeDir)
	s.Template = template
	p := newPool(t, configOf(t, map[string]Server{"files": s}), Options{})
	together(context.Background(), t, p, episodes, func(i int, e *Episode) {
		path := e.Dir("files") + "/note.txt"
		for _, step := range []struct{ tool, args, want string }{
			{"read_text_file", fmt.Sprintf(`{"path":%q}`, path), "original"},
			{"write_file", fmt.Sprintf(`{"path":%q,"content":"mine %d"}`, path, i), "Successfully wrote"},
			{"read_text_file", fmt.Sprintf(`{"path":%q}`, path), fmt.Sprintf("mine %d", i)},
		} {
			if r := ask(e, step.tool, step.args); r.Status != trajectory.CallOK ||
				!strings.Contains(r.Text, step.want) || r.Warning != "" {
				t.Errorf("episode %d, %s: %+v", i, step.tool, r)
			}
		}
		if r := ask(e, "read_text_file", `{"path":"/etc/passwd"}`); r.Status != trajectory.CallToolError {
			t.Errorf("outside the folder: %+v", r)
		}
	})
}

// The same server over its three transports is the same catalog, tool for tool.
func TestEverythingServerOnThreeTransports(t *testing.T) {
	servers := map[string]Server{viaStdio: realServer(t, "server-everything", "stdio")}
	for mode, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		via := viaHTTP
		if mode == "sse" {
			via = viaSSE
		}
		servers[via] = Server{URL: "http://" + listening(t, realServer(t, "server-everything", mode)) + path,
			Isolation: PerSession}
	}
	catalog, err := Discover(context.Background(), configOf(t, servers))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, tool := range catalog.Servers[0].Tools {
		want[tool.Name] = tool.SHA256
	}
	for _, s := range catalog.Servers {
		if s.Transport != s.Name || len(s.Tools) != len(want) || len(want) == 0 || len(s.Resources) == 0 ||
			len(s.Prompts) == 0 || len(s.Warnings) > 0 {
			t.Errorf("%s: %s, %d tools, %d resources, %d prompts, %v",
				s.Name, s.Transport, len(s.Tools), len(s.Resources), len(s.Prompts), s.Warnings)
		}
		for _, tool := range s.Tools {
			if tool.SHA256 != want[tool.Name] {
				t.Errorf("%s over %s is not what it is over %s", tool.Name, s.Name, catalog.Servers[0].Name)
			}
		}
	}
	p, err := NewPool(context.Background(), configOf(t, servers), catalog, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e := open(t, p, "e")
	defer e.Close()
	for _, via := range keysInOrder(servers) {
		if r := ask(e, via+"__get-tiny-image", "{}"); r.Status != trajectory.CallOK || !strings.Contains(r.Text,
			"[image image/png") || !strings.Contains(string(r.Content), `"mimeType":"image/png"`) {
			t.Errorf("%s: %s %.200s", via, r.Status, r.Text)
		}
		if r := ask(e, via+"__echo", `{"message":1}`); r.Status != trajectory.CallInvalid {
			t.Errorf("%s: %+v", via, r)
		}
	}
}

// listening starts a server that listens on a port of its own, and returns its address once it does.
func listening(t *testing.T, s Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := strings.Cut(address, ":")
	argv := append([]string{s.Command}, s.Args...)
	p, err := startProcess(argv, map[string]string{"PATH": "/usr/bin:/bin", "PORT": port}, "", "", leastBound, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address
		}
		if p.waitFor(50 * time.Millisecond) {
			break
		}
	}
	t.Fatalf("it does not listen: %s", p.stderr)
	return ""
}
