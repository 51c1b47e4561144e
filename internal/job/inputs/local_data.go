package inputs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/hub"
)

// LocalData is where data is: files and folders as they are named, and data sets of the Hub, org/name or org/name@revision, in its cache, into which
// they are downloaded. A folder of such a name comes first.
func LocalData(h *host.Host, names ...string) ([]string, error) {
	out := slices.Clone(names)
	for i, name := range names {
		repo, ok := hub.Parse(hub.Dataset, name)
		if _, err := os.Stat(name); err == nil || !ok {
			continue
		}
		dir, _, err := h.FromHub(repo, DataFiles())
		if f, ok := errors.AsType[*fault.Error](err); ok {
			f.What = fmt.Sprintf("no file or folder %s is here; as a data set of the Hub: %s", name, f.What)
		}
		if err != nil {
			return nil, err
		}
		out[i] = dir
	}
	return out, nil
}

// DataFiles are those of a data set's repository that hold rows, and what is said of them.
func DataFiles() hub.Selection {
	return hub.Selection{Keep: func(file string) bool {
		switch path.Ext(strings.TrimSuffix(file, ".gz")) {
		case ".parquet", ".jsonl", ".ndjson", ".json":
			return true
		}
		return file == "README.md"
	}}
}
