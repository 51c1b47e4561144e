//go:build packed

package written

import (
	"archive/zip"
	"bytes"
	_ "embed"
)

// A release has the files in an archive, a quarter as large: scripts/pack makes it.
//
//go:embed files.zip
var archive []byte

var files = func() *zip.Reader {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic(err) // it is compiled in
	}
	return r
}()
