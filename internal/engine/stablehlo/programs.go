package stablehlo

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/blob"
	"hone/internal/fault"
)

const (
	magic     = "hone program 1\n"
	suffix    = ".program"
	unnamed   = ".new-" // begins the name of a file that is being written
	abandoned = time.Hour
)

// Programs is a folder of compiled programs, so that a second start need not compile them. A file is read by one key
// alone and carries a checksum, so that what was cut off, overwritten or put there by another is never handed to a
// device: it is removed, and its program compiled again. Processes may share a folder: files appear by renaming, and
// one that another process removed is one that is not there. Several goroutines may use it.
type Programs struct {
	folder   string
	limit    int64 // bytes
	notice   func(string)
	noticing sync.Once
}

// OpenPrograms returns the store of a folder, which is made once there is a program to keep. Where files are larger
// than limit bytes together, those used longest ago are removed. That the folder cannot be written is not an error but
// one notice, since a program runs without being kept; notice may be nil.
func OpenPrograms(folder string, limit int64, notice func(string)) *Programs {
	return &Programs{folder: folder, limit: limit, notice: notice}
}

// ProgramKey is the name of what depends on all the parts, in their order.
func ProgramKey(parts ...string) string {
	var sums []byte
	for _, p := range parts {
		sum := blob.Of(p) // of fixed length, so that no two lists of parts read the same
		sums = append(sums, sum[:]...)
	}
	return blob.Of(sums).String()
}

// Program is a compiled program as a plug-in serialised it, with what its compiler said of it as JSON.
type Program struct {
	Code  []byte
	About []byte
}

// fileHeader is the line before the code.
type fileHeader struct {
	Key   string
	About json.RawMessage
}

// Get returns the program of a key, false where there is none, or none that is whole.
func (s *Programs) Get(key string) (Program, bool) {
	name := s.name(key)
	file, err := os.ReadFile(name)
	if err != nil {
		return Program{}, false
	}
	p, ok := parse(file, key)
	if !ok {
		s.Remove(key)
		return Program{}, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // it may be another user's folder to read: then it is removed early
	return p, true
}

func (s *Programs) name(key string) string { return filepath.Join(s.folder, key+suffix) }

func parse(file []byte, key string) (p Program, ok bool) {
	file, ok = bytes.CutPrefix(file, []byte(magic))
	if !ok || len(file) < sha256.Size {
		return p, false
	}
	sum, file := file[:sha256.Size], file[sha256.Size:]
	if got := blob.Of(file); !bytes.Equal(sum, got[:]) {
		return p, false
	}
	line, code, _ := bytes.Cut(file, []byte("\n"))
	var h fileHeader
	if err := json.Unmarshal(line, &h); err != nil || h.Key != key {
		return p, false
	}
	return Program{Code: code, About: h.About}, true
}

// Put keeps a program, and removes others where there are too many.
func (s *Programs) Put(key string, p Program) {
	if err := s.put(key, p); err != nil {
		s.tell(&fault.Error{
			What:  "compiled programs cannot be kept, so the next start compiles again",
			Where: s.folder,
			Err:   err,
			Next:  "name a folder that can be written with --cache, or set engine.program_cache to 0, which keeps none",
		})
	}
}

// tell gives a notice, the first of a store alone.
func (s *Programs) tell(f *fault.Error) {
	s.noticing.Do(func() {
		if s.notice != nil {
			s.notice(f.Error())
		}
	})
}

// Unkept gives notice, once, that a plug-in could not say what it compiled.
func (s *Programs) Unkept(why string) {
	s.tell(&fault.Error{What: "this plug-in's programs cannot be kept, so the next start compiles again", Why: why})
}

func (s *Programs) put(key string, p Program) (err error) {
	line, err := json.Marshal(fileHeader{key, p.About})
	if err != nil {
		return err
	}
	body := slices.Concat(line, []byte("\n"), p.Code)
	sum := blob.Of(body)
	if int64(len(magic)+len(sum)+len(body)) > s.limit {
		return nil
	}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.folder, unnamed)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the error before it says more
		}
	}()
	_, err = f.Write(slices.Concat([]byte(magic), sum[:], body))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil { // whole before it has a name
		return err
	}
	if err = os.Rename(f.Name(), s.name(key)); err != nil {
		return err
	}
	return s.trim()
}

// Remove removes the program of a key, if there is one.
func (s *Programs) Remove(key string) { _ = os.Remove(s.name(key)) } // what stays is written over

// trim removes what was used longest ago, until the rest is within the limit, and what a process that ended was
// writing.
func (s *Programs) trim() error {
	files, err := list(s.folder)
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var total int64
	for _, f := range files {
		remove := strings.HasPrefix(f.Name(), unnamed) && time.Since(f.ModTime()) > abandoned
		if strings.HasSuffix(f.Name(), suffix) {
			total += f.Size()
			remove = total > s.limit
		}
		if remove {
			if err := os.Remove(filepath.Join(s.folder, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// ProgramUsage returns how many programs a folder has, and their bytes. One that is not there has none.
func ProgramUsage(folder string) (n int, size int64, err error) {
	files, err := list(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			n, size = n+1, size+f.Size()
		}
	}
	return n, size, err
}

// list returns the files of a folder; those that are removed meanwhile are left out.
func list(folder string) (files []fs.FileInfo, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	return files, nil
}
