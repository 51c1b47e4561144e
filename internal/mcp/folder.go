package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// makeDir makes root, with root/home and root/work, the latter a copy of the template. What it returns as root is to be
// given to removeDir, also with an error.
func (l *opener) makeDir(from start) (root, work string, err error) {
	if root, err = l.makeRoot(from.episode); err != nil {
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
	if template := cmp.Or(from.template, l.server.Template); template != "" {
		if err := os.CopyFS(work, os.DirFS(template)); err != nil {
			return root, "", fmt.Errorf("copying the template: %w", err)
		}
	}
	return root, work, nil
}

// makeRoot makes an empty folder of its own for a session: one that the episode's id names, or for a session that any
// episode may get the first that is free of a numbered row. So a path is the same whenever the episode is run again.
func (l *opener) makeRoot(episode string) (string, error) {
	if l.o.Folder == "" {
		return os.MkdirTemp(l.base["TMPDIR"], "hone-episode-*")
	}
	parent := filepath.Join(l.o.Folder, sanitize(l.name))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	root := l.takeRoot(parent, episode)
	removeAll(root) // of a run that was killed
	if err := os.Mkdir(root, 0o700); err != nil {
		l.freeRoot(root)
		return "", err
	}
	return root, nil
}

func (l *opener) takeRoot(parent, episode string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := 0; ; n++ {
		name := fmt.Sprintf("any-%d", n)
		if episode != "" {
			name = sanitize(episode)
			if n > 0 { // the same episode twice at once
				name += fmt.Sprintf(".%d", n)
			}
		}
		if root := filepath.Join(parent, name); !l.taken[root] {
			l.taken[root] = true
			return root
		}
	}
}

func (l *opener) removeDir(root string) {
	removeAll(root)
	l.freeRoot(root)
}

func (l *opener) freeRoot(root string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.taken, root)
}

// showsDir reports whether the path of an episode's folder is the episode's own, so that no session can be ready before
// the episode is known. Its server is told the path, and servers repeat it in what the model reads: a warm process
// would make the text of a result depend on which process was free.
func (l *opener) showsDir() bool {
	return l.o.Folder != "" && l.server.Isolation != PerReset && l.usesDir()
}

func (l *opener) usesDir() bool {
	texts := append([]string{l.server.Command, l.server.Cwd}, l.server.Args...)
	for _, value := range l.server.Env {
		texts = append(texts, value)
	}
	if l.server.Reset != nil {
		texts = append(texts, l.server.Reset.To)
	}
	return strings.Contains(strings.Join(texts, "\n"), EpisodeDir)
}

// removeAll removes what a session left, also folders that its server made read-only.
func removeAll(path string) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return
	}
	defer root.Close()
	removeIn(root, filepath.Base(path))
}

func removeIn(root *os.Root, name string) error {
	if root.RemoveAll(name) == nil {
		return nil
	}
	fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			root.Chmod(path, 0o700)
		}
		return nil
	})
	return root.RemoveAll(name)
}

// restore makes name in root equal from again. A file is written in place, for a server may hold it open; of a folder,
// what from lacks is removed. The server, which may be in a sandbox while we are not, can put links there: none is
// followed out of root, and one in the place of name is replaced.
func restore(from string, root *os.Root, name string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return copyFile(from, root, name)
	}
	if is, err := root.Lstat(name); err == nil && !is.IsDir() {
		if err := removeIn(root, name); err != nil {
			return err
		}
	} else if err == nil {
		entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(name))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := removeIn(root, filepath.Join(name, entry.Name())); err != nil {
				return err
			}
		}
	}
	return fs.WalkDir(os.DirFS(from), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		source, to := filepath.Join(from, path), filepath.Join(name, path)
		switch d.Type() {
		case fs.ModeDir:
			return root.MkdirAll(to, 0o777)
		case fs.ModeSymlink:
			target, err := os.Readlink(source)
			if err != nil {
				return err
			}
			return root.Symlink(target, to)
		}
		return copyFile(source, root, to)
	})
}

func copyFile(from string, root *os.Root, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if is, err := root.Lstat(to); err == nil && !is.Mode().IsRegular() {
		if err := removeIn(root, to); err != nil {
			return err
		}
	}
	// Without blocking: what was a file may be a pipe by now.
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
