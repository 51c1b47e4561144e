package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnlinkFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "link", "in"))
	want := filepath.Join(dir, "real", "in")
	if was, err := os.Getwd(); err != nil || was == want {
		t.Fatalf("before it is %q already, %v", was, err)
	}
	UnlinkFolder()
	if is, err := os.Getwd(); err != nil || is != want || os.Getenv("PWD") != want {
		t.Errorf("%q, %v, PWD %q", is, err, os.Getenv("PWD"))
	}
}
