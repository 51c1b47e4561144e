package toolset

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"hone/internal/blob"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset/access"
)

// ReliabilityPath is where hone keeps how servers answered, over all projects of the user.
func ReliabilityPath(h *host.Host) (string, error) {
	dir, err := h.State()
	return filepath.Join(dir, "servers.json"), err
}

// SeenOfRun is a run's own copy: a run that goes on shows the tools that it began with.
const SeenOfRun = "servers.json"

// ReliabilityKey is what a server's tool is kept under: a hash of which server it is (mcp.Server.Identity), which holds
// no secret, and the tool's name.
func ReliabilityKey(s mcp.Server, tool string) string {
	return Key(blob.Parts(s.Identity()).String()[:16], tool)
}

// keepStats adds what the servers did in this session to what was seen of them.
func (s *Set) keepStats() {
	h := s.Housing.host
	if h.DryRun {
		return
	}
	called := map[string]mcp.Stats{}
	for _, x := range s.Pool.Stats() {
		if len(x.Tools) > 0 {
			called[x.Server] = x
		}
	}
	if len(called) == 0 {
		return
	}
	path, err := ReliabilityPath(h)
	if err == nil {
		err = Update(path, func(f *File) { s.addStats(f, called) })
	}
	if err != nil {
		h.Say("note: how the servers answered is not kept: %v", err)
	}
}

func (s *Set) addStats(f *File, called map[string]mcp.Stats) {
	for _, server := range s.Catalog.Servers {
		for _, t := range server.Tools {
			if n, ok := called[server.Name].Tools[t.Name]; ok {
				f.Add(ReliabilityKey(s.Housing.Servers.Servers[server.Name], t.Name), Seen{
					Server: server.Name,
					Tool:   t.Name,
					SHA256: t.SHA256,
					Calls:  float64(n.Calls),
					Failed: float64(n.Failed),
					Millis: float64(n.Took.Microseconds()) / 1000,
				})
			}
		}
	}
}

// KeepListing keeps how many tools servers listed, and how many findings on these stop runs, which hone servers ls
// shows.
func KeepListing(h *host.Host, servers mcp.Config, found ...mcp.ServerTools) {
	path, err := ReliabilityPath(h)
	if err != nil || h.DryRun {
		return // what is not kept is not shown
	}
	now, stop := map[string]int{}, map[string]int{}
	for _, s := range found {
		key := ReliabilityKey(servers.Servers[s.Name], "")
		now[key], stop[key] =
			len(s.Tools), len(scan.Blocking((&mcp.Catalog{Servers: []mcp.ServerTools{s}}).Suspicious()))
	}
	f, err := Load(path)
	if err == nil && holds(f.Listed, now) && holds(f.Suspicious, stop) {
		return
	}
	_ = Update(path, func(f *File) { f.Listed, f.Suspicious = with(f.Listed, now), with(f.Suspicious, stop) })
}

// holds reports whether counts are those of some keys already.
func holds(counts, some map[string]int) bool {
	for key, n := range some {
		if had, known := counts[key]; !known || had != n {
			return false
		}
	}
	return true
}

// with are counts with those of some keys.
func with(counts, some map[string]int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	maps.Copy(counts, some)
	return counts
}

// twins are the tools that do the same as another one which answered better: by their names, with that one's.
func (s *Set) twins() map[string]string {
	var served []access.Served
	var names []string
	var seen []Seen
	f := s.priorStats()
	for _, server := range s.Catalog.Servers {
		for _, t := range server.Tools {
			served = append(served, access.Served{Server: server.Name, Name: t.Name, Description: t.Description,
				InputSchema: t.InputSchema})
			names = append(names, t.ModelName)
			one := f.Tools[ReliabilityKey(s.Housing.Servers.Servers[server.Name], t.Name)]
			if one.SHA256 != t.SHA256 { // of what it was before
				one = Seen{Drifts: one.Drifts + min(1, int(one.Calls))}
			}
			seen = append(seen, one)
		}
	}
	hidden := map[string]string{}
	for _, group := range access.Twins(served) {
		best := group[0]
		for _, i := range group[1:] {
			if seen[i].Better(seen[best]) {
				best = i
			}
		}
		for _, i := range group {
			if i != best {
				hidden[names[i]] = names[best]
			}
		}
	}
	return hidden
}

// priorStats is what was seen of servers: in a run that goes on, what was when it began.
func (s *Set) priorStats() File {
	h := s.Housing.host
	path, err := ReliabilityPath(h)
	if own := filepath.Join(s.runDir, SeenOfRun); s.runDir != "" && isFile(own) {
		path, err = own, nil
	}
	if err == nil {
		s.shownBy, err = Load(path)
	}
	if err != nil {
		h.Say("note: how the servers answered before is not known: %v", err)
	}
	return s.shownBy
}

// StatsText is the text of SeenOfRun for a run that begins on the set: what its tools are shown by. The folder of a run
// that has not begun is not written to.
func (s *Set) StatsText() ([]byte, error) {
	text, err := json.MarshalIndent(s.shownBy, "", " ")
	return append(text, '\n'), err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
