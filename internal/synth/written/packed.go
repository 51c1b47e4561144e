//go:build packed

package written

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io"
	"io/fs"
	"sync"

	"github.com/andybalholm/brotli"
)

// A release has the files in an archive, a fifth as large: scripts/pack makes it.
//
//go:embed files.br
var archive []byte

// files are unpacked once they are read.
var files = sync.OnceValue(func() fs.FS {
	data, err := io.ReadAll(brotli.NewReader(bytes.NewReader(archive)))
	if err != nil {
		panic(err) // it is compiled in
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(err)
	}
	return r
})
