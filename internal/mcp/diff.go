package mcp

import (
	"fmt"
	"sort"
	"strings"
)

// Kinds of a Change.
const (
	ToolAdded   = "added"
	ToolRemoved = "removed"
	ToolChanged = "changed"
)

// Change is what happened to one tool between two catalogs.
type Change struct {
	Server string   `json:"server"`
	Tool   string   `json:"tool"` // the server's name
	Kind   string   `json:"kind"`
	Fields []string `json:"fields,omitempty"` // of a changed tool: which of its parts differ
}

func (c Change) String() string {
	text := fmt.Sprintf("%s: %s %s", c.Server, c.Kind, c.Tool)
	if len(c.Fields) > 0 {
		text += " (" + strings.Join(c.Fields, ", ") + ")"
	}
	return text
}

// Diff returns what differs between two catalogs, sorted by server and tool. A nil catalog has no tools.
func Diff(old, new *Catalog) []Change {
	before, after := old.byServer(), new.byServer()
	var changes []Change
	for _, name := range keysInOrder(before) {
		changes = append(changes, diffTools(name, before[name], after[name])...)
	}
	for _, name := range keysInOrder(after) {
		if _, known := before[name]; !known {
			changes = append(changes, diffTools(name, nil, after[name])...)
		}
	}
	sort.Slice(changes, func(i, j int) bool {
		a, b := changes[i], changes[j]
		return a.Server+"\x00"+a.Tool < b.Server+"\x00"+b.Tool
	})
	return changes
}

func (c *Catalog) byServer() map[string][]Tool {
	all := map[string][]Tool{}
	if c != nil {
		for _, s := range c.Servers {
			all[s.Name] = s.Tools
		}
	}
	return all
}

func diffTools(server string, before, after []Tool) (changes []Change) {
	now := map[string]Tool{}
	for _, t := range after {
		now[t.Name] = t
	}
	for _, was := range before {
		is, there := now[was.Name]
		delete(now, was.Name)
		if !there {
			changes = append(changes, Change{Server: server, Tool: was.Name, Kind: ToolRemoved})
		} else if fields := diffFields(was, is); len(fields) > 0 {
			changes = append(changes, Change{Server: server, Tool: was.Name, Kind: ToolChanged, Fields: fields})
		}
	}
	for name := range now {
		changes = append(changes, Change{Server: server, Tool: name, Kind: ToolAdded})
	}
	return changes
}

func diffFields(a, b Tool) (fields []string) {
	for _, f := range []struct {
		name  string
		equal bool
	}{
		{"description", a.Description == b.Description},
		{"inputSchema", string(a.InputSchema) == string(b.InputSchema)},
		{"outputSchema", string(a.OutputSchema) == string(b.OutputSchema)},
		{"annotations", string(a.Annotations) == string(b.Annotations)},
		{"model name", a.ModelName == b.ModelName || b.ModelName == ""}, // a list just read has none yet
	} {
		if !f.equal {
			fields = append(fields, f.name)
		}
	}
	return fields
}
