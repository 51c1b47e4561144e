package mcp

import (
	"context"
	"maps"
)

// reread lists a server's tools again, on the session the next episode got, because the server said that they changed.
// The model keeps the catalog's prompt: a run has one. But calls are checked against what the server has now, and a
// tool that is gone is refused here. Episodes already open are left as they are.
func (p *Pool) reread(ctx context.Context, server int, s *session) error {
	one := p.servers[server]
	found, err := one.opener.tools(ctx, s, false)
	if err != nil {
		one.opener.meter.changedStill()
		return err
	}
	now := map[string]Tool{}
	for _, t := range found.Tools {
		now[t.Name] = t
	}
	p.mu.Lock()
	next := &toolTable{bound: maps.Clone(p.tools.bound), gone: map[string]bool{}, names: p.tools.names}
	maps.Copy(next.gone, p.tools.gone)
	for _, t := range one.tools {
		is, there := now[t.Name]
		delete(next.gone, t.ModelName)
		if there {
			next.bound[t.ModelName] = bind(is, server)
		} else {
			next.gone[t.ModelName] = true
		}
	}
	p.tools = next
	p.mu.Unlock()
	if changes := diffTools(one.opener.name, one.tools, found.Tools); len(changes) > 0 && p.options.Changed != nil {
		p.options.Changed(one.opener.name, changes)
	}
	return nil
}
