package toolset

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/toolset/packages"
)

// Locked is how a server's package stands to the lock that hone servers add made.
type Locked struct {
	File    string   `json:"lock,omitempty"`    // the lock; "" where the server has none
	Differs []string `json:"differs,omitempty"` // what is installed otherwise than it says
	// the command that installs what it says; "" where the folder is not one that it would replace
	Next string `json:"next,omitempty"`
}

// LockOf compares what is installed for a server with its lock.
func LockOf(s mcp.Server) (Locked, error) {
	dir := homeOf(s.Command)
	if dir == "" {
		return Locked{}, nil
	}
	file, differs, err := packages.Drift(dir)
	if err != nil {
		return Locked{}, err
	}
	l := Locked{File: file, Differs: differs}
	if len(differs) == 0 {
		return l, nil
	}
	lock, ok, err := packages.LockOf(dir)
	if err != nil || !ok { // one that hone would not install from
		return l, nil
	}
	if foreign, err := lock.Foreign(); err == nil && len(foreign) == 0 {
		l.Next = "hone servers add " + ShellWord(fromHere(dir))
	}
	return l, nil
}

// String is what differs, in one line: the first packages, and how many there are.
func (l Locked) String() string {
	const most = 3
	text := strings.Join(l.Differs[:min(len(l.Differs), most)], "; ")
	if n := len(l.Differs) - most; n > 0 {
		text += "; and " + fault.Count(n, "package") + " more"
	}
	return "what is installed is not what its lock says: " + text
}

// homeOf is the folder that hone servers add installed a server's program into; "" where the program is in no such
// folder.
func homeOf(program string) string {
	for _, inside := range []string{"/node_modules/.bin/", "/venv/bin/"} {
		if dir, _, is := strings.Cut(program, inside); is {
			if absolute, err := filepath.Abs(dir); err == nil {
				return absolute
			}
		}
	}
	return ""
}

// fromHere is a path as one would type it: from the present folder where it is in there.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(relative) {
		return "./" + relative
	}
	return path
}

// sayLocks tells which servers are started from other files than their locks say.
func sayLocks(h *host.Host, servers mcp.Config) {
	for _, name := range slices.Sorted(maps.Keys(servers.Servers)) {
		switch l, err := LockOf(servers.Servers[name]); {
		case err != nil:
			h.Say("note: the lock of server %s cannot be read: %v", name, err)
		case len(l.Differs) > 0:
			next := cmp.Or(l.Next, "install what its lock says: it is a folder that hone did not make")
			h.Say("warning: server %s: %s; next: %s", name, l, next)
		}
	}
}

// lock has x install from the lock of the folder that it names, in the place of a package; ok is false where it names
// none. What is installed goes into that folder again, unless x names another, and the entry that starts it stays.
func (x *Addition) lock(c config.Config) (ok bool, err error) {
	l, ok, err := packages.LockOf(x.Package)
	if !ok || err != nil || x.Lock != nil {
		return ok, err
	}
	x.Lock, x.Package = &l, l.Package
	x.File, x.Dir = cmp.Or(x.File, c.MCP.Config), cmp.Or(x.Dir, l.Dir)
	if servers, err := mcp.LoadConfig(x.File, func(string) (string, bool) { return "", true }); err == nil {
		for _, name := range slices.Sorted(maps.Keys(servers.Servers)) {
			if s := servers.Servers[name]; (x.Name == "" || x.Name == name) && homeOf(s.Command) == x.Dir {
				x.Name, x.kept, x.Bin = name, true, cmp.Or(x.Bin, filepath.Base(s.Command))
			}
		}
	}
	x.Name = cmp.Or(x.Name, filepath.Base(l.Dir))
	if x.Dir != l.Dir {
		return true, nil
	}
	foreign, err := l.Foreign()
	if err == nil && len(foreign) > 0 {
		err = &fault.Error{
			Code:  fault.CodeUsage,
			What:  "the folder of the lock has other files too, so it is not replaced",
			Where: l.Dir,
			Why:   "it has " + foreign[0],
			Next:  "install into another folder: --dir " + filepath.Join(".hone", "servers", x.Name),
		}
	}
	return true, err
}
