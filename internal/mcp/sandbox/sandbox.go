// Package sandbox keeps the process of a stdio server away from the user's files, secrets and network.
//
// What is in force is a Level, found out once and printed; it is not the same on every machine:
//
//	bubblewrap  namespaces: private home and tmp, the system read-only, no network, no other process in sight
//	landlock    the kernel refuses other files, sockets, signals and traces; home and tmp are folders of its own; that
//	            other processes run, and their command lines, can be seen
//	none        a minimal environment only
//
// Both of the first two also bound files, memory and processes by rlimits. Landlock: kernel documentation,
// userspace-api/landlock; bubblewrap: its manual page, bwrap(1).
//
// Proxy is the one way out for a server that may reach some hosts. Cluster and Pod run servers in pods of the
// Kubernetes cluster that hone itself runs in.
package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hone/internal/fault"
)

// Level says what keeps a process in.
type Level string

// The levels, strongest first.
const (
	Bubblewrap Level = "bubblewrap"
	Landlock   Level = "landlock"
	None       Level = "none"
)

// Mode says which levels will do.
type Mode string

const (
	Auto    Mode = "auto"    // the strongest there is
	Require Mode = "require" // bubblewrap, else an error
	Off     Mode = "off"     // none
)

// Options say what to keep from a process, and with what.
type Options struct {
	Mode    Mode    // empty: Auto
	Without []Level // levels not to use although they are there

	// Helper is the command line that ends up in Exec, such as {"/usr/bin/hone", "sandbox-exec"}. Without it the level
	// is none, for limits and Landlock are set by a process on itself.
	Helper []string
	Path   string   // PATH to find bwrap on
	Home   string   // the user's home folder, which is hidden
	Hide   []string // further folders to hide
	Limits Limits
}

// Limits bound one process. 0 takes the default in brackets.
type Limits struct {
	OpenFiles uint64 `json:"open_files"` // [4096]
	FileBytes uint64 `json:"file_bytes"` // of one file written [4 GiB]
	DataBytes uint64 `json:"data_bytes"` // of private memory, each process of its own [8 GiB]
	Processes uint64 `json:"processes"`  // processes and threads of the user, which root is exempt from [8192]
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		limit *uint64
		fill  uint64
	}{{&l.OpenFiles, 4096}, {&l.FileBytes, 4 << 30}, {&l.DataBytes, 8 << 30}, {&l.Processes, 8192}} {
		if *d.limit == 0 {
			*d.limit = d.fill
		}
	}
	return l
}

// Grants are what one process may have beyond the least.
type Grants struct {
	Network bool
	// Proxy, which only bubblewrap has, is what the process has in the place of the network: it is called with a socket
	// that listens where the process's HTTP_PROXY says, and which is closed when the process has ended. It then
	// returns.
	Proxy func(net.Listener)
	Write []string // folders it may read and write; a HOME inside them is kept, any other is private
	Read  []string // files and folders it may read beside the system's and its own program's
	Env   []string // names of variables it may see beside PATH, HOME, TMPDIR, LANG and their like
}

// Sandbox wraps commands. It may be used from many goroutines.
type Sandbox struct {
	level   Level
	bwrap   string
	o       Options
	missing []string // why each stronger level is not in force, and what this one lacks on this kernel

	scratch string // private homes where mounts cannot make them, by process
	homes   atomic.Int64

	ctx     context.Context // of proxies whose process is yet to start; done when it is closed
	cancel  context.CancelFunc
	proxies sync.WaitGroup
}

const probeLimit = 5 * time.Second

// New finds out the level. It is a *fault.Error where Require is not met. Close the Sandbox when its processes ended.
func New(ctx context.Context, o Options) (*Sandbox, error) {
	o.Limits = o.Limits.withDefaults()
	s := &Sandbox{level: None, o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	switch o.Mode {
	case "", Auto, Require:
		s.choose(ctx)
	case Off:
		s.missing = []string{"it is switched off"}
	default:
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the sandbox mode is not known",
			Why: fmt.Sprintf("%q is none of auto, require, off",
				o.Mode), Next: "give one of them with --sandbox, or in mcp.sandbox.mode of hone.yaml"}
	}
	if o.Mode == Require && s.level != Bubblewrap {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the sandbox is required and cannot be had",
			Why:  "the strongest level here is " + s.String(),
			Next: "install bubblewrap (apt install bubblewrap), or give --sandbox=auto to run with less"}
	}
	if s.level == Landlock {
		var err error
		if s.scratch, err = os.MkdirTemp("", "hone-sandbox-"); err != nil {
			return nil, &fault.Error{Code: fault.CodeExhausted, What: "cannot make the sandbox's folder", Err: err,
				Next: "make room in the temporary folder, or set TMPDIR to one that can be written"}
		}
	}
	return s, nil
}

func (s *Sandbox) choose(ctx context.Context) {
	for _, l := range []Level{Bubblewrap, Landlock} {
		err, gaps := fmt.Errorf("not to be used"), ""
		switch {
		case slices.Contains(s.o.Without, l):
		case len(s.o.Helper) == 0:
			err = fmt.Errorf("no helper command")
		case l == Bubblewrap:
			s.bwrap, err = findBubblewrap(ctx, s.o.Path)
		default:
			gaps, err = landlockWorks()
		}
		if err == nil {
			s.level = l
			if gaps != "" {
				s.missing = append(s.missing, gaps)
			}
			return
		}
		s.missing = append(s.missing, fmt.Sprintf("%s: %v", l, err))
	}
}

// Level is what is in force.
func (s *Sandbox) Level() Level { return s.level }

// String is the level and why it is no stronger, for the person to see.
func (s *Sandbox) String() string {
	if len(s.missing) == 0 {
		return string(s.level)
	}
	return fmt.Sprintf("%s (%s)", s.level, strings.Join(s.missing, "; "))
}

// Close removes the private homes, and returns when the proxies have ended, as they do with their processes.
func (s *Sandbox) Close() error {
	s.cancel()
	s.proxies.Wait()
	if s.scratch == "" {
		return nil
	}
	return os.RemoveAll(s.scratch)
}

// Wrap changes a command that has not been started so that it will run inside. Path, Args, Env and Dir change; the
// standard streams and SysProcAttr stay. An Env of nil is an empty one. A grant that does not exist is an error.
func (s *Sandbox) Wrap(cmd *exec.Cmd, g Grants) error {
	cmd.Env = filterEnv(cmd.Env, g.Env)
	if g.Proxy != nil && s.level != Bubblewrap && !g.Network {
		return fmt.Errorf("a proxy in the place of the network needs bubblewrap; the sandbox is %s", s)
	}
	if s.level == None { // without a helper, which does it to itself
		return CloseInheritedFiles()
	}
	p, err := newPlaces(cmd, g, s.o)
	if err != nil {
		return err
	}
	run := spec{Limits: s.o.Limits, Network: g.Network}
	argv := append([]string{cmd.Path}, cmd.Args[1:]...)
	if s.level == Bubblewrap {
		run.Bubblewrap = true
		cmd.Env = setEnv(cmd.Env, "TMPDIR", "/tmp")
		if g.Proxy != nil && !g.Network {
			if run.Pass, err = s.offer(cmd, g.Proxy); err != nil {
				return err
			}
			inside, err := json.Marshal(spec{Listen: run.Pass})
			if err != nil {
				return err
			}
			p.show(s.o.Helper[0])
			argv = slices.Concat(s.o.Helper, []string{string(inside), "--"}, argv)
		}
		argv = append(append([]string{s.bwrap}, p.bubblewrap(g.Network)...), argv...)
	} else {
		home := p.home
		if !p.homeKept {
			home = filepath.Join(s.scratch, fmt.Sprint(s.homes.Add(1)))
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			p.write = append(p.write, home)
		}
		cmd.Env = setEnv(setEnv(cmd.Env, "HOME", home), "TMPDIR", home)
		run.Landlock = &ruleset{Hidden: p.hidden, Masked: p.masked, Read: p.read, Write: p.write}
	}
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	cmd.Path = s.o.Helper[0]
	cmd.Args = slices.Concat(s.o.Helper, []string{string(text), "--"}, argv)
	return nil
}

// spec is what the helper does to itself before it becomes the program.
type spec struct {
	Limits     Limits `json:"limits"`
	Network    bool   `json:"network"`
	Bubblewrap bool   `json:"bubblewrap,omitempty"` // the program is bwrap, which is handed a filter
	Pass       int    `json:"pass,omitempty"`       // a descriptor that bwrap inherits
	// inside: the same, over which a proxy's socket is sent; nothing else is done
	Listen   int      `json:"listen,omitempty"`
	Landlock *ruleset `json:"landlock,omitempty"`
}

// ruleset allows all to be read but Hidden, of which Read and Write are shown again, and Masked.
type ruleset struct {
	Hidden []string `json:"hidden"`
	Masked []string `json:"masked"`
	Read   []string `json:"read"`
	Write  []string `json:"write"`
}

// harmless are variables without secrets that programs cannot do without.
var harmless = []string{"PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "TERM", "USER", "LOGNAME"}

// filterEnv never returns nil, which exec takes for "inherit".
func filterEnv(env, granted []string) []string {
	kept := []string{}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_") || slices.Contains(granted, name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	return append(env, name+"="+value)
}
