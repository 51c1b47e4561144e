package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/mcp"
)

// A server whose package is not the one of its lock is told of, with what installs it again.
func TestCheckLock(t *testing.T) {
	dir := t.TempDir()
	server := mcp.Server{Command: filepath.Join(dir, "node_modules", ".bin", "a")}
	if got := checkLock("s", server); got != nil {
		t.Errorf("without a lock: %+v", got)
	}
	const a = `"node_modules/a": {"version": "1.0.0", "resolved": "https://packages.test/a/-/a-1.0.0.tgz", "integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="}`
	for name, text := range map[string]string{
		"package-lock.json": `{"lockfileVersion": 3, "packages": {"": {"dependencies": {"a": "1.0.0"}}, ` + a + `}}`,
		"package.json":      "{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := checkLock("s", server); len(got) != 1 || got[0].Status != Warn ||
		!strings.Contains(got[0].Detail, "nothing of it is installed") || got[0].Next != "hone servers add "+dir {
		t.Errorf("%+v", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "node_modules", "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node_modules", "a", "package.json"),
		[]byte(`{"name": "a", "version": "1.0.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node_modules", ".package-lock.json"), []byte(`{"packages": {`+a+`}}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	if got := checkLock("s", server); len(got) != 1 || got[0].Status != OK {
		t.Errorf("%+v", got)
	}
}
