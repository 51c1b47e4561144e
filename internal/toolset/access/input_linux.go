package access

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput empties a terminal's queue of lines that nobody has read. Of what is no terminal it drops nothing.
func dropInput(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
}
