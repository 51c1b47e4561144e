package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch is the kernel's name of this architecture in a filter, 0 where there is no filter for it.
func auditArch() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// Answers of a filter: an error, or nothing done and success reported.
const (
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	pretend = unix.SECCOMP_RET_ERRNO
)

// filter answers some system calls in the kernel's stead, so that they are not made.
type filter struct {
	// inSight says that files and processes of others are in sight, as they are under Landlock. It does not look at
	// what a file is beside its bytes (mode, owner, times, attributes): changes of these are reported as done and are
	// not, for a refusal would break git and the like. Limits and priorities of other processes are refused.
	inSight   bool
	noSockets bool // of any family
}

// program is the filter as classic BPF over struct seccomp_data (seccomp(2)). Keyrings, which hold secrets, and
// io_uring, which opens sockets without socket, are always refused; so are sockets of all families but the internet's
// and netlink. A local one may be that of a daemon that does what it is told (and an abstract one has no path to hide),
// one of vsock is the host's of a virtual machine, and no network namespace keeps these apart. Pairs of sockets, which
// reach nobody, stay.
func (f filter) program() []unix.SockFilter {
	const atNumber, atArch, atFirstArgument = 0, 4, 16 // offsets in seccomp_data; both architectures are little-endian
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter { // how many instructions to leave out
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, Jt: yes, Jf: no, K: k}
	}
	// Calls of another architecture have other numbers, so all of them are refused; x32 marks its own by a high bit.
	const x32 = 0x40000000
	p := []unix.SockFilter{
		load(atArch), jump(unix.BPF_JEQ, auditArch(), 1, 0), end(refuse),
		load(atNumber), jump(unix.BPF_JGE, x32, 0, 1), end(refuse),
	}
	answer := func(k uint32, numbers ...uint32) {
		for _, nr := range numbers {
			p = append(p, jump(unix.BPF_JEQ, nr, 0, 1), end(k))
		}
	}
	answer(refuse, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_IO_URING_SETUP)
	const allow = unix.SECCOMP_RET_ALLOW
	if f.inSight {
		answer(pretend, metadataCalls()...)
		p = append(p, jump(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 4), // of which process: 0 is the caller
			load(atFirstArgument), jump(unix.BPF_JEQ, 0, 0, 1), end(allow), end(refuse))
		p = append(p, jump(unix.BPF_JEQ, unix.SYS_SETPRIORITY, 0, 6), // of a process, and of which
			load(atFirstArgument), jump(unix.BPF_JEQ, unix.PRIO_PROCESS, 0, 3),
			load(atFirstArgument+8), jump(unix.BPF_JEQ, 0, 0, 1), end(allow), end(refuse))
	}
	if f.noSockets {
		answer(refuse, unix.SYS_SOCKET)
	}
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 5), load(atFirstArgument),
		jump(unix.BPF_JEQ, unix.AF_INET, 3, 0), jump(unix.BPF_JEQ, unix.AF_INET6, 2, 0), jump(unix.BPF_JEQ,
			unix.AF_NETLINK, 1, 0), end(refuse))
	return append(p, end(allow))
}

// commonMetadataCalls are those of metadataCalls that every architecture has.
func commonMetadataCalls() []uint32 {
	return []uint32{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
		unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}
}

// apply filters the calls of this thread, and of what it becomes, for good.
func (f filter) apply() error {
	p := f.program()
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0,
		0); err != nil {
		return fmt.Errorf("the filter of system calls: %w", err)
	}
	return nil
}

// file returns a file descriptor to read the program from, as bwrap wants it; it outlives exec.
func (f filter) file() (int, error) {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, f.program()); err != nil {
		return 0, err
	}
	fd, err := unix.MemfdCreate("filter", 0)
	if err != nil {
		return 0, fmt.Errorf("the filter of system calls: %w", err)
	}
	if _, err = unix.Write(fd, b.Bytes()); err == nil {
		_, err = unix.Seek(fd, 0, 0)
	}
	return fd, err
}
