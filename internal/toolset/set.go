package toolset

import (
	"context"

	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset/access"
)

// Set is a tool set: servers that are open, the rules before their tools, and which of the tools an episode is shown.
type Set struct {
	Housing   *Housing
	Catalog   *mcp.Catalog
	Pool      *mcp.Pool
	Tools     environment.Tools // the pool behind the rules of mcp.approval
	Gate      *access.Gate      // nil where a command asks one of its own
	Selection Selection

	runDir   string
	accepted scan.Allowed // tools whose suspicious texts are
	shownBy  File         // how the servers had answered, as far as that says which tools are shown
}

// Open connects to the servers for the run in the directory runDir ("" where there is none), freezes their tools, and
// puts the rules of mcp.approval before them; only names the tools to keep, none keeps all.
func Open(
	ctx context.Context, h *host.Host, c config.Config, servers mcp.Config, runDir string, only ...string,
) (*Set, error) {
	s, err := Connect(ctx, h, c, servers, runDir, only...)
	if err != nil {
		return nil, err
	}
	if err := s.decide(c.MCP); err != nil {
		s.Close()
		return nil, err
	}
	s.Select(c)
	return s, nil
}

// Connect is Open without rules: who calls it asks a gate about each call, and chooses the tools with Select.
func Connect(
	ctx context.Context, h *host.Host, c config.Config, servers mcp.Config, runDir string, only ...string,
) (*Set, error) {
	sayLocks(h, servers)
	housing, err := House(ctx, h, c, servers, runDir)
	if err != nil {
		return nil, err
	}
	h.Opens(housing.Options)
	s := &Set{Housing: housing, runDir: runDir, accepted: acceptedTools(c.MCP, nil)}
	if s.Catalog, err = housing.Discover(ctx); err == nil && len(only) > 0 {
		s.Catalog, err = s.Catalog.Only(only...)
	}
	if err == nil {
		s.Pool, err = mcp.NewPool(ctx, housing.Servers, s.Catalog, housing.Options)
	}
	if err != nil {
		housing.Close()
		return nil, err
	}
	s.Tools = s.Pool
	if c.Rollout.LongResults == "summary" {
		shortener, err := summaries(h, c.Rollout)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.Tools = SummaryTools{Tools: s.Pool, Summaries: shortener}
	}
	return s, nil
}

// Select chooses which tools episodes are shown, and says so.
func (s *Set) Select(c config.Config) {
	s.Selection = Select(c, s.Tools, s.Catalog.Tools(), s.twins)
	if s.Selection.Why != "" {
		s.Housing.host.Say("%s", s.Selection.Why)
	}
}

// NumLost counts sessions that could not be opened and calls without an answer.
func (s *Set) NumLost() int {
	n := 0
	for _, x := range s.Pool.Stats() {
		n += x.OpenErrors + x.Lost + x.Timeouts
	}
	return n
}

// Stderr is what servers wrote to stderr in an episode, by server; it is forgotten then.
func (s *Set) Stderr(episode string) map[string]string { return s.Housing.said.take(episode) }

// Stamp adds to the record of an episode what servers wrote to stderr in it.
func (s *Set) Stamp(t *trajectory.Trajectory) {
	if s.Housing == nil { // a catalog that is read back has no servers
		return
	}
	if said := s.Housing.said.take(t.ID); said != nil {
		t.Stderr = said
	}
}

// Close ends the servers, and what they ran in.
func (s *Set) Close() {
	_ = s.Pool.Close() // the processes are gone either way
	s.keepStats()
	s.Housing.Close()
}
