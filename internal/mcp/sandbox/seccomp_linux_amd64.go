package sandbox

import "golang.org/x/sys/unix"

// modeCalls change a mode or an owner by path. Newer architectures lack the oldest of them.
func modeCalls() []uint32 {
	return []uint32{unix.SYS_CHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_FCHOWNAT}
}
