package mcp

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// makeDir makes root, with root/home and root/work, the latter a copy of the template.
func (l *launcher) makeDir() (root, work string, err error) {
	if root, err = os.MkdirTemp(l.base["TMPDIR"], "hone-episode-*"); err != nil {
		return "", "", err
	}
	// Servers compare resolved paths with the folder they were given.
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return root, "", err
	}
	work = filepath.Join(resolved, "work")
	if err := os.Mkdir(filepath.Join(resolved, "home"), 0o700); err != nil {
		return root, "", err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return root, "", err
	}
	if l.server.Template != "" {
		if err := os.CopyFS(work, os.DirFS(l.server.Template)); err != nil {
			return root, "", fmt.Errorf("copying the template: %w", err)
		}
	}
	return root, work, nil
}

func (l *launcher) usesDir() bool {
	texts := append([]string{l.server.Command, l.server.Cwd}, l.server.Args...)
	for _, value := range l.server.Env {
		texts = append(texts, value)
	}
	if l.server.Reset != nil {
		texts = append(texts, l.server.Reset.To)
	}
	return strings.Contains(strings.Join(texts, "\n"), EpisodeDir)
}

// removeAll also removes folders that a server made read-only.
func removeAll(root string) {
	if os.RemoveAll(root) == nil {
		return
	}
	filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(root)
}

// restore makes to equal from again. A file is written in place, for a server may hold it open; of a folder, what from
// lacks is removed.
func restore(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, info.Mode().Perm())
	}
	entries, err := os.ReadDir(to)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(to, entry.Name())
		removeAll(path)
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrExist}
		}
	}
	return os.CopyFS(to, os.DirFS(from))
}
