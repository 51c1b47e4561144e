package toolset

import (
	"os"
	"path/filepath"
	"syscall"
)

// Update changes a file, while no other process does.
func Update(path string, change func(f *File)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which lets go of it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	f, err := Load(path)
	if err != nil {
		return err
	}
	change(&f)
	return f.Save(path)
}
