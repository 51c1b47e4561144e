package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// unseen has a terminal not show what is typed, until show is called.
func unseen(f *os.File) (show func(), err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var was *unix.Termios
	set := func(t *unix.Termios) (err error) {
		if controlErr := c.Control(func(fd uintptr) { err = unix.IoctlSetTermios(int(fd), unix.TCSETS, t) }); err ==
			nil {
			err = controlErr
		}
		return err
	}
	if controlErr := c.Control(func(fd uintptr) { was, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) }); err == nil {
		err = controlErr
	}
	if err != nil {
		return nil, err
	}
	quiet := *was
	quiet.Lflag &^= unix.ECHO
	return func() { _ = set(was) }, set(&quiet) // a terminal that is gone shows nothing
}
