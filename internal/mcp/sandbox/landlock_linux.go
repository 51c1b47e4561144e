package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock's ABI 1, and what later ones added, by the version that did (userspace-api/landlock).
const (
	rightsToRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsABI1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	rightsABI2 = rightsABI1 | unix.LANDLOCK_ACCESS_FS_REFER
	rightsABI3 = rightsABI2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// What a rule on a file, rather than on a folder, may hold.
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// abi returns the version of Landlock, an error where the kernel has none.
func abi() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("the kernel has no Landlock: %w", errno)
	}
	return int(v), nil
}

// scopedABI is the first version that keeps signals in.
const scopedABI = 6

// landlockWorks asks for ABI 3, since before it a file could be emptied against the rules. gaps says what the kernel's
// version lacks.
func landlockWorks() (gaps string, err error) {
	v, err := abi()
	return gapsOf(v), check(v, err)
}

func gapsOf(v int) string {
	if v >= scopedABI {
		return ""
	}
	return fmt.Sprintf("signals to the user's other processes are not refused: the kernel's Landlock is version %d, "+
		"and %d does", v, scopedABI)
}

func check(v int, err error) error {
	switch {
	case err != nil:
		return err
	case v < 3:
		return fmt.Errorf("the kernel's Landlock is version %d, and 3 is needed", v)
	case auditArch() == 0:
		return fmt.Errorf("no filter of system calls for %s", runtime.GOARCH)
	}
	return nil
}

// apply restricts the calling thread for good: privileges are dropped, files ruled by Landlock, sockets by a filter.
func (r *ruleset) apply(network bool) error {
	v, err := abi()
	if err != nil {
		return err
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rightsABI3}
	if v >= scopedABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	whole, parts := r.readable()
	for _, path := range whole {
		if err := allow(int(fd), path, rightsToRead); err != nil {
			return err
		}
	}
	for _, path := range parts { // its names can be listed, so that Python finds modules
		if err := allow(int(fd), path, unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
			return err
		}
	}
	devices := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	for _, path := range append(devices, r.Write...) {
		if err := allow(int(fd), path, rightsABI3); err != nil {
			return err
		}
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return filter{inSight: true, noSockets: !network}.apply()
}

// allow adds a rule for what is at or below path. What is gone, or may not be opened, cannot be used either.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsOfFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_add_rule for %s: %w", path, errno)
	}
	return nil
}

// readable lists, since Landlock can only allow, the highest paths that hold nothing hidden, and what is shown again;
// parts are the shown folders that hold something masked.
func (r *ruleset) readable() (whole, parts []string) {
	var walk func(path string, hidden []string, opened *[]string)
	walk = func(path string, hidden []string, opened *[]string) {
		if path == "/dev" || slices.Contains(hidden, path) {
			return
		}
		if path != "/" && !slices.ContainsFunc(hidden, func(h string) bool { return within(h, path) }) {
			if target, err := filepath.EvalSymlinks(path); err == nil && target != path && opened == nil {
				return // /bin is where it points to, and that is listed by itself; so is a link into what is hidden
			}
			whole = append(whole, path)
			return
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return
		}
		if opened != nil {
			*opened = append(*opened, path)
		}
		for _, e := range entries {
			if opened != nil && e.Type()&os.ModeSymlink != 0 {
				continue // a rule would be one for what it points to; following it takes no right
			}
			walk(filepath.Join(path, e.Name()), hidden, opened)
		}
	}
	walk("/", slices.Concat(secretFiles, r.Hidden, r.Masked), nil)
	for _, path := range r.Read {
		walk(path, r.Masked, &parts)
	}
	return whole, parts
}

// dropPrivileges lets neither a set-uid program nor root's own privileges come back at exec.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	const noRoot, noRootLocked = 1, 2 // SECBIT_NOROOT and its lock, linux/securebits.h
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noRootLocked, 0, 0, 0); err != nil {
		return fmt.Errorf("root keeps its privileges: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("root keeps its privileges: %w", err)
	}
	return nil
}
