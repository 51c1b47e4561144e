package stablehlo

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// The beginning of PJRT_Api (openxla/xla, xla/pjrt/c/pjrt_c_api.h), which is the same in all versions.
typedef struct {
	size_t size;
	void *extensions;
	struct { size_t size; void *extensions; int major, minor; } version;
} hone_pjrt_head;

static void *hone_open(const char *path, char **why) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library == NULL) *why = strdup(dlerror());
	return library;
}

static const hone_pjrt_head *hone_head(void *library, int *found) {
	const hone_pjrt_head *(*get)(void) = (const hone_pjrt_head *(*)(void))dlsym(library, "GetPjrtApi");
	*found = get != NULL;
	return get == NULL ? NULL : get();
}

static void hone_close(void *library) { dlclose(library); }
*/
import "C"

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"
)

// The PJRT API that this backend is written against.
const (
	apiMajor = 0
	// minAPISize is the length of a table of functions that goes up to PJRT_Executable_GetCompiledMemoryStats, the 97th
	// and the last that hone calls, after a head of 40 bytes.
	minAPISize = 40 + 97*8
)

// Library is what a plug-in says of itself before a client is made.
type Library struct {
	Path         string
	Major, Minor int // of its PJRT API
}

// Probe loads a plug-in and reads which PJRT API it has. It is an error where the file is no shared library, cannot be
// loaded, is no plug-in, or has an API that hone does not speak; to call such a one would end the process.
func Probe(path string) (Library, error) {
	_, l, err := probe(path)
	return l, err
}

func probe(path string) (unsafe.Pointer, Library, error) {
	l := Library{Path: path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, l, err
	}
	if !info.Mode().IsRegular() {
		return nil, l, errors.New("it is not a file")
	}
	if err := whole(path, info.Size()); err != nil {
		return nil, l, err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why *C.char
	library := C.hone_open(name, &why)
	if library == nil {
		defer C.free(unsafe.Pointer(why))
		return nil, l, fmt.Errorf("it cannot be loaded as a shared library: %s", C.GoString(why))
	}
	var found C.int
	head := C.hone_head(library, &found)
	switch {
	case found == 0:
		err = errors.New("it is a shared library, but no PJRT plug-in: it has no function GetPjrtApi")
	case head == nil:
		err = errors.New("its function GetPjrtApi returns nothing")
	case head.version.major != apiMajor || head.size < minAPISize:
		err = fmt.Errorf("its PJRT API is %d.%d with a table of %d bytes; hone speaks %d.x, "+
			"with a table of at least %d bytes",
			head.version.major, head.version.minor, head.size, apiMajor, minAPISize)
	default:
		l.Major, l.Minor = int(head.version.major), int(head.version.minor)
		return unsafe.Pointer(head), l, nil // it stays loaded, for New
	}
	C.hone_close(library)
	return nil, l, err
}

// whole refuses a shared library of which a part is missing: the loader would map it, and end the process where it
// reads behind the file's end. What is no ELF file is the loader's to refuse.
func whole(path string, size int64) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(file, magic); err != nil || string(magic) != elf.ELFMAG {
		return nil
	}
	f, err := elf.NewFile(file) // which reads the table at the file's end
	if err != nil {
		return fmt.Errorf("it is not whole, or damaged: it has %d bytes: %w", size, err)
	}
	var end uint64
	for _, p := range f.Progs {
		end = max(end, p.Off+p.Filesz)
	}
	if end > uint64(size) {
		return fmt.Errorf("it is not whole: it has %d bytes, and says of itself that there are %d", size, end)
	}
	return nil
}

// Devices names the devices of the client.
func (b *Backend) Devices() []string {
	var names []string
	for _, d := range b.client.AddressableDevices() {
		name := "a device that does not say what it is"
		if description, err := d.GetDescription(); err == nil {
			name = description.DebugString()
		}
		names = append(names, name)
	}
	return names
}
