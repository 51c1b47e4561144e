package job

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/hub"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// Conversations are the rows of a data file or folder, with the tools of those that name none.
type Conversations struct {
	Path    string
	Rows    []dataset.Row
	Catalog *mcp.Catalog       // nil where there is none
	chosen  *toolset.Selection // of the catalog's tools, for rows that name none; nil: all of them
}

// ReadConversations reads a data file or a folder of them, in any form that package dataset knows, and the catalog that
// is named, or lies beside it. Rows that cannot be read are an error; or, with skip, they are told and left out.
func ReadConversations(h *host.Host, path, catalog string, skip bool) (Conversations, error) {
	d := Conversations{Path: path}
	err := RefuseCurated(path)
	if err != nil {
		return d, err
	}
	var report dataset.Report
	if d.Rows, report, err = dataset.Load([]string{path}, dataset.Options{}); err != nil {
		return d, err
	}
	if catalog = cmp.Or(catalog, catalogBeside(path)); catalog != "" {
		if d.Catalog, err = mcp.Load(catalog); err != nil {
			return d, err
		}
	}
	return d, unread(h, &report, skip)
}

// HoldOut is holdOut of the rows, once they are read for a run that begins: what it keeps of them says their splits.
func (d *Conversations) HoldOut(h *host.Host, list []scenario.Scenario) {
	rows := make([]*dataset.Row, len(d.Rows))
	for i := range d.Rows {
		rows[i] = &d.Rows[i]
	}
	holdOut(h, d.Path, rows, list)
}

// choose has rows that name no tools show those of the catalog that an episode of theirs would (mcp.max_tools). Tools
// that episodes search for stay shown, since such rows call them without a search; that is told.
func (d *Conversations) choose(h *host.Host, c config.Config) {
	unnamed := 0
	for _, r := range d.Rows {
		if len(r.Tools) == 0 && r.Shown == nil {
			unnamed++
		}
	}
	if d.Catalog == nil || unnamed == 0 {
		return
	}
	s := toolset.Select(c, nil, d.Catalog.Tools(), nil)
	switch {
	case s.UsesSearch():
		h.Say("warning: rows that name no tools (%d) show all of the catalog, "+
			"which an episode searches (mcp.search_share); rows of hone collect search too", unnamed)
	case s.Of != nil:
		h.Say("rows that name no tools (%d) show those of an episode: %s", unnamed, s.Why)
		d.chosen = &s
	}
}

// catalogBeside is the catalog that lies in a folder, beside a file, or beside what a link leads to; "" where none is.
func catalogBeside(path string) string {
	dirs := []string{path}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dirs[0] = filepath.Dir(path)
		if file, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, CatalogFile)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) { // who reads it says what is wrong
			return file
		}
	}
	return ""
}

// Lines are the rows as hone writes them, whatever form they were read from.
func (d Conversations) Lines() (text []byte, err error) {
	for i := range d.Rows {
		if text, err = d.Rows[i].AppendJSON(text); err != nil {
			return nil, err
		}
		text = append(text, '\n')
	}
	return text, nil
}

// Where is a row's place, for errors.
func Where(r *dataset.Row) string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// LintTools are the tools whose texts the rows put before the model, each once: the catalog's, and those that only rows
// list, whose server is called "data".
func (d Conversations) LintTools(rows []dataset.Row) []scan.Tool {
	known := map[string]bool{}
	text := func(t chat.Tool) string { return t.Name + "\x00" + t.Description + "\x00" + string(t.InputSchema) }
	var out []scan.Tool
	if d.Catalog != nil {
		out = d.Catalog.LintTools()
		for _, t := range d.Catalog.Tools() {
			known[text(t)] = true
		}
	}
	for _, r := range rows {
		for _, t := range r.Tools {
			if !known[text(t)] {
				known[text(t)] = true
				out = append(out, scan.Tool{Server: toolset.DataServer, Name: t.Name, Description: t.Description,
					InputSchema: t.InputSchema})
			}
		}
	}
	return out
}

// Demonstrations are the rows to learn from, each with the tools that it names or that c chooses for it. A row that
// calls what it does not list is an error: the model would learn to invent tools.
func (d *Conversations) Demonstrations(h *host.Host, c config.Config) ([]dataset.Row, error) {
	d.choose(h, c)
	var rows []dataset.Row
	held := map[string]int{}         // rows by split
	leftOut := map[string][]string{} // places by why
	for _, r := range d.Rows {
		if !r.ToLearnFrom() {
			held[r.Split]++
			continue
		}
		if why := r.WhyNoDemonstration(); why != "" {
			if r.Outcome == trajectory.Limit {
				why += " (cut by rollout.max_turns or another limit; hone collect names the key to raise)"
			}
			leftOut[why] = append(leftOut[why], Where(&r))
			continue
		}
		r, err := d.withTools(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	for _, why := range slices.Sorted(maps.Keys(leftOut)) {
		sayLeftOut(h, leftOut[why], why)
	}
	if measured, err := d.Validation(); err != nil {
		return nil, err
	} else if held["validation"] -= len(measured); held["validation"] == 0 {
		delete(held, "validation") // all are measured on, which sft says
	}
	for _, split := range slices.Sorted(maps.Keys(held)) {
		h.Say("left out %s of the split %s: what is learnt from cannot be measured on",
			fault.Count(held[split], "row"), split)
	}
	if len(rows) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation shows how it is done", Where: d.Path,
			Why:  "all were left out",
			Next: "collect more: hone collect --split train, with a model that can do the tasks"}
	}
	return rows, nil
}

// Validation are the rows of the split validation that show how it is done, each with its tools.
func (d Conversations) Validation() (rows []dataset.Row, err error) {
	for _, r := range d.Rows {
		if r.Split != "validation" || r.WhyNoDemonstration() != "" {
			continue
		}
		if r, err = d.withTools(r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// withTools is a row with the tools that it was shown.
func (d Conversations) withTools(r dataset.Row) (dataset.Row, error) {
	var tools []chat.Tool
	if d.Catalog != nil {
		tools = d.Catalog.Tools()
	}
	callable := r.Tools
	switch {
	case len(r.Tools) > 0:
	case r.Shown != nil:
		var err error
		if r.Tools, err = mcp.ShownTools(*r.Shown, d.Catalog, Where(&r)); err != nil {
			return r, err
		}
		if callable = r.Tools; len(r.Shown.Own) > 0 { // by which it found others
			callable = slices.Concat(r.Shown.Own, tools)
		}
	case d.chosen != nil:
		var err error
		if r.Tools, err = d.chosen.ForDemonstration(cmp.Or(r.ScenarioID, r.ID), r.Messages); err != nil {
			return r, err
		}
		callable = tools
	default:
		r.Tools, callable = tools, tools
	}
	if name := r.UnknownTool(callable); name != "" {
		return r, &fault.Error{
			Code:  fault.CodeUsage,
			What:  fmt.Sprintf("a conversation calls the tool %q, which it does not list", name),
			Where: Where(&r),
			Next:  `give the row its "tools", or name the catalog of its server with --catalog`,
		}
	}
	return r, nil
}

// Catalogs finds the tools of rows that name none.
type Catalogs struct {
	named  string
	beside map[string]string       // by file of rows
	found  map[string]*mcp.Catalog // by file
}

// NewCatalogs finds them in the catalog of a name, or beside each file where there is none.
func NewCatalogs(named string) Catalogs {
	return Catalogs{named, map[string]string{}, map[string]*mcp.Catalog{}}
}

// of is the catalog for a row, nil where there is none.
func (c *Catalogs) of(r *dataset.Row) (*mcp.Catalog, error) {
	file := c.named
	if file == "" {
		beside, ok := c.beside[r.File]
		if !ok {
			beside = catalogBeside(r.File)
			c.beside[r.File] = beside
		}
		if file = beside; file == "" {
			return nil, nil
		}
	}
	if known, ok := c.found[file]; ok {
		return known, nil
	}
	found, err := mcp.Load(file)
	if err == nil {
		c.found[file] = found
	}
	return found, err
}

// ToolsFor gives a row the tools that its episode was shown, or those of its catalog.
func (c *Catalogs) ToolsFor(r *dataset.Row) error {
	if len(r.Tools) > 0 {
		return nil
	}
	catalog, err := c.of(r)
	if err != nil || catalog == nil && r.Shown == nil {
		return err
	}
	if r.Shown != nil {
		r.Tools, err = mcp.ShownTools(*r.Shown, catalog, Where(r))
		r.Shown = nil // its tools stand in the row itself now
		return err
	}
	r.Tools = catalog.Tools()
	return nil
}

// RefuseCurated is an error where data was curated: its files hold all rows as they were, the rejected ones too, and
// what was done to them stands beside. Whoever reads them to learn or to hand on is to read what curating left.
func RefuseCurated(data ...string) error {
	for _, path := range data {
		for _, ledger := range ledgersOf(path) {
			text, err := os.ReadFile(ledger)
			operations := bytes.Count(text, []byte(`"do":`)) // its first line says what it is of
			if err != nil || operations == 0 {
				continue
			}
			of := strings.TrimSuffix(ledger, dataset.Curation)
			return &fault.Error{
				Code:  fault.CodeUsage,
				What:  "the data was curated, and its file holds all rows as they were",
				Where: of,
				Why:   fault.Count(operations, "operation") + " in " + ledger,
				Next: "hone curate export " + toolset.ShellWord(of) +
					" --out " + toolset.ShellWord(filepath.Join(filepath.Dir(of), "curated.jsonl")) +
					", and name that file; or move " + ledger + " away to take the rows as they were",
			}
		}
	}
	return nil
}

// ledgersOf are the files beside a file or folder, and in a folder, that what was done to its rows may stand in.
func ledgersOf(path string) []string {
	list := []string{strings.TrimRight(path, "/") + dataset.Curation}
	if file, err := filepath.EvalSymlinks(path); err == nil { // a link may stand for it
		list = append(list, file+dataset.Curation)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return list
	}
	// what cannot be read is told by who reads the rows
	_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, dataset.Curation) {
			list = append(list, file)
		}
		return nil
	})
	return list
}

// LocalData is where data is: files and folders as they are named, and data sets of the Hub, org/name or
// org/name@revision, in its cache, into which they are downloaded. A folder of such a name comes first.
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
