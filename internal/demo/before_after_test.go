package demo

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

func TestBeforeAfter(t *testing.T) {
	episode := func(id string, score float64, outcome trajectory.Outcome, turns ...trajectory.Turn) stats.Example {
		return stats.Example{Scenario: &scenario.Scenario{ID: id, Task: "task\n" + id, Checks: []scenario.Check{{}}},
			Trajectory: &trajectory.Trajectory{ScenarioID: id, Outcome: outcome, Turns: turns,
				Terms: []trajectory.Term{{Name: stats.ChecksTerm, Score: score}}}}
	}
	text := trajectory.Turn{Content: "I cannot " + strings.Repeat("x", 200)}
	call := trajectory.Turn{Calls: []chat.ToolCall{{Name: "hash", Arguments: `{"input": "a"}`}},
		Results: []trajectory.ToolResult{{Text: "f9\n34"}}}
	c := stats.Comparison{Systems: []stats.System{
		{
			Name: "base",
			Episodes: []stats.Example{episode("both", 1, trajectory.OK),
				episode("server", 0, trajectory.EnvironmentError), episode("new", 0, trajectory.OK, text)},
		},
		{Name: "sft", Episodes: []stats.Example{episode("both", 1, trajectory.OK), episode("server", 1, trajectory.OK), episode("new", 1, trajectory.OK)}},
		{Name: "grpo", Episodes: []stats.Example{episode("both", 1, trajectory.OK), episode("server", 1, trajectory.OK),
			episode("new", 1, trajectory.OK, call, trajectory.Turn{Content: "f934"})}}}}
	want := []string{"a held-out task: task new", "  base  says   I cannot " + strings.Repeat("x", 111) + " ...",
		`  grpo  calls  hash {"input": "a"} -> f9 34`, "  grpo  says   f934"}
	if got := beforeAfter(c); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.Systems = c.Systems[:1]
	if got := beforeAfter(c); got != nil {
		t.Errorf("of one system: %q", got)
	}
}
