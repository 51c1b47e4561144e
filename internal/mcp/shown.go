package mcp

import (
	"fmt"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// ToolsShown are the tools that the episode at where was shown, which the catalog holds.
func ToolsShown(s trajectory.Shown, catalog *Catalog, where string) ([]chat.Tool, error) {
	wrong := &fault.Error{Code: fault.CodeUsage, What: "an episode was shown the tools of a catalog that is not there", Where: where,
		Next: "name the catalog.json of the run that it comes from with --catalog"}
	if catalog == nil {
		return nil, wrong
	}
	if catalog.Hash != s.Catalog {
		wrong.What, wrong.Why = "an episode was shown the tools of another catalog", fmt.Sprintf("the hash of its catalog is %s, of this one %s", s.Catalog, catalog.Hash)
		return nil, wrong
	}
	tools, err := s.Tools(catalog.Tools())
	if err != nil {
		wrong.What, wrong.Why = "an episode was shown a tool that is in no catalog", err.Error()
		return nil, wrong
	}
	return tools, nil
}
