package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hone/internal/fault"
)

// acquire takes the directory's lock. flock rather than a bare pid file: a killed process lets go of it by itself, once
// the system has taken its memory and devices back, for which this waits.
func acquire(path string) (*os.File, error) {
	name := filepath.Join(path, lockFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storageError("cannot lock the run", path, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	// `runs ls` holds the lock for a moment to ask whether it is free
	for tries := 0; errors.Is(err, syscall.EWOULDBLOCK) && (tries < 5 || ending(lockHolder(path))); tries++ {
		time.Sleep(10 * time.Millisecond)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "the run is in use", Where: path,
				Why: "process " + lockHolder(path) + " holds it", Next: "wait for that process, or stop it"}
		}
		return nil, storageError("cannot lock the run", path, err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, storageError("cannot lock the run", path, err)
	}
	return f, nil
}

// InUse returns the pid of the process that holds the run, "" where none does, or one that has been killed.
func InUse(path string) (string, error) {
	f, err := os.Open(filepath.Join(path, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", nil
	}
	if pid := lockHolder(path); !ending(pid) {
		return pid, nil
	}
	return "", nil
}

func lockHolder(path string) string {
	pid, err := os.ReadFile(filepath.Join(path, lockFile))
	if err != nil || len(pid) == 0 {
		return "(unknown)"
	}
	return strings.TrimSpace(string(pid))
}

// ending reports whether a process has been killed and does nothing any more: it is a zombie, a SIGKILL is before it,
// or the system is taking its memory back (proc(5): the flag PF_EXITING of include/linux/sched.h). Of a process that
// cannot be looked at it is false.
func ending(pid string) bool {
	if _, err := strconv.Atoi(pid); err != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	const state, flags, exiting = 0, 6, 0x4
	// a program's name may hold anything
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) <= flags {
		return false
	}
	if n, err := strconv.ParseUint(fields[flags], 10, 64); err == nil && n&exiting != 0 || fields[state] == "Z" ||
		fields[state] == "X" {
		return true
	}
	status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if mask, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil &&
			(name == "SigPnd" || name == "ShdPnd") && mask>>(syscall.SIGKILL-1)&1 == 1 {
			return true
		}
	}
	return false
}
