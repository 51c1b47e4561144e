package inputs

import (
	"path/filepath"

	"hone/internal/data/dataset"
	"hone/internal/mcp"
)

// Catalogs finds the tools of rows that name none.
type Catalogs struct {
	named string
	found map[string]*mcp.Catalog // by folder
}

// NewCatalogs finds them in the catalog of a name, or beside each file where there is none.
func NewCatalogs(named string) Catalogs { return Catalogs{named, map[string]*mcp.Catalog{}} }

// of is the catalog for a row, nil where there is none.
func (c *Catalogs) of(r *dataset.Row) (*mcp.Catalog, error) {
	dir := filepath.Dir(r.File)
	if c.named != "" {
		dir = ""
	}
	if known, ok := c.found[dir]; ok {
		return known, nil
	}
	found, err := catalogBeside(r.File, c.named)
	if err == nil {
		c.found[dir] = found
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
		r.Tools, err = mcp.ToolsShown(*r.Shown, catalog, Where(r))
		r.Shown = nil // its tools stand in the row itself now
		return err
	}
	r.Tools = catalog.Tools()
	return nil
}
