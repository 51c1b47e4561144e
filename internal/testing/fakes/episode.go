package fakes

import (
	"context"
	"fmt"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// GoldEpisode is an episode that makes the gold calls, one a turn and each answered without error, and ends with
// answer.
func GoldEpisode(s *scenario.Scenario, answer string) *trajectory.Trajectory {
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

// ScoreAlone scores one trajectory as a group of its own, by rules that do not fail.
func ScoreAlone(r reward.Scorer, s *scenario.Scenario, t *trajectory.Trajectory) {
	g := trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{t}}
	scores, err := r.Score(context.Background(), s, g)
	if err != nil {
		panic(err)
	}
	g.Take(scores)
}
