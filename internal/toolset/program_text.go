package toolset

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hone/internal/mcp"
)

// How much of a program's text is read: of its package's files, those that people write.
const (
	mostProgramFiles = 300
	mostProgramText  = 4 << 20
)

// programText is what a server's program and its package say: sources and manuals, "" of a program that is not text.
// Nothing of it is run.
func programText(s mcp.Server) string {
	var b strings.Builder
	for _, root := range programRoots(s) {
		files := 0
		// what cannot be read says nothing
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case d.IsDir() && path != root && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
				return fs.SkipDir
			case d.IsDir() ||
				path != root && !slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".py", ".md", ".rst", ".txt"},
					filepath.Ext(path)):
				return nil
			case files == mostProgramFiles || b.Len() > mostProgramText:
				return fs.SkipAll
			}
			files++
			if info, err := d.Info(); err != nil || info.Size() > mostProgramText {
				return nil
			}
			if text, err := os.ReadFile(path); err == nil && !bytes.Contains(text[:min(len(text), 1024)], []byte{0}) {
				b.Write(text)
				b.WriteByte('\n')
			}
			return nil
		})
	}
	return b.String()
}

// imports are the modules that a Python script begins with, as installers write them.
var imports = regexp.MustCompile(`(?m)^\s*from ([A-Za-z_]\w*)[.\w]* import`)

// programRoots are the files and folders that a server's program is in: the package of Node or of Python, else the file
// itself with the manual beside it.
func programRoots(s mcp.Server) (roots []string) {
	add := func(path string) {
		if !slices.Contains(roots, path) {
			roots = append(roots, path)
		}
	}
	program := s.Command
	if found, err := exec.LookPath(program); err == nil {
		program = found
	}
	for i, word := range slices.Concat([]string{program}, s.Args) {
		if !filepath.IsAbs(word) {
			word = filepath.Join(s.Cwd, word)
		}
		path, err := filepath.EvalSymlinks(word)
		if err != nil {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostProgramText {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.Contains(text[:min(len(text), 1024)], []byte{0}) {
			continue
		}
		if root := nodePackage(path); root != "" {
			add(root)
			continue
		}
		add(path)
		addMatches(filepath.Dir(path), "README*", add)
		if i == 0 {
			for _, m := range imports.FindAllStringSubmatch(string(text), -1) {
				modulesOf(path, m[1], add)
			}
		}
	}
	if i := slices.Index(s.Args, "-m"); i >= 0 && i+1 < len(s.Args) {
		module, _, _ := strings.Cut(s.Args[i+1], ".")
		modulesOf(program, module, add)
	}
	return roots
}

// nodePackage is the folder of the package that a file of Node is in, "" of others.
func nodePackage(path string) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "package.json")); err == nil {
			return dir
		}
		if filepath.Base(dir) == "node_modules" {
			return ""
		}
	}
	return ""
}

// modulesOf adds the folders or files of a Python module in the environment that a program is of, and its manual.
func modulesOf(program, module string, add func(path string)) {
	environment := filepath.Dir(filepath.Dir(program))
	for _, name := range []string{module, module + ".py", module + "-*.dist-info/METADATA"} {
		addMatches(environment, "lib/python*/site-packages/"+name, add)
	}
}

// addMatches adds what a pattern finds below a folder, whose own name may have brackets.
func addMatches(folder, pattern string, add func(path string)) {
	found, _ := fs.Glob(os.DirFS(folder), pattern)
	for _, path := range found {
		add(filepath.Join(folder, path))
	}
}
