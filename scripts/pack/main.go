// Pack writes an archive of folders: pack ARCHIVE ROOT FOLDER... It is a zip archive of files as they are, which as a
// whole is compressed by Brotli: what files have in common is then stored once. The same files give the same bytes;
// JSON loses its white space.
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/andybalholm/brotli"
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
	b := brotli.NewWriterOptions(f, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	z := zip.NewWriter(b)
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
			w, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return errors.Join(z.Close(), b.Close(), f.Close())
}
