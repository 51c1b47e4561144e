package main

import (
	"fmt"

	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/mcp/lint"
)

// findingsOf looks for texts in a catalog that could steer a model by the back door.
func findingsOf(catalog *mcp.Catalog) []lint.Finding {
	found := catalog.Suspicious()
	if found == nil {
		found = []lint.Finding{} // [] in JSON
	}
	return found
}

// sayFindings shows each finding on a line of talk.
func (a *app) sayFindings(found []lint.Finding) {
	if len(found) > 0 {
		a.say("suspicious texts, which a model would learn to obey: %s", lint.Summary(found))
	}
	for _, f := range found {
		a.say("  %s", f)
	}
}

// refuseFindings keeps a run from training on a catalog with findings that nobody has accepted; allow is
// --allow-findings. It shows them either way.
func (a *app) refuseFindings(catalog *mcp.Catalog, allow bool) error {
	found := findingsOf(catalog)
	a.sayFindings(found)
	blocking := lint.Blocking(found)
	if len(blocking) == 0 || allow {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the tools hold texts that could steer the model, and training would teach it to obey them",
		Where: fmt.Sprintf("%s/%s%s", blocking[0].Server, blocking[0].Tool, blocking[0].Pointer), Why: lint.Summary(blocking),
		Next: "read them above; leave the server out, or give --allow-findings to train on them as they are"}
}
