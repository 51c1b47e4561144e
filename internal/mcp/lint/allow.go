package lint

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Allowed are the tools whose findings a person has read and accepts: patterns such as "calc/add", "add" (of any server),
// "calc/*" or "*", matched as in path.Match.
type Allowed []string

// UnmarshalJSON reads the list, and the true of runs that were begun when it was a switch for all tools.
func (a *Allowed) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		*a = Allowed{"*"}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// covers reports whether a pattern names a tool.
func covers(pattern, server, tool string) bool {
	of, name, hasServer := strings.Cut(pattern, "/")
	if !hasServer {
		of, name = "*", pattern
	}
	ofServer, err := path.Match(of, server)
	ofTool, err2 := path.Match(name, tool)
	return err == nil && err2 == nil && ofServer && ofTool
}

// Refused returns the findings that block and are of no allowed tool.
func (a Allowed) Refused(found []Finding) []Finding {
	return slices.DeleteFunc(Blocking(found), func(f Finding) bool {
		return slices.ContainsFunc(a, func(p string) bool { return covers(p, f.Server, f.Tool) })
	})
}

// Strange returns the first pattern that names none of the tools, "" if each names one.
func (a Allowed) Strange(tools []Tool) string {
	for _, p := range a {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return covers(p, t.Server, t.Name) }) {
			return p
		}
	}
	return ""
}
