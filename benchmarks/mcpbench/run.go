package mcpbench

import (
	"fmt"
	"path/filepath"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/run"
)

// ToolsOf are a catalog's tools.
func ToolsOf(catalog *mcp.Catalog) Tools {
	var list []Tool
	for _, s := range catalog.Servers {
		for _, t := range s.Tools {
			list = append(list, Tool{Name: t.ModelName, Server: s.Name, InputSchema: t.InputSchema})
		}
	}
	return NewTools(list)
}

// RuleMetrics are MCP-Bench's of one stage of a run: of the episodes that the policy had a hand in the end of.
type RuleMetrics struct {
	Stage string `json:"stage"`
	Summary
	// what num_tasks, as MCP-Bench calls them, are episodes of: fewer, where scenarios were repeated
	NumScenarios int `json:"num_scenarios"`
	NumExcluded  int `json:"num_excluded"` // episodes that ended for other reasons
}

// RuleMetricsOf computes MCP-Bench's rule metrics of each stage of the run in path, by the catalog that it keeps.
func RuleMetricsOf(path string) ([]RuleMetrics, error) {
	catalog, err := mcp.Load(filepath.Join(path, job.CatalogFile))
	if err != nil {
		return nil, err
	}
	tools := ToolsOf(catalog)
	known := records.ScenariosOf(path)
	scenarios := map[string]map[string]bool{}
	logs, excluded, order := map[string][]Log{}, map[string]int{}, []string{}
	err = records.ReadLedger(path, func(l *run.Ledger) error {
		return l.Each(func(r run.TrajectoryRow) error {
			t := &trajectory.Trajectory{}
			if err := r.Decode(t); err != nil {
				return err
			}
			if logs[r.Stage] == nil && excluded[r.Stage] == 0 {
				order = append(order, r.Stage)
			}
			if !t.Outcome.Trainable() {
				excluded[r.Stage]++
				return nil
			}
			s := known[t.ScenarioID]
			if s != nil && s.Hash() != t.Scenario {
				s = nil
			}
			if scenarios[r.Stage] == nil {
				scenarios[r.Stage] = map[string]bool{}
			}
			scenarios[r.Stage][t.ScenarioID] = true
			logs[r.Stage] = append(logs[r.Stage], LogOf(t, s, mcp.RefusalPattern))
			return nil
		})
	})
	if err == nil && len(order) == 0 {
		err = &fault.Error{Code: fault.CodeUsage, What: "the run has no episodes", Where: path, Next: "hone runs ls"}
	}
	var out []RuleMetrics
	for _, stage := range order {
		out = append(out, RuleMetrics{strings.TrimPrefix(stage, "eval_"), tools.Summarize(logs[stage]),
			len(scenarios[stage]), excluded[stage]})
	}
	return out, err
}

// String says what the numbers are of.
func (m RuleMetrics) String() string {
	return fmt.Sprintf("%s: %s of %s, %d without calls, which the published means leave out; "+
		"%.1f calls and %.1f servers an episode; %s excluded", m.Stage,
		fault.Count(m.NumTasks, "episode"), fault.Count(m.NumScenarios, "task"), m.NumWithoutCalls, m.Calls, m.Servers,
		fault.Count(m.NumExcluded, "episode"))
}

// RuleMetricRows are the numbers as a table.
func RuleMetricRows(stages []RuleMetrics) [][]string {
	rows := [][]string{{"STAGE", "METRIC", "PUBLISHED", "CLOSED"}}
	for _, s := range stages {
		for i, d := range Definitions() {
			name := s.Stage
			if i > 0 {
				name = ""
			}
			rows = append(rows,
				[]string{name, d.Name, fmt.Sprintf("%.3f", d.Of(s.Published)), fmt.Sprintf("%.3f", d.Of(s.Closed))})
		}
	}
	return rows
}
