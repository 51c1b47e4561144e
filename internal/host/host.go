// Package host is the world around a command: its streams, its environment variables, the folder of downloads, and the
// global flags that say how it talks; and what there is of a machine: memory, GPUs, and the libraries they need.
package host

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
)

// Host is the outside world with the global flags. All are plain values, so that a test sees the whole of what a
// command can see.
type Host struct {
	Stdin io.Reader
	// stdout and stderr: there is no way around them, for a terminal obeys what servers and endpoints wrote
	Data, Talk *sanitize.Writer
	LookupEnv  func(name string) (value string, set bool)
	Environ    []string
	Program    string   // as it was invoked: hone, or a path
	Verbs      []string // of the program
	Helper     []string // what sandboxed servers begin as; without it there is no sandbox
	// KeepsPrograms is whether compiled programs are kept for later commands. Tests do not: what they find should not
	// hang on what was run before.
	KeepsPrograms bool
	// Opening is told the options that a room is opened with, where it is not nil: a value that is dropped on its way
	// from the configuration to where it acts is missed here.
	Opening func(options any)

	// Context is the command's: a download on the way to something else stops with it. nil never stops.
	Context context.Context

	CacheDir       string // of downloads and compiled programs; "" is the user's
	JSON, Plain    bool   // how data is printed
	Quiet, Verbose bool   // how much is said
	Yes, DryRun    bool

	Log   string // of the run directory that a verb opened
	Still *Still // tells of what goes on in silence; nil: nothing does
}

// KeyIn is the key that an environment variable holds; "" is none. Its error says what it is for, where that is given,
// and what else could be done.
func (h *Host) KeyIn(variable, of, where, or string) (string, error) {
	if variable == "" {
		return "", nil
	}
	key, _ := h.LookupEnv(variable)
	if key == "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: "there is no key for " + of, Where: where,
			Why: "the variable " + variable + " is not set or empty", Next: "export " + variable + "=KEY, or " + or}
	}
	return key, nil
}

// Opens tells h.Opening.
func (h *Host) Opens(options any) {
	if h.Opening != nil {
		h.Opening(options)
	}
}

// State is hone's folder in the user's state folder, as the XDG rules have it.
func (h *Host) State() (string, error) {
	base, _ := h.LookupEnv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, ok := h.LookupEnv("HOME")
		if !ok || home == "" {
			return "", errors.New("neither XDG_STATE_HOME nor HOME is set")
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "hone"), nil
}

// Store is the folder of downloads: CacheDir, else hone in the user's cache folder as the XDG rules have it.
func (h *Host) Store() (AssetStore, error) {
	dir := h.CacheDir
	if dir == "" {
		if base, ok := h.LookupEnv("XDG_CACHE_HOME"); ok && filepath.IsAbs(base) {
			dir = filepath.Join(base, "hone")
		} else if home, ok := h.LookupEnv("HOME"); ok && home != "" {
			dir = filepath.Join(home, ".cache", "hone")
		} else {
			return AssetStore{}, &fault.Error{Code: fault.CodeUsage, What: "no cache folder",
				Why: "neither XDG_CACHE_HOME nor HOME is set", Next: "name one with --cache"}
		}
	}
	if info, err := os.Stat(dir); errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return AssetStore{}, &fault.Error{Code: fault.CodeUsage, What: "the cache folder is a file, or in one",
			Where: dir, Next: "name a folder with --cache"}
	}
	s := AssetStore{Dir: dir, Env: h.Environ}
	if h.Verbose && !h.Quiet {
		s.Log = h.Talk
	}
	return s, nil
}
