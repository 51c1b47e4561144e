package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
	"hone/internal/toolset/access"
)

// inspection is servers that doctor looks at.
type inspection struct {
	*toolset.Housing
	host *host.Host
}

// Servers looks at every server, so that one that fails does not hide the others.
func Servers(ctx context.Context, h *host.Host, c config.Config, from toolset.Source) []Check {
	servers, err := toolset.Read(h, c, from)
	if errors.Is(err, fs.ErrNotExist) && from == (toolset.Source{}) {
		return []Check{{Name: "MCP servers", Status: Warn, Detail: "none is configured: there is no " + c.MCP.Config,
			Next: "hone servers add npm:NAME or pypi:NAME; a server that runs is named with --mcp URL"}}
	}
	if err != nil {
		return []Check{FromError("MCP servers", err)}
	}
	housing, err := toolset.House(ctx, h, c, servers, "")
	if err != nil {
		return []Check{FromError("sandbox of the servers", err)}
	}
	x := inspection{housing, h}
	defer x.Close()
	checks := []Check{x.checkSandbox()}
	for _, name := range slices.Sorted(maps.Keys(servers.Wrong)) {
		checks = append(checks, FromError("MCP server "+name, servers.Wrong[name]))
	}
	seen := x.watch(c.MCP.Sandbox)
	reports := mcp.Inspect(ctx, x.Servers, x.Options)
	for _, r := range reports {
		name := r.Tools.Name
		if r.Err == nil {
			toolset.KeepListing(h, x.Servers, r.Tools)
		}
		kept := append([]Check{x.checkSight(c.MCP.Sandbox, name, x.Servers.Servers[name], seen)},
			x.checkWrites(ctx, c.MCP.Sandbox, name)...)
		checks = append(checks, slices.Insert(x.checkServer(ctx, c, r), 1, kept...)...)
		if p := x.FindPlace(ctx, c, r.Tools, r.Err); p != nil && (r.Err == nil || p.Helps()) {
			checks = append(checks, Check{
				Name:   "MCP server " + name,
				Status: Warn,
				Detail: "it wants to keep its data where it may not write: " +
					strings.Join(strings.Fields(p.Said), " "),
				Next: p.Next(cmp.Or(from.File, c.MCP.Config), nil),
			})
		}
	}
	return append(checks, checkAllowFindings(c.MCP, reports)...)
}

func (x inspection) checkSandbox() Check {
	check := Check{Name: "sandbox of the servers", Status: OK, Detail: x.Sandbox.String()}
	if x.Sandbox.Level() != sandbox.Bubblewrap {
		check.Status, check.Next = Warn, "install bubblewrap (apt install bubblewrap)"
	}
	return check
}

// checkServer is a line for the server, and one for each thing about it that a person should know.
func (x inspection) checkServer(ctx context.Context, c config.Config, r mcp.Report) []Check {
	name := "MCP server " + r.Tools.Name
	server := x.Servers.Servers[r.Tools.Name]
	if r.Err != nil {
		return append([]Check{
			{Name: name, Status: Fail, Detail: failureText(r.Err), Next: x.NextForServer(server, r.Err)},
		}, checkLock(name, server)...)
	}
	checks := []Check{
		{
			Name:   name,
			Status: OK,
			Detail: fmt.Sprintf("protocol %s over %s; %s, %s, %s; ready in %s, answers in %s (p50) and %s (p95)",
				r.Tools.Era, r.Tools.Transport, fault.Count(len(r.Tools.Tools),
					"tool"), fault.Count(len(r.Tools.Resources),
					"resource"), fault.Count(len(r.Tools.Prompts), "prompt"),
				short(r.Stats.OpenP50), short(r.Stats.CallP50), short(r.Stats.CallP95)),
		},
	}
	warn := func(what, next string) {
		checks = append(checks, Check{Name: name, Status: Warn, Detail: what, Next: next})
	}
	checks = append(checks, checkLock(name, server)...)
	for _, q := range r.Tools.Quarantined {
		warn("the tool "+q.Name+" is left out: "+q.Reason, "mend it in the server; the other tools work")
	}
	for _, t := range r.Tools.Tools {
		if t.Status != mcp.StatusOK {
			warn(fmt.Sprintf("the tool %s: %s", t.Name, strings.Join(t.Findings, "; ")),
				"mend its schema in the server; until then its calls are sent unchecked")
		}
	}
	for _, w := range r.Tools.Warnings {
		warn(w, "ask the server's author; what was listed works")
	}
	if r.Stats.StrayLines > 0 {
		warn(fmt.Sprintf("it printed %s of non-MCP text to stdout, at first %s",
			fault.Count(r.Stats.StrayLines, "line"), r.Stats.Stray),
			"nothing need be done, for it is skipped; its author should write logs to stderr")
	}
	for _, f := range toolset.PackageFindings(mcp.Config{Servers: map[string]mcp.Server{r.Tools.Name: server}}) {
		warn(f.Excerpt+": "+f.Message,
			"look whether that is the package you mean; correct its name in the MCP configuration")
	}
	one := &mcp.Catalog{Servers: []mcp.ServerTools{r.Tools}}
	if found := scan.Allowed(c.MCP.AllowFindings).Blocking(one.Suspicious()); len(found) > 0 {
		warn("suspicious texts in its tools: "+scan.Summary(found), "hone discover shows them; collect, sft, "+
			"train and eval refuse them without --allow-findings server/tool, or mcp.allow_findings in hone.yaml")
	}
	most := toolset.MostTools(c, toolset.AboutTokens(one.Tools()))
	if n := len(r.Tools.Tools); n > most {
		warn(fmt.Sprintf("%d tools are more than an episode is shown, which is %d (mcp.max_tools)", n, most),
			"nothing need be done: those are chosen that fit the task; mcp.search_share searches instead")
	}
	checks = append(checks, x.checkIsolation(ctx, c, r))
	return append(checks, x.checkRefusals(ctx, c, r.Tools)...)
}

// failureText is why a server cannot be used, without its name, which stands before it in the table.
func failureText(err error) string {
	f, is := errors.AsType[*mcp.Failure](err)
	if !is {
		return err.Error()
	}
	what := map[mcp.Phase]string{mcp.PhaseStart: "it cannot be started: ", mcp.PhaseConnect: "it does not answer: ",
		mcp.PhaseList: "it does not list its tools: "}[f.Phase]
	text := strings.TrimPrefix(f.Error(), "server "+f.Server+", "+string(f.Phase)+": ")
	if what == "" {
		what = string(f.Phase) + ": "
	}
	return what + strings.Join(strings.Fields(text), " ")
}

// checkLock compares what is installed for a server with its lock, where it has one.
func checkLock(name string, server mcp.Server) []Check {
	switch l, err := toolset.LockOf(server); {
	case err != nil:
		return []Check{FromError(name, err)}
	case len(l.Differs) > 0:
		return []Check{{Name: name, Status: Warn, Detail: l.String(), Next: l.Next}}
	case l.File != "":
		return []Check{{Name: name, Status: OK, Detail: "installed as its lock says: " + l.File}}
	}
	return nil
}

// checkIsolation opens two episodes as a run would: at the same time, or one after the other where they take turns.
// Where that takes a call which the rules keep back, nothing is opened.
func (x inspection) checkIsolation(ctx context.Context, c config.Config, r mcp.Report) Check {
	mode := string(r.Stats.Isolation)
	check := Check{Name: "MCP server " + r.Tools.Name, Status: OK}
	switch why, err := x.resetRefusal(ctx, c.MCP.Approval, r.Tools); {
	case err != nil:
		return FromError(check.Name, err)
	case why != "":
		check.Status, check.Detail = Fail, "it cannot be made as new between episodes: the call of "+
			x.Servers.Servers[r.Tools.Name].Reset.Tool+" is "+why
		check.Next = "allow the call in mcp.approval of hone.yaml, or give the server another isolation"
		return check
	}
	servers, err := x.Servers.Only(r.Tools.Name)
	if err == nil {
		var pool *mcp.Pool
		o := x.Options
		o.Warm = -1 // so that what is measured is a start
		if pool, err = mcp.NewPool(ctx, servers, &mcp.Catalog{Servers: []mcp.ServerTools{r.Tools}}, o); err == nil {
			defer pool.Close()
			err = openTwo(ctx, pool, r.Stats.Isolation == mcp.PerReset)
		}
	}
	if err != nil {
		check.Status, check.Detail = Fail, "two episodes cannot be opened with isolation "+mode+": "+err.Error()
		check.Next = `give the server another "isolation" in its configuration: session, process, reset or shared`
		return check
	}
	check.Detail = "isolation " + mode + " works: " + map[mcp.Isolation]string{
		mcp.Shared:     "all episodes have one session, and see what others left there",
		mcp.PerSession: "each episode has a session of its own",
		mcp.PerProcess: "each episode has a process, a folder and a home of its own",
		mcp.PerReset:   "a session is made as new for each episode",
	}[r.Stats.Isolation]
	if r.Stats.Isolation == mcp.PerSession && r.Tools.Transport != "stdio" {
		check.Detail += "; whether the server keeps sessions apart is its own doing"
	}
	return check
}

// resetRefusal is why the call that makes a server as new is not sent; "" where it is, or where none is needed.
func (x inspection) resetRefusal(ctx context.Context, c config.Approval, found mcp.ServerTools) (string, error) {
	reset := x.Servers.Servers[found.Name].Reset
	if reset == nil || reset.Tool == "" {
		return "", nil
	}
	found.Tools = slices.Clone(found.Tools)
	for i := range found.Tools {
		found.Tools[i].ModelName = found.Tools[i].Name // of one server they are all different
	}
	gate, err := toolset.Gate(x.host, c, &mcp.Catalog{Servers: []mcp.ServerTools{found}}, false)
	if err != nil {
		return "", err
	}
	d := gate.Decide(ctx, chat.ToolCall{Name: reset.Tool, Arguments: string(reset.Arguments)}, access.Place{})
	if d.Allowed {
		return "", nil
	}
	return d.Why, nil
}

func openTwo(ctx context.Context, pool *mcp.Pool, inTurn bool) error {
	var sessions [2]environment.Session
	var errs [2]error
	open := func(i int) { sessions[i], errs[i] = pool.Open(ctx, fmt.Sprintf("doctor-%d", i)) }
	shut := func(i int) {
		if sessions[i] != nil {
			_ = sessions[i].Close() // the process is gone either way
		}
	}
	if inTurn {
		for i := range sessions {
			open(i)
			shut(i)
		}
		return errors.Join(errs[:]...)
	}
	var both sync.WaitGroup
	for i := range sessions {
		both.Go(func() { open(i) })
	}
	both.Wait()
	for i := range sessions {
		shut(i)
	}
	return errors.Join(errs[:]...)
}

// short is a duration with two or three digits.
func short(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	if d > 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}
