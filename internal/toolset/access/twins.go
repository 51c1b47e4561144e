package access

import (
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/data/overlap"
)

// Served is a tool with its server and the server's own name for it.
type Served struct {
	Server, Name, Description string
	InputSchema               json.RawMessage
}

// Twins groups tools of different servers that do the same, as far as their words tell: they take the same parameters,
// and either have the same name, or descriptions that are near copies (data/near) with the same numbers in them. It
// returns groups of two or more, as places in tools, each in order, and no tool in two of them.
func Twins(tools []Served) [][]int {
	texts, forms := make([]string, len(tools)), make([]string, len(tools))
	for i, t := range tools {
		texts[i] = strings.Join(words(t.Name), " ") + ": " + t.Description
		forms[i] = form(t.InputSchema)
	}
	read := overlap.Read(texts...)
	indexes := map[string]*overlap.Index{} // of those with the same parameters, since no others are twins
	placed := map[string][]int{}           // their places in tools, as the index numbers them
	members := map[int][]int{}             // by a group's first
	group := make([]int, len(tools))
	named := map[string][]int{} // by parameters and name
	for i, t := range tools {
		// joins reports whether this tool is of another server than all of a group: two tools of one server are not the
		// same.
		joins := func(j int) bool {
			return !slices.ContainsFunc(members[group[j]], func(k int) bool { return tools[k].Server == t.Server })
		}
		index := indexes[forms[i]]
		if index == nil {
			index = overlap.NewIndex(overlap.Threshold)
			indexes[forms[i]] = index
		}
		group[i] = i
		key := forms[i] + "\x00" + strings.Join(words(t.Name), "_")
		if at := slices.IndexFunc(named[key], joins); at >= 0 && forms[i] != "" {
			group[i] = group[named[key][at]]
		} else {
			for _, m := range index.Near(read[i]) {
				if j := placed[forms[i]][m.ID]; m.SameValues && joins(j) {
					group[i] = group[j]
					break
				}
			}
		}
		members[group[i]] = append(members[group[i]], i)
		named[key] = append(named[key], i)
		index.Add(read[i])
		placed[forms[i]] = append(placed[forms[i]], i)
	}
	var out [][]int
	for i := range tools {
		if len(members[i]) > 1 {
			out = append(out, members[i])
		}
	}
	return out
}

// form is the names and types of a schema's parameters, those marked that must be given; "" where there is none.
func form(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return "unreadable: " + string(schema)
	}
	var parts []string
	for name, p := range s.Properties {
		mark := ""
		if slices.Contains(s.Required, name) {
			mark = "!"
		}
		parts = append(parts, name+mark+" "+string(p.Type))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
