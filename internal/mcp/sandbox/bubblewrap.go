package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// secretFiles are readable to root, whom a read-only root does not stop.
var secretFiles = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
	"/etc/krb5.keytab"}

// bubblewrap is the arguments of bwrap up to the program.
func (p *places) bubblewrap(network bool) []string {
	args := baseArgs()
	if network {
		args = append(args, "--share-net")
	}
	size := fmt.Sprint(tmpfsBytes)
	for _, path := range p.hidden {
		args = append(args, "--size", size, "--tmpfs", path)
	}
	var shown []string // what lies below is there too, and a link there cannot be mounted on
	for _, path := range slices.Sorted(slices.Values(p.read)) {
		if p.hides(path) && !slices.ContainsFunc(shown, func(s string) bool { return within(path, s) }) {
			args, shown = append(args, "--ro-bind", path, path), append(shown, path)
		}
	}
	for _, path := range append(slices.Clone(secretFiles), p.masked...) {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			args = append(args, "--ro-bind", "/dev/null", path)
		}
	}
	for _, path := range p.write {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path // bwrap will say why
		}
		args = append(args, "--bind", real, real)
		if real != path && p.hides(path) &&
			!slices.ContainsFunc(shown, func(s string) bool { return within(path, s) }) {
			args = append(args, "--bind", path, path)
		}
	}
	if p.hides(p.dir) { // a folder that is not shown is there, and empty
		args = append(args, "--dir", p.dir)
	}
	over := slices.Concat(p.read, p.write) // mounted where hidden folders were
	for _, path := range p.write {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			over = append(over, real)
		}
	}
	for _, path := range p.hidden {
		// what is written there would be lost without a word
		if !p.private(path) && !slices.ContainsFunc(over, func(o string) bool { return within(path, o) }) {
			args = append(args, "--remount-ro", path)
		}
	}
	return append(args, "--chdir", p.dir, "--")
}

// private reports whether a hidden folder is the process's own to write to.
func (p *places) private(path string) bool {
	return path == "/tmp" || path == "/var/tmp" || path == "/run" || path == filepath.Clean(p.home)
}

// baseArgs hold for every process: the namespaces, and a session of its own, since a server that could reach the
// terminal could answer the questions asked there. Of /dev and /proc only the devices, /dev/shm and the process's own
// folder can be written to.
func baseArgs() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--dev", "/dev", "--size", fmt.Sprint(tmpfsBytes), "--tmpfs", "/dev/shm",
		"--remount-ro", "/dev", "--proc", "/proc"}
	for _, path := range kernelFiles("/proc") {
		args = append(args, "--ro-bind", path, path)
	}
	return args
}

// kernelFiles are the folders of a proc file system that are no process's, and its files that have a mode for writing.
// Root may write to them without a capability (core_pattern, sysrq-trigger, pressure), and bwrap covers only those that
// access(2) calls writable, which it no longer does once the capabilities are dropped.
func kernelFiles(proc string) []string {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil // without /proc bwrap does not start either
	}
	var paths []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name()[0] >= '0' && e.Name()[0] <= '9' {
			continue // a process
		}
		if info.IsDir() || info.Mode().IsRegular() && info.Mode().Perm()&0o222 != 0 {
			paths = append(paths, filepath.Join(proc, e.Name()))
		}
	}
	return paths
}
