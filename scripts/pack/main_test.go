package main

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
)

// An archive has all files of the folders that are named and no others, and the same bytes each time.
func TestPack(t *testing.T) {
	root := fstest.MapFS{"a/x.txt": {Data: bytes.Repeat([]byte("x"), 5000)}, "b/y.json": {Data: []byte("{ }")},
		"c/z.json": {Data: []byte("{}")}, "d/no.json": {Data: []byte("{")}}
	var archives [][]byte
	for _, name := range []string{"one.br", "two.br"} {
		path := filepath.Join(t.TempDir(), name)
		if err := pack(path, root, []string{"a", "b"}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) || len(archives[0]) > 1000 {
		t.Errorf("%d and %d bytes", len(archives[0]), len(archives[1]))
	}
	data, err := io.ReadAll(brotli.NewReader(bytes.NewReader(archives[0])))
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"a/x.txt": string(root["a/x.txt"].Data), "b/y.json": "{}",
		"c/z.json": ""} {
		if data, err := fs.ReadFile(r, file); string(data) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", file, data, err)
		}
	}
	for _, folder := range []string{"none", "d"} {
		if err := pack(filepath.Join(t.TempDir(), "x"), root, []string{folder}); err == nil {
			t.Errorf("%s is packed", folder)
		}
	}
}
