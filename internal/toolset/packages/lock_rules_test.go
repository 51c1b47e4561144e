package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
)

func sha512Of(text string) string {
	sum := sha512.Sum512([]byte(text))
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// A lock that names what has no hash, or what lies outside of its folder, is refused when it is read: nothing of it is
// installed, and no script runs. What it names of its own folder is held to its hash.
func TestLockNamesItsOwnFolderAlone(t *testing.T) {
	const secret = "a key"
	own, outside := sha512Of("packed"), sha512Of(secret)
	sum := sha256.Sum256([]byte("packed"))
	weaker := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	root := t.TempDir()
	put(t, root, map[string]string{"x/id": secret, "server/own.tgz": "packed"})
	for name, to := range map[string]string{"link.tgz": "../x/id", "dir.tgz": "../x"} {
		if err := os.Symlink(to, filepath.Join(root, "server", name)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "server")
	a := func(members string) string { return `"node_modules/a": {"version": "1.0.0", ` + members + `}` }
	file := func(resolved, hash string) string {
		return a(`"resolved": "` + resolved + `", "integrity": "` + hash + `"`)
	}
	for _, tc := range []struct {
		entries, want string // part of what is said; "" for a lock that is right
	}{
		{file("https://registry.example/a.tgz", own), ""},
		{a(`"integrity": "` + own + `"`), ""},
		{file("file:own.tgz", own), ""},
		{file("file:./own.tgz", "sha1-AAAA "+own), ""},
		{file("file:own.tgz", weaker), ""},

		{file("file:../x/id", outside), "not of its folder"},
		{file("file:../../../x/id", outside), "not of its folder"},
		{file("file:"+root+"/x/id", outside), "not of its folder"},
		{file("file://"+root+"/x/id", outside), "not of its folder"},
		{file("file:own.tgz/../../x/id", outside), "not of its folder"},
		{file("file:%2e%2e%2fx%2fid", outside), "not of its folder"},
		{file(`file:..\\x\\id`, outside), "not of its folder"},
		{file("file:", outside), "not of its folder"},
		{file("file:..", outside), "not of its folder"},
		{file("file:~/id", outside), "not of its folder"},
		{file("file:package.json", sha512Of("{}")), "not of its folder"},
		{file("file:binding.gyp", own), "not of its folder"},
		{file("file:.tgz", own), "not of its folder"},
		{file("file:a/../own.tgz", own), "not of its folder"},
		{file("file:own.tgz\\u0000", own), "not of its folder"},
		{file("file:own.tgz#x", own), "not of its folder"},
		{file("FILE:../x/id", outside), "of no registry"},
		{file("../x/id", outside), "of no registry"},
		{file("git+ssh://git@host.example/x.git#0", own), "of no registry"},
		{a(`"resolved": "../x", "link": true`), "no hash"},
		{a(`"resolved": "../x", "link": true, "integrity": "` + own + `"`), "no hash"},

		{file("file:link.tgz", outside), "no regular file"},
		{file("file:dir.tgz", own), "no regular file"},
		{file("file:gone.tgz", own), "no such file"},
		{file("file:own.tgz", outside), "its sha512 is another one"},
		{file("file:own.tgz", outside+" "+weaker), "its sha512 is another one"},
		{file("file:own.tgz", "sha1-AAAA"), "no strong hash"},
		{file("file:own.tgz", ""), "no hash"},
		{file("https://registry.example/a.tgz", ""), "no hash"},
		{file("https://registry.example/a.tgz", "none"), "no hash"},
		{a(`"INTEGRITY": "` + own + `"`), "no hash"}, // npm reads no such key
		{a(`"integrity": "` + own + `", "integrity": ""`), "duplicate"},
		{
			file("file:own.tgz", own) +
				`, "node_modules/b": {"version": "1.0.0", "resolved": "file:../x/id", "integrity": "` + outside + `"}`,
			"not of its folder",
		},
		{file("file:own.tgz", own) + `, "../x": {"version": "1.0.0", "integrity": "` + own + `"}`, "outside of its folder"},
		{file("file:own.tgz", own) + `, "node_modules/../../x": {"version": "1.0.0", "integrity": "` + own + `"}`, "outside of its folder"},
		{`"node_modules/b": {"version": "1.0.0", "integrity": "` + own + `"}`, "no entry of a"},
	} {
		put(t, dir, map[string]string{
			"package.json": `{"dependencies": {"a": "1"}, "scripts": {"preinstall": "touch ran"}}`,
			"package-lock.json": `{"packages": {"": {"dependencies": {"a": "1"}}, ` + tc.entries +
				`}, "dependencies": {"a": {"version": "file:../x/id"}}}`,
		})
		l, ok, err := LockOf(dir)
		var told *fault.Error
		if !ok || (err == nil) != (tc.want == "") ||
			err != nil && (!errors.As(err, &told) || told.Next == "" || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, not %q", tc.entries, err, tc.want)
		}
		if err == nil && (strings.Contains(string(l.files["package.json"]), "scripts") ||
			strings.Contains(string(l.files[npmLock]), "x/id")) {
			t.Errorf("installed from %s", l.files)
		}
	}
}

// The same of pip's lock, whose form has options, files and addresses.
func TestPinned(t *testing.T) {
	const hash = " --hash=sha256:00ff"
	for line, ok := range map[string]bool{
		"": true, "# tiny==1": true, "tiny==1.2" + hash: true, "tiny.x[cli,b]==1.2rc1+l" + hash + hash: true,
		"tiny==1 \\\n   " + hash + " # via us": true, "tiny==1 ; python_version < '3.12'" + hash: true,
		"tiny==1" + hash + "\r\nb==2" + hash: true, "tiny==1": false, "tiny>=1" + hash: false,
		"tiny==1.*" + hash: false, "tiny" + hash: false,
		"tiny @ file:///x/id" + hash: false, "file:///x/id" + hash: false, "./x.whl" + hash: false,
		"/x/id.whl" + hash: false, "git+https://host.example/x#egg=tiny==1" + hash: false, "-r ../x/id": false,
		"--requirement=../x/id": false, "-c ../x/id": false, "-e ../x": false,
		"--find-links ../x": false, "--index-url https://host.example": false,
		"--extra-index-url=https://host.example": false, "tiny==1" + hash + " --config-settings=a=b": false,
		"tiny==1" + hash + "\n-e ../x": false, "tiny==1 ; x @ file:///x" + hash: false,
		"--trusted-host host.example": false, "-\\\nr ../x/id": false,
	} {
		dir := t.TempDir()
		put(t, dir, map[string]string{pipLock: line + "\n"})
		if _, _, err := LockOf(dir); (err == nil) != ok {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// archive packs a package for npm.
func archive(t *testing.T, path, manifest string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	err := w.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(manifest))})
	if err == nil {
		_, err = w.Write([]byte(manifest))
	}
	if err = errors.Join(err, w.Close(), zipped.Close()); err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Scripts run when all that is installed has a hash. A packed file is kept with its lock, which so names nothing
// outside of the folder and installs the same in another.
func TestScriptsRunBehindTheHashes(t *testing.T) {
	root := t.TempDir()
	run := func(_ context.Context, cmd *exec.Cmd, _ string, _ []string, network Network) ([]byte, error) {
		cmd.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(root, "cache"), "npm_config_offline=true")
		out, err := cmd.CombinedOutput()
		if _, here := os.Stat(filepath.Join(root, "ran")); here == nil && network != Scripts {
			t.Errorf("%v ran a script, with the whole network", cmd.Args)
		}
		return out, err
	}
	ran := func() bool {
		_, err := os.Stat(filepath.Join(root, "ran"))
		return os.Remove(filepath.Join(root, "ran")) == nil && err == nil
	}
	script := `"scripts": {"install": "touch ` + filepath.Join(root, "ran") + `"}`
	put(t, root, map[string]string{"loose/package.json": `{"name": "loose", "version": "1.0.0"}`})
	archive(
		t, filepath.Join(root,
			"bad.tgz"), `{"name": "bad", "version": "1.0.0", "bin": "package.json", "dependencies": {"loose": "file:`+
			filepath.Join(root, "loose")+`"}, `+script+`}`,
	)
	good := filepath.Join(root, "of us #1.tgz")
	archive(t, good, `{"name": "good", "version": "1.0.0", "bin": "package.json", `+script+`}`)
	add := func(r Request) error {
		r.PATH, r.Build = os.Getenv("PATH"), true
		_, err := Add(t.Context(), r, run)
		return err
	}
	if err := add(Request{Package: "npm:" + filepath.Join(root, "bad.tgz"),
		Dir: filepath.Join(root, "bad")}); err == nil || ran() {
		t.Errorf("a folder without a hash: %v", err)
	}
	if err := add(Request{Package: "npm:" + good, Dir: filepath.Join(root, "good")}); err != nil || !ran() {
		t.Fatalf("its script is asked for: %v", err)
	}
	if err := os.Remove(good); err != nil {
		t.Fatal(err)
	}
	lock, _, err := LockOf(filepath.Join(root, "good"))
	if err == nil {
		err = add(Request{Lock: &lock, Dir: filepath.Join(root, "elsewhere")})
	}
	if err != nil || !ran() {
		t.Errorf("from its lock: %v", err)
	}
}
