package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/blob"
	"hone/internal/fault"
)

// row is one scenario as it stands in a file.
type row struct {
	line int // of its first byte, from 1
	raw  []byte
}

// Load reads a .json array or a .jsonl file of scenarios; [{"task": "..."}] is enough. Missing ids are made from a hash
// of the opening, missing splits as AssignSplits says, and paths are made absolute. Its error is a *fault.Error with
// exit code 2 that lists every broken row as file:line.
func Load(path string) ([]Scenario, error) {
	scenarios, _, err := LoadLines(path)
	if err == nil {
		AssignSplits(scenarios)
	}
	return scenarios, err
}

// Bad is a row that cannot be used.
type Bad struct {
	Line int // from 1
	Why  string
}

// LoadGood is LoadLines for who can do without the rows that cannot be read: these are bad. A file without one good row
// is an error.
func LoadGood(path string) (scenarios []Scenario, lines []int, bad []Bad, err error) {
	scenarios, lines, bad, err = read(path, func(s *Scenario) error { return s.locate(filepath.Dir(path)) })
	if err == nil && len(scenarios) == 0 {
		err = Unusable(path, bad)
	}
	return scenarios, lines, bad, err
}

// LoadCopy reads what Save has written of loaded scenarios, whose paths lead to where they led then.
func LoadCopy(path string) ([]Scenario, error) {
	scenarios, _, err := load(path, nil)
	if err == nil {
		AssignSplits(scenarios)
	}
	return scenarios, err
}

// LoadRows reads scenarios with nothing added but ids, to be written again.
func LoadRows(path string) ([]Scenario, error) {
	scenarios, _, err := load(path, nil)
	return scenarios, err
}

// LoadLines is Load without the splits, and with the line of each scenario, from 1.
func LoadLines(path string) (scenarios []Scenario, lines []int, err error) {
	return load(path, func(s *Scenario) error { return s.locate(filepath.Dir(path)) })
}

// load reads a file; each row is held against also, where that is given.
func load(path string, also func(*Scenario) error) (scenarios []Scenario, lines []int, err error) {
	scenarios, lines, bad, err := read(path, also)
	if err == nil && (len(bad) > 0 || len(scenarios) == 0) {
		return nil, nil, Unusable(path, bad)
	}
	return scenarios, lines, err
}

// Unusable is the error that names the bad rows of a file; without any the file is empty.
func Unusable(path string, bad []Bad) error {
	if len(bad) == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "the scenarios are empty", Where: path,
			Next: `add at least one row: {"task": "..."}`}
	}
	where, why := fmt.Sprintf("%s:%d", path, bad[0].Line), bad[0].Why
	if len(bad) > 1 { // of which each has its place
		var list []string
		for _, b := range bad {
			list = append(list, fmt.Sprintf("%s:%d: %s", path, b.Line, b.Why))
		}
		where, why = path, strings.Join(list, "\n    ")
	}
	return &fault.Error{Code: fault.CodeUsage, What: fault.Count(len(bad), "broken row") + " in the scenarios",
		Where: where, Why: why,
		Next: "correct these rows; the keys of a row are " + strings.Join(keysOf(reflect.TypeFor[Scenario]()), ", ")}
}

// read reads a file's rows, and tells the bad ones apart, in the order of their lines.
func read(path string, also func(*Scenario) error) (scenarios []Scenario, lines []int, bad []Bad, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the scenarios",
			Where: path, Err: err, Next: "give a .json array or a .jsonl file of scenarios"}
	}
	jsonl := strings.HasSuffix(path, ".jsonl")
	if jsonl && bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, bom)), []byte("[")) {
		return nil, nil, nil, &fault.Error{Code: fault.CodeUsage, What: "the scenarios are no JSON lines", Where: path,
			Why:  "the file is one JSON array; a .jsonl file has one object a line",
			Next: "name it " + strings.TrimSuffix(path, "l")}
	}
	all, at, bad := parse(data, jsonl)
	for i := range all {
		if also != nil {
			if err := also(&all[i]); err != nil {
				bad = append(bad, Bad{at[i], err.Error()})
				continue
			}
		}
		scenarios, lines = append(scenarios, all[i]), append(lines, at[i])
	}
	sort.SliceStable(bad, func(i, j int) bool { return bad[i].Line < bad[j].Line })
	return scenarios, lines, bad, nil
}

// bom is what some editors begin a file of UTF-8 with.
var bom = []byte("\ufeff")

// parse returns the scenarios, the line of each, and the rows that are none.
func parse(data []byte, jsonl bool) (scenarios []Scenario, at []int, broken []Bad) {
	data = bytes.TrimPrefix(data, bom)
	read := arrayRows
	if jsonl {
		read = lineRows
	}
	rows, cut := read(data)
	first := map[string]int{} // line of each id
	var unnamed []int
	for _, r := range rows {
		s, err := parseRow(r.raw)
		if err == nil && s.ID != "" && first[s.ID] != 0 {
			err = fmt.Errorf("id %q is taken by the row at line %d", s.ID, first[s.ID])
		}
		if err != nil {
			broken = append(broken, Bad{r.line, err.Error()})
			continue
		}
		if s.ID == "" {
			unnamed = append(unnamed, len(scenarios))
		} else {
			first[s.ID] = r.line
		}
		scenarios, at = append(scenarios, s), append(at, r.line)
	}
	// Given ids come first, so that a made one never takes the name of a row further down.
	for _, i := range unnamed {
		base := nameOf(scenarios[i].wording())
		id := base
		for n := 2; first[id] != 0; n++ {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		scenarios[i].ID, first[id] = id, at[i]
	}
	if cut != nil {
		broken = append(broken, *cut)
	}
	return scenarios, at, broken
}

// nameOf names a scenario by its wording: the same file gives the same ids whatever else it holds.
func nameOf(wording string) string {
	return "s-" + blob.Of(wording).String()[:12]
}

func lineRows(data []byte) (rows []row, cut *Bad) {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			rows = append(rows, row{i + 1, line})
		}
	}
	return rows, nil
}

// arrayRows cuts a JSON array into its elements. Where the text stops being JSON the rest cannot be cut, so cut says
// where and why.
func arrayRows(data []byte) (rows []row, cut *Bad) {
	lineAt := func(offset int64) int { return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n")) }
	// Repeated keys are parseRow's to report, as one broken row instead of the end of the file.
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	fail := func(err error) *Bad {
		offset := d.InputOffset()
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			offset = syntax.ByteOffset
		}
		return &Bad{lineAt(offset), fmt.Sprintf("the file is not a JSON array from here on: %v", err)}
	}
	open, err := d.ReadToken()
	if err == nil && open.Kind() != '[' {
		err = errors.New("it does not begin with [ (one object a line needs the ending .jsonl)")
	}
	if err != nil {
		return nil, fail(err)
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return rows, fail(err)
		}
		rows = append(rows, row{lineAt(d.InputOffset() - int64(len(value))), bytes.Clone(value)})
	}
	if _, err := d.ReadToken(); err != nil {
		return rows, fail(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return rows, fail(errors.New("there is text after the array"))
	}
	return rows, nil
}

func parseRow(raw []byte) (Scenario, error) {
	if err := checkKeys(raw); err != nil {
		return Scenario{}, err
	}
	var s Scenario
	if err := json.Unmarshal(raw, &s); err != nil {
		return Scenario{}, fault.JSON(err)
	}
	return s, s.Validate()
}

// Save writes scenarios so that path holds the old or the new file and never half of one: JSON lines where path ends
// in .jsonl, else an array with one scenario a line.
func Save(path string, scenarios []Scenario) (err error) {
	defer func() {
		if err != nil {
			err = &fault.Error{Code: fault.CodeError, What: "cannot write the scenarios", Where: path, Err: err,
				Next: "name a file in a folder that can be written"}
		}
	}()
	data, err := Encode(scenarios, strings.HasSuffix(path, ".jsonl"))
	if err != nil {
		return err
	}
	return blob.Write(path, data, 0o644)
}

// Encode writes scenarios as Save does: JSON lines, or an array with one scenario a line.
func Encode(scenarios []Scenario, lines bool) ([]byte, error) {
	var b bytes.Buffer
	if !lines {
		b.WriteString("[\n")
	}
	for i, s := range scenarios {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
		b.Write(bytes.TrimRight(text.Bytes(), "\n"))
		if !lines && i < len(scenarios)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	if !lines {
		b.WriteString("]\n")
	}
	return b.Bytes(), nil
}
