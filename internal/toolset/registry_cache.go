package toolset

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	installTime = 15 * time.Minute // of one package: a package manager that waits for a network waits for ever
	staleAfter  = 24 * time.Hour   // of a package without a version: by then another may be its newest
)

// fresh reports whether what was installed for a package at the time of a file is still what its name means.
func fresh(pkg, file string, now time.Time) bool {
	kind, name, _ := strings.Cut(pkg, ":")
	pinned := true
	switch kind {
	case "npm":
		pinned = strings.LastIndex(name, "@") > 0
	case "pypi":
		pinned = strings.Contains(name, "==")
	case "oci":
		pinned = strings.Contains(name, "@sha256:")
	}
	info, err := os.Stat(file)
	return err == nil && (pinned || now.Sub(info.ModTime()) < staleAfter)
}

// lockFile waits until this process alone has a file, or ctx ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = f.Close() } // which lets go of it
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return unlock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			unlock()
			return nil, err
		}
		select {
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
