package view

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"hone/internal/mcp"
	"hone/internal/run"
)

// Since is what of a server's tools is another than in the last run before that had it. What a run's servers offer is
// approved as it begins, so this is what a person has not approved before.
type Since struct {
	Run     string       `json:"run"`
	Created time.Time    `json:"created"`
	Changes []ToolChange `json:"changes"`
}

// ToolChange is one tool that came, went, or says something else of itself.
type ToolChange struct {
	mcp.Change
	Was ToolTexts `json:"was"`
	Is  ToolTexts `json:"is"`
}

// ToolTexts is what a model reads of a tool.
type ToolTexts struct {
	Description string `json:"description"`
	Schema      string `json:"schema"`
	Annotations string `json:"annotations"`
}

// kept is a run's list of tools.
type kept struct {
	path    string
	created time.Time
}

// mostBefore is how many earlier runs are looked through for a server.
const mostBefore = 50

// before are the runs that began before this one, newest first: those that are shown, and those in its folder.
func (s *Server) before(f *followed) (out []kept) {
	began := func(path string) time.Time {
		info, err := os.Stat(filepath.Join(path, run.ConfigFile)) // written once, so its time is the run's
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	paths := []string{}
	for _, other := range s.all() {
		paths = append(paths, other.Path)
	}
	beside, _ := os.ReadDir(filepath.Dir(f.Path)) // where it cannot be read, the others are looked at
	for _, e := range beside {
		paths = append(paths, filepath.Join(filepath.Dir(f.Path), e.Name()))
	}
	slices.Sort(paths)
	this := began(f.Path)
	for _, path := range slices.Compact(paths) {
		if created := began(path); path != f.Path && !created.IsZero() && created.Before(this) {
			out = append(out, kept{path, created})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].created.After(out[j].created) })
	return out[:min(len(out), mostBefore)]
}

// since are the changes of each server of a catalog, by its name; a server that no earlier run had is not in it.
func (s *Server) since(f *followed, now *mcp.Catalog) map[string]*Since {
	out := map[string]*Since{}
	for _, earlier := range s.before(f) {
		if len(out) == len(now.Servers) {
			break
		}
		was, err := mcp.Load(catalogFile(earlier.path))
		if err != nil {
			continue // its own page says why
		}
		for _, server := range now.Servers {
			i := slices.IndexFunc(was.Servers, func(x mcp.ServerTools) bool { return x.Name == server.Name })
			if i < 0 || out[server.Name] != nil {
				continue
			}
			out[server.Name] = &Since{filepath.Base(earlier.path), earlier.created, changesOf(was.Servers[i], server)}
		}
	}
	return out
}

func changesOf(was, is mcp.ServerTools) []ToolChange {
	out := []ToolChange{}
	textsOf := func(s mcp.ServerTools, tool string) ToolTexts {
		for _, t := range s.Tools {
			if t.Name == tool {
				return ToolTexts{t.Description, string(t.InputSchema), string(t.Annotations)}
			}
		}
		return ToolTexts{}
	}
	alone := func(s mcp.ServerTools) *mcp.Catalog { return &mcp.Catalog{Servers: []mcp.ServerTools{s}} }
	for _, c := range mcp.Diff(alone(was), alone(is)) {
		out = append(out, ToolChange{c, textsOf(was, c.Tool), textsOf(is, c.Tool)})
	}
	return out
}
