package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec is the helper: it sets the limits that Wrap wrote down in its first argument on its own process, and then
// becomes the program that follows "--". env is its own environment, which Wrap has chosen. It returns only where it
// failed, before the program was started.
func Exec(args, env []string) error {
	if len(args) < 3 || args[1] != "--" {
		return fmt.Errorf("usage: SPEC -- PROGRAM ARGUMENTS")
	}
	var run spec
	if err := json.Unmarshal([]byte(args[0]), &run); err != nil {
		return fmt.Errorf("the sandbox's specification: %w", err)
	}
	// Privileges, filters and rules belong to a thread until exec, so all of this must happen on one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if run.Listen != 0 {
		var err error
		if env, err = hand(run.Listen, env); err != nil {
			return fmt.Errorf("the proxy's socket: %w", err)
		}
	} else if err := run.Limits.apply(); err != nil {
		return err
	}
	if err := CloseInheritedFiles(); err != nil {
		return err
	}
	program := args[2:]
	if run.Pass != 0 {
		if _, err := unix.FcntlInt(uintptr(run.Pass), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("the proxy's socket: %w", err)
		}
	}
	switch {
	case run.Landlock != nil:
		if err := run.Landlock.apply(run.Network); err != nil {
			return err
		}
	case run.Bubblewrap && auditArch() != 0:
		fd, err := filter{}.file()
		if err != nil {
			return err
		}
		program = slices.Insert(slices.Clone(program), 1, "--seccomp", strconv.Itoa(fd))
	}
	if err := syscall.Exec(program[0], program, env); err != nil {
		return fmt.Errorf("cannot run %s: %w", program[0], err)
	}
	return nil
}

// CloseInheritedFiles has the programs that this process starts, or becomes, not inherit its open files but the
// standard three. Go opens its own so; what stays open is what this process was itself handed by its parent, or what a
// C library opened, and a handle of a folder leads past every rule about paths.
func CloseInheritedFiles() error {
	const first = 3
	err := unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, listErr := os.ReadDir("/proc/self/fd") // a kernel before 5.11 has no such flag
	if listErr != nil {
		return fmt.Errorf("the open files cannot be kept from the server: %w", errors.Join(err, listErr))
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

func (l Limits) apply() error {
	for _, r := range []struct {
		name     string
		resource int
		limit    uint64
	}{
		{"core size", syscall.RLIMIT_CORE, 0},
		{"open files", syscall.RLIMIT_NOFILE, l.OpenFiles},
		{"file size", syscall.RLIMIT_FSIZE, l.FileBytes},
		{"data size", syscall.RLIMIT_DATA, l.DataBytes},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(r.resource, &now); err != nil {
			return fmt.Errorf("the limit of %s: %w", r.name, err)
		}
		to := min(r.limit, now.Max) // a limit already lower stays
		if err := syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: to, Max: to}); err != nil {
			return fmt.Errorf("the limit of %s: %w", r.name, err)
		}
	}
	return nil
}

// findBubblewrap returns the path of a bwrap that can make the namespaces, which containers often forbid.
func findBubblewrap(ctx context.Context, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, "bwrap")
		if info, err := os.Stat(file); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, probeLimit)
		defer cancel()
		try := exec.CommandContext(ctx, file, append(baseArgs(), "--", file, "--version")...)
		try.Env = []string{}
		if out, err := try.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s does not work here: %w: %s", file, err, strings.TrimSpace(string(out)))
		}
		return file, nil
	}
	return "", fmt.Errorf("bwrap is not on PATH")
}
