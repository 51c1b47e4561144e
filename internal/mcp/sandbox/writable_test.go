//go:build linux

package sandbox

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// writable lists what a process can write to: the mounts that are not read-only, and the files of the kernel that open
// for writing, but for those of the process itself.
func writable() []string {
	var found []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(mounts)) {
		path := strings.ReplaceAll(strings.Fields(line)[4], `\040`, " ")
		var info unix.Statfs_t
		// else hidden, or read-only
		if unix.Statfs(path, &info) == nil && info.Flags&unix.ST_RDONLY == 0 && path != "/proc" {
			found = append(found, path)
		}
	}
	for _, root := range []string{"/proc", "/sys"} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it cannot be read
			case d.IsDir() && root == "/proc" && strings.Trim(d.Name(), "0123456789") == "":
				return filepath.SkipDir // the process's own
			case !d.Type().IsRegular():
				return nil
			}
			if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
				unix.Close(fd)
				found = append(found, path)
			}
			return nil
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Root may write to the kernel's settings without any capability: what keeps a server from it is that they are mounted
// read-only. The devices are harmless: null, zero, full, the random ones, its own terminals.
func TestWritable(t *testing.T) {
	for name, network := range map[string]bool{"without network": false, "with network": true} {
		t.Run(name, func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, Bubblewrap, options(tg))
			g.Network = network
			var found []string
			if err := json.Unmarshal(run(t, s, tg, g, []string{"HOME=" + tg.Home}, "writable"), &found); err != nil {
				t.Fatal(err)
			}
			its := []string{
				tg.Own, tg.Home, "/tmp", "/var/tmp", "/run", "/dev/shm", "/dev/full", "/dev/null", "/dev/pts",
				"/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
			}
			for _, path := range found {
				if !slices.Contains(its, path) {
					t.Errorf("%s can be written to", path)
				}
			}
			for _, path := range []string{tg.Own, "/tmp", "/dev/shm"} {
				if !slices.Contains(found, path) {
					t.Errorf("%s cannot be written to: %q", path, found)
				}
			}
		})
	}
}

// A process that has root's files without a mount over them finds some: the test above can fail.
func TestWritableFindsKernelFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may write to the kernel's settings")
	}
	if found := writable(); !slices.Contains(found, "/proc/sys/kernel/core_pattern") {
		t.Errorf("core_pattern is not among %d", len(found))
	}
	if paths := kernelFiles("/proc"); !slices.Contains(paths, "/proc/sys") || slices.Contains(paths, "/proc/self") ||
		slices.Contains(paths, "/proc/1") {
		t.Errorf("%q", paths)
	}
}
