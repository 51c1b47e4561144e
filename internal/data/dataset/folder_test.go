package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A snapshot in Hugging Face's cache is a folder of links to blobs; a folder may be a link too. What was done to rows
// is no row.
func TestSnapshotOfTheCache(t *testing.T) {
	cache := t.TempDir()
	blob := filepath.Join(cache, "blobs", "0123")
	snapshot := filepath.Join(cache, "snapshots", "abc", "data")
	for _, dir := range []string{filepath.Dir(blob), snapshot} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		blob: `{"a":1}`,
		filepath.Join(snapshot, "train.jsonl.curation.jsonl"): `{"curation":1}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../../blobs/0123", filepath.Join(snapshot, "test-00000-of-00001.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(cache, "snapshots", "abc"), filepath.Join(cache, "main")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(cache, "snapshots", "abc"), filepath.Join(cache, "main"), filepath.Join(cache, "main") + "/",
		filepath.Join(snapshot, "test-00000-of-00001.jsonl"),
	} {
		var got []string
		if err := EachRecord([]string{path}, SourceOptions{}, func(r Record) error {
			got = append(got, string(r.JSON)+r.Split)
			return nil
		}); err != nil || !slices.Equal(got, []string{`{"a":1}test`}) {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if err := os.Symlink("gone", filepath.Join(snapshot, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := EachRecord([]string{snapshot}, SourceOptions{}, func(Record) error { return nil }); err == nil {
		t.Error("a link to a blob that is not there was left out without a word")
	}
}
