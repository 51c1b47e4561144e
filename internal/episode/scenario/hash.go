package scenario

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/blob"
)

// Hash names what a scenario asks, from which state, and how it is judged: the SHA-256 of all but its id, split, tags,
// difficulty and provenance, in RFC 8785's form. The same scenario in another file, or moved to another split, has the
// same hash.
func (s *Scenario) Hash() string {
	same := *s
	same.ID, same.Split, same.Tags, same.Difficulty, same.Provenance = "", "", nil, "", nil
	same.Template, same.Checks = maps.Clone(s.Template), slices.Clone(s.Checks)
	for server, folder := range same.Template { // wherever the file is
		same.Template[server] = filepath.Base(folder)
	}
	for i, c := range same.Checks {
		if c.Type == CommandCheck && len(c.Command) > 0 {
			same.Checks[i].Command = append([]string{filepath.Base(c.Command[0])}, c.Command[1:]...)
		}
	}
	text, err := json.Marshal(same)
	if err != nil { // arguments that are no JSON, which Validate refuses
		text = []byte(s.wording())
	}
	if form := jsontext.Value(text); form.Canonicalize() == nil {
		text = form
	}
	return blob.Of(text).String()
}
