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

// answered returns the calls that a tool answered as the scenario wants: without error, for a call refused or failed has
// done nothing; or, where a check asks for a refusal, with one.
func answered(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) []chat.ToolCall {
	var calls []chat.ToolCall
	for _, r := range t.Calls() {
		refused := r.Status == trajectory.CallToolError && slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
			return c.Type == scenario.CallCheck && c.Refused && c.IsCall(r.Call, defaults)
		})
		if r.Status == trajectory.CallOK || refused {
			calls = append(calls, r.Call)
		}
	}
	return calls
}

// sent returns the calls that were well-formed, whatever became of them.
func sent(t *trajectory.Trajectory) []chat.ToolCall {
	var calls []chat.ToolCall
	for _, r := range t.Calls() {
		if r.Status != trajectory.CallInvalid {
			calls = append(calls, r.Call)
		}
	}
	return calls
}

// missingCalls says which gold calls were not made and answered.
func missingCalls(e episode) []string {
	var missing []string
	gold := e.Scenario.GoldCalls()
	for i, j := range grade.Match(answered(e.Scenario, e.Trajectory, e.Defaults), gold, e.Defaults) {
		if j < 0 {
			missing = append(missing, fmt.Sprintf("gold[%d] (%s) was not called", i, gold[i].Name))
		}
	}
	return missing
}

// toolShare is the part of gold calls whose tool was called, each call counting once. Arguments must be strict JSON:
// a repeated key must not earn what a server's lenient reader forgave.
func toolShare(e episode) float64 {
	free, gold := map[string]int{}, e.Scenario.GoldCalls()
	for _, c := range sent(e.Trajectory) {
		if _, err := grade.Decode(c.Arguments); err == nil {
			free[c.Name]++
		}
	}
	found := 0
	for _, g := range gold {
		if free[g.Name] > 0 {
			free[g.Name]--
			found++
		}
	}
	return float64(found) / float64(len(gold))
}

// ended says why an episode did not end right, or "". Right is: every completion stopped by itself, turns that call
// hold nothing but their calls, and an answer followed, or only MaxTurns kept it from following the last gold call.
// Where gold calls exist one must have been made, or silence would be the cheapest way to this term.
func ended(e episode) string {
	gold, t := e.Scenario.GoldCalls(), e.Trajectory
	for i, turn := range t.Turns {
		if len(turn.Calls) > 0 && strings.TrimSpace(turn.Content) != "" {
			return fmt.Sprintf("turn %d holds text around its calls", i)
		}
	}
	matched := len(gold) - len(missingCalls(e))
	switch {
	case t.StopReason == trajectory.StopCompleted && strings.TrimSpace(t.Answer()) == "" && !endedByTool(t):
		return "the answer is empty"
	case t.StopReason == trajectory.StopCompleted && (matched > 0 || len(gold) == 0):
		return ""
	case t.StopReason == trajectory.StopMaxTurns && matched > 0 && matched == len(gold) && len(t.ServerCalls()) == matched:
		return ""
	case t.StopReason == trajectory.StopCompleted:
		return "no gold call was made"
	}
	return "stopped by " + string(t.StopReason)
}

// endedByTool reports whether a call ended the conversation, behind which no answer is to follow.
func endedByTool(t *trajectory.Trajectory) bool {
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
		// A call cut off by the token limit is the limit's doing, which costs the end term already.
		if cut := t.StopReason == trajectory.StopMaxTokens && turn.Feedback == ""; turn.ParseError != "" && !cut {
			return turn.ParseError
		}
	}
	return ""
}
