// Package blob names data by its SHA-256, and writes files that are whole or not there.
package blob

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts data in the file at path: a reader, also after a crash, finds the old content or the new one. Writers of
// one path do not disturb each other; the last one wins. The mode counts as in os.WriteFile, but also where the file
// exists. Errors name path.
func Write(path string, data []byte, mode os.FileMode) error {
	return WriteFrom(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFrom is Write of what a function writes. An error of the function leaves the old file.
func WriteFrom(path string, mode os.FileMode, write func(io.Writer) error) error {
	folder, name := filepath.Split(path)
	f, err := os.OpenFile(filepath.Join(folder, "."+name+"."+rand.Text()+".tmp"),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return errorAt(err, path)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error is why
		return errorAt(err, path)
	}
	return Sync(filepath.Dir(path))
}

// errorAt is an error of the temporary file as one of the file at path.
func errorAt(err error, path string) error {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "replace", Path: path, Err: link.Err}
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Path = path
	}
	return err
}

// Sync makes a file durable, or the names in a folder: a rename is on disk only once its folder is.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
