//go:build soak

package main

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"hone/internal/screen"
)

// An agent framework from PyPI speaks to a server in this process, and its tool is called.
func TestSoakAgentFramework(t *testing.T) {
	python, err := filepath.Abs("../../.venv-agents/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	a, _, stderr := installed(t, "")
	read, write := io.Pipe()
	a.Data = screen.New(write)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	go func() {
		ended <- a.main(ctx, []string{"serve", "--model", "base", "--listen", "127.0.0.1:0", "--context", "2048", "--slots", "2", "--json"})
		write.Close()
	}()
	var s struct {
		URL    string
		Models []string
	}
	if err := json.NewDecoder(read).Decode(&s); err != nil {
		t.Fatalf("no announcement: %v, exit code %d, %s", err, <-ended, stderr)
	}
	out, err := exec.CommandContext(ctx, python, "testdata/agents_sdk.py", s.URL, "none", s.Models[0]).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d after a stop, %s", code, stderr)
	}
}
