package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/data/known"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
)

// goldPolicy is a policy that makes each scenario's gold calls, one a turn, each behind what it asks the user first,
// and then says its gold answer, or what its checks of the answer want; where there is neither, the last call's result.
// Whether that passes is for the checks to tell, as of any policy.
type goldPolicy map[string]*scenario.Scenario

// Gold is a policy that makes the gold calls of scenarios, one a turn, and then says their gold answers.
func Gold(list []scenario.Scenario) rollout.Policy { return goldPolicy(scenario.ByID(list)) }

// MakesGold is an error where no gold call can be made: tools that are searched are called behind a search alone, which
// no gold solution has.
func MakesGold(l *episodes.Episodes) error {
	if !l.Selection.UsesSearch() {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "gold calls cannot be made where tools are searched",
		Where: "mcp.search_share",
		Why:   "a tool is called when a search has found it, and a gold solution has no search",
		Next:  "set mcp.search_share to 0, and mcp.max_tools to how many are shown"}
}

// HasGold reports whether there is anything to show of a scenario: a call, or an answer that a check names.
func HasGold(s *scenario.Scenario) bool { return goldPolicy(nil).shows(s) }

// shows reports whether there is anything to show of a scenario: a call, or an answer that a check names.
func (goldPolicy) shows(s *scenario.Scenario) bool {
	_, named := answerOf(s)
	return named || len(s.Gold) > 0
}

// goldTurns counts the completions that showing a scenario takes: its calls, what is asked before them, and the answer.
func goldTurns(s *scenario.Scenario) int {
	n := len(s.Gold) + len(s.Slips) + 1
	for _, g := range s.Gold {
		if g.Asks != "" {
			n++
		}
	}
	return n
}

// sayTooLong tells of scenarios whose gold calls do not fit the limits of an episode, before any is made.
func sayTooLong(j *job.Job, list []scenario.Scenario) {
	for _, limit := range []struct {
		key, noun string
		most      int
		takes     func(*scenario.Scenario) int
	}{
		{"rollout.max_turns", "turn", j.Config.Rollout.MaxTurns, goldTurns},
		{"rollout.max_tool_calls", "call", j.Config.Rollout.MaxToolCalls, func(s *scenario.Scenario) int {
			return len(s.Gold) + len(s.Slips)
		}},
	} {
		long, longest := 0, 0
		for i := range list {
			if n := limit.takes(&list[i]); n > limit.most {
				long, longest = long+1, max(longest, n)
			}
		}
		if long > 0 {
			j.Say("note: %s of %d take more than %s to show, which is %s: they will be cut; the longest takes %d",
				fault.Count(long, "scenario"), len(list), fault.Count(limit.most, limit.noun), limit.key, longest)
		}
	}
}

// NumSlots implements rollout.Policy: a person may be asked about each call.
func (goldPolicy) NumSlots() int { return 1 }

// Speaker implements rollout.Policy.
func (g goldPolicy) Speaker(a rollout.Attempt) rollout.Speaker {
	return &goldSpeaker{of: g[a.ScenarioID]}
}

type goldSpeaker struct {
	of    *scenario.Scenario
	turn  int
	slips int  // that were made
	asked bool // before the call of this turn
}

// Say implements rollout.Speaker.
func (s *goldSpeaker) Say(_ context.Context, messages []chat.Message, _ []chat.Tool) (environment.Reply, error) {
	calls := s.of.GoldCalls()
	if s.slips < len(s.of.Slips) && s.of.Slips[s.slips].Before <= s.turn {
		call := s.of.Slips[s.slips].Call()
		call.ID = "slip_" + strconv.Itoa(s.slips)
		s.slips++
		return environment.Reply{Turn: &trajectory.Turn{Calls: []chat.ToolCall{call}, NoLoss: true}}, nil
	}
	if s.turn < len(calls) {
		if asks := s.of.Gold[s.turn].Asks; asks != "" && !s.asked {
			s.asked = true
			return environment.Reply{Turn: &trajectory.Turn{
				ReasoningContent: s.of.Gold[s.turn].AsksReasoning, Content: asks}}, nil
		}
		call := calls[s.turn]
		call.ID = "call_" + strconv.Itoa(s.turn)
		var compact bytes.Buffer // a file's own line ends are nothing to learn
		if err := json.Compact(&compact, []byte(call.Arguments)); err != nil {
			return environment.Reply{}, err
		}
		call.Arguments = compact.String()
		reasoning := s.of.Gold[s.turn].Reasoning
		s.turn, s.asked = s.turn+1, false
		return environment.Reply{Turn: &trajectory.Turn{ReasoningContent: reasoning, Calls: []chat.ToolCall{call}}}, nil
	}
	answer, named := answerOf(s.of)
	if last := messages[len(messages)-1]; !named && last.Role == chat.ToolRole {
		answer = strings.TrimSpace(last.Content)
	}
	return environment.Reply{Turn: &trajectory.Turn{ReasoningContent: s.of.GoldReasoning, Content: answer}}, nil
}

// answerOf is a scenario's gold answer, else the text that the first check of its answer wants; and whether there is
// one: what an expression may match is no answer to learn.
func answerOf(s *scenario.Scenario) (text string, named bool) {
	if s.GoldAnswer != "" {
		return s.GoldAnswer, true
	}
	for _, c := range s.Checks {
		if c.Type != scenario.AnswerCheck || c.Regex != nil {
			continue
		}
		if texts, ok := c.Examples(); ok && len(texts) > 0 {
			return texts[0], true
		}
	}
	return "", false
}

// unknownAnswer begins what is said of a gold answer that could not be known.
const unknownAnswer = "its answer says "

// unmadeCall begins what is said of a gold call that no session makes.
const unmadeCall = "its gold call "

// refuseUnmade has a gold solution that calls a tool which was not there count as the policy's mistake, as is said
// before the run: whatever its answer is, it does not follow from its calls. Slips, which are not learnt, may do so.
func refuseUnmade(t *trajectory.Trajectory) (refused bool) {
	if t.Outcome != trajectory.OK {
		return false
	}
	for _, turn := range t.Turns {
		for _, r := range turn.Results {
			there := slices.ContainsFunc(t.Tools, func(x chat.Tool) bool { return x.Name == r.Call.Name })
			if r.Status == trajectory.CallInvalid && !there && !turn.NoLoss {
				t.Outcome = trajectory.PolicyError
				t.Error = fmt.Sprintf("%s%.60q cannot be made: there is no such tool", unmadeCall, r.Call.Name)
				return true
			}
		}
	}
	return false
}

// mendUnknown is what to do about one of a run.
func mendUnknown(path string, t *trajectory.Trajectory) string {
	return fmt.Sprintf("hone runs show %s --episode %s shows what a model would see; let a result or the task say "+
		"the value, or correct the answer; --keep-unknown keeps such answers", path, t.ID)
}

// refuseUnknown has a gold solution whose answer no prompt, no result and no reasoning of its own says count as the
// policy's mistake, which is not learnt from: a model would learn to invent.
func refuseUnknown(t *trajectory.Trajectory) {
	if t.Outcome != trajectory.OK {
		return
	}
	value, found := known.Unknown(t.Messages, t.Tools, func(i int) bool { return i >= t.Opening }, true)
	if found {
		t.Outcome, t.Error = trajectory.PolicyError, fmt.Sprintf("%s%.60q, which no prompt and no result says",
			unknownAnswer, value)
	}
}

// allUnmadeError is the error where every gold solution calls a tool that is not there.
func allUnmadeError(where string, first *trajectory.Trajectory) error {
	return &fault.Error{Code: fault.CodeFailures, What: "every gold solution calls a tool that is not there",
		Where: where, Why: first.ScenarioID + ": " + first.Error, Next: mendUnmade}
}

// mendUnmade is what to do about gold calls of tools that are not there.
const mendUnmade = "hone scenarios validate names all, and the tools that are near"

// allRefusedError is the error where no gold solution of a collection was carried out.
func allRefusedError(where, why, mend string) error {
	return &fault.Error{Code: fault.CodeFailures, What: "every gold solution was refused by its MCP server",
		Where: where, Why: why,
		Next: mend + "; then the same command tries these scenarios again"}
}
