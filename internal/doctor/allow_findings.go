package doctor

import (
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// checkAllowFindings is a line for each entry of mcp.allow_findings that names no tool of the servers, and for each
// that accepts whatever its tools say. Of a server that does not answer nothing is known, nor of tools that rows of
// data list.
func checkAllowFindings(c config.MCP, reports []mcp.Report) (checks []Check) {
	all := &mcp.Catalog{}
	failed := false
	for _, r := range reports {
		if failed = failed || r.Err != nil; r.Err == nil {
			all.Servers = append(all.Servers, r.Tools)
		}
	}
	tools, found := all.LintTools(), scan.Blocking(all.Suspicious())
	warn := func(what, next string) {
		checks = append(checks, Check{Name: "mcp.allow_findings", Status: Warn, Detail: what, Next: next})
	}
	for _, entry := range c.AllowFindings {
		if scan.Allowed.Strange([]string{entry}, tools) != "" {
			if !failed && !strings.HasPrefix(entry, toolset.DataServer+"/") {
				warn(entry+" names no tool of these servers",
					"correct the name, or take it out: it would accept such a tool of a server that is added later")
			}
			continue
		}
		var texts []string
		stale := false
		for _, f := range found {
			name := f.Server + "/" + f.Tool + "@" + f.Digest
			stale = stale || scan.Allowed.OutdatedPattern([]string{entry}, f) != ""
			if scan.Allowed.AnyText([]string{entry}, f) != "" && !slices.Contains(texts, name) {
				texts = append(texts, name)
			}
		}
		if stale {
			warn(entry+" accepts a text that its tool has no more",
				"hone discover shows the text; write the digest that it names, or take the entry out")
		}
		if len(texts) > 0 {
			warn(entry+" accepts whatever these tools come to say",
				"to accept what they say now alone, write "+strings.Join(texts, ", "))
		}
	}
	return checks
}
