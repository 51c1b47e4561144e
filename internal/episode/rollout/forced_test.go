package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/policy"
	"hone/internal/policy/policytest"
)

// heldTo is the constraint of a call of a tool, and knows behind which prompt.
type heldTo struct{ tool, prompt string }

func (heldTo) Narrow([]int32, *policy.IDSet) {}

type callsOf struct{}

func (callsOf) Call(tool chat.Tool, prompt []int32) (policy.Constraint, error) {
	return heldTo{tool.Name + " " + tool.Description, policytest.Text(prompt)}, nil
}

// A request's turn is held to a call of its tool, as the tool is now and behind that turn's prompt, and no other is; the record says so. A tool that is not
// there, or a turn that does not come, leaves the policy free; what cannot be held ends the episode.
func TestATurnIsForced(t *testing.T) {
	for name, x := range map[string]struct {
		forced rollout.Forced
		calls  rollout.Calls
		held   []bool
	}{
		"the first":            {rollout.Forced{Turn: 0, Tool: "add"}, callsOf{}, []bool{true, false, false}},
		"the last":             {rollout.Forced{Turn: 2, Tool: "add"}, callsOf{}, []bool{false, false, true}},
		"none":                 {rollout.Forced{}, callsOf{}, []bool{false, false, false}},
		"a turn behind all":    {rollout.Forced{Turn: 3, Tool: "add"}, callsOf{}, []bool{false, false, false}},
		"a tool that is not":   {rollout.Forced{Turn: 1, Tool: "sub"}, callsOf{}, []bool{false, false, false}},
		"nothing holds":        {rollout.Forced{Turn: 1, Tool: "add"}, nil, nil},
		"nothing need be held": {rollout.Forced{}, nil, []bool{false, false, false}},
	} {
		var held []bool
		n := 0
		sampler := &policytest.Sampler{Reply: func(prompt string, r policy.Request) (string, error) {
			c, ok := r.Constraint.(heldTo)
			if held = append(held, ok); ok && (c.tool != "add Adds." || c.prompt != prompt) {
				t.Errorf("%s: held to %+v behind %q", name, c, prompt)
			}
			n++
			return []string{add, add, "done"}[n-1], nil
		}}
		list := []chat.Tool{{Name: "mul"}, {Name: "add", Description: "Adds."}}
		r := rollout.New(rollout.Options{Environment: environment.New(environment.Options{Tools: &tools{}, ToolList: list}),
			Policy: rollout.Sampled{Sampler: sampler, Renderer: policytest.Renderer{}, Calls: x.calls}})
		requests := make(chan rollout.Request, 1)
		requests <- rollout.Request{Scenario: scenario.Scenario{ID: "x", Task: "go"}, Forced: x.forced}
		close(requests)
		for e := range r.Run(context.Background(), requests) {
			if x.held == nil {
				if e.Outcome != trajectory.InfrastructureError || !strings.Contains(e.Error, "add is to be forced") {
					t.Errorf("%s: %s, %s", name, e.Outcome, e.Error)
				}
				continue
			}
			var told []bool
			for _, turn := range e.Turns {
				told = append(told, turn.Forced)
			}
			if e.Outcome != trajectory.OK || !slices.Equal(held, x.held) || !slices.Equal(told, x.held) {
				t.Errorf("%s: %s, held %v, the record says %v", name, e.Outcome, held, told)
			}
		}
	}
}
