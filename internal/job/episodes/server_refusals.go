package episodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
)

// A server that says no without isError has calls that did nothing count as answered: they pass checks, are rewarded
// and learnt from. Every episode that is kept is looked at for that, whoever speaks in it.

// unmarked is a result that reads as a refusal and counts as none.
type unmarked struct {
	server, tool  string
	pattern, text string // for "refusal", as mcp.RefusalPattern gives it; what the server said
}

func (u unmarked) String() string {
	const most = 160
	text := strings.Join(strings.Fields(u.text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return fmt.Sprintf("server %s says no without isError, so a call that did nothing counts as answered: "+
		"its tool %s: %s",
		u.server, u.tool, text)
}

// refusals are what is known of a run's servers that refuse so.
type refusals struct {
	mu    sync.Mutex
	found map[string][]string // patterns by server, in the order they were found
}

// note takes in a result, and reports whether it is the first of its kind from its server.
func (r *refusals) note(u unmarked) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil {
		r.found = map[string][]string{}
	}
	if slices.Contains(r.found[u.server], u.pattern) {
		return false
	}
	r.found[u.server] = append(r.found[u.server], u.pattern)
	return true
}

// servers are those of which something was found, in the order of their names.
func (r *refusals) servers() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.found))
}

// mend is what to write into a server's configuration, ready to paste: what stands there already with all that was
// found.
func (r *refusals) mend(server string, configured mcp.Refusal) string {
	var list []string
	for _, one := range configured {
		list = append(list, string(one))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pattern := range r.found[server] {
		if !slices.Contains(list, pattern) {
			list = append(list, pattern)
		}
	}
	return mcp.RefusalAdvice(server, list)
}

// UnmarkedResults are the results of an episode that read as refusals and count as answers. A server whose
// configuration has an empty list of refusals is taken at its word.
func (l *Episodes) UnmarkedResults(t *trajectory.Trajectory) (out []unmarked) {
	if l.Set == nil || l.Housing == nil {
		return nil
	}
	for _, turn := range t.Turns {
		if turn.NoLoss { // a slip, which is to be refused
			continue
		}
		for _, r := range turn.Results {
			if r.Status != trajectory.CallOK || r.Ends || r.Search {
				continue
			}
			server, tool, known := l.Catalog.Resolve(r.Call.Name)
			configured := l.Housing.Servers.Servers[server].Refusal
			if !known || configured != nil && len(configured) == 0 {
				continue
			}
			text := r.Text
			pattern := mcp.RefusalPattern(text)
			if pattern == "" && len(r.StructuredContent) > 0 {
				text = string(r.StructuredContent)
				pattern = mcp.RefusalPattern(text)
			}
			if pattern != "" {
				out = append(out, unmarked{server, tool, pattern, text})
			}
		}
	}
	return out
}

// mend is what to do about a result.
func (l *Episodes) mend(u unmarked) string {
	return l.refusals.mend(u.server, l.Housing.Servers.Servers[u.server].Refusal)
}

// MendRefusals is what to do about all servers that were found to refuse so.
func (l *Episodes) MendRefusals() string {
	var all []string
	for _, server := range l.refusals.servers() {
		all = append(all, l.refusals.mend(server, l.Housing.Servers.Servers[server].Refusal))
	}
	return strings.Join(all, "; ")
}

// TellRefusals says once of each kind how a server of an episode refuses.
func (l *Episodes) TellRefusals(say func(format string, args ...any), t *trajectory.Trajectory) {
	if l.refusals == nil {
		return
	}
	for _, u := range l.UnmarkedResults(t) {
		if l.refusals.note(u) {
			say("warning: %s; next: %s", u, l.mend(u))
		}
	}
}

// RefuseGold has a gold solution that a server refused count as spoilt by it: it is not learnt from, and is run again
// by the same command.
func (l *Episodes) RefuseGold(t *trajectory.Trajectory) (refused bool) {
	found := l.UnmarkedResults(t)
	if len(found) == 0 || l.refusals == nil || !t.Outcome.Trainable() {
		return false
	}
	for _, u := range found {
		l.refusals.note(u)
	}
	t.Outcome, t.Error = trajectory.EnvironmentError, found[0].String()
	return true
}
