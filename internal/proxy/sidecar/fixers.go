package sidecar

import (
	"fmt"

	"hone/internal/mcp"
	"hone/internal/proxy/revise"
)

// fixers are those of the tools shown at points: their schemas are read once for each list of tools.
type fixers struct {
	tools    revise.Tools
	defaults func(tool string) map[string]rawJSON // what a schema gives where an argument is left out
	known    map[string]*revise.Fixer
}

func fixersOf(c *mcp.Catalog) *fixers {
	return &fixers{revise.NewTools(c.Tools()), c.Defaults(), map[string]*revise.Fixer{}}
}

func (f *fixers) of(p *revise.Point) *revise.Fixer {
	key := fmt.Sprint(p.Tools)
	if f.known[key] == nil {
		tools, _ := f.tools.Of(p.Tools) // they were taken from the catalog
		f.known[key] = revise.NewFixer(tools)
	}
	return f.known[key]
}
