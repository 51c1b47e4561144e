package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/blob"
)

// commandSums say what a command line runs beside its words: the program and the files that they name, and which
// packages are installed there. Each file is read once.
type commandSums map[string]string

// of is the sum of a command line whose relative paths are from dir, "" for here. A folder among its words is where the
// command works, not what it is: of it, its packages alone count.
func (c commandSums) of(dir string, command []string) (string, error) {
	parts := slices.Clone(command)
	for i, word := range command {
		path := word
		if _, value, isFlag := strings.Cut(word, "="); isFlag && strings.HasPrefix(word, "-") {
			path = value
		}
		if found, err := exec.LookPath(word); i == 0 && err == nil && !strings.ContainsRune(word, filepath.Separator) {
			path = found // on PATH
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		sum, err := c.path(path)
		if err != nil {
			return "", err
		}
		parts = append(parts, sum)
	}
	return blob.Parts(parts...).String(), nil
}

// path is the sum of a file and the packages beside it, "" of what is no path.
func (c commandSums) path(path string) (string, error) {
	if sum, known := c[path]; known {
		return sum, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", nil // a word, or a path of the server's own
	}
	var parts []string
	if info.Mode().IsRegular() {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		parts = append(parts, info.Mode().Perm().String(), blob.Of(text).String())
	}
	for _, from := range places(path, info.IsDir()) {
		found, err := packages(from)
		if err != nil {
			return "", err
		}
		parts = append(parts, found...)
	}
	c[path] = blob.Parts(parts...).String()
	return c[path], nil
}

// places are the folders in which the packages of a path may stand: its own and those above, by its name and by what it
// is a link to.
func places(path string, isDir bool) (all []string) {
	const levels = 12
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, real)
	}
	for _, p := range paths {
		p, err := filepath.Abs(p)
		if err != nil {
			continue
		}
		if !isDir {
			p = filepath.Dir(p)
		}
		for range levels {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
			p = filepath.Dir(p)
		}
	}
	return all
}

// lockFiles say which versions are installed below their folder.
func lockFiles() []string {
	return []string{
		"package.json", "package-lock.json", "node_modules/.package-lock.json", "pnpm-lock.yaml", "yarn.lock",
		"pyproject.toml", "requirements.lock", "uv.lock", "poetry.lock",
		"mcpb.lock",
	}
}

// packages are the sums of a folder's lock files and, of a virtual environment, what is installed in it (PyPA:
// NAME-VERSION.dist-info).
func packages(folder string) (parts []string, err error) {
	for _, name := range lockFiles() {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			parts = append(parts, name, blob.Of(text).String())
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "pyvenv.cfg")); err != nil {
		return parts, nil
	}
	installed, err := fs.Glob(os.DirFS(folder), "lib/python*/site-packages/*.dist-info")
	for _, path := range installed {
		parts = append(parts, filepath.Base(path))
	}
	return parts, err
}

// folderSum is the SHA-256 of what a folder holds: names, modes, contents, and what links point to.
func folderSum(folder string) (string, error) {
	var all bytes.Buffer
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := ""
		var text []byte
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			if target, err = os.Readlink(path); err != nil {
				return err
			}
			if to, err := os.Stat(path); err != nil || !to.Mode().IsRegular() {
				break // it dangles, or points to a folder: its name is all
			}
			text, err = os.ReadFile(path)
		case entry.Type().IsRegular():
			text, err = os.ReadFile(path)
		}
		name, relErr := filepath.Rel(folder, path)
		all.WriteString(blob.Parts(name, fmt.Sprint(info.Mode()), target, string(text)).String())
		return errors.Join(err, relErr)
	})
	return blob.Of(all.Bytes()).String(), err
}
