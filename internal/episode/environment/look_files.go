package environment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Bounds of what is read of an episode's folder.
const (
	maxFile  = 512 << 20 // bytes of one file, or of all that is hashed
	maxFiles = 20000
)

// root opens the episode's own folder. Nothing in it leads out: its files are the server's and the model's.
func (w *Watch) root(c scenario.Check) (*os.Root, error) {
	dir := w.session.Dir(c.Server)
	if dir == "" {
		return nil, fmt.Errorf("the episode has no folder of its own on server %q", c.Server)
	}
	return os.OpenRoot(dir)
}

// unusable is what stands in the place of a file and is none, which is the episode's doing.
type unusable struct{ why string }

func (u unusable) Error() string { return u.why }

// open opens a regular file of at most most bytes; fs.ErrNotExist or unusable where there is none.
func open(root *os.Root, name string, most int64) (*os.File, error) {
	// Without blocking: a pipe has no end.
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, fs.ErrNotExist
	case errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOMEM):
		return nil, err
	default: // a link that leads out or in a circle, a file that may not be read, a socket
		return nil, unusable{err.Error()}
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = unusable{"it is no file"}
	}
	if err == nil && info.Size() > most {
		err = unusable{fmt.Sprintf("it has %d bytes, and at most %d are read", info.Size(), most)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// file looks at one file.
func (w *Watch) file(c scenario.Check) (trajectory.Observation, error) {
	root, err := w.root(c)
	if err != nil {
		return trajectory.Observation{}, err
	}
	defer root.Close()
	f, err := open(root, c.Path, maxFile)
	if saw, ok := nothing(err); ok {
		return saw, nil
	}
	if err != nil {
		return trajectory.Observation{}, err
	}
	defer f.Close()
	kept := &strings.Builder{}
	sum, size, err := blob.SumFrom(io.TeeReader(io.LimitReader(f, maxFile), &limited{kept, maxText + 1}))
	if err != nil {
		return trajectory.Observation{}, err
	}
	saw := shortObservation(kept.String())
	switch {
	case saw.Status == trajectory.TooLong:
		saw.Text = fmt.Sprintf("%d bytes, and %d are recorded", size, maxText)
	case !utf8.ValidString(saw.Text):
		saw.Status, saw.Text = trajectory.Unusable, "its content is not text"
	}
	saw.SHA256 = sum.String()
	return saw, nil
}

// nothing is what was seen where an error says that there is no file to look into.
func nothing(err error) (trajectory.Observation, bool) {
	var u unusable
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return trajectory.Observation{Status: trajectory.Absent}, true
	case errors.As(err, &u):
		return trajectory.Observation{Status: trajectory.Unusable, Text: u.why}, true
	}
	return trajectory.Observation{}, false
}

// limited keeps the first bytes that are written to it.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.to.Write(p[:min(len(p), l.left)])
	l.left -= n
	return len(p), err
}

// errTooMany is a folder with more files than are looked at: its own fault where it was so from the beginning, else the
// episode's.
var errTooMany = fmt.Errorf("the folder holds more than %d files", maxFiles)

// files are all that is in the folder, or under the check's path in it, each with a hash of its content, but for what
// the check ignores.
func (w *Watch) files(c scenario.Check) (state, error) {
	root, err := w.root(c)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	found := state{}
	left := int64(maxFile)
	err = fs.WalkDir(root.FS(),
		path.Clean(filepath.ToSlash(cmp.Or(c.Path, "."))), func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // the path itself, or what went while we looked
				return nil
			case err != nil:
				// a folder that may not be read, or a link out of the episode's own in the place of the path
				found[name] = "unusable: " + err.Error()
				return fs.SkipDir
			case name == ".":
				return nil
			case matchesAny(name, c.Ignore) && d.IsDir():
				return fs.SkipDir
			case matchesAny(name, c.Ignore):
				return nil
			case len(found) == maxFiles:
				return errTooMany
			}
			found[name], err = content(root, name, d, &left)
			return err
		})
	return found, err
}

// matchesAny reports whether a pattern fits a path, or, where it has no slash, the last part of it.
func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		of := name
		if !strings.Contains(pattern, "/") {
			of = path.Base(name)
		}
		fits, err := path.Match(pattern, of)
		return err == nil && fits
	})
}

func content(root *os.Root, name string, d fs.DirEntry, left *int64) (string, error) {
	switch d.Type() {
	case fs.ModeDir:
		return "a folder", nil
	case fs.ModeSymlink:
		target, err := root.Readlink(filepath.FromSlash(name))
		return "a link to " + target, err
	case 0:
	default:
		return d.Type().String(), nil
	}
	f, err := open(root, name, *left)
	var u unusable
	if errors.As(err, &u) {
		return "unusable: " + u.why, nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, n, err := blob.SumFrom(io.LimitReader(f, *left))
	*left -= n
	return sum.String(), err
}
