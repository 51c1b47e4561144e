package rollout_test

import (
	"context"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// A lone call of complete_task ends the episode with its answer, and no server sees it. Beside other calls, or without
// an answer, it is refused, and the others are made. Where it is off it is a tool like any other.
func TestCompleteTask(t *testing.T) {
	done := fakes.Call("complete_task", `{"answer": "it is 3"}`)
	for name, c := range map[string]struct {
		says    []string
		o       options
		answer  string
		turns   int
		served  int // calls that a server saw
		refused int
	}{
		"ends":            {[]string{add, done}, options{CompleteTask: true}, "it is 3", 2, 1, 0},
		"by words":        {[]string{add, "it is 4"}, options{CompleteTask: true}, "it is 4", 2, 1, 0},
		"not alone":       {[]string{add + done, done}, options{CompleteTask: true}, "it is 3", 2, 1, 1},
		"before another":  {[]string{done + add, done}, options{CompleteTask: true}, "it is 3", 2, 1, 1},
		"without answer":  {[]string{fakes.Call("complete_task", `{}`), done}, options{CompleteTask: true}, "it is 3", 2, 0, 1},
		"an empty answer": {[]string{fakes.Call("complete_task", `{"answer": " "}`), done}, options{CompleteTask: true}, "it is 3", 2, 0, 1},
		"a number":        {[]string{fakes.Call("complete_task", `{"answer": 3}`), "three"}, options{CompleteTask: true}, "three", 2, 0, 1},
		"off":             {[]string{done, "so"}, options{}, "so", 2, 1, 0},
	} {
		server := &tools{}
		got, _ := runner(server, script(c.says...), c.o).Episode(context.Background(),
			scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
		if got.Outcome != trajectory.OK || got.StopReason != trajectory.StopCompleted || got.Answer() != c.answer ||
			len(got.Turns) != c.turns {
			t.Errorf("%s: %s %s after %d turns, answer %q: %s",
				name, got.Outcome, got.StopReason, len(got.Turns), got.Answer(), got.Error)
		}
		served, refused, ends := 0, 0, 0
		for _, r := range got.Calls() {
			switch {
			case r.Ends:
				ends++
			case r.Status == trajectory.CallInvalid:
				refused++
			default:
				served++
			}
			if r.Call.ID == "" {
				t.Errorf("%s: a result of no call: %+v", name, r)
			}
		}
		if served != c.served || refused != c.refused || len(got.ServerCalls()) != served+refused ||
			ends == 1 != (c.answer == "it is 3") {
			t.Errorf("%s: %d calls served, %d refused, %d that end", name, served, refused, ends)
		}
		results := 0
		for _, m := range got.Messages {
			if m.Role == "tool" {
				results++
			}
		}
		if results != len(got.Calls()) {
			t.Errorf("%s: %d messages of results for %d calls", name, results, len(got.Calls()))
		}
	}
}
