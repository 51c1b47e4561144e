package basemodel

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/host"
)

// Fingerprint tells whether the files of a base model are those they were: the SHA-256 of their names, sizes, times and
// first MiB. Weights are not read whole, which takes minutes where they are many: a model that was copied or fetched
// again is another one to it.
func Fingerprint(h *host.Host, base string) (string, error) {
	path, err := Path(h, base)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && file != path && strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		info, err := os.Stat(file) // caches hold links
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read only
		_, _ = fmt.Fprintf(sum, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		_, err = io.Copy(sum, io.LimitReader(f, 1<<20))
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
