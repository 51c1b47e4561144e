package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
)

// library compiles C to a shared library; cgo needs a compiler, so there is one.
func library(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	c, so := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.so")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", so, c).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return so
}

// api is a plug-in whose table claims a size and a version.
func api(size, major string) string {
	return "static struct { unsigned long size; void *e; unsigned long vsize; void *ve; int major, minor; char rest[4096]; } table = {" +
		size + ", 0, 24, 0, " + major + ", 7};\nvoid *GetPjrtApi(void) { return &table; }\n"
}

// What is wrong with a plug-in is said before anything of it is called.
func TestProbeSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.so")
	if err := os.WriteFile(text, []byte("this is no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, what, why string }{
		{"none", filepath.Join(dir, "none.so"), "is not there", "no such file"},
		{"a folder", dir, "cannot use", "it is not a file"},
		{"a text", text, "cannot use", "cannot be loaded as a shared library"},
		{"another library", library(t, "int f(void) { return 0; }"), "cannot use", "no PJRT plug-in"},
		{"nothing behind it", library(t, "void *GetPjrtApi(void) { return 0; }"), "cannot use", "returns nothing"},
		{"a missing symbol", library(t, "int g(void); void *GetPjrtApi(void) { return 0; } void *p = g;"), "cannot use", "cannot be loaded"},
		{"the next version", library(t, api("2000", "1")), "cannot use", "its PJRT API is 1.7"},
		{"an old version", library(t, api("400", "0")), "cannot use", "with a table of 400 bytes"},
	} {
		for how, try := range map[string]func() error{
			"probe": func() error { _, err := Probe(c.path); return err },
			"open":  func() error { _, err := Open(Options{Plugin: c.path}); return err },
		} {
			err := try()
			f, ok := err.(*fault.Error)
			if !ok || f.Code != fault.CodeExhausted || f.Where != c.path || f.Next == "" || !strings.Contains(f.What, c.what) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s, %s: %v", c.name, how, err)
			}
		}
	}
	l, err := Probe(library(t, api("2000", "0")))
	if err != nil || l.Major != 0 || l.Minor != 7 {
		t.Errorf("%+v, %v", l, err)
	}
}
