package mcp

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// sameAs are other hosts' names of Server's keys. They are read, for what is hidden elsewhere should be hidden here.
type sameAs struct {
	IncludeTools  []string `json:"includeTools"`
	EnabledTools  []string `json:"enabledTools"`
	DisabledTools []string `json:"disabledTools"`
	Enabled       *bool    `json:"enabled"`
}

// also adds what an entry says under other hosts' names.
func (s *Server) also(o sameAs) {
	s.Tools = slices.Concat(s.Tools, o.IncludeTools, o.EnabledTools)
	s.ExcludeTools = slices.Concat(s.ExcludeTools, o.DisabledTools)
	s.Disabled = s.Disabled || o.Enabled != nil && !*o.Enabled
}

// fits reports whether a tool's name fits a pattern, in which * stands for any text.
func fits(pattern, name string) bool {
	whole := strings.NewReplacer("/", "\x00") // which * would else not cross
	ok, _ := path.Match(whole.Replace(pattern), whole.Replace(name))
	return ok
}

// uses reports whether a tool of the server is used.
func (s Server) uses(name string) bool {
	is := func(pattern string) bool { return fits(pattern, name) }
	return (len(s.Tools) == 0 || slices.ContainsFunc(s.Tools, is)) && !slices.ContainsFunc(s.ExcludeTools, is)
}

// checkTools refuses patterns that nothing fits whatever the server has.
func (s Server) checkTools() error {
	for _, pattern := range slices.Concat(s.Tools, s.ExcludeTools) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return mistake{fmt.Sprintf("%q is no pattern of tools' names", pattern),
				`write names, in which * stands for any text: "tools": ["get_*"]`}
		}
	}
	return nil
}

// pick keeps the tools that are used.
func (s Server) pick(found *ServerTools) {
	found.Tools = slices.DeleteFunc(found.Tools, func(t Tool) bool { return !s.uses(t.Name) })
	found.Quarantined = slices.DeleteFunc(found.Quarantined, func(q Quarantined) bool { return !s.uses(q.Name) })
}

// misses is an error where a pattern fits none of what a server lists: it is a slip, or the server is another than it
// was.
func (s Server) misses(listed ServerTools) error {
	var names []string
	for _, t := range listed.Tools {
		names = append(names, t.Name)
	}
	for _, q := range listed.Quarantined {
		names = append(names, q.Name)
	}
	for _, pattern := range slices.Concat(s.Tools, s.ExcludeTools) {
		if !slices.ContainsFunc(names, func(name string) bool { return fits(pattern, name) }) {
			return mistake{fmt.Sprintf("no tool of the server is called %q", pattern),
				"name some of " + strings.Join(names, ", ") + ` in "tools" or "excludeTools" of the server`}
		}
	}
	if len(names) > 0 && !slices.ContainsFunc(names, s.uses) {
		return mistake{`"tools" and "excludeTools" leave none of its tools`, "name fewer in excludeTools"}
	}
	return nil
}
