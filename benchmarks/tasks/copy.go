package tasks

import (
	"embed"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// programs are what command checks run: each calls the check that a task came with.
//
//go:embed programs/*.py
var programs embed.FS

// program puts one of programs into the folder of files.
func (r *reader) program(name string) error {
	data, err := programs.ReadFile("programs/" + name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.staging, name), data, 0o755)
}

// copyOnce copies a folder into the folder of files, where it is not there yet. Of links, devices and the like none is
// copied; they are counted.
func (r *reader) copyOnce(from, to string) error {
	target := filepath.Join(r.staging, filepath.FromSlash(to))
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		at := filepath.Join(target, within)
		switch {
		case d.IsDir() && d.Name() == "__pycache__":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case !d.Type().IsRegular():
			r.LeftOut["links and other files that are none"]++
			return nil
		}
		return copyFile(name, at)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|info.Mode()&0o111)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
