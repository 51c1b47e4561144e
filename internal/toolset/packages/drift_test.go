package packages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// put writes files below a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Each way in which a folder can differ from its lock is named; none is made up.
func TestDrift(t *testing.T) {
	const (
		npm = `{"packages": {"": {"dependencies": {"a": "1.0.0"}}, "node_modules/a": {"version": "1.0.0", "integrity": "sha512-A"}, "node_modules/a/node_modules/@b/c": {"version": "2.0.0", "integrity": "sha512-C"},
			"node_modules/mac": {"version": "3.0.0", "integrity": "sha512-M", "optional": true},
			"node_modules/test": {"version": "4.0.0", "integrity": "sha512-T", "dev": true}, "packages/w": {"version": "1.0.0"}, "node_modules/w": {"resolved": "packages/w", "link": true}}}`
		hidden = `{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-A"}, "node_modules/a/node_modules/@b/c": {"version": "2.0.0", "integrity": "sha512-C"}}}`
		site   = "venv/lib/python3.12/site-packages/"
		pip    = "# tiny.server==1.2\nTiny.Server==1.2 --hash=sha256:00\nmcp==1.9.0rc1 --hash=sha256:11\n"
		record = "tiny.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n__pycache__/tiny.pyc,,\n" +
			"tiny_server-1.2.dist-info/RECORD,,\n"
	)
	npmFiles := map[string]string{
		"package-lock.json":                             npm,
		"node_modules/.package-lock.json":               hidden,
		"node_modules/a/package.json":                   `{"version": "1.0.0"}`,
		"node_modules/a/node_modules/@b/c/package.json": `{"version": "2.0.0"}`,
	}
	pipFiles := map[string]string{
		"requirements.lock": pip, site + "tiny.py": "", site + "tiny_server-1.2.dist-info/RECORD": record,
		site + "tiny_server-1.2.dist-info/METADATA": "Name: tiny.server\nVersion: 1.2\n",
		site + "mcp-1.9.0rc1.dist-info/RECORD":      "",
		site + "mcp-1.9.0rc1.dist-info/METADATA":    "Version: 1.9.0rc1\n",
		site + "pip-25.0.dist-info/METADATA":        "Version: 25.0\n",
	}
	for _, tc := range []struct {
		name  string
		of    map[string]string
		other map[string]string // written over; "gone" takes a file away
		want  string            // of each package one
	}{
		{"as npm's lock says", npmFiles, nil, ""},
		{"gone", npmFiles, map[string]string{"node_modules/a/node_modules/@b/c/package.json": "gone"}, "@b/c 2.0.0 is not installed"},
		{
			"not noted", npmFiles, map[string]string{
				"node_modules/.package-lock.json": `{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-A"}}}`,
			}, "@b/c 2.0.0 is not installed",
		},
		{
			"another archive", npmFiles, map[string]string{"node_modules/.package-lock.json": strings.Replace(hidden,
				"sha512-A", "sha512-B", 1)}, "a 1.0.0 was unpacked from another archive",
		},
		{"another version", npmFiles, map[string]string{"node_modules/a/package.json": `{"version": "1.0.1"}`}, "a is 1.0.1, and 1.0.0 in the lock"},
		{
			"one more", npmFiles, map[string]string{"node_modules/.package-lock.json": strings.Replace(hidden,
				`{"packages": {`, `{"packages": {"node_modules/z": {"version": "9.0.0"}, `, 1)},
			"z 9.0.0 is not in the lock",
		},
		{"nothing", npmFiles, map[string]string{"node_modules/.package-lock.json": "gone"}, "nothing of it is installed"},

		{"as pip's lock says", pipFiles, nil, ""},
		{"a changed file", pipFiles, map[string]string{site + "tiny.py": "evil()"}, "tiny-server 1.2: 1 file changed since, the first is tiny.py"},
		{"a file gone", pipFiles, map[string]string{site + "tiny.py": "gone"}, "tiny-server 1.2: 1 file changed since, the first is tiny.py"},
		{"no record", pipFiles, map[string]string{site + "mcp-1.9.0rc1.dist-info/RECORD": "gone"},
			"mcp 1.9.0rc1: 1 file changed since, the first is mcp-1.9.0rc1.dist-info/RECORD"},
		{"another version", pipFiles, map[string]string{site + "mcp-1.9.0rc1.dist-info/METADATA": "Version: 2.0\n"}, "mcp is 2.0, and 1.9.0rc1 in the lock"},
		{"one more", pipFiles, map[string]string{site + "evil-1.0.dist-info/METADATA": "Version: 1.0\n"}, "evil 1.0 is not in the lock"},
		{"one less", pipFiles, map[string]string{"requirements.lock": pip + "httpx==0.28.1 --hash=sha256:22\n"}, "httpx 0.28.1 is not installed"},

		{"no lock", map[string]string{"package.json": "{}"}, nil, ""},
	} {
		dir := t.TempDir()
		put(t, dir, tc.of)
		for name, text := range tc.other {
			put(t, dir, map[string]string{name: text})
			if text == "gone" {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		lock, differs, err := Drift(dir)
		if err != nil || strings.Join(differs, "|") != tc.want || (lock == "") != (tc.name == "no lock") {
			t.Errorf("%s: %q %v of %q", tc.name, differs, err, lock)
		}
	}
}

// A lock says what it was made for; one that hone did not make is told of, with what to do.
func TestLockOf(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"npm/package.json": "{}", "npm/a.tgz": "packed", "npm/package-lock.json": `{"packages": {"": {"dependencies": {"@us/a": "file:a.tgz"}}, "node_modules/@us/a": {"version": "1.1.0", "resolved": "file:a.tgz", "integrity": "` + sha512Of("packed") + `"}}}`,
		"two/package.json": "{}", "two/package-lock.json": `{"packages": {"": {"dependencies": {"a": "1", "b": "1"}}}}`,
		"none/README.md": "", "lone/package-lock.json": "{}", "old/requirements.lock": "mcp==1.9.0 --hash=sha256:11\n",
		"new/requirements.lock": "# tiny==1.2\nmcp==1.9.0 --hash=sha256:11\n", "new/mine.txt": "",
	})
	for name, want := range map[string]string{
		"npm": "npm:@us/a@1.1.0", "new": "pypi:tiny==1.2", "old": "pypi:==", "none": "", "nowhere": "", "two": "one",
		"lone": "error",
	} {
		l, ok, err := LockOf(filepath.Join(dir, name))
		if wrong := name == "two" || name == "lone"; wrong != (err != nil) || !wrong && l.Package != want ||
			ok != (want != "") {
			t.Errorf("%s: %+v %v %v", name, l, ok, err)
		}
		if foreign, err := l.Foreign(); name == "npm" &&
			(err != nil || len(foreign) > 0 || string(l.files["a.tgz"]) != "packed") {
			t.Errorf("%q of %q %v", l.files, foreign, err)
		}
		if foreign, err := l.Foreign(); name == "new" && (err != nil || !slices.Equal(foreign, []string{"mine.txt"})) {
			t.Errorf("%q %v", foreign, err)
		}
	}
	t.Chdir(filepath.Join(dir, "npm"))
	if _, ok, _ := LockOf(""); ok {
		t.Error("no folder is the present one")
	}
}
