package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/blob"
	"hone/internal/fault"
)

// What a run began with is what it goes on with, unless the user says that the edits are meant.
func TestEditedInputs(t *testing.T) {
	for _, file := range []string{configFile, "scenarios.json"} {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			d, err := Create(path, []byte("seed: 7\n"), map[string]string{"verb": "train"},
				Input{"scenarios.json", []byte("[]")})
			must(t, err)
			must(t, d.Close())
			d, err = Open(path, OpenOptions{})
			must(t, err)
			must(t, d.Close())

			must(t, os.WriteFile(filepath.Join(path, file), []byte("seed: 8\n"), 0o600))
			_, err = Open(path, OpenOptions{})
			if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), file+" had SHA-256 ") ||
				!strings.Contains(err.Error(), "--accept-edits") {
				t.Fatalf("an edited %s: %v", file, err)
			}
			d, err = Open(path, OpenOptions{AcceptEdits: true})
			must(t, err)
			must(t, d.Close())
			if len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], file+" was edited") {
				t.Errorf("notes %q", d.Notes)
			}
			var v struct {
				Verb  string
				Edits []edit
			}
			must(t, json.Unmarshal([]byte(read(t, filepath.Join(path, versionFile))), &v))
			if v.Verb != "train" || len(v.Edits) != 1 || v.Edits[0].File != file ||
				v.Edits[0].To != blob.Of("seed: 8\n").String() {
				t.Errorf("version.json: %+v", v)
			}
			d, err = Open(path, OpenOptions{})
			must(t, err)
			must(t, d.Close())
			if d.Notes != nil {
				t.Errorf("accepted edits are told again: %q", d.Notes)
			}

			must(t, os.Remove(filepath.Join(path, file)))
			for _, accept := range []bool{false, true} { // what is gone cannot be taken
				if d, err := Open(path, OpenOptions{AcceptEdits: accept}); err == nil {
					d.Close()
					t.Errorf("%s is gone, accept %v: the run went on", file, accept)
				}
			}
		})
	}
}

// An input that is made later is kept as those of the beginning are: who edits it is told of.
func TestInputMadeLater(t *testing.T) {
	d := create(t)
	for range 2 {
		must(t, d.AddInput(Input{Name: "tasks.json", Data: []byte("[]")}))
	}
	must(t, d.Close())
	again, err := Open(d.Path, OpenOptions{})
	must(t, err)
	must(t, again.Close())
	must(t, os.WriteFile(filepath.Join(d.Path, "tasks.json"), []byte("[1]"), 0o600))
	if _, err := Open(d.Path, OpenOptions{}); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(fmt.Sprint(err), "tasks.json had SHA-256 ") {
		t.Errorf("edited: %v", err)
	}
}
