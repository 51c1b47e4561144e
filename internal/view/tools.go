package view

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sort"

	"hone/internal/episode/trajectory"
	"hone/internal/mcp"
)

// Servers are the servers of a run with their tools, and how their calls went.
type Servers struct {
	Servers []ServerFacts `json:"servers"`
	Others  []ToolFacts   `json:"others"` // tools that were called and that the catalog does not have
	Hash    string        `json:"hash"`
}

// ServerFacts is one server.
type ServerFacts struct {
	Name      string      `json:"name"`
	Version   string      `json:"version"`
	Era       string      `json:"era"`
	Transport string      `json:"transport"`
	Warnings  []string    `json:"warnings"`
	Tools     []ToolFacts `json:"tools"`
	Since     *Since      `json:"since"` // null where no earlier run had the server
}

// ToolFacts is one tool.
type ToolFacts struct {
	Name        string                        `json:"name"` // the model's
	Description string                        `json:"description"`
	Schema      string                        `json:"schema"`
	Findings    []string                      `json:"findings"`
	Status      string                        `json:"status"`
	Calls       int                           `json:"calls"`
	Answers     map[trajectory.CallStatus]int `json:"answers"`
	P50         float64                       `json:"p50"` // seconds, of the last calls of each
	P95         float64                       `json:"p95"`
}

func (s *Server) servers(f *followed) (Servers, error) {
	out := Servers{Servers: []ServerFacts{}, Others: []ToolFacts{}}
	usage := f.index.usage()
	catalog, err := mcp.Load(catalogFile(f.Path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	facts := func(t mcp.Tool) ToolFacts {
		x := ToolFacts{Name: t.ModelName, Description: t.Description, Schema: string(t.InputSchema),
			Findings: append([]string{}, t.Findings...), Status: t.Status, Answers: map[trajectory.CallStatus]int{}}
		if u := usage[t.ModelName]; u != nil {
			x.Calls, x.Answers = u.calls, u.answers
			x.P50, x.P95 = quantile(u.seconds, 0.5), quantile(u.seconds, 0.95)
		}
		delete(usage, t.ModelName)
		return x
	}
	if catalog != nil {
		out.Hash = catalog.Hash
		since := s.since(f, catalog)
		for _, server := range catalog.Servers {
			x := ServerFacts{Name: server.Name, Version: server.Version, Era: server.Era, Transport: server.Transport,
				Warnings: append([]string{}, server.Warnings...), Tools: []ToolFacts{}, Since: since[server.Name]}
			for _, t := range server.Tools {
				x.Tools = append(x.Tools, facts(t))
			}
			out.Servers = append(out.Servers, x)
		}
	}
	for name := range usage {
		out.Others = append(out.Others, facts(mcp.Tool{ModelName: name}))
	}
	sort.Slice(out.Others, func(i, j int) bool {
		a, b := &out.Others[i], &out.Others[j]
		return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Name, b.Name)) < 0
	})
	return out, nil
}

// usageOf is how the calls of a tool went.
type usageOf struct {
	calls   int
	answers map[trajectory.CallStatus]int
	seconds []float64 // of the last mostTimes
}

// mostTimes is how many times of a tool's calls are kept.
const mostTimes = 2000

func (u *usageOf) add(status trajectory.CallStatus, seconds float64) {
	if u.answers[status]++; len(u.seconds) < mostTimes {
		u.seconds = append(u.seconds, seconds)
	} else {
		u.seconds[u.calls%mostTimes] = seconds
	}
	u.calls++
}

// quantile is the q-quantile of numbers, 0 of none.
func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// usage is that of each tool, by the name that the model called it by.
func (x *Index) usage() map[string]*usageOf {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := map[string]*usageOf{}
	for name, u := range x.used {
		kept := &usageOf{calls: u.calls, answers: map[trajectory.CallStatus]int{}, seconds: slices.Clone(u.seconds)}
		for status, n := range u.answers {
			kept.answers[status] = n
		}
		out[name] = kept
	}
	return out
}

// passes counts, by scenario, the scored attempts and those of them that passed.
func (x *Index) passes() (attempts, passes map[string]int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	attempts, passes = map[string]int{}, map[string]int{}
	for i := range x.rows {
		if r := &x.rows[i]; r.scored {
			name := x.scenarios.names[r.scenario]
			attempts[name]++
			if r.passed == passed {
				passes[name]++
			}
		}
	}
	return attempts, passes
}

// last is the number of the last change.
func (x *Index) last() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.seq
}
