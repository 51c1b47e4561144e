package collect

import (
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/testing/hosttest"
)

// Of a call that was left in a text the cause is named: it is broken, or hone's own server reads another form, or another server none.
func TestUnreadCallsAreTold(t *testing.T) {
	j := &job.Job{Env: job.Env{Host: hosttest.Quiet(t)}, Config: config.Default()}
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
		told := sayUnread(j, &trajectory.Trajectory{Turns: []trajectory.Turn{{Content: x.text}}}, x.own)
		if !told || !strings.Contains(said.String(), x.want) || strings.Contains(said.String(), x.none) {
			t.Errorf("%q, own %v: %s", x.text, x.own, said.String())
		}
	}
}
