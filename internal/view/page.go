package view

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"

	"hone/internal/fault"
)

// built is what web/ is built into. A binary that is compiled without it has the note alone.
//
//go:embed all:app
var built embed.FS

// The files of the page.
const (
	pageFile   = "index.html"
	scriptFile = "page.js"
	styleFile  = "page.css"
)

// pageFiles are the page's own. Its error says how to get a binary that has them.
func pageFiles() (fs.FS, error) {
	files, err := fs.Sub(built, "app")
	if err == nil {
		_, err = fs.Stat(files, pageFile)
	}
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUnavailable, What: "this binary was built without the page",
			Why:  "it is written in TypeScript, and Node was not there to build it",
			Next: "make build, with Node 20 or later on PATH; hone runs show and hone runs report need none"}
	}
	return files, nil
}

// pages serves the files of the page, and nothing else: places within it are behind a # and never asked for.
func pages(files fs.FS) http.Handler {
	types := map[string]string{pageFile: "text/html; charset=utf-8", scriptFile: "text/javascript; charset=utf-8",
		styleFile: "text/css; charset=utf-8"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = pageFile
		}
		text, err := fs.ReadFile(files, name)
		if kind := types[name]; kind != "" && err == nil {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(text) // whoever asked may be gone
			return
		}
		refuse(w, http.StatusNotFound, "there is no such file")
	})
}
