package blob

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := os.WriteFile(path, []byte("open to all"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := WriteFrom(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "hal")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "secret" || err != nil {
		t.Errorf("it holds %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	only(t, dir, "a.json")
}

// TestWriteWhereItCannot has a folder in the file's place, and no folder at all.
func TestWriteWhereItCannot(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "taken", "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"taken": "replace ", "none/a": "open "} {
		path = filepath.Join(dir, path)
		if err := Write(path, nil, 0o644); err == nil || !strings.HasPrefix(err.Error(), want+path+": ") {
			t.Errorf("got %v", err)
		}
	}
	only(t, dir, "taken")
}

// TestWritersOfOnePath: two that write under one temporary name would mix their bytes, or one would rename the other's
// half.
func TestWritersOfOnePath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 10 {
				if err := Write(path, bytes.Repeat([]byte{byte('a' + i)}, 1<<16), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 1<<16 || len(bytes.Trim(text, string(text[:1]))) != 0 {
		t.Errorf("%d bytes, mixed, %v", len(text), err)
	}
	only(t, dir, "a")
}

func only(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}
