package reward

import (
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/mcpbench"
	"hone/internal/text/toolcall/repair"
)

// Rules are MCP-Bench's rule metrics of one episode as terms, by the definitions whose holes are closed (mcpbench.Definitions). An episode in which one is
// not defined has no such term. The zero value has none of them. They are shares of the calls, so a call that fails makes them less, also
// after a gold call: an agent that tries on may lose by it what Default never takes.
type Rules struct {
	Tools   mcpbench.Tools           // all that can be called
	Refused func(text string) string // says of an answer that counts as no error why it looks like one, or ""
	// Weights.
	ValidToolName, SchemaCompliance, ExecutionSuccess float64
}

// terms are those that have a weight.
func (r Rules) terms() (list []term) {
	for _, x := range []struct {
		name   string
		weight float64
		of     func(mcpbench.Rates) *float64
	}{
		{"valid_tool_name_rate", r.ValidToolName, func(x mcpbench.Rates) *float64 { return x.ValidToolName }},
		{"input_schema_compliance", r.SchemaCompliance, func(x mcpbench.Rates) *float64 { return x.SchemaCompliance }},
		{"execution_success_rate", r.ExecutionSuccess, func(x mcpbench.Rates) *float64 { return x.ExecutionSuccess }},
	} {
		if x.weight == 0 {
			continue
		}
		rate := func(s *scenario.Scenario, t *trajectory.Trajectory) *float64 {
			return x.of(r.Tools.Closed(mcpbench.LogOf(t, s, r.Refused)))
		}
		list = append(list, term{x.name, func(s *scenario.Scenario, t *trajectory.Trajectory) bool { return rate(s, t) != nil },
			each(func(e episode) mark { return mark{score: *rate(e.Scenario, e.Trajectory)} }), times(x.weight), true})
	}
	return list
}

// mostRepairs is how many things a malformed call may want until it costs as much as one that nobody can read.
const mostRepairs = 4

// repairCost is what the malformed calls of an episode would take to be read, 0..1: the sum over them of the number of repairs by package repair,
// of four, or 1 where there is no reading. So a call that lacks a brace loses less than half a sentence does, where parse tells none apart. For
// the reason of share it weighs nothing in an episode that made some gold calls and not all.
func repairCost(e episode) mark {
	cost, why := 0.0, []string{}
	for _, turn := range e.Trajectory.Turns {
		if turn.ParseError == "" || cutByLimit(e.Trajectory, turn) {
			continue
		}
		did, ok := repairsOf(turn.Content)
		if !ok {
			cost, why = cost+1, append(why, "nobody can read it")
			continue
		}
		cost, why = cost+min(1, float64(len(did))/mostRepairs), append(why, strings.Join(did, ", "))
	}
	done := goldShare(e, e.Trajectory.ServerCalls())
	return mark{score: min(1, cost), why: strings.Join(why, "; "), waived: done > 0 && done < 1}
}

// repairsOf are the repairs by which the text of a malformed call becomes one: at least one, as its frame may be what is broken.
func repairsOf(text string) (did []string, ok bool) {
	_, kinds, err := repair.Object(text)
	if err != nil {
		return nil, false
	}
	for _, k := range kinds {
		if k != repair.Prose && k != repair.CodeFence { // tags of the call's form, or words around it
			did = append(did, string(k))
		}
	}
	if len(did) == 0 {
		did = []string{string(repair.MissingOuterTag)}
	}
	return did, true
}
