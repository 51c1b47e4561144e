package sidecar

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/proxy/revise"
)

// Files of a data folder.
const (
	RowsFile     = "rows.jsonl"
	PointsFile   = "points.jsonl"
	StatsFile    = "stats.json"
	UpstreamFile = "upstream.jsonl" // conversations of the training points, for hone sft: what makes an upstream
)

// data is a folder that make-data wrote.
type data struct {
	catalog *mcp.Catalog
	rows    []revise.Row
}

// environment is one of the rows; kind says what the policy is shown.
func (d data) environment(rows []revise.Row) *revise.Environment {
	v := &revise.Environment{Rows: map[string]*revise.Row{}, Tools: revise.NewTools(d.catalog.Tools()),
		Defaults: d.catalog.Defaults()}
	for i := range rows {
		v.Rows[rows[i].ID] = &rows[i]
	}
	return v
}

// readData reads a folder of make-data.
func readData(folder string) (d data, err error) {
	if d.catalog, err = mcp.Load(filepath.Join(folder, job.CatalogFile)); err != nil {
		return d, err
	}
	d.rows, err = readLines(filepath.Join(folder, RowsFile), revise.ReadRow)
	if err == nil && len(d.rows) == 0 {
		err = &fault.Error{Code: fault.CodeUsage, What: "there are no rows", Where: filepath.Join(folder, RowsFile),
			Next: "hone sidecar make-data makes such"}
	}
	return d, err
}

// readLines reads a file of JSON lines.
func readLines[T any](path string, read func([]byte) (T, error)) (all []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the data", Where: path, Err: err,
			Next: "hone sidecar make-data --out FOLDER makes it"}
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		one, err := read(lines.Bytes())
		if err != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "a line cannot be read",
				Where: fmt.Sprintf("%s:%d", path, n), Err: err, Next: "make the file again, or remove the line"}
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func readJSON[T any](line []byte) (one T, err error) {
	err = json.Unmarshal(line, &one)
	return one, err
}

// writeLines replaces a file by one line of JSON for each.
func writeLines[T any](path string, all []T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, one := range all {
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	return job.WriteFile(path, b.Bytes())
}
