//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

var errOnlyLinux = errors.New("only Linux has it")

// Exec is the helper of Linux's levels; elsewhere there is none, and Wrap never asks for it.
func Exec(_, _ []string) error { return errOnlyLinux }

// CloseInheritedFiles marks the open files of this process, but the standard three, so that no program it starts
// inherits them.
func CloseInheritedFiles() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

func findBubblewrap(context.Context, string) (string, error) { return "", errOnlyLinux }

func landlockWorks() (string, error) { return "", errOnlyLinux }

func (s *Sandbox) offer(*exec.Cmd, func(net.Listener)) (int, error) { return 0, errOnlyLinux }
