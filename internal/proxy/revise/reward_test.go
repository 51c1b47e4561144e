package revise

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

const (
	goldArgs = `{"city": "Rome", "days": 3, "tags": ["a", "b"]}`
	goldCall = `{"name": "get_weather", "arguments": ` + goldArgs + `}`
)

// servers answer each call by its arguments: "fail" in them is an error of the tool.
type servers struct{ called *[]string }

func (s servers) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return session(s), nil
}

type session struct{ called *[]string }

func (s session) Call(_ context.Context, calls []chat.ToolCall) (out []trajectory.ToolResult) {
	for _, c := range calls {
		*s.called = append(*s.called, c.Name)
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: "ok"}
		if c.Arguments == `{"city":"fail"}` {
			r.Status = trajectory.CallToolError
		}
		out = append(out, r)
	}
	return out
}
func (s session) Probe(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{c})[0]
}
func (session) Dir(string) string { return "" }
func (session) Close() error      { return nil }

// revise runs one episode in which the policy says a text about a draft, and scores it.
func revise(
	t *testing.T, draft chat.Message, says string, on environment.Tools,
) (*trajectory.Trajectory, trajectory.Score) {
	t.Helper()
	return reviseAt(t, *point(), draft, says, on)
}

func reviseAt(
	t *testing.T, p Point, draft chat.Message, says string, on environment.Tools,
) (*trajectory.Trajectory, trajectory.Score) {
	t.Helper()
	row := Row{Point: p, ID: "r", Draft: draft}
	v := &Environment{Rows: map[string]*Row{"r": &row}, Tools: NewTools(toolsForTest()), Drafts: true, Servers: on}
	list, err := v.Scenarios([]Row{row})
	if err != nil {
		t.Fatal(err)
	}
	sampler := &fakes.Sampler{Reply: func(string, policy.Request) (string, error) { return says, nil }}
	runner := rollout.New(rollout.Options{Environment: v,
		Policy: rollout.Sampled{Sampler: sampler, Renderer: fakes.Renderer{}}, MaxTokens: 400, Temperature: 1})
	got, err := runner.Episode(t.Context(), list[0], 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := Scorer{Environment: v, Weights: DefaultWeights()}.Score(t.Context(), &list[0],
		trajectory.Group{Trajectories: []*trajectory.Trajectory{got}})
	if err != nil {
		t.Fatal(err)
	}
	return got, scores[0]
}

func TestReward(t *testing.T) {
	right, wrong := call("get_weather", goldArgs), call("get_weather", `{"days":3}`)
	full := 1.3
	for name, c := range map[string]struct {
		draft  chat.Message
		says   string
		reward float64
	}{
		"leaves a right call":        {right, fakes.Call("get_weather", goldArgs), full},
		"damages a right call":       {right, fakes.Call("get_weather", `{"city":"Oslo"}`), 0.3 - 1},
		"says nothing of a right":    {right, "It is fine.", -1},
		"mends a wrong call":         {wrong, fakes.Call("get_weather", goldArgs), full},
		"copies a wrong call":        {wrong, fakes.Call("get_weather", `{"days":3}`), 0.2},
		"another tool":               {wrong, fakes.Call("read_graph", `{}`), 0.1},
		"text around it":             {wrong, "Sure, here you go: " + goldCall + " there", full},
		"a fence around it":          {wrong, "```json\n" + goldCall + "\n```", full},
		"other quotes, another case": {wrong, `{'name': 'getWeather', 'arguments': {'city': 'Rome', 'days': '3', 'tags': ['a', 'b']}}`, full},
		"the call twice":             {wrong, fakes.Call("get_weather", goldArgs) + fakes.Call("get_weather", goldArgs), 0.5 + 0.1 + 0.1},
		"many guesses": {
			wrong, fakes.Call("get_weather", goldArgs) + fakes.Call("hash", `{"text":"a"}`) +
				fakes.Call("read_graph", `{}`), 0.4 + 0.1,
		},
		"a draft the fixer mends": {call("getWeather", goldArgs), fakes.Call("hash", `{"text":"a"}`), 0.1 - 1},
	} {
		got, score := revise(t, c.draft, c.says, nil)
		sum := 0.0
		for _, x := range score.Terms {
			sum += x.Score * x.Weight
		}
		if math.Abs(score.Reward-c.reward) > 1e-9 || math.Abs(sum-score.Reward) > 1e-9 {
			t.Errorf("%s: %g, want %g: %+v (%s %s)", name, score.Reward, c.reward, score.Terms, got.Outcome, got.Error)
		}
		if got.Outcome != trajectory.OK || len(got.Turns) != 1 || len(got.Turns[0].SamplerLogprobs) == 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// At the end of a scenario no call is due, and a call earns nothing and damages the answer that was right.
func TestRewardAtTheEnd(t *testing.T) {
	p := *point()
	p.Gold = []scenario.Gold{}
	draft := Closing(&p, 1)
	if kinds := Kinds(draft, &p, NewFixer(toolsForTest()), nil); kinds != nil || !p.IsEnd() {
		t.Fatalf("%q: %v", draft.Content, kinds)
	}
	broken := chat.Message{Role: chat.Assistant, Content: "<tool_call>\n{\"name\": \"get_w"}
	if kinds := Kinds(broken, &p, NewFixer(toolsForTest()), nil); len(kinds) == 0 {
		t.Error("half a call is taken for an answer in words")
	}
	for says, want := range map[string]float64{
		Nothing:                             1.3,
		"It is warm.":                       1.3,
		fakes.Call("get_weather", goldArgs): 0.1 - 1,
		"<tool_call>\n{":                    0 - 1,
	} {
		if _, score := reviseAt(t, p, draft, says, nil); math.Abs(score.Reward-want) > 1e-9 {
			t.Errorf("%q: %g, want %g: %+v", says, score.Reward, want, score.Terms)
		}
	}
	row := Row{Point: p, ID: "r", Draft: draft}
	if a := row.Answer(); a.Content != Nothing || len(a.ToolCalls) > 0 {
		t.Errorf("SFT learns %+v", a)
	}
	line, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ReadRow(line); err != nil || !back.IsEnd() {
		t.Errorf("%+v, %v", back, err)
	}
}

// A call is made on the servers where it is not known to be answered, behind those that come before it.
func TestExecuted(t *testing.T) {
	wrong := call("get_weather", `{"days":3}`)
	for says, c := range map[string]struct {
		called   int
		executed float64
	}{
		fakes.Call("get_weather", goldArgs):          {0, 1},
		fakes.Call("get_weather", `{"city":"Oslo"}`): {1, 1},
		fakes.Call("get_weather", `{"city":"fail"}`): {1, 0},
		fakes.Call("get_weather", `{"days":1}`):      {0, 0}, // not valid: no server sees it
	} {
		var called []string
		_, score := revise(t, wrong, says, servers{&called})
		if len(called) != c.called {
			t.Errorf("%s: called %v", says, called)
		}
		for _, x := range score.Terms {
			if x.Name == "executed" && x.Score != c.executed {
				t.Errorf("%s: executed %g", says, x.Score)
			}
		}
		if len(score.Terms) != 4 {
			t.Errorf("%s: terms %+v", says, score.Terms)
		}
	}
}

// The policy is shown the draft and its faults behind the conversation, or the conversation alone.
func TestPrompts(t *testing.T) {
	row := Row{Point: *point(), ID: "r", Draft: call("get_weather", `{"days":"3"}`)}
	v := &Environment{Rows: map[string]*Row{"r": &row}, Tools: NewTools(toolsForTest())}
	list, err := v.Scenarios([]Row{row})
	if err != nil || len(list[0].Messages) != 1 || list[0].Messages[0].Content != row.Messages[0].Content {
		t.Fatalf("%v %+v", err, list)
	}
	v.Drafts = true
	list, err = v.Scenarios([]Row{row})
	want := row.Messages[0].Content + "\n\nDraft: {\"name\": \"get_weather\", \"arguments\": {\"days\": 3}}\n" +
		"Problem: missing property 'city'\nWrite the right call, or: No call."
	if err != nil || list[0].Messages[0].Content != want || list[0].Split != scenario.Train {
		t.Errorf("%v %q", err, list[0].Messages[0].Content)
	}
	if row.Messages[0].Content != point().Messages[0].Content {
		t.Error("the row was changed")
	}
}
