package toolset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hone/internal/mcp"
)

// A package without a version is its newest: what was installed of it does not stay for ever.
func TestFresh(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hone.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for pkg, stays := range map[string]bool{
		"npm:@a/b@1.2": true, "npm:@a/b": false, "npm:b": false, "pypi:c==1": true, "pypi:c": false,
		"oci:images.example.com/x/y:latest": false, "oci:images.example.com/x/y@sha256:aa": true,
		"mcpb:https://x/y.mcpb#aa": true,
	} {
		if !fresh(pkg, file, now.Add(time.Hour)) || fresh(pkg, file, now.Add(30*24*time.Hour)) != stays {
			t.Errorf("%s: fresh %v after an hour, %v after a month", pkg, fresh(pkg, file, now.Add(time.Hour)), !stays)
		}
	}
	if fresh("npm:b@1", file+".none", now) {
		t.Error("what is not there is fresh")
	}
}

// Who waits for another command can stop.
func TestLockedStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	unlock()
	if unlock, err = lockFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Two lists may name one server, or two servers that have a name and a number of tools in common.
func TestTriedOfSeveralLists(t *testing.T) {
	dir := t.TempDir()
	tried := func(file, from, tool, says string) {
		t := Tried{Name: "io.example/a", From: from, Outcome: Answered,
			Server: &mcp.ServerTools{Tools: []mcp.Tool{{Name: tool, SHA256: says}}}, file: filepath.Join(dir, file)}
		if err := t.keep(); err != nil {
			panic(err)
		}
	}
	tried("1.json", "one", "read", "a")
	tried("2.json", "three", "write", "b")
	tried("3.json", "two", "read", "a")
	tried("4.json", "four", "read", "c") // which says the same but for its annotations
	if list, err := readTrials(dir); err != nil || len(list) != 3 {
		t.Errorf("%d, %v", len(list), err)
	}
}
