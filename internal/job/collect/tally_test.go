package collect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/testing/fakes"
)

// Episodes that a limit cut are told apart from those that passed, with the key to raise.
func TestCutEpisodesAreTold(t *testing.T) {
	ended := Tally{Outcomes: map[trajectory.Outcome]int{}, cut: map[trajectory.StopReason]int{}}
	checks := func(score float64) []trajectory.Term { return []trajectory.Term{{Name: "checks", Score: score}} }
	for _, x := range []trajectory.Trajectory{
		{Outcome: trajectory.Limit, StopReason: trajectory.StopMaxTurns, Terms: checks(1)},
		{Outcome: trajectory.Limit, StopReason: trajectory.StopMaxTurns, Terms: checks(0)},
		{Outcome: trajectory.Limit, StopReason: trajectory.StopMaxTokens},
		{Outcome: trajectory.OK, Terms: checks(0)},
	} {
		ended.add(&x)
	}
	h, said := fakes.HostWithOutput(t)
	ended.say(&job.Job{Env: job.Env{Host: h}})
	if want := "passed or not: 3; raise rollout.max_tokens (1), rollout.max_turns (2) for another " +
		"--output-dir\n"; !strings.HasSuffix(said.String(), want) || ended.passed != 1 {
		t.Errorf("%d passed, %q, want %q", ended.passed, said, want)
	}
	if ended.shown != 0 {
		t.Errorf("sft is said to learn from %d episodes, all cut or failed", ended.shown)
	}
	for _, x := range []trajectory.Trajectory{{Outcome: trajectory.OK, Terms: checks(1)}, {Outcome: trajectory.OK}} {
		ended.add(&x)
	}
	if ended.shown != 2 {
		t.Errorf("sft learns from %d episodes, want 2", ended.shown)
	}
}

// Gold calls that the limits of an episode cut are told before any is made.
func TestGoldThatIsTooLong(t *testing.T) {
	two := []scenario.Gold{
		{Name: "look", Arguments: json.RawMessage("{}")},
		{Name: "buy", Arguments: json.RawMessage("{}")},
	}
	asking := []scenario.Gold{
		{Name: "look", Arguments: json.RawMessage("{}")},
		{Name: "buy", Arguments: json.RawMessage("{}"), Asks: "Shall I?"},
	}
	list := []scenario.Scenario{{ID: "one", Gold: two[:1]}, {ID: "two", Gold: two}, {ID: "asking", Gold: asking}}
	for _, c := range []struct {
		turns, calls int
		want         string
	}{
		{2, 2, "note: 2 scenarios of 3 take more than 2 turns to show, which is rollout.max_turns: they will be cut; the longest takes 4\n"},
		{4, 1, "note: 2 scenarios of 3 take more than 1 call to show, which is rollout.max_tool_calls: they will be cut; the longest takes 2\n"},
		{4, 2, ""},
	} {
		h, said := fakes.HostWithOutput(t)
		j := &job.Job{Env: job.Env{Host: h}, Config: config.Default()}
		j.Config.Rollout.MaxTurns, j.Config.Rollout.MaxToolCalls = c.turns, c.calls
		if sayTooLong(j, list); said.String() != c.want {
			t.Errorf("%d turns, %d calls: %q, want %q", c.turns, c.calls, said, c.want)
		}
	}
}

// Of a call that was left in a text the cause is named: it is broken, or hone's own server reads another form, or
// another server none.
func TestUnreadCallsAreTold(t *testing.T) {
	j := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Config: config.Default()}
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

// Progress says of an episode that ended by itself how many checks it passed.
func TestHowAnEpisodeEnded(t *testing.T) {
	answer := func(equals string) scenario.Check { return scenario.Check{Type: "answer", Equals: &equals} }
	for _, x := range []struct {
		checks  []scenario.Check
		outcome trajectory.Outcome
		want    string
	}{
		{[]scenario.Check{answer("5"), answer("6")}, trajectory.OK, "done, 1 of 2 checks"},
		{[]scenario.Check{answer("6")}, trajectory.OK, "done, 0 of 1 check"},
		{nil, trajectory.OK, "done"},
		{[]scenario.Check{answer("5")}, trajectory.Limit, "limit"},
	} {
		s := &scenario.Scenario{Task: "Add.", Checks: x.checks}
		tr := &trajectory.Trajectory{Outcome: x.outcome,
			Messages: []chat.Message{{Role: chat.User, Content: "Add."}, {Role: chat.Assistant, Content: "5"}}}
		if got := endText(new(episodes.Episodes), s, tr); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// What of results was not read as it came is counted and told, the most frequent first.
func TestOddResultsAreTold(t *testing.T) {
	odd := oddResults{}
	for i := range 3 {
		result := func(tool, warning string) trajectory.ToolResult {
			return trajectory.ToolResult{Call: chat.ToolCall{Name: tool}, Warning: warning}
		}
		x := &trajectory.Trajectory{ID: fmt.Sprintf("e%d", i), Turns: []trajectory.Turn{
			{Results: []trajectory.ToolResult{result("add", ""), result("look", "content[0] has no type")}},
		}}
		if i == 1 {
			x.Turns = append(x.Turns,
				trajectory.Turn{Results: []trajectory.ToolResult{result("list", "the content is no list")}})
		}
		odd.add(x)
	}
	odd.add(&trajectory.Trajectory{ID: "e9", Turns: []trajectory.Turn{{Results: []trajectory.ToolResult{{
		Call: chat.ToolCall{Name: "many"}, Warning: "no capabilities; the result does not follow the protocol: " +
			"content[2] has no type; content[4] has no type; content[5], image, cannot be read"}}}}})
	want := []string{"left aside: a part that has no type, in 5 places, the first content[0] of look in e0",
		"left aside: a part, image, that cannot be read, in 1 place, the first content[5] of many in e9",
		"left aside: no capabilities, in 1 place, the first of many in e9",
		"left aside: the content is no list, in 1 place, the first of list in e1"}
	if got := odd.lines(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i := range 20 {
		odd[fmt.Sprint(i)] = fault.Aside{Times: 1, First: "x"}
	}
	if got := odd.lines(); len(got) != 9 || !strings.HasPrefix(got[8], "left aside: 16 more") {
		t.Errorf("%q", got)
	}
}
