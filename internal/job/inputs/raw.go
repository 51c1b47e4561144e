package inputs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/data/formats"
	"hone/internal/fault"
	"hone/internal/toolset"
)

// Uncurated is an error where data was curated: its files hold all rows as they were, the rejected ones too, and what was
// done to them stands beside. Whoever reads them to learn or to hand on is to read what curating left.
func Uncurated(data ...string) error {
	for _, path := range data {
		for _, ledger := range ledgersOf(path) {
			text, err := os.ReadFile(ledger)
			operations := bytes.Count(text, []byte(`"do":`)) // its first line says what it is of
			if err != nil || operations == 0 {
				continue
			}
			of := strings.TrimSuffix(ledger, formats.Curation)
			return &fault.Error{Code: fault.CodeUsage, What: "the data was curated, and its file holds all rows as they were", Where: of,
				Why:  fault.Count(operations, "operation") + " in " + ledger,
				Next: "hone curate export " + toolset.ShellWord(of) + " --out " + toolset.ShellWord(filepath.Join(filepath.Dir(of), "curated.jsonl")) + ", and name that file; or move " + ledger + " away to take the rows as they were"}
		}
	}
	return nil
}

// ledgersOf are the files beside a file or folder, and in a folder, that what was done to its rows may stand in.
func ledgersOf(path string) []string {
	list := []string{strings.TrimRight(path, "/") + formats.Curation}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return list
	}
	_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error { // what cannot be read is told by who reads the rows
		if err == nil && !d.IsDir() && strings.HasSuffix(file, formats.Curation) {
			list = append(list, file)
		}
		return nil
	})
	return list
}
