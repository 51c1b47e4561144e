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

// filter answers some system calls in the kernel's stead, so that they are not made. The names say what for:
// Landlock does not look at modes and owners, which a program cannot be refused without breaking git and the like.
type filter struct {
	keepModes bool // chmod and chown of a path are reported as done and are not
	noSockets bool // of any family: a local socket may be that of a daemon that does what it is told
	noLocal   bool // of the local family only, where a network of its own makes the others harmless
}

// program is the filter as classic BPF over struct seccomp_data (seccomp(2)). Keyrings, which hold secrets, and
// io_uring, which opens sockets without socket, are always refused. Pairs of sockets, which reach nobody, stay.
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
	if f.keepModes {
		answer(pretend, modeCalls()...)
	}
	if f.noSockets {
		answer(refuse, unix.SYS_SOCKET)
	}
	if f.noLocal {
		p = append(p, jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 3),
			load(atFirstArgument), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), end(refuse))
	}
	return append(p, end(unix.SECCOMP_RET_ALLOW))
}

// apply filters the calls of this thread, and of what it becomes, for good.
func (f filter) apply() error {
	p := f.program()
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
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
