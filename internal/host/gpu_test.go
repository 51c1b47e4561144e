package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// library compiles C to a shared library; cgo needs a compiler, so there is one.
func library(t *testing.T, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	c, so := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.so")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc",
		append([]string{"-shared", "-fPIC", "-o", so, c}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return so
}

const driver = `
#include <string.h>
#include <stddef.h>
static int pushed;
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *d, int i) { *d = i + 10; return 0; }
int cuDeviceGetName(char *name, int n, int d) { strncpy(name, d == 10 ? "first" : "second", n); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 1; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(size_t)d; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return pushed; }
int cuCtxPushCurrent_v2(void *c) { pushed = (int)(size_t)c; return 0; }
int cuCtxPopCurrent_v2(void **c) { pushed = 0; return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { *free = (size_t)pushed << 30; *total = (size_t)80 << 30; return STATUS; }
`

func TestGPUs(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       []GPU
		bad        bool
	}{
		{"no driver", filepath.Join(t.TempDir(), "libcuda.so.1"), nil, false},
		{"two", library(t, driver, "-DINIT=0", "-DSTATUS=0"), []GPU{{"first", 10 << 30, 80 << 30}, {"second", 11 << 30, 80 << 30}}, false},
		{"a driver without a device", library(t, driver, "-DINIT=100", "-DSTATUS=0"), nil, false},
		{"a driver that is broken", library(t, driver, "-DINIT=999", "-DSTATUS=0"), nil, true},
		{"a device that is broken", library(t, driver, "-DINIT=0", "-DSTATUS=2"), nil, true},
		{"another library", library(t, "int cuInit(unsigned f) { return 0; }"), nil, true},
	} {
		got, err := GPUs(c.path)
		if !slices.Equal(got, c.want) || (err != nil) != c.bad {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestMissingNVIDIA(t *testing.T) {
	plugin := library(t, "int f(void) { return 0; }", "-Wl,-rpath,$ORIGIN/../nvidia:$ORIGIN/own")
	own, loader := filepath.Join(filepath.Dir(plugin), "own"), t.TempDir()
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	all := nvidiaLibraries()
	for i, name := range all {
		folder := own
		if i%2 == 0 {
			folder = loader
		}
		missing, err := MissingNVIDIA(plugin, []string{loader})
		if err != nil || !slices.Equal(missing, all[i:]) {
			t.Fatalf("missing are %v, %v; want %v", missing, err, all[i:])
		}
		if err := os.WriteFile(filepath.Join(folder, name+".so.13"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if missing, err := MissingNVIDIA(plugin, LoaderFolders(loader)); err != nil || len(missing) != 0 {
		t.Errorf("missing are %v, %v", missing, err)
	}
	if _, err := MissingNVIDIA(filepath.Join(own, all[1]+".so.13"), nil); err == nil {
		t.Error("an empty file is taken for a plug-in")
	}
}

func TestAllowedByControlGroups(t *testing.T) {
	write := func(root, file, text string) {
		t.Helper()
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	two, one := t.TempDir(), t.TempDir()
	write(two, "a/memory.max", "1000\n")
	write(two, "a/memory.current", "700\n")
	write(two, "a/memory.stat", "anon 5\ninactive_file 100\n")
	write(two, "a/b/memory.max", "max\n")
	write(two, "full/memory.max", "10\n")
	write(two, "full/memory.current", "70\n")
	write(one, "memory/c/memory.limit_in_bytes", "5000\n")
	write(one, "memory/c/memory.usage_in_bytes", "1000\n")
	for _, c := range []struct {
		root, membership string
		want             int64
	}{
		{two, "0::/a/b\n", 400}, {two, "0::/\n", 9000}, {two, "0::/elsewhere\n", 9000}, {two, "", 9000},
		{two, "nonsense\n", 9000}, {two, "0::/full\n", 0}, {one, "5:cpu,memory:/c\n3:cpuset:/c\n", 4000},
		{one, "3:cpuset:/c\n", 9000},
	} {
		if got := memoryLimit(c.root, c.membership, 9000); got != c.want {
			t.Errorf("%q: %d, want %d", c.membership, got, c.want)
		}
	}
	if n, err := AvailableMemory(); err != nil || n <= 0 {
		t.Errorf("%d, %v", n, err)
	}
}
