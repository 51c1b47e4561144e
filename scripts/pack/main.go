// Pack writes an archive of folders: pack ARCHIVE ROOT FOLDER... The same files give the same bytes; JSON loses its
// white space.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "pack ARCHIVE ROOT FOLDER...")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.DirFS(os.Args[2]), os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(archive string, root fs.FS, folders []string) error {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, folder := range folders {
		if err := fs.WalkDir(root, folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".json") {
				var compact bytes.Buffer
				if err := json.Compact(&compact, data); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				data = compact.Bytes()
			}
			w, err := z.Create(path)
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		}); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}
