package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command is found before the process is put into cwd; cwd is taken from the configuration's folder.
func TestCommandBeforeCwd(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"bin/server", "app/own", ".vscode/keep"} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"mcp.json", ".vscode/mcp.json"} {
		for _, tc := range []struct{ command, cwd, wantCommand, wantCwd string }{
			{"./bin/server", "app", dir + "/bin/server", dir + "/app"},
			{"bin/server", "", dir + "/bin/server", ""},
			{"./own", "app", "./own", dir + "/app"}, // there alone, as other hosts have it
			{"node", "app", "node", dir + "/app"},
			{"/bin/sh", "/usr", "/bin/sh", "/usr"},
			{"node", EpisodeDir + "/x", "node", EpisodeDir + "/x"},
			{EpisodeDir + "/run", EpisodeDir, EpisodeDir + "/run", EpisodeDir},
		} {
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path,
				[]byte(`{"mcpServers": {"s": {"command": "`+tc.command+`", "cwd": "`+tc.cwd+`"}}}`),
				0o644); err != nil {
				t.Fatal(err)
			}
			c, err := LoadConfig(path, os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			if s := c.Servers["s"]; s.Command != tc.wantCommand || s.Cwd != tc.wantCwd {
				t.Errorf("%s, %+v: command %s, cwd %s", file, tc, s.Command, s.Cwd)
			}
		}
	}
	if path, err := lookPath("./own", "", filepath.Join(dir, "app")); path != filepath.Join(dir, "app/own") ||
		err != nil {
		t.Errorf("from cwd: %s, %v", path, err)
	}
}

// What is wrong with a cwd is said of the cwd: the system's own error names the program.
func TestCwdThatIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, path := range []string{file, filepath.Join(dir, "server")} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{
		filepath.Join(dir, "gone"):   "is not there",
		filepath.Join(dir, "link"):   "is not there",
		file:                         "is a file",
		filepath.Join(file, "below"): "not a directory",
	} {
		for _, command := range []string{"sh", filepath.Join(dir, "server"), "./server"} {
			s := Server{Command: command, Cwd: cwd}.withDefaults()
			_, err := Dial(context.Background(), "s", s, map[string]string{"PATH": "/usr/bin:/bin"}, Options{})
			var f *Failure
			if !errors.As(err, &f) || f.Phase != PhaseStart ||
				!strings.Contains(err.Error(), fmt.Sprintf("cwd %q", cwd)) || !strings.Contains(err.Error(), want) ||
				!strings.Contains(Mending(err), `"cwd"`) {
				t.Errorf("%s in %s: %v; next: %s", command, cwd, err, Mending(err))
			}
		}
	}
}

// The programs beside a command that is given by its path can be found by it, as npx finds node.
func TestProgramsBesideTheCommand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"beside": "#!/bin/sh\necho found >&2\n",
		"server": "#!/bin/sh\nbeside\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p, err := startProcess([]string{filepath.Join(dir, "server")}, map[string]string{"PATH": "/usr/bin:/bin"}, "", "",
		leastBound, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	p.close()
	if got := p.stderr.String(); got != "the process ended: exit status 0; stderr: found" {
		t.Error(got)
	}
}
