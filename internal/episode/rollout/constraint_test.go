package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// heldTo is the constraint of a call of a tool, and knows behind which prompt.
type heldTo struct {
	tool, prompt string
	thinks       bool
}

func (heldTo) Narrow([]int32, *policy.IDSet) {}

type callsOf struct{}

func (callsOf) Call(tool chat.Tool, prompt []int32, thinks bool) (policy.Constraint, error) {
	return heldTo{tool.Name + " " + tool.Description, fakes.Text(prompt), thinks}, nil
}

func (callsOf) None(prompt []int32, thinks bool) policy.Constraint {
	return heldTo{"none", fakes.Text(prompt), thinks}
}

// A turn is held to a call of its tool, or to words, as the tool is now and behind that turn's prompt, and no other is;
// the record says so. The turns before it are those of another episode, id for id, and their calls are made again. A
// tool that is not there leaves the policy free; what cannot be held ends the episode.
func TestATurnIsForced(t *testing.T) {
	list := []chat.Tool{{Name: "mul"}, {Name: "add", Description: "Adds."}}
	run := func(forced rollout.Forced, calls rollout.Calls) (e *trajectory.Trajectory, held []bool, sent int) {
		sampler := &fakes.Sampler{Reply: func(prompt string, r policy.Request) (string, error) {
			c, ok := r.Constraint.(heldTo)
			if held = append(held, ok); ok && c == (heldTo{"none", prompt, forced.Thinks}) && forced.Words {
				return "in words", nil
			}
			if ok && (c.tool != "add Adds." || c.prompt != prompt || c.thinks != forced.Thinks) {
				t.Errorf("held to %+v behind %q", c, prompt)
			}
			if ok || strings.Count(prompt, "result of") < 2 {
				return add, nil
			}
			return "done", nil
		}}
		server := &tools{}
		r := rollout.New(rollout.Options{
			Environment: environment.New(environment.Options{Tools: server, ToolList: list}),
			Policy:      rollout.Sampled{Sampler: sampler, Renderer: fakes.Renderer{}, Calls: calls},
		})
		requests := make(chan rollout.Request, 1)
		requests <- rollout.Request{Scenario: scenario.Scenario{ID: "x", Task: "go"}, Forced: forced}
		close(requests)
		for e = range r.Run(context.Background(), requests) {
		}
		return e, held, len(e.Calls())
	}
	other, _, _ := run(rollout.Forced{}, nil)
	behind := other.Turns
	if other.Outcome != trajectory.OK || len(behind) != 3 {
		t.Fatalf("%+v", other)
	}
	for i := range behind[:2] {
		behind[i].Forced, behind[i].PolicyVersion = i == 1, 7+i
		// no other's
		behind[i].SamplerLogprobs = slices.Repeat([]float32{-float32(i) - 3}, len(behind[i].CompletionIDs))
	}
	elsewhere := slices.Clone(behind) // whose second turn stood behind something else
	elsewhere[1].BridgeIDs = append(slices.Clone(elsewhere[1].BridgeIDs), 65)
	for name, x := range map[string]struct {
		forced rollout.Forced
		held   []bool // of the turns that are sampled
		calls  int
	}{
		"the first":          {rollout.Forced{Tool: "add"}, []bool{true, false, false}, 2},
		"the second":         {rollout.Forced{Behind: behind[:1], Tool: "add"}, []bool{true, false}, 2},
		"behind a thought":   {rollout.Forced{Tool: "add", Thinks: true}, []bool{true, false, false}, 2},
		"in place of an end": {rollout.Forced{Behind: behind[:2], Tool: "add"}, []bool{true, false}, 3},
		"none":               {rollout.Forced{}, []bool{false, false, false}, 2},
		"words":              {rollout.Forced{Words: true}, []bool{true}, 0},
		"words of a thinker": {rollout.Forced{Words: true, Thinks: true}, []bool{true}, 0},
		"words, later":       {rollout.Forced{Behind: behind[:1], Words: true}, []bool{true}, 1},
		"a tool that is not": {rollout.Forced{Behind: behind[:1], Tool: "sub"}, []bool{false, false}, 2},
	} {
		e, held, calls := run(x.forced, callsOf{})
		if e.Outcome != trajectory.OK || !slices.Equal(held, x.held) || calls != x.calls ||
			len(e.Turns) != len(x.forced.Behind)+len(x.held) {
			t.Errorf("%s: %s, held %v, %d calls", name, e.Outcome, held, calls)
			continue
		}
		for i, turn := range e.Turns {
			n := len(x.forced.Behind)
			want := trajectory.Turn{} // of what the sampler said, version 0
			if i < n {
				want = behind[i]
			} else {
				want.Forced = x.held[i-n]
			}
			if turn.Forced != want.Forced || turn.PolicyVersion != want.PolicyVersion {
				t.Errorf("%s: the record of turn %d says %v, by version %d", name, i, turn.Forced, turn.PolicyVersion)
			}
			if i < n && (!slices.Equal(turn.CompletionIDs, behind[i].CompletionIDs) ||
				!slices.Equal(turn.SamplerLogprobs, behind[i].SamplerLogprobs)) {
				t.Errorf("%s: turn %d is not the other episode's", name, i)
			}
		}
	}
	// from there on nothing is taken over
	e, held, _ := run(rollout.Forced{Behind: elsewhere[:2], Tool: "add"}, callsOf{})
	if e.Outcome != trajectory.OK || !slices.Equal(held, []bool{false, true, false}) ||
		e.Turns[0].SamplerLogprobs[0] != -3 || e.Turns[1].SamplerLogprobs[0] == -4 {
		t.Errorf("%s, held %v", e.Outcome, held)
	}
	// nor later, where the prompts are the same by chance
	e, held, _ = run(rollout.Forced{Behind: elsewhere, Tool: "add"}, callsOf{})
	if e.Outcome != trajectory.OK || !slices.Equal(held, []bool{false, false}) || len(e.Turns) != 3 ||
		!slices.Equal(e.Turns[2].BridgeIDs, elsewhere[2].BridgeIDs) {
		t.Errorf("%s, held %v", e.Outcome, held)
	}
	for want, forced := range map[string]rollout.Forced{
		`tool "add"`: {Behind: behind[:1], Tool: "add"},
		`tool ""`:    {Words: true},
	} {
		if e, _, _ := run(forced, nil); e.Outcome != trajectory.InfrastructureError ||
			!strings.Contains(e.Error, want) {
			t.Errorf("%s, %s, want %q", e.Outcome, e.Error, want)
		}
	}
}
