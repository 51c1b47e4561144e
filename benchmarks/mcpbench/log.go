// Package mcpbench computes the rule metrics of MCP-Bench (Wang et al., arXiv 2508.20453) from episodes: by the
// formulas of its evaluator, benchmark/evaluator.py and benchmark/results_aggregator.py of
// github.com/Accenture/mcp-bench at commit 09e52332b22428bf891be59047e01cb9adc063b4, and once more with their holes
// closed. Definitions says both in words.
//
// What a judge scores there is no part of it: docs/rubrics/mcp-bench.yaml has its axes.
package mcpbench

import (
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Call is one entry of an execution log.
type Call struct {
	Tool      string // as the model called it
	Arguments string // JSON text
	Answered  bool   // by the tool, without isError
	Refused   bool   // all the same the answer's text says that the call failed
}

// Log is what one episode did.
type Log struct {
	Calls        []Call // in the order in which they were made; searches of hone's own are none
	NumMalformed int    // turns that began a call which could not be read
	NoToolFits   bool   // the scenario asks that no tool be called
}

// LogOf reads a log from an episode's record. refused returns, of the text of an answer that counts as no error, why it
// looks like one, or ""; s is nil where the scenario is not known.
func LogOf(t *trajectory.Trajectory, s *scenario.Scenario, refused func(text string) string) Log {
	var l Log
	for _, turn := range t.Turns {
		if turn.ParseError != "" {
			l.NumMalformed++
		}
	}
	for _, r := range t.ServerCalls() {
		l.Calls = append(l.Calls, CallOf(r, refused))
	}
	if s != nil {
		for _, c := range s.Checks {
			l.NoToolFits = l.NoToolFits || c.Type == scenario.NoCallCheck && c.Name == ""
		}
	}
	return l
}

// CallOf is a call by its result; refused is as LogOf's.
func CallOf(r trajectory.ToolResult, refused func(text string) string) Call {
	// MCP-Bench knows of no patterns by which a configuration tells refusals.
	configured := r.Status == trajectory.CallToolError && strings.HasPrefix(r.Error, trajectory.RefusedByConfiguration)
	answered := r.Status == trajectory.CallOK || configured
	return Call{Tool: r.Call.Name, Arguments: r.Call.Arguments, Answered: answered,
		Refused: configured || answered && refused(r.Text) != ""}
}
