// Package synth is hone synth, refresh and scenarios: it opens servers and models, has package generate make scenarios,
// and writes them; it tries the rows of a file, assigns splits, and shows them. It brings scenarios up to date with
// servers that changed: which of them a change touches, whether they still hold, and what their checks want now.
package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/kinds"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
	"hone/internal/mcp/scan"
	"hone/internal/synth/generate"
	"hone/internal/toolset"
)

// Options say what hone synth is to make, and where.
type Options struct {
	Out     string // the scenarios
	Work    string // what the servers answered; "" is beside Out
	Fallen  string // the training tasks that fell at the execution or a gate; "" writes none
	Kinds   string // a file of kinds of tasks of the user's; "": none
	N       int
	SplitBy string
	CallAll bool // also tools whose calls nothing bounds
	Workers int

	// Models that are asked, each named as hone eval --compare names systems; "" is nobody. Held words the tasks that
	// training does not see, Judge picks tools and scores, Reference tries what was made.
	Teacher, Held, Judge, Reference string
	ReferenceRuns                   int
	KeepUnsolved                    bool
	BudgetUSD                       float64 // of all models together; 0: no limit
	BudgetTokens                    int

	AllowFindings scan.Allowed
}

// Check is an error where x asks for what cannot be.
func (x Options) Check() error {
	usage := func(what, where string) error {
		return &fault.Error{Code: fault.CodeUsage, What: what, Where: where, Next: "hone synth --help"}
	}
	switch {
	case x.Out == "":
		return usage("synth needs --out", "--out")
	case x.N < 1 || x.N > 100_000:
		return usage("the number of scenarios must be 1 to 100000", fmt.Sprintf("--number %d", x.N))
	case x.Workers < 1 || x.Workers > 64:
		return usage("the number of sessions at once must be 1 to 64", fmt.Sprintf("--workers %d", x.Workers))
	case !slices.Contains([]string{generate.ByTask, generate.ByTool, generate.ByServer}, x.SplitBy):
		return usage(fmt.Sprintf("there is no split by %q", x.SplitBy), "--split-by")
	case x.Teacher == "" && x.Held != "":
		return usage("without a teacher templates word the tasks", "--held-teacher")
	case x.Fallen != "" && x.Fallen == x.Out:
		return usage("what fell goes into a file of its own", "--rejected")
	case x.ReferenceRuns < 1 || x.ReferenceRuns > 100:
		return usage("the runs of the reference must be 1 to 100", fmt.Sprintf("--reference-runs %d", x.ReferenceRuns))
	case x.BudgetUSD < 0 || x.BudgetTokens < 0:
		return usage("a budget is not negative", "--budget-usd, --token-budget")
	}
	return nil
}

// ReadKinds is an error where the file of kinds cannot be used.
func (x Options) ReadKinds() error {
	_, err := x.kinds()
	return err
}

func (x Options) kinds() (*kinds.Set, error) {
	if x.Kinds == "" {
		return nil, nil
	}
	return kinds.Load(x.Kinds)
}

// Run makes scenarios for servers by calls on copies of them, and writes them. What they answered is kept as it comes:
// the same command goes on with it.
func Run(ctx context.Context, h *host.Host, c config.Config, from toolset.Source, x Options) (*generate.Result, error) {
	own, err := x.kinds()
	if err != nil {
		return nil, err
	}
	c, err = basemodel.SettleLengths(h, c)
	if err != nil {
		return nil, err
	}
	servers, err := toolset.LoadServers(h, c, from)
	if err != nil {
		return nil, err
	}
	l, err := episodes.Open(ctx, h, c, servers, "")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := toolset.RefuseFindings(h, c.MCP, l.Catalog.LintTools(), x.AllowFindings); err != nil {
		return nil, err
	}
	if err := callsTools(own, l.Catalog); err != nil {
		return nil, err
	}
	if x.Work == "" {
		x.Work = WorkBeside(x.Out)
	}
	of, err := json.Marshal([]any{l.Catalog.Hash, servers.Servers, c.Rollout.MaxResult})
	if err != nil {
		return nil, err
	}
	ledger, err := generate.OpenLedger(x.Work, blob.Of(of).String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = ledger.Close() }() // each line is written
	if old := ledger.Aside(); old != "" {
		h.Say("the answers in %s were of other tools or servers: they are in %s now", x.Work, old)
	}
	if n := ledger.NumEarlier(); n > 0 {
		h.Say("%s of an earlier command in %s", fault.Count(n, "answer"), x.Work)
	}
	o := generate.Options{Kinds: own, N: x.N, Seed: c.Seed, SplitBy: x.SplitBy, Workers: x.Workers,
		MaxResult: c.Rollout.MaxResult, Version: host.ReadBuild().Version, ReferenceRuns: x.ReferenceRuns,
		KeepUnsolved: x.KeepUnsolved, Progress: h.Progress(1),
		Trial: checktest.Trial{Tools: l.Tools, Defaults: l.Scorer.Defaults, Refusal: mcp.RefusalPattern}}
	l.Pool.Keep(x.Workers)
	models, err := newAskedModels(h, c, x)
	if err != nil {
		return nil, err
	}
	defer models.Close()
	if err := models.into(&o, l, x); err != nil {
		return nil, err
	}
	made, err := generate.Run(ctx, l.Tools, subjects(c, l, x.CallAll), ledger, o)
	models.say()
	if err != nil {
		return nil, stopError(ctx, x, err)
	}
	return made, saveScenarios(h, c, l, made, x, "hone doctor"+from.Flag())
}

// callsTools is an error where a kind of a set, which may be nil, calls what no server has.
func callsTools(set *kinds.Set, catalog *mcp.Catalog) error {
	if set == nil {
		return nil
	}
	for _, k := range set.Kinds {
		for _, tool := range k.Tools() {
			if _, _, ok := catalog.Resolve(tool); !ok {
				return &fault.Error{
					Code:  fault.CodeUsage,
					What:  fmt.Sprintf("the kind %q calls %s, which is no tool of the servers", k.Name, tool),
					Where: set.Name,
					Next: "hone discover shows the tools; where several servers have a tool of one name, " +
						"the server's name stands before it",
				}
			}
		}
	}
	return nil
}

// saveScenarios writes the scenarios, and says what they are. Where a budget ended it before its time, that is the
// error.
func saveScenarios(
	h *host.Host, c config.Config, l *episodes.Episodes, made *generate.Result, x Options, doctor string,
) error {
	sayResult(h, made)
	spent := made.Report.BudgetSpent()
	if len(made.Scenarios) > 0 {
		stampServers(l, made.Scenarios)
		if err := l.Runnable(c, made.Scenarios); err != nil {
			return err
		}
		if err := scenario.Save(x.Out, made.Scenarios); err != nil {
			return err
		}
	}
	if x.Fallen != "" {
		stampServers(l, made.Rejected)
		if err := scenario.Save(x.Fallen, made.Rejected); err != nil {
			return err
		}
		h.Say("%s that fell at the execution or a gate: %s", fault.Count(len(made.Rejected), "training task"), x.Fallen)
	}
	switch {
	case spent:
		return &fault.Error{Code: fault.CodeBudget, What: "the budget is spent", Where: x.Out,
			Why:  fmt.Sprintf("%s of %d were made with it", fault.Count(len(made.Scenarios), "scenario"), x.N),
			Next: "the same command with a higher --budget-usd or --token-budget goes on; what was answered is kept"}
	case len(made.Scenarios) == 0:
		return noScenarioError(made)
	}
	return mostSilent(made.Report.Tools, x.Out, doctor)
}

// subjects are the tools of a catalog as synth has them: which of them may be called without a word of theirs that they
// change nothing.
func subjects(c config.Config, l *episodes.Episodes, all bool) (tools []generate.Tool) {
	for _, s := range l.Catalog.Servers {
		server := l.Housing.Servers.Servers[s.Name]
		held := server.Command != "" && l.Housing.Sandbox.Level() != sandbox.None &&
			!slices.Contains(c.MCP.Sandbox.Exempt, s.Name) && !c.MCP.Sandbox.NetworkFor(s.Name) &&
			len(server.Hosts) == 0 && len(c.MCP.Sandbox.WriteFor(s.Name)) == 0
		own := server.Isolation == mcp.PerReset || held && server.Isolation != mcp.PerSession
		for _, t := range s.Tools {
			tools = append(tools, generate.Tool{
				Tool:     chat.Tool{Name: t.ModelName, Description: t.Description, InputSchema: t.InputSchema},
				Server:   s.Name,
				SHA256:   t.SHA256,
				ReadOnly: toolset.HintsOf(t.Annotations).ReadOnlyHint,
				Safe:     own || all,
				Shared:   !own,
			})
		}
	}
	return tools
}

// stampServers notes the versions of the servers that scenarios call.
func stampServers(l *episodes.Episodes, list []scenario.Scenario) {
	version := l.Versions()
	for i := range list {
		for tool := range list[i].Provenance.Tools {
			if server, _, ok := l.Catalog.Resolve(tool); ok {
				if list[i].Provenance.Servers == nil {
					list[i].Provenance.Servers = map[string]string{}
				}
				list[i].Provenance.Servers[server] = version[server]
			}
		}
	}
}

func sayResult(h *host.Host, made *generate.Result) {
	r := made.Report
	for _, lie := range r.Lies {
		h.Say("warning: %s", lie)
	}
	for _, unmarked := range r.Unmarked {
		h.Say("warning: %s", unmarked)
	}
	for _, server := range readOnlyPlaces(r.Tools) {
		h.Say("warning: %s wants to write where nothing may be written; name a file or folder below "+
			"${HONE_EPISODE_DIR} in its args or env", server)
	}
	if tools := r.Unasked(); tools != "" {
		h.Say("in no program: %s", tools)
	}
	if len(r.Untouched) > 0 {
		h.Say("not called, since nothing bounds what they change and they do not say that they change nothing: %s; "+
			"--call-all calls them too", strings.Join(r.Untouched, ", "))
	}
	h.Say("%s: %.0f%% of several calls, %.0f%% without one; %.0f words a task; %.0f%% of the word triples of the %s "+
		"with calls stand in training tasks",
		fault.Count(len(made.Scenarios), "scenario"), 100*r.Several, 100*r.Abstain, r.Words,
		100*r.Gap.Overlaps[0].Grams[2], fault.Count(r.Gap.Overlaps[0].Tasks, "held-out task"))
	if made.Invented() {
		h.Say("warning: nearly all tasks are over invented data, since a server that keeps data begins each episode " +
			"without any; put yours into a folder beside the servers' file, and write \"template\": \"FOLDER\" into " +
			"its entry")
	}
	if few := r.Few(); few != "" && len(made.Scenarios) > 0 {
		h.Say("warning: too few tasks need a call, fewer than %d: %s; a rate of so few says little; take a greater -n",
			generate.FewTasks, few)
	}
}

// readOnlyPlaces are the servers of which a tool says that it may not write where it wants to: often the folder that it
// is installed in.
func readOnlyPlaces(tools []generate.ToolRow) (servers []string) {
	for _, t := range tools {
		if _, is := toolset.ReadOnlyPlace(t.Why); is && !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
	}
	return servers
}

// mostSilent is an error where most of the tools that were tried answered nothing: the scenarios are written, and are
// of the few that did, which is seldom what a server is meant for. doctor is the command that looks at these servers.
func mostSilent(tools []generate.ToolRow, out, doctor string) error {
	tried, silent := 0, []generate.ToolRow{}
	for _, t := range tools {
		if t.Tried > 0 {
			tried++
		}
		if t.Tried > 0 && t.Answered == 0 {
			silent = append(silent, t)
		}
	}
	if 2*len(silent) <= tried {
		return nil
	}
	f := &fault.Error{
		Code:  fault.CodeFailures,
		What:  fmt.Sprintf("%d of the %s that were tried answered nothing", len(silent), fault.Count(tried, "tool")),
		Where: out,
		Why:   fmt.Sprintf("%s/%s answers: %s", silent[0].Server, silent[0].Tool, fault.Short(silent[0].Why)),
		Next: "correct the server's entry (what it asks for in env or args), and give the same command again; " +
			"the scenarios of the other tools are in " + out,
	}
	for _, t := range silent {
		if _, is := toolset.ReadOnlyPlace(t.Why); is {
			f.Why = fmt.Sprintf("%s/%s answers: %s", t.Server, t.Tool, fault.Short(t.Why))
			f.Next = fmt.Sprintf("%s looks for the option or variable that lets %s write below its episode's folder, "+
				"and prints what to write; then the same command", doctor, t.Server)
			break
		}
	}
	return f
}

// noScenarioError says why there is no scenario: what the first tool answers, or at which stage all fell.
func noScenarioError(made *generate.Result) error {
	for i, s := range slices.Backward(made.Report.Stages) { // the last that was handed something
		if s.In > 0 && s.Out == 0 && i > 0 && made.Report.Asked != nil {
			return &fault.Error{Code: fault.CodeFailures, What: "no scenario could be made", Where: "stage " + s.Name,
				Why:  fmt.Sprintf("all %d tasks that came so far fell there", s.In),
				Next: "take an abler --teacher, --judge or --reference; without a --teacher templates word the tasks"}
		}
	}
	why, next := "the servers have no tools", "give the server what it asks for in its entry (a key in env, hosts, "+
		"a template folder); where it takes what no schema tells, state calls in a file: --kinds"
	for _, t := range made.Report.Tools {
		if t.Why != "" {
			why = fmt.Sprintf("%s/%s answers: %s", t.Server, t.Tool, fault.Short(t.Why))
			break
		}
	}
	if len(made.Report.Unmarked) > 0 {
		why = made.Report.Unmarked[0]
		next = "mark the errors so; a --teacher thinks of arguments that fit"
	}
	if len(made.Report.Untouched) > 0 {
		why = "no tool says that it changes nothing, and nothing bounds what a call would change"
		next = "let the sandbox hold the server, or give --call-all where calls can do no harm"
	}
	return &fault.Error{Code: fault.CodeFailures, What: "no scenario could be made", Why: why, Next: next}
}

func stopError(ctx context.Context, x Options, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &fault.Error{Code: fault.CodeStopped, What: "stopped; what the servers answered is kept", Where: x.Work,
		Next: "the same command goes on"}
}
