package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"hone/internal/chat"
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

// newcomer is a tool that came up in an episode.
type newcomer struct {
	tool   Tool
	server int
	why    string // it is not offered; "" where it may be
}

// newcomers are the tools that came up since the episode began, of servers that said that theirs changed, by name.
// Beyond the numbers of changes in looked, which may be nil, a server is asked again.
func (e *Episode) newcomers(ctx context.Context, looked []int) map[string]newcomer {
	found := map[string]newcomer{}
	for i, server := range e.pool.servers {
		s := e.own[i]
		if s == nil {
			server.mu.Lock()
			s = server.shared
			server.mu.Unlock()
		}
		if s == nil || s.wire.numChanges() == 0 || looked != nil && s.wire.numChanges() == looked[i] {
			continue
		}
		changes := s.wire.numChanges()
		limited, cancel := context.WithTimeout(ctx, relistTime)
		listed, err := server.opener.tools(limited, s, false)
		cancel()
		if err != nil {
			continue
		}
		if looked != nil {
			looked[i] = changes
		}
		for _, t := range listed.Tools {
			isOld := func(old Tool) bool { return old.Name == t.Name }
			if slices.ContainsFunc(server.tools, isOld) || e.tools.bound[t.Name] != nil {
				continue
			}
			found[t.Name] = newcomer{t, i, e.pool.whyNot(server.opener.name, t)}
		}
	}
	return found
}

// whyNot is why a tool that came up is not offered.
func (p *Pool) whyNot(server string, t Tool) string {
	switch {
	case p.Admit == nil:
		return "the list of its beginning holds"
	case !allowedName.MatchString(t.Name):
		return "its name is none that a model can call"
	}
	return p.Admit(server, t)
}

// offerNewcomers offers, from the next turn on, the tools that came up and that may be offered. What it returns tells
// the model of them: the list of tools in its prompt stays as it was, and so do the tokens before.
func (e *Episode) offerNewcomers(ctx context.Context) string {
	if e.pool.Admit == nil {
		return ""
	}
	var told strings.Builder
	found := e.newcomers(ctx, e.looked)
	for _, name := range keysInOrder(found) {
		one := found[name]
		if one.why != "" {
			continue
		}
		one.tool.ModelName = name
		next := *e.tools
		next.bound = maps.Clone(next.bound)
		next.bound[name] = bind(one.tool, one.server)
		next.names = keysInOrder(next.bound)
		e.tools = &next
		text, err := json.Marshal(chat.Tool{Name: name, Description: one.tool.Description,
			InputSchema: one.tool.InputSchema})
		if err == nil {
			told.WriteString("\n[from now on there is also the tool " +
				Truncate(string(text), e.pool.options.MaxResult) + "]")
		}
	}
	return told.String()
}

// tellChanges tells, once for a server, what changed about its tools in a session that ends: the next one begins with
// those that the catalog has, and would not show it.
func (s *poolServer) tellChanges(ended *session, tell func(server string, changes []Change)) {
	if tell == nil || ended.wire.numChanges() == 0 || ended.dead() || s.toldChanged.Swap(true) {
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
