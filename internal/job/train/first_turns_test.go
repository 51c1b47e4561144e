package train

import (
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
)

func calls(name, arguments string) []chat.ToolCall {
	return []chat.ToolCall{{ID: "x", Name: name, Arguments: arguments}}
}

// What was said is alike where the first call, or else the answer, is the row's; a call in another form is none.
func TestFirstTurnsAreCompared(t *testing.T) {
	call := chat.Message{ToolCalls: append(calls("add", `{"a": 1, "b": 2}`), calls("mul", `{}`)...)}
	answer := chat.Message{Content: "It is 3.\n"}
	for name, c := range map[string]struct {
		shown chat.Message
		said  environment.Reply
		want  string
		other int
	}{
		"the same call": {
			call, environment.Reply{Turn: &trajectory.Turn{Calls: calls("add", `{"b":2,"a":1}`)}},
			"1 of 1 match the row; 1 of 1 that should call a tool make a well-formed call", 0,
		},
		"other arguments": {
			call, environment.Reply{Turn: &trajectory.Turn{Calls: calls("add", `{"a":1}`)}},
			"0 of 1 match the row; 1 of 1 that should call a tool make a well-formed call", 0,
		},
		"the second call": {
			call, environment.Reply{Turn: &trajectory.Turn{Calls: calls("mul", `{}`)}},
			"0 of 1 match the row; 1 of 1 that should call a tool make a well-formed call", 0,
		},
		"another form": {
			call, environment.Reply{Turn: &trajectory.Turn{Content: "add(a=1, b=2)"}},
			"0 of 1 match the row; 0 of 1 that should call a tool make a well-formed call", 1,
		},
		"words": {
			call, environment.Reply{Turn: &trajectory.Turn{Content: "It is 3."}},
			"0 of 1 match the row; 0 of 1 that should call a tool make a well-formed call", 0,
		},
		"an answer":        {answer, environment.Reply{Turn: &trajectory.Turn{Content: "It is 3."}}, "1 of 1 match the row", 0},
		"another answer":   {answer, environment.Reply{Turn: &trajectory.Turn{Content: "It is 4."}}, "0 of 1 match the row", 0},
		"a needless call":  {answer, environment.Reply{Turn: &trajectory.Turn{Calls: calls("add", `{}`)}}, "0 of 1 match the row", 0},
		"nothing was said": {answer, environment.Reply{}, "0 of 0 match the row", 0},
	} {
		x := said{}
		x.add(firstTurn{shown: c.shown, tools: []chat.Tool{{Name: "add"}, {Name: "mul"}}}, c.said)
		if x.String() != c.want || x.other.Held != c.other {
			t.Errorf("%s: %s, %d in another form", name, x, x.other.Held)
		}
	}
}

// A model that never calls is refused with its likeliest cause; one call in form is enough, and of few calls nothing is
// concluded.
func TestNoneInFormHasACause(t *testing.T) {
	j := &job.Job{Env: job.Env{Host: &host.Host{}}, Path: "out", Config: config.Default(),
		Kept: job.Kept{Data: "rows.jsonl"}}
	row := firstTurn{shown: chat.Message{ToolCalls: calls("add", "{}")}, tools: []chat.Tool{{Name: "add"}}}
	words := environment.Reply{Turn: &trajectory.Turn{Content: "It is " + strings.Repeat("long ", 50)}}
	cut := environment.Reply{Turn: words.Turn, Stop: trajectory.StopMaxTokens}
	bare := environment.Reply{Turn: &trajectory.Turn{Content: `{"name": "add", "arguments": {}}`}}
	inForm := environment.Reply{Turn: &trajectory.Turn{Calls: calls("sub", "{}")}}
	for name, c := range map[string]struct {
		said []environment.Reply
		want []string // nil: it is no error
	}{
		"words": {[]environment.Reply{words, words, cut, words}, []string{"it answers in words", `long long ..."`,
			"hone sft --adapter out/final --data rows.jsonl --output-dir out-2"}},
		"cut":          {[]environment.Reply{cut, cut, cut, cut}, []string{"goes on for twice as long"}},
		"another form": {[]environment.Reply{bare, words, bare, words}, []string{"2 of 4 answers hold a call", "model.tool_format: llama3_json"}},
		"one in form":  {[]environment.Reply{words, words, words, inForm}, nil},
		"too few":      {[]environment.Reply{words, words, words}, nil},
	} {
		x := said{}
		for _, r := range c.said {
			one := said{}
			one.add(row, r)
			x = x.with(one)
		}
		err := Plan{Model: &basemodel.Model{}}.whyNone(j, x)
		if (err == nil) != (c.want == nil) || err != nil && fault.CodeOf(err) != fault.CodeFailures {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", name, want, err)
			}
		}
	}
}

// More training is what helps where a try taught fewer than half of the first turns, or a whole training no call.
func TestLittleIsLearnt(t *testing.T) {
	for name, c := range map[string]struct {
		said  said
		tried bool
		want  bool
	}{
		"a try, few":         {said{Turns: 4, Alike: 1}, true, true},
		"a try, half":        {said{Turns: 4, Alike: 2, Calls: 4}, true, false},
		"a try, no turns":    {said{}, true, false},
		"no call as shown":   {said{Turns: 4, Calls: 4, InForm: 4}, false, true},
		"one as shown":       {said{Turns: 4, Calls: 4, InForm: 4, Alike: 1}, false, false},
		"too few calls":      {said{Turns: 4, Calls: 3, InForm: 3}, false, false},
		"answers in its way": {said{Turns: 16}, false, false},
	} {
		if got := c.said.little(c.tried); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// On a CPU as many more are said as the time holds, by what those before took; rows trained on and held out in turn.
func TestFirstTurnsTakeLittleTime(t *testing.T) {
	for _, c := range []struct {
		left, done    int
		took, seconds float64
		want          int
	}{{28, 4, 1, 5, 16}, {28, 4, 0.1, 5, 28}, {28, 4, 20, 5, 0}, {12, 4, 0, 5, 12}, {12, 4, 5, 5, 0}} {
		if got := affordable(c.left, c.done, c.took, c.seconds); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	turns := alternate([]firstTurn{{most: 1}, {most: 2}, {most: 3}}, []firstTurn{{most: 4}})
	order := ""
	for _, f := range turns {
		order += map[bool]string{false: "l", true: "h"}[f.held] + string(rune('0'+f.most))
	}
	if order != "l1h4l2l3" {
		t.Errorf("%s", order)
	}
}
