package play

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A conversation is kept beside the run of its servers, and never among others. Names that no file system has end
// there.
func TestFolderFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken-played"), 0o700); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 250)
	for run, want := range map[string]string{
		"run": "run-played", "run-played": "run-played", "run-played-2": "run-played", "taken": "taken-played-2",
		long: long + "-played",
	} {
		if got := folderFor(filepath.Join(dir, run), "a hash"); got != filepath.Join(dir, want) {
			t.Errorf("%s is kept in %s, want %s", run, got, want)
		}
	}
}
