package rollout_test

import (
	"context"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

var look = scenario.Check{Type: "state", Name: "look"}

// What checks look at is recorded by the episode itself, also where a limit ended it, and between two turns.
func TestEpisodeIsLookedAt(t *testing.T) {
	first := look
	first.AfterTurn = 1
	s := scenario.Scenario{ID: "x", Task: "go", Checks: []scenario.Check{{Type: "answer"}, first, look}}
	for name, o := range map[string]options{"ends": {}, "is cut off": {MaxTurns: 1}} {
		got, _ := runner(&tools{}, script(add, "done"), o).Episode(context.Background(), s, 0, 0, 0)
		if !got.Outcome.Trainable() || len(got.Seen) != 2 || got.Seen[0].Look != first.Look() ||
			got.Seen[1].Text != "result of {}" || len(got.Calls()) != 1 {
			t.Errorf("an episode that %s: %+v", name, got)
		}
	}
}

// A look without an answer is tried again in a session of its own, and then masks the episode; a look that cannot be
// made masks it at once. Neither is ever the policy's failure.
func TestLooksThatFail(t *testing.T) {
	failing := func(status trajectory.CallStatus, times int32) *tools {
		return &tools{status: func(session int32, call chat.ToolCall) trajectory.CallStatus {
			if call.Name == "look" && session <= times {
				return status
			}
			return trajectory.CallOK
		}}
	}
	after := look
	after.AfterTurn = 1
	before := scenario.Check{Type: "unchanged", Name: "look"}
	for _, check := range []scenario.Check{look, after, before} {
		s := scenario.Scenario{ID: "x", Task: "go", Checks: []scenario.Check{check}}
		for _, test := range []struct {
			tools   *tools
			opened  int32
			outcome trajectory.Outcome
		}{
			{failing(trajectory.CallTransportError, 1), 2, trajectory.OK},
			{failing(trajectory.CallTransportError, 9), 3, trajectory.EnvironmentError},
			{failing(trajectory.CallTimeout, 9), 3, trajectory.EnvironmentError},
			{failing(trajectory.CallDenied, 9), 1, trajectory.InfrastructureError},
		} {
			got, _ := runner(test.tools, script(add, "done"),
				options{Retries: 2}).Episode(context.Background(), s, 0, 0, 0)
			if got.Outcome != test.outcome || test.tools.opened.Load() != test.opened ||
				test.tools.closed.Load() != test.opened {
				t.Errorf("%+v: %s %s after %d sessions, want %s after %d",
					check, got.Outcome, got.Error, test.tools.opened.Load(), test.outcome, test.opened)
			}
			if got.Outcome != trajectory.OK &&
				!strings.HasPrefix(got.Error, "checks[0] ("+check.Type+") cannot be evaluated") {
				t.Errorf("%+v: %s", check, got.Error)
			}
		}
	}
	program := scenario.Scenario{ID: "x", Task: "go",
		Checks: []scenario.Check{{Type: "command", Command: []string{"echo", "1"}}}}
	got, _ := runner(&tools{}, script("done"), options{}).Episode(context.Background(), program, 0, 0, 0)
	if got.Outcome != trajectory.InfrastructureError || !strings.Contains(got.Error, "not allowed") {
		t.Errorf("a program that nobody allowed: %+v", got)
	}
}

// starting notes what its episodes begin from.
type starting struct {
	*tools
	from *[]environment.Template
}

func (s starting) Open(ctx context.Context, id string, templates ...environment.Template) (environment.Session, error) {
	*s.from = append(*s.from, templates...)
	return s.tools.Open(ctx, id)
}

func TestEpisodeBeginsFromItsTemplates(t *testing.T) {
	var from []environment.Template
	s := scenario.Scenario{ID: "x", Task: "go", Template: scenario.Templates{"b": "/y", "a": "/x"}}
	o := options{Tools: starting{&tools{}, &from}, Sampler: &fakes.Sampler{Reply: script("done")},
		Renderer: fakes.Renderer{}}
	if got, _ := newRunner(o).Episode(context.Background(), s, 0, 0, 0); got.Outcome != trajectory.OK {
		t.Errorf("%+v", got)
	}
	if len(from) != 2 || from[0] != (environment.Template{Server: "a", Folder: "/x"}) ||
		from[1] != (environment.Template{Server: "b", Folder: "/y"}) {
		t.Errorf("began from %+v", from)
	}
}
