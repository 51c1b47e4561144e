package toolset

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
)

// packed writes an npm package and a wheel, which need no registry.
func packed(t *testing.T, dir string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, text := range map[string]string{"package.json": `{"name": "@us/tiny", "version": "1.1.0", "bin": {"tiny": "main.js", "other": "main.js"}, "scripts": {"install": "touch ran", "postinstall": "touch ran"}}`, "main.js": "#!/usr/bin/env node\n"} {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "tiny.tgz"), b.String())
	b.Reset()
	z, record, info := zip.NewWriter(&b), "", "tiny_server-1.2.dist-info/"
	for _, f := range [][2]string{
		{"tiny.py", "def main(): pass\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: tiny-server\nVersion: 1.2\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "entry_points.txt", "[console_scripts]\ntiny-server = tiny:main\nother = tiny:main\n"},
		{info + "RECORD", ""},
	} {
		sum := sha256.Sum256([]byte(f[1]))
		if f[1] == "" {
			f[1] = record + f[0] + ",,\n"
		}
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f[0], base64.RawURLEncoding.EncodeToString(sum[:]), len(f[1]))
		to, err := z.Create(f[0])
		if err == nil {
			_, err = to.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "tiny_server-1.2-py3-none-any.whl"), b.String())
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What was installed is compared with its lock, and installed again from the lock alone: what differs is named before a
// server starts, and gone afterwards. The entry keeps what the user wrote into it. npm installs here; make soak does
// the same with pip, whose environments take their time.
func TestLocks(t *testing.T) {
	locks(t, installed{"npm:./tiny.tgz", "other", "node_modules/.bin", "node_modules/@us/tiny/package.json",
		"package-lock.json", `"version": "1.1.0"`, `"version": "1.0.9"`})
}

// installed is a package of packed, and where its parts are.
type installed struct {
	pkg, bin, programs string
	file, lock         string
	version            string // a line of the lock, and as another version
	other              string
}

func locks(t *testing.T, tc installed) {
	dir := t.TempDir()
	t.Chdir(dir)
	packed(t, dir)
	var said bytes.Buffer
	h := &host.Host{Talk: sanitize.New(&said), Data: sanitize.New(&said), LookupEnv: func(name string) (string, bool) {
		switch name {
		case "HOME", "XDG_STATE_HOME":
			return filepath.Join(dir, "home"), true
		case "PIP_FIND_LINKS":
			return dir, true
		case "PIP_NO_INDEX":
			return "1", true
		}
		return os.LookupEnv(name)
	}}
	c := config.Default()
	c.MCP.Sandbox.Mode = "off"
	name := strings.TrimSuffix(tc.lock, filepath.Ext(tc.lock))
	home := filepath.Join(".hone", "servers", name)
	if _, err := addEntry(t.Context(), h, c, Addition{Package: tc.pkg, Name: name, File: "mcp.json", Bin: tc.bin,
		Python: "python3", Args: []string{"--mine"}}); err != nil {
		t.Fatal(fault.Whole(err))
	}
	entries := contentsOf(t, "mcp.json")
	state := func() Locked {
		t.Helper()
		servers, err := mcp.LoadConfig("mcp.json", h.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		l, err := LockOf(servers.Servers[name])
		if err != nil || filepath.Base(l.File) != tc.lock {
			t.Fatalf("%+v %v", l, err)
		}
		said.Reset()
		sayLocks(h, servers)
		if told := strings.Contains(said.String(),
			"server "+name+": what is installed is not what its lock says"); told != (len(l.Differs) > 0) {
			t.Errorf("differs %q, said %s", l.Differs, said.String())
		}
		return l
	}
	if l := state(); len(l.Differs) > 0 {
		t.Fatalf("just installed, and yet %+v", l)
	}
	lock := filepath.Join(home, tc.lock)
	text := contentsOf(t, lock)
	put(t, lock, strings.ReplaceAll(text, tc.version, tc.other))
	if l := state(); len(l.Differs) != 1 || !strings.Contains(l.Differs[0], "in the lock") ||
		l.Next != "hone servers add ./"+home {
		t.Errorf("another version in the lock: %+v", l)
	}
	put(t, lock, text)
	changed, err := filepath.Glob(filepath.Join(home, tc.file))
	if err != nil || len(changed) != 1 {
		t.Fatal(changed, err)
	}
	put(t, changed[0], `{"version": "6.6.6"}`)
	if l := state(); len(l.Differs) != 1 {
		t.Errorf("a changed file: %+v", l)
	}
	if _, err := addEntry(t.Context(), h, c,
		Addition{Package: "./" + home, File: "mcp.json", Python: "python3"}); err != nil {
		t.Fatal(fault.Whole(err))
	}
	if l := state(); len(l.Differs) > 0 {
		t.Errorf("installed from its lock: %q", l.Differs)
	}
	if ran, _ := filepath.Glob(filepath.Join(home, "node_modules/@us/tiny/ran")); len(ran) > 0 {
		t.Error("installed from its lock, and the package's own script ran")
	}
	if now := contentsOf(t, "mcp.json"); now != entries || contentsOf(t, lock) != text {
		t.Errorf("the entry or the lock is another one: %s", now)
	}
	if left, _ := filepath.Glob(".hone/servers/*.old"); len(left) > 0 {
		t.Errorf("left behind %q", left)
	}
	for _, whole := range []string{"node_modules", "venv"} {
		if err := os.RemoveAll(filepath.Join(home, whole)); err != nil {
			t.Fatal(err)
		}
	}
	if l := state(); len(l.Differs) != 1 || l.Differs[0] != "nothing of it is installed" {
		t.Errorf("the lock alone: %+v", l)
	}
	if tc.programs == "node_modules/.bin" { // Python's environment takes its time
		if _, err := addEntry(t.Context(), h, c,
			Addition{Package: home, Name: "js2", File: "mcp.json", Dir: "elsewhere/js", Bin: tc.bin}); err != nil {
			t.Fatal(fault.Whole(err))
		}
		if l, err := LockOf(mcp.Server{Command: filepath.Join("elsewhere/js", tc.programs, tc.bin)}); err != nil ||
			l.File == "" || len(l.Differs) > 0 {
			t.Errorf("%+v %v", l, err)
		}
	}
	put(t, filepath.Join(home, "mine.txt"), "kept")
	if _, err := addEntry(t.Context(),
		h, c, Addition{Package: home, File: "mcp.json", Python: "python3"}); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(fault.Whole(err), "mine.txt") {
		t.Errorf("a folder with other files: %v", err)
	}
}

// pip takes a lock without any hash for a list of names, and installs what the index says they are today, unless it is
// told to want them.
func TestLocksHaveHashes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	packed(t, dir)
	h := &host.Host{
		Talk: sanitize.New(&bytes.Buffer{}),
		Data: sanitize.New(&bytes.Buffer{}),
		LookupEnv: func(name string) (string, bool) {
			switch name {
			case "HOME", "XDG_STATE_HOME":
				return filepath.Join(dir, "home"), true
			case "PIP_FIND_LINKS":
				return dir, true
			case "PIP_NO_INDEX":
				return "1", true
			}
			return os.LookupEnv(name)
		},
	}
	c := config.Default()
	c.MCP.Sandbox.Mode = "off"
	sum := sha256.Sum256([]byte(contentsOf(t, "tiny_server-1.2-py3-none-any.whl")))
	for lock, why := range map[string]string{"# tiny-server==1.2\ntiny-server==1.2\n": "hash",
		fmt.Sprintf("# tiny-server==1.2\ntiny-server==1.2 --hash=sha256:%x\n", sum): ""} {
		put(t, "locked/requirements.lock", lock)
		_, err := addEntry(t.Context(), h, c, Addition{Package: "./locked", Name: "locked", File: "mcp.json",
			Dir: filepath.Join("made", why), Bin: "other", Python: "python3", Force: true})
		if (err == nil) != (why == "") || err != nil && !strings.Contains(fault.Whole(err), why) {
			t.Errorf("%s: %v", lock, err)
		}
	}
}

func contentsOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
