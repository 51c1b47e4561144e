package toolset

import (
	"os"
	"path/filepath"
	"testing"
)

// What is installed is put back where another cannot be, also where a kill came in the midst of an earlier try: half of
// an installation then stands in its place, and is nobody's.
func TestAside(t *testing.T) {
	for name, killed := range map[string]bool{"whole": false, "after a kill": true} {
		dir := filepath.Join(t.TempDir(), "server")
		put := func(dir, text string) {
			t.Helper()
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "program"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put(dir, "good")
		if killed {
			if err := os.Rename(dir, dir+".old"); err != nil {
				t.Fatal(err)
			}
			put(dir, "half")
		}
		keep, restore, err := aside(dir, true)
		if err != nil || isFolder(dir) {
			t.Fatalf("%s: %v", name, err)
		}
		if err := restore(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "program")); string(text) != "good" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if _, _, err := aside(dir, true); err != nil {
			t.Fatal(err)
		}
		put(dir, "new")
		keep()
		if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
			t.Errorf("%s: left are %v, %v", name, left, err)
		}
	}
}
