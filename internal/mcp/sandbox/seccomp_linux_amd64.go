package sandbox

import "golang.org/x/sys/unix"

// metadataCalls change a file's mode, owner, times or attributes. Newer architectures lack the oldest of them.
func metadataCalls() []uint32 {
	return append(commonMetadataCalls(), unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME,
		unix.SYS_UTIMES, unix.SYS_FUTIMESAT)
}
