package synth

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// Now is what the servers are today.
type Now struct {
	Tools  map[string]string // SHA-256 by model name
	Server map[string]string // of each tool, by model name
	// as each server states it and, behind that, " (installed PACKAGE)" where hone installed it
	Version map[string]string
}

// Touched says how a change touches a scenario.
type Touched struct {
	Gone    []string // tools that are no longer there
	Changed []string // tools that their server says something else of
	Newer   []string // servers that state another version, as "name 1 -> 2"
}

// Any reports whether anything does.
func (t Touched) Any() bool { return len(t.Gone)+len(t.Changed)+len(t.Newer) > 0 }

// Why says it in words.
func (t Touched) Why() (why []string) {
	for _, name := range t.Gone {
		why = append(why, name+" is gone")
	}
	for _, name := range t.Changed {
		why = append(why, name+" changed")
	}
	return append(why, t.Newer...)
}

// HasProvenance reports whether it can be told of a scenario what it was made with: by its provenance, or by the hashes
// of an earlier catalog.
func HasProvenance(s scenario.Scenario, before map[string]string) bool {
	return s.Provenance != nil && len(s.Provenance.Tools) > 0 || before != nil || len(toolsOf(s)) == 0
}

// installed stands before the package in a version.
const installed = "(installed "

// Touch compares what a scenario was made with to what the servers are now. before has the hashes of an earlier
// catalog, for scenarios that do not say themselves; it may be nil.
func Touch(s scenario.Scenario, before map[string]string, now Now) (t Touched) {
	hashes := before
	var versions map[string]string
	if s.Provenance != nil && len(s.Provenance.Tools) > 0 {
		hashes, versions = s.Provenance.Tools, s.Provenance.Servers
	}
	names := toolsOf(s)
	if s.Provenance != nil {
		names = append(names, slices.Collect(maps.Keys(s.Provenance.Tools))...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		is, there := now.Tools[name]
		was, known := hashes[name]
		switch {
		case !there:
			t.Gone = append(t.Gone, name)
		case known && was != is:
			t.Changed = append(t.Changed, name)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(versions)) {
		was, is, there := versions[server], "", false
		if is, there = now.Version[server]; !strings.Contains(was, installed) { // made before packages were noted
			is, _, _ = strings.Cut(is, installed)
			is = strings.TrimSpace(is)
		}
		if there && is != was {
			t.Newer = append(t.Newer, fmt.Sprintf("%s %s -> %s", server, was, is))
		}
	}
	return t
}

// toolsOf are the tools that a scenario calls, or looks at.
func toolsOf(s scenario.Scenario) (names []string) {
	for _, g := range slices.Concat(s.Setup, s.Gold) {
		names = append(names, g.Name)
	}
	for _, c := range s.Checks {
		if c.Type == scenario.StateCheck || c.Type == scenario.CallCheck {
			names = append(names, c.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Stamp writes into a scenario's provenance what it was found to hold with.
func Stamp(s *scenario.Scenario, now Now) {
	if s.Provenance == nil {
		return
	}
	p := *s.Provenance
	p.Tools, p.Servers = maps.Clone(p.Tools), maps.Clone(p.Servers)
	for name := range p.Tools {
		if sum, there := now.Tools[name]; there {
			p.Tools[name] = sum
		}
	}
	for name := range p.Servers {
		if version, there := now.Version[name]; there {
			p.Servers[name] = version
		}
	}
	s.Provenance = &p
}
