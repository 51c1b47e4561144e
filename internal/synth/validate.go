package synth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// Finding is one reason why a row does not hold.
type Finding struct {
	File string `json:"file"`
	Line int    `json:"line"`
	ID   string `json:"id"`
	Why  string `json:"why"`

	Stderr map[string]string `json:"stderr,omitempty"` // what servers wrote meanwhile, by server
}

func (f Finding) place() string { return fmt.Sprintf("%s:%d", f.File, f.Line) }

// Rows is a file of scenarios that is looked at row by row.
type Rows struct {
	path     string
	list     []scenario.Scenario
	lines    []int
	findings []Finding
}

// Read reads the rows of a file and notes what is wrong with each alone: no server is asked.
func Read(path string) (*Rows, error) {
	list, lines, err := scenario.LoadLines(path)
	if err != nil {
		return nil, err
	}
	r := &Rows{path: path, list: list, lines: lines, findings: []Finding{}}
	for i := range list {
		for _, why := range checktest.Alone(&list[i]) {
			r.find(i, why, nil)
		}
	}
	return r, nil
}

func (r *Rows) find(i int, why string, said map[string]string) {
	r.findings = append(r.findings, Finding{r.path, r.lines[i], r.list[i].ID, why, said})
}

// SayPlan tells of rows that no check scores, and on a dry run how much would be called.
func (r *Rows) SayPlan(h *host.Host) {
	numCalls, unscored := 0, 0
	for i := range r.list {
		numCalls += len(r.list[i].Setup) + len(r.list[i].Gold)
		if len(r.list[i].Checks) == 0 {
			unscored++
		}
	}
	if unscored > 0 {
		h.Say("note: %s without checks: only a judge could score what has none", fault.Count(unscored, "scenario"))
	}
	if h.DryRun {
		h.Say("would make %s for %s", fault.Count(numCalls, "call"), fault.Count(len(r.list), "scenario"))
	}
}

// Looks reports whether a row has anything that only its servers can tell.
func (r *Rows) Looks() bool {
	return slices.ContainsFunc(r.list, func(s scenario.Scenario) bool { return checktest.Looks(&s) })
}

// Trying is how rows are tried on their servers.
type Trying struct {
	Servers toolset.Source
	// these verbs put no text of a tool before a model: what is refused later is told, but for these
	AllowFindings scan.Allowed
	Offline       bool // no server is asked
}

// Try makes the setup and gold calls of each row and notes what does not hold. Its error is a server that cannot be
// reached.
func (r *Rows) Try(ctx context.Context, h *host.Host, c config.Config, x Trying) error {
	c, err := basemodel.SettleLengths(h, c)
	if err != nil {
		return err
	}
	servers, err := toolset.LoadServers(h, c, x.Servers)
	if err != nil {
		return err
	}
	l, err := episodes.Open(ctx, h, c, servers, "")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := toolset.TellFindings(h, c.MCP, l.Catalog.LintTools(), x.AllowFindings); err != nil {
		return err
	}
	if err := l.Set.Runnable(c, r.list); err != nil { // no user is played
		return err
	}
	trial := checktest.Trial{Tools: l.Tools, Defaults: l.Scorer.Defaults, Programs: toolset.Programs(h, c),
		Refusal: mcp.RefusalPattern}
	report, sessions := h.Progress(1), l.Sendable(c)
	for i := range r.list {
		if why := sessions.Unsendable(&r.list[i]); len(why) > 0 {
			for _, w := range why {
				r.find(i, w, nil)
			}
			report("validate", i+1, len(r.list), "")
			continue
		}
		why, err := trial.Row(ctx, &r.list[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		said := l.Stderr(r.list[i].ID)
		for _, w := range why {
			r.find(i, w, said)
			said = nil // once is enough
		}
		report("validate", i+1, len(r.list), "")
	}
	return nil
}

// Print prints the findings, and what servers wrote to stderr meanwhile. It is an error where there are any.
func (r *Rows) Print(h *host.Host) error {
	rows := [][]string{}
	for _, x := range r.findings {
		rows = append(rows, []string{x.place(), x.ID, host.OneLine(x.Why)})
	}
	if err := h.Print(r.findings, rows); err != nil {
		return err
	}
	for _, x := range r.findings {
		for _, server := range slices.Sorted(maps.Keys(x.Stderr)) {
			h.Say("%s: server %s wrote to stderr:\n  %s", x.place(), server,
				fault.Indent(strings.TrimSpace(x.Stderr[server]), "  "))
		}
	}
	if len(r.findings) > 0 {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  fault.Count(len(r.findings), "finding") + " in " + fault.Count(len(r.list), "scenario"),
			Where: r.findings[0].place(),
			Why:   r.findings[0].Why,
			Next:  "correct these rows, or leave them out",
		}
	}
	h.Say("nothing is wrong with %s", fault.Count(len(r.list), "scenario"))
	return nil
}
