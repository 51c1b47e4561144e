package engine

import (
	"io"
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
	return "static struct { unsigned long size; void *e; unsigned long vsize; void *ve; int major, minor; " +
		"char rest[4096]; } table = {" +
		size + ", 0, 24, 0, " + major + ", 7};\nvoid *GetPjrtApi(void) { return &table; }\n"
}

// half cuts off the second half of a library and, if asked to, what its head says of sections, whose table is at the
// end.
func half(t *testing.T, so string, noSections bool) string {
	t.Helper()
	text, err := os.ReadFile(so)
	if err != nil {
		t.Fatal(err)
	}
	if noSections {
		clear(text[0x28:0x30]) // e_shoff
		clear(text[0x3C:0x40]) // e_shnum, e_shstrndx
	}
	if err := os.WriteFile(so, text[:len(text)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	return so
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
		{"a download that broke off", half(t, library(t, api("2000", "0")), false), "cannot use", "it is not whole"},
		{"one without sections that broke off", half(t, library(t, api("2000", "0")), true), "cannot use", "it is not whole: it has"},
		{"an old version", library(t, api("400", "0")), "cannot use", "with a table of 400 bytes"},
	} {
		for how, try := range map[string]func() error{
			"probe": func() error { _, err := Probe(c.path); return err },
			"open":  func() error { _, err := Open(Options{Plugin: c.path}); return err },
		} {
			err := try()
			f, ok := err.(*fault.Error)
			code := fault.CodeExhausted
			if c.name == "none" || c.name == "a folder" { // a wrong path
				code = fault.CodeUsage
			}
			if !ok || f.Code != code || f.Where != c.path || f.Next == "" || !strings.Contains(f.What, c.what) ||
				!strings.Contains(err.Error(), c.why) {
				t.Errorf("%s, %s: %v", c.name, how, err)
			}
		}
	}
	l, err := Probe(library(t, api("2000", "0")))
	if err != nil || l.Major != 0 || l.Minor != 7 {
		t.Errorf("%+v, %v", l, err)
	}
}

// What pure Go says of itself does not stand among the data of a command.
func TestPureGoWritesNothing(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	e, err := Open(Options{})
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	_ = write.Close()
	if text, err := io.ReadAll(read); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}

// A dry engine's zeros are as large as is asked, and take no memory.
func TestDryZeros(t *testing.T) {
	for _, gpu := range []bool{false, true} {
		d := OpenDry(gpu, 1)
		zeros, err := d.Zeros(F32(1<<20, 1<<20), 2)
		if err != nil || len(zeros) != 2 || d.Live() != 2<<42 {
			t.Errorf("on a GPU %v: %d arrays of %d bytes in all, %v", gpu, len(zeros), d.Live(), err)
		}
		d.Close()
	}
}
