package sidecar

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/proxy/revise"
	"hone/internal/toolset"
)

// sessionsAtOnce is how many sessions an evaluation opens on its servers at one time.
const sessionsAtOnce = 4

// executions are what became of the calls of all systems on the servers.
type executions struct {
	made map[string][]trajectory.ToolResult // by what was called, and where
	// points where calls could not be tried, and why: no system is judged by one
	lost map[string]error
}

// attempt is the calls of one system at a point, or of several that say the same there.
type attempt struct {
	key   string
	point *revise.Point
	calls []chat.ToolCall
}

// attemptKey is the same for equal calls at a point.
func attemptKey(p *revise.Point, calls []chat.ToolCall) string {
	var b strings.Builder
	b.WriteString(p.ID)
	for _, c := range calls {
		fmt.Fprintf(&b, "\x00%s\x00%s", c.Name, c.Arguments)
	}
	return b.String()
}

// attempts are all there is to make, each once, in the order of systems and rows.
func (e *evaluation) attempts() (all []attempt) {
	known := map[string]bool{}
	for _, name := range e.names {
		for i, out := range e.of[name] {
			key := attemptKey(&e.rows[i].Point, out.calls)
			if !out.gives || len(out.calls) == 0 || known[key] {
				continue
			}
			known[key] = true
			all = append(all, attempt{key, &e.rows[i].Point, out.calls})
		}
	}
	return all
}

// execute makes the calls of all systems on the servers, where there are some. Equal calls at a point are made once.
func (e *evaluation) execute(ctx context.Context, on *toolset.Set) error {
	if on == nil {
		return nil
	}
	return e.try(ctx, on.Tools)
}

// servers are what calls are to be made on, nil where none are named. They are opened before a model is asked, so that
// what is wrong with them is not told hours later. They are to be closed.
func (e *evaluation) servers(ctx context.Context) (*toolset.Set, error) {
	if e.o.Servers.File == "" && e.o.Servers.Server == "" {
		return nil, nil
	}
	servers, err := toolset.LoadServers(e.Host, e.c, e.o.Servers)
	if err != nil {
		return nil, err
	}
	set, err := toolset.Open(ctx, e.Host, e.c, servers, "")
	if err != nil {
		return nil, err
	}
	if err := e.checkTools(set.Catalog); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// try makes all attempts.
func (e *evaluation) try(ctx context.Context, servers environment.Tools) error {
	all := e.attempts()
	x := &executions{map[string][]trajectory.ToolResult{}, map[string]error{}}
	e.executed = x
	turns, done, progress := make(chan struct{}, sessionsAtOnce), 0, e.Progress(sessionsAtOnce)
	var wait sync.WaitGroup
	var mutex sync.Mutex
	for _, a := range all {
		turns <- struct{}{}
		wait.Go(func() {
			results, err := a.make(ctx, servers)
			<-turns
			mutex.Lock()
			defer mutex.Unlock()
			if x.made[a.key] = results; err != nil {
				x.lost[a.point.ID] = err
			}
			done++
			progress("executing calls", done, len(all), "")
		})
	}
	wait.Wait()
	if len(x.lost) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(x.lost)))
		e.Say("calls of %s could not be tried; no system's rate of executions has them, such as %s: %v",
			fault.Count(len(x.lost), "point"), first, x.lost[first])
	}
	return ctx.Err()
}

// checkTools refuses servers that lack a tool of the data.
func (e *evaluation) checkTools(c *mcp.Catalog) error {
	there := revise.NewTools(c.Tools())
	for _, t := range e.d.catalog.Tools() {
		if _, ok := there[t.Name]; !ok {
			return &fault.Error{Code: fault.CodeUsage,
				What: fmt.Sprintf("the servers have no tool %q, which is in the data", t.Name), Where: "--mcp-config",
				Why:  "the data's tools are in " + filepath.Join(e.o.Data, job.CatalogFile),
				Next: "name the servers that hone sidecar make-data was given"}
		}
	}
	return nil
}

// make makes the calls. Its error says that nothing is known of what the calls are worth: the point was not reached, a
// rule forbade one, or the server was away.
func (a attempt) make(ctx context.Context, servers environment.Tools) ([]trajectory.ToolResult, error) {
	results, err := revise.Execute(ctx, servers, "eval/"+a.point.ID, a.point, a.calls)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(results, func(r trajectory.ToolResult) bool {
		return r.Status == trajectory.CallDenied || environment.CallOutcome(r) == trajectory.EnvironmentError
	}); i >= 0 {
		return nil, fmt.Errorf("%s: %s: %s", results[i].Call.Name, results[i].Status, results[i].Text)
	}
	return results, nil
}
