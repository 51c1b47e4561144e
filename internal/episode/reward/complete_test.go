package reward_test

import (
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
)

// Who calls complete_task at once earns no more than who says the same in words, and less than an honest episode; after
// the right call it earns what words do.
func TestCompleteTaskAtOnceDoesNotPay(t *testing.T) {
	s := hashScenario()
	finish := chat.ToolCall{ID: "call_9", Name: "complete_task", Arguments: `{"answer": "d8932aac"}`}
	finished := func(e episode) *trajectory.Trajectory { // in place of its answer in words
		x := e.trajectory()
		last := len(x.Turns) - 1
		x.Turns[last] = trajectory.Turn{Calls: []chat.ToolCall{finish},
			Results: []trajectory.ToolResult{{Call: finish, Status: trajectory.CallOK, Ends: true}}}
		x.Messages[len(x.Messages)-1] = chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{finish}}
		return x
	}
	call := chat.ToolCall{Name: "hash", Arguments: string(hashArguments)}
	honest, atOnce := episode{calls: []chat.ToolCall{call}, answer: "d8932aac"}, episode{answer: "d8932aac"}
	scores, err := reward.Scorer{}.Score(t.Context(),
		s, trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{
			honest.trajectory(), finished(honest), atOnce.trajectory(), finished(atOnce)}})
	if err != nil {
		t.Fatal(err)
	}
	if scores[0].Reward != scores[1].Reward || scores[2].Reward != scores[3].Reward ||
		scores[3].Reward >= scores[1].Reward {
		t.Errorf("honest %g, by complete_task %g; at once %g, by complete_task %g",
			scores[0].Reward, scores[1].Reward, scores[2].Reward, scores[3].Reward)
	}
}
