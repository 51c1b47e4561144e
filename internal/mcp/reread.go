package mcp

import (
	"context"
	"maps"
	"slices"
	"time"
)

// reread lists a server's tools again, on the session the next episode got, because the server said that they changed.
// The model keeps the catalog's prompt: a run has one. But calls are checked against what the server has now, and a
// tool that is gone is refused here. Episodes already open are left as they are.
func (p *Pool) reread(ctx context.Context, server int, s *session) error {
	one := p.servers[server]
	found, err := one.opener.tools(ctx, s, false)
	if err != nil {
		one.opener.meter.noteChangeAtRest()
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

// relistTime bounds how long a list is asked for that only tells what changed.
const relistTime = 5 * time.Second

// appeared reports whether a server of the episode, which said that its tools changed, now has one of a name. It is not called:
// a run has one list of tools, which people have looked at, and the prompts of an episode have the one it began with.
func (e *Episode) appeared(ctx context.Context, name string) bool {
	for i, server := range e.pool.servers {
		s := e.own[i]
		if s == nil {
			server.mu.Lock()
			s = server.shared
			server.mu.Unlock()
		}
		if s == nil || !s.wire.toolsChanged() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, relistTime)
		found, err := server.opener.tools(limited, s, false)
		cancel()
		if err == nil && slices.ContainsFunc(found.Tools, func(t Tool) bool { return t.Name == name }) {
			return true
		}
	}
	return false
}

// tellChanged tells, once for a server, what changed about its tools in a session that ends: the next one begins with those that
// the catalog has, and would not show it.
func (s *poolServer) tellChanged(ended *session, tell func(server string, changes []Change)) {
	if tell == nil || !ended.wire.toolsChanged() || ended.dead() || s.toldChanged.Swap(true) {
		return
	}
	limited, cancel := context.WithTimeout(context.Background(), relistTime)
	defer cancel()
	if found, err := s.opener.tools(limited, ended, false); err == nil {
		if changes := diffTools(s.opener.name, s.tools, found.Tools); len(changes) > 0 {
			tell(s.opener.name, changes)
		}
	}
}
