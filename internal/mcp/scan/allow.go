package scan

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/blob"
)

// Allowed are the tools whose findings a person has read and accepts: patterns such as "calc/add", "add" (of any
// server), "calc/*" or "*", matched as in path.Match. Behind it may stand the digest of the one text that is accepted:
// "calc/add@1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d".
type Allowed []string

// UnmarshalJSON reads the list, and the true of runs that were begun when it was a switch for all tools.
func (a *Allowed) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		*a = Allowed{"*"}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// digestLen is how many hexadecimal digits of its SHA-256 name a tool's text: 128 bits. Who
// writes the text may look for two that have the same, and serve the other one later: that takes 2^64 tries.
const digestLen = 32

// Digest names what is looked at of a tool beside its name: "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d". White space of the
// schemas is no part of it, nor how their strings are escaped, which files change.
func (t Tool) Digest() string {
	parts := []string{t.Title, t.Description}
	for _, raw := range []json.RawMessage{t.InputSchema, t.OutputSchema, t.Annotations} {
		v := jsontext.Value(slices.Clone(raw))
		_ = v.Compact(jsontext.PreserveRawStrings(false)) // what is no JSON stays as it is
		parts = append(parts, string(v))
	}
	return blob.Parts(parts...).String()[:digestLen]
}

// parsePattern is a pattern's server, "*" where it names none, its tool, and the digest of the one text that it
// accepts, "" for any.
func parsePattern(pattern string) (server, tool, text string) {
	if at := len(pattern) - digestLen - 1; at > 0 && pattern[at] == '@' &&
		strings.Trim(pattern[at+1:], "0123456789abcdef") == "" {
		pattern, text = pattern[:at], pattern[at+1:]
	}
	server, tool, hasServer := strings.Cut(pattern, "/")
	if !hasServer {
		server, tool = "*", pattern
	}
	return server, tool, text
}

// names reports whether a pattern names a tool, whatever its text is.
func names(pattern, server, tool string) bool {
	of, name, _ := parsePattern(pattern)
	ofServer, err := path.Match(of, server)
	ofTool, err2 := path.Match(name, tool)
	return err == nil && err2 == nil && ofServer && ofTool
}

// covers reports whether a pattern accepts a finding.
func covers(pattern string, f Finding) bool {
	_, _, text := parsePattern(pattern)
	return names(pattern, f.Server, f.Tool) && (text == "" || text == f.Digest)
}

// Blocking returns the findings that block and are of no allowed tool.
func (a Allowed) Blocking(found []Finding) []Finding { return Blocking(a.Unread(found)) }

// Unread returns the findings, those too that block nothing, that are of no allowed tool.
func (a Allowed) Unread(found []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f Finding) bool {
		return slices.ContainsFunc(a, func(p string) bool { return covers(p, f) })
	})
}

// OutdatedPattern returns the pattern that accepts another text of a finding's tool, "" where there is none.
func (a Allowed) OutdatedPattern(f Finding) string {
	for _, p := range a {
		if names(p, f.Server, f.Tool) && !covers(p, f) {
			return p
		}
	}
	return ""
}

// AnyText returns the pattern by which alone a finding is accepted, as would be any other of its tool; "" where its
// text is named, or nobody accepts it.
func (a Allowed) AnyText(f Finding) (pattern string) {
	for _, p := range a {
		if _, _, text := parsePattern(p); covers(p, f) && text != "" {
			return ""
		} else if covers(p, f) && pattern == "" {
			pattern = p
		}
	}
	return pattern
}

// Strange returns the first pattern that names none of the tools, "" if each names one.
func (a Allowed) Strange(tools []Tool) string {
	for _, p := range a {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return names(p, t.Server, t.Name) }) {
			return p
		}
	}
	return ""
}

// Servers are those of the findings that a pattern accepts without naming a server, each once; nil where it names one.
func Servers(pattern string, found []Finding) (servers []string) {
	if strings.Contains(pattern, "/") || strings.Contains(pattern, "*") {
		return nil
	}
	for _, f := range found {
		if covers(pattern, f) && !slices.Contains(servers, f.Server) {
			servers = append(servers, f.Server)
		}
	}
	return servers
}
