package sandbox

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// showProgram shows what a program installed in a hidden folder needs: its own folder; the folder around its "bin" or
// the tree of node_modules, where its libraries are; and the same of the interpreter that its first line names.
// ~/bin and ~/.local/bin are shown alone, for around them is what a person keeps.
func (p *places) showProgram(path, searchPath string) {
	p.showInstallation(path)
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
		p.showInstallation(words[0])
		return
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		// a package writes its programs' first lines: a name on PATH is all that it may name
		if strings.ContainsRune(word, filepath.Separator) {
			return
		}
		for _, dir := range filepath.SplitList(searchPath) {
			if _, err := os.Stat(filepath.Join(dir, word)); err == nil {
				p.showInstallation(filepath.Join(dir, word))
				return
			}
		}
		return
	}
}

func (p *places) showInstallation(path string) {
	for _, file := range chain(path) {
		if at := strings.Index(file, "/node_modules/"); at >= 0 {
			p.show(file[:at+len("/node_modules")])
			continue
		}
		dir := filepath.Dir(file)
		switch parent := filepath.Dir(dir); {
		case filepath.Base(dir) == "shims" && exists(filepath.Join(parent, "versions")):
			// pyenv's, which look for the version around them
			p.show(parent)
		case filepath.Base(dir) == "bin" && filepath.Base(parent) != ".local":
			p.show(parent)
			p.showEnvironment(parent)
		}
		p.show(dir)
	}
}

// chain is a path, every link that it leads over, and the file at the end.
func chain(path string) []string {
	const most = 40 // the kernel's own bound
	files := []string{path}
	for range most {
		last := files[len(files)-1]
		target, err := os.Readlink(last)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(last), target)
		}
		files = append(files, target)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && !slices.Contains(files, real) {
		files = append(files, real)
	}
	return files
}

// showEnvironment shows what a virtual environment of Python refers to: the interpreter it was made from (pyvenv.cfg,
// PEP 405), and packages installed to be edited, which .pth files of its site-packages name. A package can bring such
// files of its own. So what they name is shown where there is an interpreter, and where it lies in the project that the
// environment is a part of.
func (p *places) showEnvironment(dir string) {
	settings, err := os.ReadFile(filepath.Join(dir, "pyvenv.cfg"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(settings)) {
		if key, value, _ := strings.Cut(line, "="); strings.TrimSpace(key) == "home" {
			python := filepath.Join(strings.TrimSpace(value), "python3")
			if !exists(python) {
				continue
			}
			for _, file := range chain(python) {
				if parent := filepath.Dir(filepath.Dir(file)); filepath.Base(parent) != ".local" {
					p.show(parent)
				}
				p.show(filepath.Dir(file))
			}
		}
	}
	project := filepath.Dir(dir)
	if !p.isPackage(project) {
		return
	}
	links, _ := fs.Glob(os.DirFS(dir), "lib/python*/site-packages/*.pth") // the pattern is sound
	for _, file := range links {
		text, _ := os.ReadFile(filepath.Join(dir, file))
		for line := range strings.Lines(string(text)) {
			if path := filepath.Clean(strings.TrimSpace(line)); filepath.IsAbs(path) && within(path, project) {
				p.show(path)
			}
		}
	}
}

// showArguments shows files, not folders, that the command line names: a script to interpret with the package it
// belongs to, a file of settings.
func (p *places) showArguments(args []string) {
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "-") {
			arg = value
		}
		if arg == "" {
			continue
		}
		path := arg
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.dir, path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		path = filepath.Clean(path)
		if strings.Contains(path, "/node_modules/") {
			p.showInstallation(path)
		} else if isScript(path) {
			p.showPackage(path)
		}
		p.show(path)
	}
}

// IsProgram reports whether a path is the system's or a program's, rather than data.
func IsProgram(path string, info os.FileInfo) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return isSystem(top) || strings.Contains(path, "/node_modules/") ||
		info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || isScript(path)) || !info.IsDir() &&
		!info.Mode().IsRegular()
}

func isScript(path string) bool {
	return slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb", ".jar"}, filepath.Ext(path))
}

// showPackage shows the folder of the package that a script is a part of, which a file of its packager marks.
func (p *places) showPackage(script string) {
	for dir := filepath.Dir(script); p.hides(dir) && !slices.Contains(p.hidden, dir); dir = filepath.Dir(dir) {
		if p.isPackage(dir) {
			p.show(dir)
			return
		}
	}
}

// isPackage reports whether a file of a packager marks a folder, other than one that is hidden whole.
func (p *places) isPackage(dir string) bool {
	return !slices.Contains(p.hidden, dir) &&
		slices.ContainsFunc([]string{"package.json", "pyproject.toml", "setup.py", "requirements.txt", "Gemfile"},
			func(mark string) bool { return exists(filepath.Join(dir, mark)) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Elsewhere is a program that is not on PATH and that a version manager, or a project, keeps: the newest of those in
// the usual places of a home folder and of the folder dir, "" without one. Shells put these on PATH; hone may be
// started without one.
func Elsewhere(home, dir, program string) string {
	for _, place := range [][2]string{
		{dir, ".venv/bin"}, {dir, "venv/bin"}, {dir, "node_modules/.bin"}, {home, ".nvm/versions/node/*/bin"}, {home,
			".volta/bin"},
		{home, ".local/share/fnm/node-versions/*/installation/bin"}, {home, ".pyenv/shims"}, {home, ".asdf/shims"},
		{home, ".local/share/mise/shims"}, {home, ".local/bin"}, {home, ".cargo/bin"}, {home, "go/bin"},
	} {
		// a pattern that a program's name breaks finds nothing
		found, _ := fs.Glob(os.DirFS(place[0]), place[1]+"/"+program)
		if len(found) > 0 {
			return filepath.Join(place[0], slices.MaxFunc(found, byVersion))
		}
	}
	return ""
}

// byVersion orders paths by the numbers in them.
func byVersion(a, b string) int {
	numbers := func(path string) (out []int) {
		for _, word := range strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(word)
			out = append(out, n)
		}
		return out
	}
	return slices.Compare(numbers(a), numbers(b))
}

// Shim is the command that prints which program a version manager's stand-in at path runs, "" where it is none or runs
// in the sandbox as it is: the manager looks for its settings in the home folder, which a server does not see.
func Shim(path string) string {
	program := filepath.Base(path)
	for _, m := range []struct{ folder, ask string }{
		{"/.asdf/shims/", "asdf which "}, {"/mise/shims/", "mise which "}, {"/.volta/bin/", "volta which "},
		{"/.nodenv/shims/", "nodenv which "}, {"/.rbenv/shims/", "rbenv which "},
	} {
		if strings.Contains(path, m.folder) {
			return m.ask + program
		}
	}
	return ""
}
