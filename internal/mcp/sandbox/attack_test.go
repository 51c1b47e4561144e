//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// target is what the attacks aim at, all of it outside the sandbox.
type target struct {
	Home    string // holds .ssh/id
	Other   string // another episode's folder, holds state
	Own     string // the folder granted for writing
	Hidden  string // a folder in Options.Hide, holds secret
	Shared  string // a file elsewhere on the root that everyone may write
	TCP     string
	UDP     string
	Unix    string
	PID     int    // the test's process
	Victim  int    // a process started by the test
	Leaked  string // the name of a file in a folder of which the parent left a handle open
	Secret  string // the value of a variable that was not granted
	Network bool
}

// attack returns nil where it got through.
type attack func(t target) error

// attacks are what a hostile server would try. Each is told what it needs to know.
var attacks = map[string]attack{
	"read a key in the home folder": func(t target) error { return reads(t.Home + "/.ssh/id") },
	"list the home folder":          func(t target) error { return lists(t.Home + "/.ssh") },
	"write to the home folder": func(t target) error {
		return lands(filepath.Join(t.Home, ".profile"))
	},
	"read a project's secrets":         func(t target) error { return reads(filepath.Join(filepath.Dir(t.Hidden), "project/.env")) },
	"list a project":                   func(t target) error { return lists(filepath.Join(filepath.Dir(t.Hidden), "project")) },
	"read a hidden folder":             func(t target) error { return reads(t.Hidden + "/secret") },
	"read another episode's folder":    func(t target) error { return reads(t.Other + "/state") },
	"write to another episode's":       func(t target) error { return lands(t.Other + "/state") },
	"truncate another episode's file":  func(t target) error { return os.Truncate(t.Other+"/state", 0) },
	"unlink another episode's file":    func(t target) error { return os.Remove(t.Other + "/state") },
	"write to the root":                func(target) error { return lands("/etc/planted-by-a-test") },
	"write a file open to everyone":    func(t target) error { return lands(t.Shared) },
	"change a file's mode":             func(t target) error { return os.Chmod(t.Shared, 0o777) },
	"change an open file's mode":       changesOpenMode,
	"change a file's times":            func(t target) error { return os.Chtimes(t.Shared, time.Unix(1, 0), time.Unix(1, 0)) },
	"set a file's attribute":           func(t target) error { return unix.Setxattr(t.Shared, "user.planted", []byte("x"), 0) },
	"read a process's command line":    func(t target) error { return reads(fmt.Sprintf("/proc/%d/cmdline", t.PID)) },
	"slow a process down":              func(t target) error { return syscall.Setpriority(syscall.PRIO_PROCESS, t.Victim, 5) },
	"limit a process":                  limitsVictim,
	"reach the virtual machine's host": func(target) error { return opensSocket(unix.AF_VSOCK, unix.SOCK_STREAM) },
	"read the shadow file":             func(target) error { return reads("/etc/shadow") },
	"follow a link out of the folder":  func(t target) error { return readsThrough(os.Symlink, t) },
	"follow a hard link out":           func(t target) error { return readsThrough(os.Link, t) },
	"read through a process's root":    func(t target) error { return reads(fmt.Sprintf("/proc/%d/root%s/.ssh/id", t.PID, t.Home)) },
	"read through a process's folder":  func(t target) error { return lists(fmt.Sprintf("/proc/%d/cwd/", t.PID)) },
	"read a process's environment":     func(t target) error { return reads(fmt.Sprintf("/proc/%d/environ", t.PID)) },
	"read a process's memory":          func(t target) error { return opens(fmt.Sprintf("/proc/%d/mem", t.PID)) },
	"inherit a key":                    inheritsKey,
	"read by an inherited handle":      func(t target) error { return throughHandle(t, unix.O_RDONLY, readsAll) },
	"write by an inherited handle": func(t target) error {
		return throughHandle(t, unix.O_WRONLY|unix.O_TRUNC, func(int) error { return nil })
	},
	"read an inherited file":        readsInherited,
	"connect by TCP":                func(t target) error { return connects("tcp", t.TCP) },
	"send by UDP":                   func(t target) error { return connects("udp", t.UDP) },
	"connect to a local socket":     func(t target) error { return connects("unix", t.Unix) },
	"connect to an abstract socket": func(t target) error { return connects("unix", "@"+t.Unix) },
	"listen by TCP":                 func(target) error { return listensWhereOthersSee() },
	"signal a process":              func(t target) error { return syscall.Kill(t.Victim, 0) },
	"trace a process":               traces,
	"mount":                         func(t target) error { return syscall.Mount("none", t.Own, "tmpfs", 0, "") },
	"change the root":               func(t target) error { return syscall.Chroot(t.Own) },
	"make a device":                 func(t target) error { return syscall.Mknod(t.Own+"/mem", syscall.S_IFCHR|0o666, 1<<8|1) },
	"become another user":           func(target) error { return unix.Setresuid(12345, 12345, 12345) },
	"set the host's name":           setsHostname,
	"raise a limit":                 raises,
	"open the user's keyring":       opensKeyring,
	"dump core":                     func(target) error { return limitAbove(syscall.RLIMIT_CORE, 0) },
	"open files without end":        func(target) error { return limitAbove(syscall.RLIMIT_NOFILE, 100) },
	"write files without end":       func(target) error { return limitAbove(syscall.RLIMIT_FSIZE, 1<<20) },
	"take memory without end":       func(target) error { return limitAbove(syscall.RLIMIT_DATA, 1<<30) },
	"start processes without end":   func(target) error { return limitAbove(unix.RLIMIT_NPROC, 8192) },
}

func reads(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		err = errors.New("it is empty")
	}
	return err
}

func opens(path string) error {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err
}

func lists(path string) error {
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) == 0 {
		err = errors.New("it is empty")
	}
	return err
}

// lands writes; whether it landed outside is for the test to see, so it says where.
func lands(path string) error {
	return os.WriteFile(path, []byte("planted"), 0o600)
}

func readsThrough(link func(old, new string) error, t target) error {
	path := filepath.Join(t.Own, "link")
	os.Remove(path)
	if err := link(t.Other+"/state", path); err != nil {
		return err
	}
	return reads(path)
}

func inheritsKey(t target) error {
	if !strings.Contains(strings.Join(os.Environ(), "\n"), t.Secret) {
		return errors.New("it is not there")
	}
	return nil
}

// throughHandle opens a file outside from each open file that may be a folder's.
func throughHandle(t target, how int, do func(fd int) error) error {
	err := errors.New("no handle")
	for handle := 3; handle < 256; handle++ {
		for _, name := range []string{t.Leaked, fmt.Sprintf("/proc/self/fd/%d/%s", handle, t.Leaked)} {
			var fd int
			if fd, err = unix.Openat(handle, name, how, 0); err == nil {
				defer unix.Close(fd)
				return do(fd)
			}
		}
	}
	return err
}

func readsAll(fd int) error {
	_, err := unix.Read(fd, make([]byte, 1))
	return err
}

func readsInherited(target) error {
	for fd := 3; fd < 256; fd++ {
		text := make([]byte, 4)
		if n, err := unix.Pread(fd, text, 0); err == nil && string(text[:n]) == "leak" {
			return nil
		}
	}
	return errors.New("no such file is open")
}

func connects(network, address string) error {
	c, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	answer := make([]byte, 1)
	_, err = c.Read(answer)
	return err
}

// listensWhereOthersSee fails where the only addresses are a private loop-back's.
func listensWhereOthersSee() error {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return err
	}
	l.Close()
	interfaces, err := net.Interfaces()
	if err == nil && len(interfaces) <= 1 {
		err = errors.New("the loop-back is the only interface")
	}
	return err
}

// setsHostname sets the name there is, lest a broken sandbox leave its mark.
func setsHostname(target) error {
	name, err := os.Hostname()
	if err == nil {
		err = unix.Sethostname([]byte(name))
	}
	return err
}

func traces(t target) error {
	err := syscall.PtraceAttach(t.Victim)
	if err == nil {
		_ = syscall.PtraceDetach(t.Victim)
	}
	return err
}

func opensKeyring(target) error {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	return err
}

func changesOpenMode(t target) error {
	f, err := os.Open(t.Shared)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(0o777)
}

func limitsVictim(t target) error {
	var now unix.Rlimit
	if err := unix.Prlimit(t.Victim, unix.RLIMIT_CORE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(t.Victim, unix.RLIMIT_CORE, &now, nil)
}

func opensSocket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// raises fails where the soft limit cannot go above the hard one, nor that above itself.
func raises(target) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur, l.Max = unix.RLIM_INFINITY, unix.RLIM_INFINITY
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

func limitAbove(resource int, most uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		return err
	}
	if l.Cur <= most && l.Max <= most {
		return fmt.Errorf("the limit is %d", l.Max)
	}
	return nil
}

// status returns a field of /proc/self/status.
func status(field string) string {
	data, _ := os.ReadFile("/proc/self/status")
	for _, line := range bytes.Split(data, []byte("\n")) {
		if value, ok := strings.CutPrefix(string(line), field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// deeds are what a harmless server does; each must work at every level.
var deeds = map[string]attack{
	"write to its folder":  func(t target) error { return lands(t.Own + "/made") },
	"rename in its folder": func(t target) error { return renames(t.Own) },
	"write to its home":    func(target) error { return lands(filepath.Join(os.Getenv("HOME"), "made")) },
	"write to tmp":         func(target) error { return lands(filepath.Join(os.Getenv("TMPDIR"), "made")) },
	"read the system":      func(target) error { return reads("/etc/passwd") },
	"read random numbers":  func(target) error { return opens("/dev/urandom") },
	"write to the null device": func(target) error {
		return os.WriteFile("/dev/null", []byte("x"), 0)
	},
	"see what was granted": func(target) error {
		if os.Getenv("GRANTED") != "value" {
			return errors.New("GRANTED is not set")
		}
		return nil
	},
	"run a program": func(target) error {
		p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "exit 7"}, &os.ProcAttr{})
		if err != nil {
			return err
		}
		s, err := p.Wait()
		if err == nil && s.ExitCode() != 7 {
			err = errors.New("exit code " + strconv.Itoa(s.ExitCode()))
		}
		return err
	},
	"start where it was told": func(t target) error {
		dir, err := os.Getwd()
		if err == nil && dir != t.Own {
			err = errors.New(dir)
		}
		return err
	},
}

func renames(dir string) error {
	if err := errors.Join(os.MkdirAll(dir+"/a", 0o700), os.MkdirAll(dir+"/b", 0o700), lands(dir+"/a/x")); err != nil {
		return err
	}
	return os.Rename(dir+"/a/x", dir+"/b/x")
}
