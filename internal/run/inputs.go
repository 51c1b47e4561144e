package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hone/internal/blob"
	"hone/internal/fault"
)

// Keys that version.json has beside what the verb says of itself.
const (
	sumsKey  = "files" // name -> SHA-256 of config.resolved.yaml and the inputs, as the run goes on with them
	editsKey = "edits" // what was accepted since it began
)

// edit is a file that was changed while a run was stopped, and taken as it was then.
type edit struct {
	File     string    `json:"file"`
	From     string    `json:"from"` // SHA-256
	To       string    `json:"to"`
	Accepted time.Time `json:"accepted"`
}

// versionText is version.json: the keys of version, and the sums.
func versionText(version any, sums map[string]string) ([]byte, error) {
	text, err := json.Marshal(version)
	if err != nil {
		return nil, err
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, fmt.Errorf("what is told of the version is no JSON object: %w", err)
	}
	if keys == nil {
		keys = map[string]json.RawMessage{}
	}
	return encodeVersion(keys, sums, nil), nil
}

// encodeVersion is version.json again. Texts and times always encode.
func encodeVersion(keys map[string]json.RawMessage, sums map[string]string, edits []edit) []byte {
	keys[sumsKey], _ = json.Marshal(sums)
	if len(edits) > 0 {
		keys[editsKey], _ = json.Marshal(edits)
	}
	text, _ := json.MarshalIndent(keys, "", "  ")
	return append(text, '\n')
}

// readVersion reads version.json: its keys, the sums among them, and the edits that were accepted.
func readVersion(path string) (keys map[string]json.RawMessage, sums map[string]string, edits []edit, err error) {
	name := filepath.Join(path, versionFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, nil, storageError("cannot open the run", path, err)
	}
	keys, sums = map[string]json.RawMessage{}, map[string]string{}
	err = json.Unmarshal(text, &keys)
	for key, value := range map[string]any{sumsKey: &sums, editsKey: &edits} {
		if raw := keys[key]; err == nil && raw != nil {
			err = json.Unmarshal(raw, value)
		}
	}
	if err != nil {
		return nil, nil, nil, &fault.Error{Code: fault.CodeUsage, What: "the run's version.json is damaged",
			Where: name, Err: fault.JSON(err), Next: "put it back as it was"}
	}
	return keys, sums, edits, nil
}

// AddInput keeps an input that is made once the run has begun, as those of its beginning are kept: a run whose input
// was edited since does not go on. The same input given again changes nothing.
func (d *Dir) AddInput(in Input) error {
	keys, sums, edits, err := readVersion(d.Path)
	if err != nil {
		return err
	}
	sum := blob.Of(in.Data).String()
	if sums[in.Name] == sum {
		return nil
	}
	sums[in.Name] = sum
	err = writeFileSync(filepath.Join(d.Path, in.Name), in.Data) // before its sum: a run without it makes it again
	if err == nil {
		err = writeFileSync(filepath.Join(d.Path, versionFile), encodeVersion(keys, sums, edits))
	}
	return storageError("cannot keep an input of the run", filepath.Join(d.Path, in.Name), err)
}

// checkInputs refuses a run whose configuration or inputs are not those it began with. Where accept is set it takes
// them, keeps their new sums in version.json, and says so.
func checkInputs(path string, accept bool) (notes []string, err error) {
	name := filepath.Join(path, versionFile)
	keys, sums, edits, err := readVersion(path)
	if err != nil {
		return nil, err
	}
	var changed []edit
	for _, file := range slices.Sorted(maps.Keys(sums)) {
		data, err := os.ReadFile(filepath.Join(path, file))
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || accept) {
			return nil, storageError("cannot read what the run began with", filepath.Join(path, file), err)
		}
		if now := blob.Of(data).String(); err != nil || now != sums[file] {
			changed = append(changed,
				edit{File: file, From: sums[file], To: now, Accepted: time.Now().UTC().Truncate(time.Second)})
			sums[file] = now
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if !accept {
		return nil, editFile(path, changed)
	}
	err = writeFileSync(name, encodeVersion(keys, sums, append(edits, changed...)))
	for _, e := range changed {
		notes = append(notes,
			fmt.Sprintf("%s was edited since the run began, and is taken as it is now; version.json says so", e.File))
	}
	return notes, storageError("cannot keep what was accepted", name, err)
}

func editFile(path string, changed []edit) error {
	var why []string
	for _, e := range changed {
		why = append(why, fmt.Sprintf("%s had SHA-256 %.12s, now %.12s", e.File, e.From, e.To))
	}
	return &fault.Error{
		Code:  fault.CodeUsage,
		What:  "cannot go on: files of the run were edited since it began",
		Where: filepath.Join(path, changed[0].File),
		Why:   strings.Join(why, "; ") + "; what comes would not be of one experiment with what there is",
		Next: "put them back as they were; or hone runs resume " + Name(path) +
			" --accept-edits takes them as they are",
	}
}
