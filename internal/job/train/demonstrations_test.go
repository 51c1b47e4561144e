package train

import (
	"os"
	"path/filepath"
	"testing"

	"hone/internal/job"
)

// The demonstrations of an adapter are those that its run kept; a run without any, or an adapter of no run, has none.
func TestDemonstrationsOfAnAdaptersRun(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	file := filepath.Join(with, job.ConversationsFile)
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*job.Origin]string{{Run: with}: file, {Run: without}: "", {}: "", nil: ""} {
		if got := shownIn(of); got != want {
			t.Errorf("%+v: %q, want %q", of, got, want)
		}
	}
}
