package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"hone/internal/atomicfile"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Write writes the page to dir, and its numbers, which it returns, beside it; a file is replaced whole.
func (p Page) Write(dir string) (Numbers, error) {
	n := p.Numbers()
	var page bytes.Buffer
	if err := p.WriteHTML(&page, n); err != nil {
		return n, err
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return n, err
	}
	if err := replace(filepath.Join(dir, ResultsFile), text); err != nil {
		return n, err
	}
	return n, replace(filepath.Join(dir, HTMLFile), page.Bytes())
}

func replace(path string, text []byte) error {
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot write the report", Where: path, Err: err,
			Next: "make room there, then hone runs report"}
	}
	return nil
}

// WriteHTML writes the page of its numbers. It loads nothing, and its policy forbids it to: of scripts and styles it
// takes only its own, by their hashes. Whatever servers and models wrote is text in it, and nothing of it is hidden.
func (p Page) WriteHTML(w io.Writer, n Numbers) error {
	t, err := template.New("page").Funcs(template.FuncMap{"number": number,
		"count": func(n int) string { return fault.Count(n, "scenario") }}).Parse(pageHTML)
	if err != nil {
		return err
	}
	var page strings.Builder
	if err := t.Execute(&page, p.draw(n)); err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot make the report", Err: err}
	}
	_, err = io.WriteString(w, sanitize.Text(page.String()))
	return err
}

// policy is the page's content security policy (https://www.w3.org/TR/CSP3/).
func policy() string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + source(pageCSS) + "; script-src " +
		source(pageJS)
}

func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// The files of this package that stand in the page as they are. Their bytes are those that the policy names.
func style() template.HTML  { return template.HTML("<style>" + pageCSS + "</style>") }
func script() template.HTML { return template.HTML("<script>" + pageJS + "</script>") }
