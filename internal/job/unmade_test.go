package job

import (
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/hosttest"
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

// Of a call that was left in a text the cause is named: it is broken, or hone's own server reads another form, or another server none.
func TestUnreadCallsAreTold(t *testing.T) {
	j := &Job{Env: Env{Host: hosttest.Quiet(t)}, Config: config.Default()}
	var said strings.Builder
	j.Host.Talk = sanitize.New(&said)
	for _, x := range []struct {
		text       string
		own        bool
		want, none string
	}{
		{"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>", false, "restart vLLM with", "hone serve"},
		{"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>", true, "hone serve reads the form", "restart vLLM"},
		{"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": }}\n</tool_call>", true, "so no server reads it", "restart vLLM"},
		{"<tool_call>\n{\"name\": \"f\", \"argume", false, "so no server reads it", "restart vLLM"},
	} {
		said.Reset()
		told := j.sayUnread(&trajectory.Trajectory{Turns: []trajectory.Turn{{Content: x.text}}}, x.own)
		if !told || !strings.Contains(said.String(), x.want) || strings.Contains(said.String(), x.none) {
			t.Errorf("%q, own %v: %s", x.text, x.own, said.String())
		}
	}
}
