package trajectory

import (
	"bytes"
	"fmt"
	"slices"

	"hone/internal/chat"
)

// Shown says in few bytes which tools an episode was shown. The catalog of its run holds most of them whole.
type Shown struct {
	Catalog string `json:"catalog"` // hash of the catalog
	// first those that the catalog does not have, as hone's search for tools
	Own   []chat.Tool `json:"own,omitempty"`
	All   bool        `json:"all,omitempty"`   // then all of the catalog, in its order
	Names []string    `json:"names,omitempty"` // or these of it
}

// DescribeTools describes tools by a catalog with this hash and these tools.
func DescribeTools(tools, catalog []chat.Tool, hash string) Shown {
	s := Shown{Catalog: hash}
	rest := slices.IndexFunc(tools, func(t chat.Tool) bool {
		return slices.ContainsFunc(catalog, func(c chat.Tool) bool { return same(t, c) })
	})
	if rest < 0 {
		rest = len(tools)
	}
	s.Own = tools[:rest]
	for _, t := range tools[rest:] {
		s.Names = append(s.Names, t.Name)
	}
	if slices.EqualFunc(tools[rest:], catalog, same) {
		s.All, s.Names = true, nil
	}
	if back, err := s.Tools(catalog); err != nil || !slices.EqualFunc(back, tools, same) {
		return Shown{Catalog: hash, Own: tools} // in an order of their own
	}
	return s
}

// Tools are the tools that were shown. Its error names one that the catalog does not have.
func (s Shown) Tools(catalog []chat.Tool) ([]chat.Tool, error) {
	tools := slices.Clone(s.Own)
	if s.All {
		return append(tools, catalog...), nil
	}
	for _, name := range s.Names {
		i := slices.IndexFunc(catalog, func(t chat.Tool) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("the catalog has no tool %q", name)
		}
		tools = append(tools, catalog[i])
	}
	return tools, nil
}

func same(a, b chat.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}
