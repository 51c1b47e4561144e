// Package doctor looks at the machine: what a run needs is there, or which command puts it there.
package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"hone/internal/fault"
	"hone/internal/host"
)

// Status of a check.
type Status string

// The statuses, from good to bad. A warning lets a run start.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one line of the report. Next is the command that helps, empty where all is well.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
}

// What a small run needs: the 135M model in float32 with its adapter and caches, and room for checkpoints.
const (
	minMemory = 2 << 30
	minDisk   = 1 << 30
)

// Memory reports what memory is available.
func Memory() Check {
	c := Check{Name: "memory"}
	available, err := host.AvailableMemory()
	if err != nil {
		return c.unknown(err)
	}
	return c.compare(available, minMemory, "close other programs, or lower model.context and engine.slots")
}

// Disk reports the free bytes of the disk that holds dir, or would hold it once it is made, and whether dir can be
// written.
func Disk(name, dir string) Check {
	c := Check{Name: name}
	if err := Writable(dir); err != nil {
		c.Status, c.Detail, c.Next = Warn, err.Error(), "make "+dir+" writable, or name another folder"
		return c
	}
	var disk syscall.Statfs_t
	err := syscall.Statfs(dir, &disk)
	for parent := filepath.Dir(dir); os.IsNotExist(err) && parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		err = syscall.Statfs(dir, &disk)
	}
	if err != nil {
		return c.unknown(err)
	}
	return c.compare(int64(disk.Bavail)*int64(disk.Bsize), minDisk, "free some space on the disk of "+dir)
}

// Writable is an error where no file can be made in dir or, where it is not there, in the folder that it would be made
// in. It makes a file to find out, since permissions do not tell of a file system that is read-only.
func Writable(dir string) error {
	at := dir
	for _, err := os.Stat(at); os.IsNotExist(err) && filepath.Dir(at) != at; _, err = os.Stat(at) {
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".hone-")
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the file's name is of no interest
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (c Check) compare(have, want int64, next string) Check {
	c.Detail = fmt.Sprintf("%.1f GiB free", float64(have)/(1<<30))
	c.Status = OK
	if have < want {
		c.Status, c.Next = Warn, next
		c.Detail += fmt.Sprintf(", %.1f GiB wanted", float64(want)/(1<<30))
	}
	return c
}

func (c Check) unknown(err error) Check {
	c.Status, c.Detail = Warn, "cannot be measured: "+err.Error()
	return c
}

// FromError is the check of something that failed: the error's parts become the line.
func FromError(name string, err error) Check {
	c := Check{Name: name, Status: Fail, Detail: err.Error()}
	if f, ok := err.(*fault.Error); ok {
		c.Next = f.Next
		flat := *f
		flat.Next = ""
		c.Detail = strings.Join(strings.Fields(fault.InnerText(&flat)), " ")
	}
	return c
}
