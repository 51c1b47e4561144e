package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
)

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		have   int64
		status Status
		detail string
		next   string
	}{{3 << 30, OK, "3.0 GiB free", ""}, {1 << 30, Warn, "1.0 GiB free, 2.0 GiB wanted", "less"}} {
		c := Check{}.compare(tc.have, 2<<30, "less")
		if c.Status != tc.status || c.Detail != tc.detail || c.Next != tc.next {
			t.Errorf("%+v", c)
		}
	}
}

// The disk of a folder that does not exist yet is the disk of the nearest one that does.
func TestDiskOfAFolderToBeMade(t *testing.T) {
	dir := t.TempDir()
	have, want := Disk("disk", filepath.Join(dir, "a", "b")), Disk("disk", dir)
	if strings.HasPrefix(have.Detail, "cannot") || strings.HasPrefix(want.Detail, "cannot") {
		t.Errorf("%+v, %+v", have, want)
	}
}

// A folder where nothing can be written is a warning, whatever room there is, and looking leaves nothing behind.
func TestDiskThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Writable(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	if c := Disk("disk", filepath.Join(file, "a")); c.Status != Warn ||
		!strings.Contains(c.Detail, "cannot be written") || !strings.Contains(c.Next, filepath.Join(file, "a")) {
		t.Errorf("%+v", c)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestFromError(t *testing.T) {
	c := FromError("server calc",
		&fault.Error{What: "cannot start", Where: "calc", Err: errors.New("exit status 3"), Next: "node --version"})
	if c.Status != Fail || c.Next != "node --version" || c.Detail != "cannot start: calc: exit status 3" {
		t.Errorf("%+v", c)
	}
	if c := FromError("x", errors.New("plain")); c.Detail != "plain" || c.Next != "" {
		t.Errorf("%+v", c)
	}
}
