//go:build linux && !amd64

package sandbox

import "golang.org/x/sys/unix"

// modeCalls change a mode or an owner by path.
func modeCalls() []uint32 {
	return []uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT}
}
