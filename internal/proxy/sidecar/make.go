package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/overlap"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/proxy/revise"
	"hone/internal/toolset"
)

// MakeOptions are the flags of hone sidecar make-data.
type MakeOptions struct {
	Datasets      []string // scenario files
	Points        string   // a folder of an earlier make-data, whose points are taken in the place of scenarios
	From          []string // upstreams, as hone eval --compare names them
	Temperatures  []float64
	Corrupt       int    // wrong drafts of the corruption model at each point, and one that is right
	Shown         int    // tools shown at a point
	HoldSource    string // an upstream, by its name, that drafts at test points alone
	HoldServer    string // a server whose points are all test
	Not           []string
	Reviser       string // a stronger model that makes the targets
	Out           string // folder
	Workers       int
	BudgetTokens  int
	BudgetUSD     float64
	AllowFindings scan.Allowed
}

// Check refuses flags that make nothing.
func (x MakeOptions) Check() error {
	bad := func(what, where, next string) error {
		return &fault.Error{Code: fault.CodeUsage, What: what, Where: where, Next: next}
	}
	switch {
	case x.Out == "":
		return bad("no output folder", "--out", "name one with --out")
	case (len(x.Datasets) == 0) == (x.Points == ""):
		return bad("there are no tasks, or two kinds of them", "--dataset, --points",
			"name scenario files with --dataset, or a folder of an earlier make-data with --points")
	case len(x.From) == 0 && x.Corrupt == 0 && x.Points != "":
		return bad("nothing makes drafts", "--from, --corrupt", "name upstreams with --from, or give --corrupt above 0")
	case x.Shown < 1 || x.Workers < 1 || x.Corrupt < 0 || len(x.Temperatures) == 0:
		return bad("a number is too small", "--shown, --workers, --corrupt, --temperature",
			"hone sidecar make-data --help")
	}
	return nil
}

// maker makes one data folder.
type maker struct {
	*host.Host
	c       config.Config
	x       MakeOptions
	catalog *mcp.Catalog
	servers environment.Tools // nil: there are none to execute on
	budget  *llm.Budget
	points  []revise.Point
	rows    []revise.Row
	stats   Stats
	fixers  *fixers
	close   func()
}

// Make writes a data folder, and returns what is in it.
func Make(ctx context.Context, h *host.Host, c config.Config, from toolset.Source, x MakeOptions) (*Stats, error) {
	systems, err := sourcesOf(c, x)
	if err != nil {
		return nil, err
	}
	m := &maker{Host: h, c: c, x: x, budget: llm.NewBudget(x.BudgetTokens, x.BudgetUSD), close: func() {}}
	defer func() { m.close() }()
	if err := m.open(ctx, from, x); err != nil {
		return nil, err
	}
	if len(m.points) == 0 {
		return nil, &fault.Error{Code: fault.CodeFailures, What: "there is no point at which a call is to be made",
			Why: fmt.Sprint(m.stats.Dropped), Next: "give scenarios with gold calls that their servers answer"}
	}
	if err := m.drafts(ctx, systems); err != nil {
		return nil, err
	}
	m.corrupt()
	m.judge(ctx)
	if err := m.revise(ctx); err != nil {
		return nil, err
	}
	return &m.stats, m.write()
}

// sourcesOf are the upstreams that draft.
func sourcesOf(c config.Config, x MakeOptions) ([]job.System, error) {
	if len(x.From) == 0 {
		return nil, nil
	}
	systems, err := eval.SystemsOf(c, "", x.From)
	if err == nil && x.HoldSource != "" && x.HoldSource != Corrupted &&
		!slices.ContainsFunc(systems, func(s job.System) bool { return s.Name == x.HoldSource }) {
		names := []string{Corrupted}
		for _, s := range systems {
			names = append(names, s.Name)
		}
		err = &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("no source is called %q", x.HoldSource),
			Where: "--hold-source", Why: fmt.Sprint("there are ", names), Next: "name one of them"}
	}
	return systems, err
}

// open finds the points: it executes scenarios, or reads the points of an earlier folder.
func (m *maker) open(ctx context.Context, from toolset.Source, x MakeOptions) error {
	if x.Points != "" {
		var err error
		if m.catalog, err = mcp.Load(filepath.Join(x.Points, job.CatalogFile)); err != nil {
			return err
		}
		if err = toolset.RefuseFindings(m.Host, m.c.MCP, m.catalog.LintTools(), x.AllowFindings); err != nil {
			return err
		}
		m.points, err = readLines(filepath.Join(x.Points, PointsFile), readJSON[revise.Point])
		return err
	}
	list, err := m.scenarios()
	if err != nil {
		return err
	}
	servers, err := toolset.LoadServers(m.Host, m.c, from)
	if err != nil {
		return err
	}
	set, err := toolset.Open(ctx, m.Host, m.c, servers, "")
	if err != nil {
		return err
	}
	m.close = set.Close
	if err := toolset.RefuseFindings(m.Host, m.c.MCP, set.Catalog.LintTools(), x.AllowFindings); err != nil {
		return err
	}
	m.catalog, m.servers = set.Catalog, set.Tools
	progress := m.Progress(x.Workers)
	m.points, m.stats.Dropped = pointsOf(ctx, m.servers, m.catalog, list, m.c.Rollout.System, x.Shown, x.Workers,
		func(done, all int) { progress("points", done, all, "") })
	for i := range m.points {
		if m.points[i].Server == x.HoldServer && x.HoldServer != "" {
			m.points[i].Split = scenario.Test
		}
	}
	return ctx.Err()
}

// scenarios reads the files, and leaves out tasks that are near to one of an evaluation.
func (m *maker) scenarios() (list []scenario.Scenario, err error) {
	for _, path := range m.x.Datasets {
		some, err := scenario.Load(path)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	var sources []overlap.Source
	for _, path := range m.x.Not {
		some, err := scenario.Load(path)
		if err != nil {
			return nil, err
		}
		for i := range some {
			sources = append(sources, overlap.Source{Name: some[i].ID, Where: path, Text: overlap.TextOf(&some[i])})
		}
	}
	taken := map[string]bool{}
	for _, n := range overlap.FindNear(list, sources, overlap.Threshold) {
		taken[n.ScenarioID] = true
	}
	if len(taken) > 0 {
		m.Say("left out %s: near to tasks of an evaluation (--not)", fault.Count(len(taken), "scenario"))
	}
	return slices.DeleteFunc(list, func(s scenario.Scenario) bool { return taken[s.ID] }), nil
}

// fixer is that of the tools shown at a point.
func (m *maker) fixer(p *revise.Point) *revise.Fixer {
	if m.fixers == nil {
		m.fixers = fixersOf(m.catalog)
	}
	return m.fixers.of(p)
}

// pointsFor are the points at which a source drafts: one that is held back drafts at test points alone.
func (m *maker) pointsFor(source string) []revise.Point {
	return slices.DeleteFunc(slices.Clone(m.points), func(p revise.Point) bool {
		return source == m.x.HoldSource && p.Split != scenario.Test
	})
}

// write writes the folder's files.
func (m *maker) write() error {
	if err := os.MkdirAll(m.x.Out, 0o755); err != nil {
		return err
	}
	catalog, err := job.EncodeCatalog(m.catalog)
	if err == nil {
		err = job.WriteFile(filepath.Join(m.x.Out, job.CatalogFile), catalog.Data)
	}
	if err == nil {
		err = writeLines(filepath.Join(m.x.Out, PointsFile), m.points)
	}
	if err == nil {
		err = writeLines(filepath.Join(m.x.Out, UpstreamFile), m.conversations())
	}
	if err == nil {
		err = writeLines(filepath.Join(m.x.Out, RowsFile), m.rows)
	}
	if err != nil {
		return err
	}
	m.stats.count(m.points, m.rows)
	text, err := json.MarshalIndent(m.stats, "", "  ")
	if err != nil {
		return err
	}
	return job.WriteFile(filepath.Join(m.x.Out, StatsFile), append(text, '\n'))
}

// conversation is a line of UpstreamFile.
type conversation struct {
	Messages []chat.Message `json:"messages"`
	Tools    []chat.Tool    `json:"tools"`
	Split    string         `json:"split"`
}

// conversations are the training points as conversations that end with the gold call.
func (m *maker) conversations() (all []conversation) {
	tools := revise.NewTools(m.catalog.Tools())
	for i := range m.points {
		p := &m.points[i]
		if p.Split != scenario.Train || p.IsEnd() {
			continue
		}
		offered, _ := tools.Of(p.Tools) // they were taken from it
		messages := append(slices.Clone(p.Messages), chat.Message{Role: chat.Assistant, ToolCalls: p.GoldCalls()})
		all = append(all, conversation{messages, offered, p.Split})
	}
	return all
}

// Stats are what is in a data folder.
type Stats struct {
	Points  map[string]int            `json:"points"`  // by split
	Servers map[string]map[string]int `json:"servers"` // points by server, then split
	// scenarios that gave fewer points than gold calls, by reason
	Dropped map[string]int `json:"dropped,omitempty"`
	// drafts with a call at the end of a scenario, which are left out
	Ends       int                     `json:"ends,omitempty"`
	Sources    map[string]*SourceStats `json:"sources"`
	Corruption revise.Corruption       `json:"corruption"` // as it was fitted
	// rows whose target is the reviser's; of the others it is the gold call
	Targets int `json:"targets"`
}

// SourceStats are what one source of drafts wrote.
type SourceStats struct {
	Rows     int            `json:"rows"`
	Right    int            `json:"right"`
	Splits   map[string]int `json:"splits"`
	Kinds    map[string]int `json:"kinds"` // rows with such an error; a row may have several
	Executed map[string]int `json:"executed"`
}

func (s *Stats) count(points []revise.Point, rows []revise.Row) {
	s.Points, s.Servers, s.Sources = map[string]int{}, map[string]map[string]int{}, map[string]*SourceStats{}
	for _, p := range points {
		s.Points[p.Split]++
		if s.Servers[p.Server] == nil {
			s.Servers[p.Server] = map[string]int{}
		}
		s.Servers[p.Server][p.Split]++
	}
	for _, r := range rows {
		of := s.Sources[r.Source]
		if of == nil {
			of = &SourceStats{Splits: map[string]int{}, Kinds: map[string]int{}, Executed: map[string]int{}}
			s.Sources[r.Source] = of
		}
		of.Rows++
		of.Splits[r.Split]++
		if r.Right {
			of.Right++
		}
		if r.Target != nil {
			s.Targets++
		}
		for _, k := range r.Kinds {
			of.Kinds[k]++
		}
		if r.Executed != "" {
			of.Executed[r.Executed]++
		}
	}
}

// Table is the statistics for a person.
func (s *Stats) Table() [][]string {
	rows := [][]string{{"SOURCE", "ROWS", "RIGHT", "TRAIN", "VALIDATION", "TEST", "ERRORS"}}
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		of, errors := s.Sources[name], ""
		for _, k := range revise.AllKinds() {
			if n := of.Kinds[k]; n > 0 {
				errors += fmt.Sprintf("%s %d, ", k, n)
			}
		}
		rows = append(rows, []string{
			name, fmt.Sprint(of.Rows), fmt.Sprint(of.Right), fmt.Sprint(of.Splits[scenario.Train]),
			fmt.Sprint(of.Splits[scenario.Validation]), fmt.Sprint(of.Splits[scenario.Test]), errors[:max(0,
				len(errors)-2)],
		})
	}
	return rows
}
