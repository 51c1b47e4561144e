package view

import (
	_ "embed"
	"strings"
	"sync"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
)

// Skill says how an agent works with hone, in the form of a skill: a head in YAML, and Markdown.
//
//go:embed SKILL.md
var Skill string

// Instructions are those of the skill, which a client's model reads first.
func Instructions() string {
	_, body, _ := strings.Cut(strings.TrimPrefix(Skill, "---\n"), "\n---\n")
	return strings.TrimSpace(body)
}

// Desk is what the tools work on that hone itself offers to coding agents over MCP: they look into runs by the code of
// the page, check scenarios, and start runs. All fields are needed.
type Desk struct {
	Env     job.Env
	RunsDir func() (string, error)                   // where runs are listed and begun
	RunPath func(name string) (path string, _ error) // the folder of a run by its name or folder
	Program string                                   // hone, as it is started for what runs beside

	mu       sync.Mutex
	readings map[string]*Reading // by folder, so that of a long run only what is new is read
}

// Tools are all.
func (d *Desk) Tools() []mcp.OwnTool {
	reads, calls := mcp.Acts{ReadOnly: true}, mcp.Acts{Destructive: true, OpenWorld: true}
	return []mcp.OwnTool{
		mcp.NewOwnTool("list_runs", "List runs",
			"The runs on this machine, newest first: name, folder, state, steps, episodes, and the command "+
				"that goes on with a stopped one.",
			reads, d.listRuns),
		mcp.NewOwnTool("show_run", "Show a run",
			"A run's overview: reward and held-out success with 95% intervals, groups that teach, cost, time "+
				"left, where the time goes, alerts in words, stages, what ran. With metrics, their values by step"+
				" too.",
			reads, d.showRun),
		mcp.NewOwnTool("watch_run", "Wait for a run",
			"Wait until a run takes a step, changes its state or ends, or until the time is over; then its "+
				"overview.",
			reads, d.watchRun),
		mcp.NewOwnTool("compare_runs", "Compare runs",
			"Several runs side by side: in what they differ, their numbers with intervals, last metrics, and "+
				"what each evaluated system did.",
			reads, d.compareRuns),
		mcp.NewOwnTool("list_trajectories", "List trajectories",
			"The trajectories of a run by stage, step, scenario, outcome, reason, tool, words or verdict, or "+
				"the worst by reward. In parts: next is the offset of the next one.",
			reads, d.listTrajectories),
		mcp.NewOwnTool("read_trajectory", "Read a trajectory",
			"One trajectory as text: chat, calls and results, checks with why each failed, what servers "+
				"wrote. In parts: next is the offset of the next one.",
			reads, d.readTrajectory),
		mcp.NewOwnTool("validate_scenarios", "Check a file of scenarios",
			"Check each row of a file of scenarios without any call: its form, its calls, its checks. Says "+
				"which rows do not hold and why.",
			reads, d.validateScenarios),
		mcp.NewOwnTool("try_scenarios", "Try scenarios on servers",
			"validate_scenarios, and make the gold calls of each row on the servers, each in a session of its"+
				" own.",
			calls, d.tryScenarios),
		mcp.NewOwnTool("start_run", "Start a run",
			"Start collect, sft, dpo, train or eval in a process of its own, which goes on when this client "+
				"leaves. Returns the run's name and how to watch it. Servers' tools are really called.",
			calls, d.startRun),
	}
}

// reading is the reader of a run's, which is kept.
func (d *Desk) reading(name string) (*Reading, string, error) {
	if name == "" {
		return nil, "", &fault.Error{Code: fault.CodeUsage, What: "no run is named", Next: "list_runs names them"}
	}
	path, err := d.RunPath(name)
	if err == nil {
		err = IsRun(path)
	}
	if err != nil {
		return nil, "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readings == nil {
		d.readings = map[string]*Reading{}
	}
	if d.readings[path] == nil {
		d.readings[path] = NewReading(d.Env, path)
	}
	return d.readings[path], path, nil
}

// host is the process's.
func (d *Desk) host() *host.Host { return d.Env.Host }
