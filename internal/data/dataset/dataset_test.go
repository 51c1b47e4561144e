package dataset

import (
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

func TestNotDemonstrated(t *testing.T) {
	said := []chat.Message{{Role: chat.Assistant, Content: "x"}}
	for _, tc := range []struct {
		row  Row
		want string
	}{
		{Row{Messages: said}, ""},
		{Row{Messages: said, Outcome: trajectory.OK, Terms: []trajectory.Term{{Name: "checks", Score: 1}, {Name: "call", Score: 0.5}}}, ""},
		{Row{Messages: said, Outcome: trajectory.OK, Terms: []trajectory.Term{{Name: "checks", Why: "checks[0] (call)"}}}, "failed checks[0] (call)"},
		{Row{Messages: said, Outcome: trajectory.EnvironmentError}, "outcome environment_error"},
		{Row{Messages: []chat.Message{{Role: chat.User}}}, "no assistant message"},
		{Row{Messages: said, Opening: 1}, "no assistant message"},
	} {
		if got := tc.row.WhyNoDemonstration(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.row, got, tc.want)
		}
	}
}

func TestUnknownTool(t *testing.T) {
	r := Row{Messages: []chat.Message{{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "a"}, {Name: "b"}}}}}
	for want, tools := range map[string][]chat.Tool{"a": nil, "b": {{Name: "a"}}, "": {{Name: "a"}, {Name: "b"}}} {
		if got := r.UnknownTool(tools); got != want {
			t.Errorf("tools %v: %q, want %q", tools, got, want)
		}
	}
}
