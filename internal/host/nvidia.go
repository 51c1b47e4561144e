package host

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// nvidiaLibraries are what XLA for CUDA loads when it needs it, so that the linker does not miss them beforehand.
func nvidiaLibraries() []string {
	return []string{
		"libcudart", "libcublas", "libcublasLt", "libcudnn", "libcufft", "libcupti", "libcusolver", "libcusparse",
		"libnccl", "libnvrtc", "libnvshmem_host",
	}
}

// MissingNVIDIA returns the NVIDIA libraries that a CUDA plug-in will not find: not in the folders it names itself, and
// not in those given, which are where the system's loader looks.
func MissingNVIDIA(plugin string, folders []string) ([]string, error) {
	own, err := runPath(plugin)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range nvidiaLibraries() {
		if !anywhere(name, append(own, folders...)) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

func anywhere(library string, folders []string) bool {
	for _, folder := range folders {
		if found, err := fs.Glob(os.DirFS(folder), library+".so*"); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// runPath lists the folders in which a library looks for others.
func runPath(library string) ([]string, error) {
	f, err := elf.Open(library)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var folders []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, err := f.DynString(tag)
		if err != nil {
			return nil, err
		}
		for _, list := range lists {
			for _, folder := range filepath.SplitList(list) {
				folders = append(folders, strings.ReplaceAll(folder, "$ORIGIN", filepath.Dir(library)))
			}
		}
	}
	return folders, nil
}

// LoaderFolders are where the system's loader looks: those of LD_LIBRARY_PATH, whose value is given, and the usual
// ones.
func LoaderFolders(path string) []string {
	folders := filepath.SplitList(path)
	usual, _ := filepath.Glob("/usr/local/cuda*/lib64") // the pattern is well-formed
	folders = append(folders, usual...)
	for _, folder := range []string{
		"/lib64", "/usr/lib64", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	} {
		if _, err := os.Stat(folder); err == nil {
			folders = append(folders, folder)
		}
	}
	return folders
}
