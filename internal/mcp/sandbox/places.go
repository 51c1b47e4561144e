package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tmpfsBytes bounds the private home and each private tmp, which live in memory.
const tmpfsBytes = 256 << 20

// places are the folders as one process is to see them: all readable but the hidden, with read and write shown again.
type places struct {
	hidden   []string // parents before what is in them
	read     []string
	write    []string
	dir      string // where it starts
	home     string // "" where it has none
	homeKept bool   // home lies in a folder it may write
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
	hide := append([]string{"/tmp", "/var/tmp", "/run", "/home", "/root", o.Home}, o.Hide...)
	if !p.homeKept {
		hide = append(hide, p.home)
	}
	for _, path := range hide {
		if info, err := os.Stat(path); err == nil && info.IsDir() && filepath.Clean(path) != "/" {
			p.hidden = append(p.hidden, filepath.Clean(path))
		}
	}
	slices.Sort(p.hidden)
	p.hidden = slices.Compact(p.hidden)
	p.show(p.dir)
	p.showProgram(cmd.Path, lookup(cmd.Env, "PATH"))
	p.showArguments(cmd.Args[1:])
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && g.Network {
		p.show(target)
	}
	return p, nil
}

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

// showProgram shows what a program installed in a hidden folder needs: its own folder; the folder around its "bin" or
// the tree of node_modules, where its libraries are; and the same of the interpreter that its first line names.
// ~/bin and ~/.local/bin are shown alone, for around them is what a person keeps.
func (p *places) showProgram(path, searchPath string) {
	p.showInstalled(path)
	f, err := os.Open(path)
	if err != nil {
		return // exec will say why
	}
	defer f.Close()
	first := make([]byte, 256)
	n, _ := io.ReadFull(f, first)
	line, _, _ := strings.Cut(string(first[:n]), "\n")
	interpreter, is := strings.CutPrefix(line, "#!")
	words := strings.Fields(interpreter)
	if !is || len(words) == 0 {
		return
	}
	if filepath.Base(words[0]) != "env" {
		p.showInstalled(words[0])
		return
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		for _, dir := range filepath.SplitList(searchPath) {
			if _, err := os.Stat(filepath.Join(dir, word)); err == nil {
				p.showInstalled(filepath.Join(dir, word))
				return
			}
		}
		return
	}
}

func (p *places) showInstalled(path string) {
	files := []string{path}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		files = append(files, target)
	}
	for _, file := range files {
		if at := strings.Index(file, "/node_modules/"); at >= 0 {
			p.show(file[:at+len("/node_modules")])
			continue
		}
		dir := filepath.Dir(file)
		if parent := filepath.Dir(dir); filepath.Base(dir) == "bin" && filepath.Base(parent) != ".local" {
			p.show(parent)
		}
		p.show(dir)
	}
}

// showArguments shows files, not folders, that the command line names: a script to interpret, a file of settings.
func (p *places) showArguments(args []string) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !filepath.IsAbs(arg) || info.IsDir() {
			continue
		}
		if strings.Contains(arg, "/node_modules/") {
			p.showInstalled(arg)
		}
		p.show(filepath.Clean(arg))
	}
}

// secretFiles are readable to root, whom a read-only root does not stop.
var secretFiles = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/krb5.keytab"}

// bubblewrap is the arguments of bwrap up to the program.
func (p *places) bubblewrap(network bool) []string {
	args := baseArgs()
	if network {
		args = append(args, "--share-net")
	}
	size := fmt.Sprint(tmpfsBytes)
	for _, path := range p.hidden {
		args = append(args, "--size", size, "--tmpfs", path)
	}
	for _, path := range secretFiles {
		if _, err := os.Lstat(path); err == nil {
			args = append(args, "--ro-bind", "/dev/null", path)
		}
	}
	var shown []string // what lies below is there too, and a link there cannot be mounted on
	for _, path := range slices.Sorted(slices.Values(p.read)) {
		if p.hides(path) && !slices.ContainsFunc(shown, func(s string) bool { return within(path, s) }) {
			args, shown = append(args, "--ro-bind", path, path), append(shown, path)
		}
	}
	for _, path := range p.write {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path // bwrap will say why
		}
		args = append(args, "--bind", real, real)
		if real != path && p.hides(path) && !slices.ContainsFunc(shown, func(s string) bool { return within(path, s) }) {
			args = append(args, "--bind", path, path)
		}
	}
	return append(args, "--chdir", p.dir, "--")
}

// baseArgs hold for every process: the namespaces, and a session of its own, since a server that could reach the
// terminal could answer the questions asked there.
func baseArgs() []string {
	return []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}
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
