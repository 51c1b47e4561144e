package recipe

import (
	"math"
	"testing"

	"hone/internal/episode/trajectory"
)

// What TRL's trainer measures of these completions, worked by hand.
func TestMetricsOfTRL(t *testing.T) {
	episode := func(reward float64, stop trajectory.StopReason, tokens []int,
		calls ...trajectory.CallStatus) *trajectory.Trajectory {
		e := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: stop, Reward: reward,
			Terms: []trajectory.Term{{Name: "end", Score: 2 * reward}}}
		for i, n := range tokens {
			turn := trajectory.Turn{CompletionIDs: make([]int32, n)}
			if i == 0 {
				for _, status := range calls {
					turn.Results = append(turn.Results, trajectory.ToolResult{Status: status})
				}
			}
			e.Turns = append(e.Turns, turn)
		}
		return e
	}
	lost := episode(100, "", []int{1000}, trajectory.CallOK)
	lost.Outcome = trajectory.EnvironmentError
	m := trlMetrics([]trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{
			episode(1, "", []int{3, 4}, trajectory.CallOK, trajectory.CallToolError), episode(3,
				trajectory.StopMaxTokens, []int{20}), lost,
		}},
		{Trajectories: []*trajectory.Trajectory{episode(3, "", []int{5}, trajectory.CallOK)}},
	})
	want := map[string]float64{
		"reward_std": math.Sqrt(4.0 / 3), "rewards/end/std": 2 * math.Sqrt(4.0/3), "completions/min_length": 5,
		"completions/max_length": 20, "completions/mean_terminated_length": 6, "completions/min_terminated_length": 5,
		"completions/max_terminated_length": 7, "tools/call_frequency": 1, "tools/failure_frequency": 1.0 / 3,
	}
	for name, x := range want {
		if got, ok := m[name]; !ok || math.Abs(got-x) > 1e-12 {
			t.Errorf("%s is %v, not %v", name, m[name], x)
		}
	}
	if len(m) != len(want) {
		t.Errorf("%v", m)
	}
	if m := trlMetrics([]trajectory.Group{{Trajectories: []*trajectory.Trajectory{lost}}}); m != nil {
		t.Errorf("of an episode that is not the policy's doing: %v", m)
	}
}
