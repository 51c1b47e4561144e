package reward

import (
	"fmt"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// FirstCall reports whether the first call of a trajectory is the first gold call, strictly: same tool, typed equality
// of arguments after defaults, well-formed. False where the scenario has no gold calls.
func FirstCall(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) bool {
	if len(s.Gold) == 0 {
		return false
	}
	for _, turn := range t.Turns {
		if turn.ParseError != "" {
			return false
		}
		if len(turn.Calls) > 0 {
			equal, err := grade.EqualCalls(turn.Calls[0], s.Gold[0].Call(), defaults)
			return err == nil && equal
		}
	}
	return false
}

// Episode reports strict success: the episode ended by itself, its calls were the gold calls in order and no others,
// all answered without error, and every check passes. False where the scenario has neither gold calls nor checks.
func Episode(s *scenario.Scenario, t *trajectory.Trajectory, defaults grade.Defaults) bool {
	if len(s.Gold)+len(s.Checks) == 0 || t.Outcome != trajectory.OK || t.StopReason != trajectory.StopCompleted {
		return false
	}
	if len(s.Gold) > 0 {
		made := t.Calls()
		if len(made) != len(s.Gold) {
			return false
		}
		for i, g := range s.Gold {
			equal, err := grade.EqualCalls(made[i].Call, g.Call(), defaults)
			if err != nil || !equal || made[i].Status != trajectory.CallOK {
				return false
			}
		}
	}
	return len(FailedChecks(s, t, defaults)) == 0
}

// Max is the greatest reward a scenario can earn.
func (r Scorer) Max(s *scenario.Scenario) float64 {
	w := Default()
	if r.Weights != nil {
		w = *r.Weights
	}
	most := w.End
	if len(s.Checks) > 0 {
		most += w.Checks
	}
	if len(s.Gold) > 0 {
		most += w.Call + w.Tool
	}
	return most
}

// GoldTrajectory is an episode that makes the gold calls, one a turn and each answered without error, and ends with
// answer.
func GoldTrajectory(s *scenario.Scenario, answer string) *trajectory.Trajectory {
	t := &trajectory.Trajectory{ScenarioID: s.ID, Outcome: trajectory.OK, StopReason: trajectory.StopCompleted}
	for i, call := range s.GoldCalls() {
		call.ID = fmt.Sprintf("call_%d", i)
		t.Turns = append(t.Turns, trajectory.Turn{
			Calls:   []chat.ToolCall{call},
			Results: []trajectory.ToolResult{{Call: call, Status: trajectory.CallOK}},
		})
		t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			chat.Message{Role: chat.ToolRole, ToolCallID: call.ID, Name: call.Name})
	}
	t.Turns = append(t.Turns, trajectory.Turn{Content: answer})
	t.Messages = append(t.Messages, chat.Message{Role: chat.Assistant, Content: answer})
	return t
}
