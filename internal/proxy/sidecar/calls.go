package sidecar

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/job"
)

// placeCalls is what one system calls at a place where calls are due: a line of the file beside the report, from which
// others' metrics of calls are computed.
type placeCalls struct {
	System  string                  `json:"system"`
	Row     string                  `json:"row"`
	Calls   []chat.ToolCall         `json:"calls"`   // [] where none could be read
	Results []trajectory.ToolResult `json:"results"` // null where the calls were not made on servers
}

// placesOf are a system's places, in the order of the rows.
func (e *evaluation) placesOf(system string) (list []placeCalls) {
	for i, out := range e.of[system] {
		r := &e.rows[i]
		if !out.gives || r.IsEnd() {
			continue
		}
		p := placeCalls{System: system, Row: r.ID, Calls: append([]chat.ToolCall{}, out.calls...)}
		if e.executed != nil && e.executed.lost[r.Point.ID] == nil {
			p.Results = append([]trajectory.ToolResult{}, e.executed.made[attemptKey(&r.Point, out.calls)]...)
		}
		list = append(list, p)
	}
	return list
}

// successRate is the share of a system's places whose calls were all answered without error; nil where none was made.
func (e *evaluation) successRate(system string) *stats.Interval {
	if e.executed == nil {
		return nil
	}
	families := map[string]string{}
	for i := range e.rows {
		families[e.rows[i].ID] = e.rows[i].Scenario
	}
	var rows []stats.Row
	for _, p := range e.placesOf(system) {
		if p.Results != nil {
			failed := slices.ContainsFunc(p.Results, func(r trajectory.ToolResult) bool {
				return r.Status != trajectory.CallOK
			})
			rows = append(rows,
				stats.Row{ScenarioID: p.Row, Family: families[p.Row], Episode: len(p.Results) > 0 && !failed})
		}
	}
	rate := stats.Estimate(rows, stats.Completion(), e.bootstrap())
	return &rate
}

// saveCalls writes the places of all systems, a line each.
func (e *evaluation) saveCalls() error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for _, system := range e.names {
		for _, p := range e.placesOf(system) {
			if err := out.Encode(p); err != nil {
				return err
			}
		}
	}
	return job.WriteFile(e.o.callsFile(), text.Bytes())
}

// callsFile is the report's name with another ending.
func (o EvalOptions) callsFile() string {
	return strings.TrimSuffix(o.where(), ".json") + ".calls.jsonl"
}
