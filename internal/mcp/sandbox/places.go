package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tmpfsBytes bounds the private home and each private tmp, which live in memory.
const tmpfsBytes = 256 << 20

// places are the folders as one process is to see them: the system's are readable, the hidden are empty, with read and
// write shown again.
type places struct {
	hidden   []string // folders, parents before what is in them
	masked   []string // files in readable folders that are not
	read     []string
	write    []string
	dir      string // where it starts
	home     string // "" where it has none
	homeKept bool   // home lies in a folder it may write
}

// isSystem reports whether a folder of the root holds programs, their libraries and their settings, rather than data.
func isSystem(name string) bool {
	return slices.Contains([]string{"bin", "dev", "etc", "gnu", "nix", "opt", "proc", "sbin", "sys", "usr"}, name) ||
		strings.HasPrefix(name, "lib")
}

func newPlaces(cmd *exec.Cmd, g Grants, o Options) (*places, error) {
	p := &places{dir: cmd.Dir, home: lookup(cmd.Env, "HOME")}
	if p.dir == "" {
		var err error
		if p.dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	for _, grant := range []struct {
		what  string
		paths []string
		to    *[]string
	}{{"write", g.Write, &p.write}, {"read", g.Read, &p.read}} {
		for _, path := range grant.paths {
			absolute, err := filepath.Abs(path)
			if err == nil {
				_, err = os.Stat(absolute)
			}
			if err != nil {
				return nil, fmt.Errorf("the sandbox is to grant %s access to %s: %w", grant.what, path, err)
			}
			if real, err := filepath.EvalSymlinks(absolute); err == nil && real != absolute && grant.what == "read" {
				*grant.to = append(*grant.to, real)
			}
			*grant.to = append(*grant.to, absolute)
		}
	}
	p.homeKept = p.home != "" && slices.ContainsFunc(p.write, func(w string) bool { return within(p.home, w) })
	if err := p.hide(o); err != nil {
		return nil, err
	}
	granted := slices.Concat(p.read, p.write)
	if cmd.Dir != "" { // who writes down where a server starts lets it read there
		p.show(p.dir)
	}
	p.showProgram(cmd.Path, lookup(cmd.Env, "PATH"))
	p.showArguments(cmd.Args[1:])
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && g.Network {
		p.show(target)
	}
	p.maskSecrets(granted)
	return p, nil
}

// hide hides what is neither the system's nor granted.
func (p *places) hide(o Options) error {
	hide := append([]string{"/tmp", "/var/tmp", o.Home}, o.Hide...)
	if !p.homeKept {
		hide = append(hide, p.home)
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch path := "/" + e.Name(); {
		case e.IsDir() && !isSystem(e.Name()):
			hide = append(hide, path)
		case e.Type().IsRegular():
			p.masked = append(p.masked, path)
		}
	}
	for _, path := range hide {
		if info, err := os.Stat(path); err == nil && info.IsDir() && filepath.Clean(path) != "/" {
			p.hidden = append(p.hidden, filepath.Clean(path))
		}
	}
	slices.Sort(p.hidden)
	p.hidden = slices.Compact(p.hidden)
	return nil
}

// maskDepth is how deep below a folder that nobody granted files of secrets are looked for.
const maskDepth = 3

// maskSecrets hides .env files in what is shown because the server is there, rather than because it was granted: a
// package's folder is often a person's project.
func (p *places) maskSecrets(granted []string) {
	for _, root := range p.read {
		if slices.ContainsFunc(granted, func(g string) bool { return within(root, g) }) {
			continue
		}
		depth := strings.Count(root, "/")
		_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it cannot be read, so the server cannot either
			case d.IsDir() &&
				(d.Name() == "node_modules" || d.Name() == ".git" || strings.Count(path, "/")-depth >= maskDepth):
				return filepath.SkipDir
			case !d.IsDir() && isSecret(d.Name()) &&
				!slices.ContainsFunc(granted, func(g string) bool { return within(path, g) }):
				p.masked = append(p.masked, path)
				if real, err := filepath.EvalSymlinks(path); err == nil {
					p.masked = append(p.masked, real)
				}
			}
			return nil
		})
	}
	slices.Sort(p.masked)
	p.masked = slices.Compact(p.masked)
}

func isSecret(name string) bool { return name == ".env" || strings.HasPrefix(name, ".env.") }

// show lets the process read a path that would be hidden, and what it is a link to, unless that would show a whole
// hidden folder.
func (p *places) show(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	for _, each := range []string{real, path} {
		if slices.ContainsFunc(p.hidden, func(h string) bool { return within(h, each) }) {
			return
		}
	}
	for _, each := range []string{real, path} {
		if p.hides(each) {
			p.read = append(p.read, each)
		}
	}
}

// hides reports whether a path is in a hidden folder.
func (p *places) hides(path string) bool {
	return slices.ContainsFunc(p.hidden, func(h string) bool { return within(path, h) })
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func lookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
