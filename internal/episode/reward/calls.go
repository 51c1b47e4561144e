package reward

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// callsWithAnswer returns those of calls that a tool answered as the scenario wants: without error, for a call refused
// or failed has done nothing; or, where a check asks for a refusal, with one.
func callsWithAnswer(e episode, results []trajectory.ToolResult) []chat.ToolCall {
	var calls []chat.ToolCall
	for _, r := range results {
		refused := r.Status == trajectory.CallToolError &&
			slices.ContainsFunc(e.Scenario.Checks, func(c scenario.Check) bool {
				return c.Type == scenario.CallCheck && c.Refused && c.IsCall(r.Call, e.Defaults)
			})
		if r.Status == trajectory.CallOK || refused {
			calls = append(calls, r.Call)
		}
	}
	return calls
}

// attempt is as many calls of servers' tools as there are gold calls, the first ones. What earns on the way looks at
// these alone: more calls are more guesses.
func attempt(e episode) []trajectory.ToolResult {
	calls := e.Trajectory.ServerCalls()
	return calls[:min(len(calls), len(e.Scenario.Gold))]
}

// missingCalls says which gold calls are not among calls, made and answered.
func missingCalls(e episode, calls []trajectory.ToolResult) []string {
	var missing []string
	gold := e.Scenario.GoldCalls()
	for i, j := range grade.Match(callsWithAnswer(e, calls), gold, e.Defaults) {
		if j < 0 {
			missing = append(missing, fmt.Sprintf("gold[%d] (%s) was not called", i, gold[i].Name))
		}
	}
	return missing
}

// goldShare is the part of gold calls that are among calls: all where there are none.
func goldShare(e episode, calls []trajectory.ToolResult) float64 {
	if len(e.Scenario.Gold) == 0 {
		return 1
	}
	return 1 - float64(len(missingCalls(e, calls)))/float64(len(e.Scenario.Gold))
}

// toolShare is the part of gold calls whose tool the attempt called, each call counting once. Arguments must be strict
// JSON: a repeated key must not earn what a server's lenient reader forgave. A call against its tool's schema counts
// half: it is nearer than one of another tool, and further than one that could be sent.
func toolShare(e episode) float64 {
	gold := e.Scenario.GoldCalls()
	sent, refused := map[string]int{}, map[string]int{}
	for _, r := range attempt(e) {
		_, err := grade.Decode(r.Call.Arguments)
		switch {
		case r.Status == trajectory.CallInvalid:
			refused[r.Call.Name]++
		case err == nil:
			sent[r.Call.Name]++
		}
	}
	found := 0.0
	for _, g := range gold {
		switch {
		case sent[g.Name] > 0:
			sent[g.Name]--
			found++
		case refused[g.Name] > 0:
			refused[g.Name]--
			found += 0.5
		}
	}
	return found / float64(len(gold))
}

// missingEnd says why an episode did not end right, or "". Right is: every completion stopped by itself, turns that
// call hold nothing but their calls, and an answer followed, or only MaxTurns kept it from following the last gold
// call. All gold calls must have been made: an answer before that is no end, and must not pay more than going on.
func missingEnd(e episode) string {
	gold, t := e.Scenario.GoldCalls(), e.Trajectory
	for i, turn := range t.Turns {
		if len(turn.Calls) > 0 && strings.TrimSpace(turn.Content) != "" {
			return fmt.Sprintf("turn %d holds text around its calls", i)
		}
	}
	calls := t.ServerCalls()
	missing := missingCalls(e, calls)
	switch {
	case t.StopReason == trajectory.StopCompleted && strings.TrimSpace(t.Answer()) == "" && !endsByTool(t):
		return "the answer is empty"
	case len(missing) > 0:
		return missing[0]
	case t.StopReason == trajectory.StopCompleted:
		return ""
	case t.StopReason == trajectory.StopMaxTurns && len(gold) > 0 && len(calls) == len(gold):
		return ""
	}
	return "stopped by " + string(t.StopReason)
}

// endsByTool reports whether a call ended the conversation, behind which no answer is to follow.
func endsByTool(t *trajectory.Trajectory) bool {
	return t.User != nil && t.User.Ended == trajectory.EndedByTool
}

// repeats counts calls equal to an earlier one. Calls that are not strict JSON are compared as text.
func repeats(t *trajectory.Trajectory) int {
	var seen []chat.ToolCall
	n := 0
	for _, result := range t.Calls() {
		again := false
		for _, c := range seen {
			equal, err := grade.EqualCalls(result.Call, c, nil)
			again = again || err == nil && equal || c.Name == result.Call.Name && c.Arguments == result.Call.Arguments
		}
		if again {
			n++
		}
		seen = append(seen, result.Call)
	}
	return n
}

func parseError(t *trajectory.Trajectory) string {
	for _, turn := range t.Turns {
		if turn.ParseError != "" && !cutByLimit(t, turn) {
			return turn.ParseError
		}
	}
	return ""
}

// cutByLimit reports whether a turn's malformed call was cut off by the token limit: it is the limit's doing, which
// costs the end term already.
func cutByLimit(t *trajectory.Trajectory, turn trajectory.Turn) bool {
	return t.StopReason == trajectory.StopMaxTokens && turn.Feedback == ""
}
