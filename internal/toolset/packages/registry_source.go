package packages

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/fault"
)

// Source is where a list is: a URL of one of the APIs, or a file or folder.
type Source struct {
	Name string // as it was asked for
	form form
	url  string // of the list; "" for a path
	path string
}

// form is an API of lists.
type form string

const (
	formOfficial form = "official"
	formSmithery form = "smithery"
	formGlama    form = "glama"
)

// usual is where an API's own list is.
func usual(f form) string {
	return map[form]string{
		formOfficial: "https://registry.modelcontextprotocol.io",
		formSmithery: "https://api.smithery.ai/servers",
		formGlama:    "https://glama.ai/api/mcp/v1/servers",
	}[f]
}

// ParseSource reads what a user calls a list: official, smithery or glama; one of these with a URL of the same API, as
// smithery=https://...; a URL of the official API; else a file or a folder. "" is official.
func ParseSource(text string) (Source, error) {
	s := Source{Name: text, form: formOfficial}
	name, at, joined := strings.Cut(text, "=")
	known := slices.Contains([]form{formOfficial, formSmithery, formGlama}, form(name))
	switch {
	case text == "":
		s.Name, s.url = string(formOfficial), usual(formOfficial)
	case known && !joined:
		s.form, s.url = form(name), usual(form(name))
	case known:
		s.form, s.url = form(name), at
	case strings.Contains(text, "://"):
		s.url = text
	default:
		s.path = text
		if _, err := os.Stat(text); err != nil {
			return s, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no list of servers %q", text),
				Where: "--registry", Err: err,
				Next: "name official, smithery, glama, a URL, or a file or folder with entries"}
		}
		return s, nil
	}
	if why := badURL(s.url); why != "" {
		return s, &fault.Error{Code: fault.CodeUsage, What: "the registry cannot be used", Where: "--registry",
			Why: why, Next: "write an https URL"}
	}
	s.url = strings.TrimSuffix(s.url, "/")
	return s, nil
}

// Key is the variable that a key for the list may be given in; "" where it takes none.
func (s Source) Key() string {
	return map[form]string{formSmithery: "SMITHERY_API_KEY", formGlama: "GLAMA_API_KEY"}[s.form]
}

// Bounds of files: a folder of entries may be anyone's.
const (
	mostFile  = 16 << 20
	mostFiles = 20_000
)

// files reads a file, or every .json file of a folder and those below it. A file that is no list is skipped with the
// reason.
func (s Source) files() (p Page, err error) {
	n := 0
	err = filepath.WalkDir(s.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		if path != s.path && filepath.Ext(path) != ".json" {
			return nil
		}
		if n++; n > mostFiles {
			return fmt.Errorf("there are more than %d files", mostFiles)
		}
		one, err := readFile(path, s.Name)
		if err != nil {
			p.Skipped = append(p.Skipped, fmt.Sprintf("%s: %v", path, err))
			return nil
		}
		p.Entries, p.Skipped = append(p.Entries, one.Entries...), append(p.Skipped, one.Skipped...)
		return nil
	})
	if err != nil {
		err = &fault.Error{Code: fault.CodeUsage, What: "cannot read the list of servers", Where: s.path, Err: err,
			Next: "name a file or a folder with entries"}
	}
	return p, err
}

func readFile(path, from string) (Page, error) {
	f, err := os.Open(path)
	if err != nil {
		return Page{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err == nil && len(data) > mostFile {
		err = errors.New("it is larger than 16 MiB")
	}
	if err != nil {
		return Page{}, err
	}
	return DecodeFile(data, from)
}

// matches reports whether an entry holds every word of a query in its name, title or description.
func (e Entry) matches(query string) bool {
	text := strings.ToLower(e.Name + " " + e.Title + " " + e.Description)
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
