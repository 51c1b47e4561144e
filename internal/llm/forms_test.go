package llm

import (
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

func TestFormsOfAnswers(t *testing.T) {
	const lone, python = `{"name": "f", "arguments": {"a": 1}}`, "f(a=1)"
	call := trajectory.Turn{Content: lone, Calls: []chat.ToolCall{{Name: "f"}}}
	for _, x := range []struct {
		name  string
		turns []trajectory.Turn
		want  string
	}{
		{"none", []trajectory.Turn{{Content: "It is 1."}}, "0 of 1"},
		{"one", []trajectory.Turn{{Content: lone}, {Content: "It is 1."}}, "1 of 2 answers holds a call in another form, as Llama 3 (JSON alone)"},
		{"several forms", []trajectory.Turn{{Content: lone}, {Content: python}, {Content: lone}}, "3 of 3 answers hold a call in another form, most as Llama 3 (JSON alone) (2)"},
		{"a call that was read", []trajectory.Turn{call, {Content: python}}, "1 of 1 answer holds a call in another form, as a call of Python"},
		{"a broken one of its own form", []trajectory.Turn{{Content: "<tool_call>{", ParseError: "it breaks off"}}, "0 of 1"},
	} {
		var f Forms
		f.Add(&trajectory.Trajectory{Tools: []chat.Tool{{Name: "f"}}, Turns: x.turns})
		if got := f.String(); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}
