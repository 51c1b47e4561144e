package stablehlo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Instructions tell processors apart; their clock, and what stands after the first one, does not.
func TestReadProcessor(t *testing.T) {
	const first = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: 2100.0\nflags\t\t: fpu avx avx2\n"
	read := func(text string) string {
		t.Helper()
		p, err := readProcessor(write(t, "cpuinfo", text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	is := read(first + "\nprocessor\t: 1\nflags\t\t: fpu\n")
	if is != read(strings.Replace(first, "2100", "900", 1)) || !strings.Contains(is, "avx2") ||
		strings.Contains(is, "MHz") {
		t.Errorf("%q", is)
	}
	if is == read(strings.Replace(first, "avx2", "avx512f", 1)) {
		t.Error("two sets of instructions are one")
	}
	if arm := read("processor\t: 0\nFeatures\t: fp asimd\nCPU part\t: 0xd40\n"); !strings.Contains(arm, "asimd") ||
		!strings.Contains(arm, "0xd40") {
		t.Errorf("%q", arm)
	}
	for _, text := range []string{"", "processor\t: 0\n"} {
		if p, err := readProcessor(write(t, "cpuinfo", text)); err == nil {
			t.Errorf("%q is a processor: %q", text, p)
		}
	}
	if _, err := readProcessor("/proc/cpuinfo"); err != nil {
		t.Error(err)
	}
}

// Libraries are told apart by size and time, wherever they are.
func TestMappedNVIDIA(t *testing.T) {
	cudnn, other := write(t, "libcudnn.so.9", "a library"), write(t, "libother.so", "another")
	read := func() string {
		t.Helper()
		line := "7f00-7f01 r-xp 00000000 08:01 42    "
		text, err := libraryVersions(write(t, "maps", line+cudnn+"\n"+line+other+"\n"+
			line+cudnn+"\n7f02-7f03 rw-p 00000000 00:00 0\n"+line+"/gone/libcublas.so\n"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := read()
	if !strings.HasPrefix(before, "libcudnn.so.9 9 ") || strings.Contains(before, "\n") {
		t.Errorf("%q", before)
	}
	if err := os.WriteFile(cudnn, []byte("another library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if read() == before {
		t.Error("two libraries are one")
	}
}

func TestKinds(t *testing.T) {
	b := plug(t)
	kinds, err := b.plugin.kinds(b.client)
	if err != nil || len(kinds) != len(b.Devices()) || slices.Contains(kinds, "") {
		t.Errorf("%q, %v", kinds, err)
	}
}

// One plug-in is one for the whole process.
func TestOpenPluginTwice(t *testing.T) {
	first, err := openPlugin(plugPath(t))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := openPlugin(plugPath(t)); err != nil || again != first {
		t.Errorf("%p and %p, %v", first, again, err)
	}
}
