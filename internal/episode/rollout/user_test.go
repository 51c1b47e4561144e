package rollout_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// person is a model that plays a user: it writes its lines, one after the other.
type person struct{ lines []string }

func (person) Name() string { return "person" }

var errGone = errors.New("the endpoint is gone")

func (p person) Write(_ context.Context, messages []chat.Message, _ uint64) (environment.Written, error) {
	said := 0
	for _, m := range messages {
		if m.Role == chat.Assistant {
			said++
		}
	}
	if said >= len(p.lines) {
		return environment.Written{}, errGone
	}
	return environment.Written{Text: p.lines[said], PromptTokens: 7, CompletionTokens: 3}, nil
}

// A conversation goes on until one of the two ends it, with the same record whoever speaks: who ended it, how often the
// user spoke, and what that took. That the user cannot be played is nobody's doing in it.
func TestConversations(t *testing.T) {
	talk := said{turns: []chat.Message{answering("Which?"), calling("ok"), answering("Shall I?"), calling("ok", "bye"),
		answering("Done.")}}
	script := func(says ...string) *scenario.User { return &scenario.User{Says: says} }
	for name, c := range map[string]struct {
		said      said
		user      *scenario.User
		lines     []string // of the model that plays it
		in        environment.Options
		outcome   trajectory.Outcome
		reason    trajectory.StopReason
		turns     int
		ended     string
		roles     string // of the messages
		userTurns int
		tokens    int // that the model that plays the user wrote
		fails     bool
	}{
		"the script is over": {said: talk, user: script("Cancel.", "#W1", "Yes."), outcome: trajectory.OK,
			reason: trajectory.StopCompleted, turns: 5, ended: "script", roles: "uauatauatta", userTurns: 3},
		"the script says so": {
			said:      talk,
			user:      script("Cancel.", "#W1", "No. ###STOP###"),
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     3,
			ended:     "user",
			roles:     "uauatau",
			userTurns: 3,
		},
		"the user says so": {
			said:      talk,
			user:      &scenario.User{Goal: "g", First: "Cancel."},
			lines:     []string{"", "#W1", "###STOP###"},
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     3,
			ended:     "user",
			roles:     "uauata",
			userTurns: 2,
			tokens:    6,
		},
		"it finds the first words": {
			said:      talk,
			user:      &scenario.User{Goal: "g"},
			lines:     []string{"Cancel.", "#W1", "Yes.", "###TRANSFER###"},
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     5,
			ended:     "transfer",
			roles:     "uauatauatta",
			userTurns: 3,
			tokens:    12,
		},
		"out of scope": {
			said:      talk,
			user:      &scenario.User{Goal: "g", First: "Cancel."},
			lines:     []string{"", "###OUT-OF-SCOPE###"},
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     1,
			ended:     "out_of_scope",
			roles:     "ua",
			userTurns: 1,
			tokens:    3,
		},
		"messages of the user": {
			said:      talk,
			user:      &scenario.User{Goal: "g", First: "Cancel.", MaxTurns: 2},
			lines:     []string{"", "#W1", "Yes."},
			outcome:   trajectory.Limit,
			reason:    trajectory.StopMaxUserTurns,
			turns:     3,
			roles:     "uauata",
			userTurns: 2,
			tokens:    3,
		},
		"a tool ends it": {
			said:      talk,
			user:      &scenario.User{Says: []string{"Cancel.", "#W1", "Yes.", "More?"}, EndsOn: []string{"bye"}},
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     4,
			ended:     "tool",
			roles:     "uauatauatt",
			userTurns: 3,
		},
		"a failed call does not": {said: said{turns: []chat.Message{calling("tool_error"), answering("Done.")}},
			user: &scenario.User{Says: []string{"Cancel."}, EndsOn: []string{"tool_error"}}, outcome: trajectory.OK,
			reason: trajectory.StopCompleted, turns: 2, ended: "script", roles: "uata", userTurns: 1},
		"the policy ends it": {
			said:      said{turns: []chat.Message{answering("Bye. ###STOP###")}},
			user:      script("Cancel.", "#W1"),
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     1,
			ended:     "policy",
			roles:     "ua",
			userTurns: 1,
		},
		"it says nothing": {
			said:      said{turns: []chat.Message{answering("")}},
			user:      script("Cancel.", "#W1"),
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			turns:     1,
			ended:     "policy",
			roles:     "ua",
			userTurns: 1,
		},
		"turns": {
			said:      talk,
			user:      script("Cancel.", "#W1", "Yes."),
			in:        environment.Options{MaxTurns: 3},
			outcome:   trajectory.Limit,
			reason:    trajectory.StopMaxTurns,
			turns:     3,
			roles:     "uauatau",
			userTurns: 3,
		},
		"the user is gone": {
			said:      talk,
			user:      &scenario.User{Goal: "g", First: "Cancel."},
			lines:     []string{"", "#W1"},
			outcome:   trajectory.InfrastructureError,
			reason:    trajectory.StopError,
			turns:     3,
			roles:     "uauata",
			userTurns: 2,
			tokens:    3,
			fails:     true,
		},
		"gone before it began": {
			said:      talk,
			user:      &scenario.User{Goal: "g"},
			outcome:   trajectory.InfrastructureError,
			reason:    trajectory.StopError,
			roles:     "",
			userTurns: 1,
			fails:     true,
		},
		"it ends before it began": {
			said:      talk,
			user:      &scenario.User{Goal: "g"},
			lines:     []string{"###STOP###"},
			outcome:   trajectory.InfrastructureError,
			reason:    trajectory.StopError,
			roles:     "",
			userTurns: 1,
			tokens:    3,
			fails:     true,
		},
		"its first words are its last": {
			said:      talk,
			user:      &scenario.User{Goal: "g"},
			lines:     []string{"Never mind. ###STOP###", "More."},
			outcome:   trajectory.OK,
			reason:    trajectory.StopCompleted,
			ended:     "user",
			roles:     "u",
			userTurns: 1,
			tokens:    3,
		},
		"a server crashes meanwhile": {
			said:      said{turns: []chat.Message{answering("Which?"), calling("transport_error")}},
			user:      script("Cancel.", "#W1"),
			outcome:   trajectory.EnvironmentError,
			reason:    trajectory.StopError,
			turns:     2,
			roles:     "uauat",
			userTurns: 2,
		},
	} {
		records := map[string]bool{}
		for kind, p := range c.said.speakers(t) {
			servers := byName()
			servers.status = func(_ int32, call chat.ToolCall) trajectory.CallStatus {
				if call.Name == "ok" || call.Name == "bye" {
					return trajectory.CallOK
				}
				return trajectory.CallStatus(call.Name)
			}
			c.in.Tools, c.in.User = servers, environment.Players{Model: person{c.lines}, Seed: 1}
			got, err := play(t, p, environment.New(c.in), scenario.Scenario{ID: "x", User: c.user}, rollout.Options{})
			roles := ""
			for _, m := range got.Messages {
				roles += m.Role[:1]
			}
			u := got.User
			if got.Outcome != c.outcome || got.StopReason != c.reason || len(got.Turns) != c.turns ||
				roles != c.roles || (err != nil) != c.fails {
				t.Errorf("%s, %s: %s, %s after %d turns, %s (%s), %v",
					name, kind, got.Outcome, got.StopReason, len(got.Turns), roles, got.Error, err)
			}
			if u.Ended != c.ended || u.Turns != c.userTurns || u.CompletionTokens != c.tokens ||
				u.PromptTokens != c.tokens/3*7 {
				t.Errorf("%s, %s: %+v", name, kind, u)
			}
			if c.fails && !strings.Contains(got.Error, "the simulated user: ") {
				t.Errorf("%s, %s: %s", name, kind, got.Error)
			}
			if opened, closed := servers.opened.Load(), servers.closed.Load(); opened != 1 || closed != 1 {
				t.Errorf("%s, %s: %d sessions opened, %d closed", name, kind, opened, closed)
			}
			u.Seconds = 0
			records[unspoken(got)] = true
		}
		if len(records) != 1 {
			t.Errorf("%s: who speaks makes another record: %v", name, records)
		}
	}
}

// What a user says is part of the next prompt and never trained on.
func TestWordsOfTheUserAreNotTrained(t *testing.T) {
	talk := said{turns: []chat.Message{answering("Which?"), calling("ok"), answering("Shall I?"), answering("Done.")}}
	got, err := play(t, talk.sampled(),
		environment.New(environment.Options{Tools: byName(), User: environment.Players{}, System: "Be short."}),
		scenario.Scenario{ID: "x", User: &scenario.User{Says: []string{"Cancel.", "#W1", "Yes."}}}, rollout.Options{})
	if err != nil || got.Outcome != trajectory.OK || got.Opening != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	rows := got.Rows()
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	var own []int32
	for i, id := range rows[0].IDs {
		if rows[0].Sampled[i] {
			own = append(own, id)
		}
	}
	if want := "Which?\x00" + fakes.Call("ok", `{"i": 0}`) +
		"\x00Shall I?\x00Done.\x00"; fakes.Text(own) != want {
		t.Errorf("trained is %q, want %q", fakes.Text(own), want)
	}
	served, err := fakes.Renderer{}.Prompt(got.Messages[:len(got.Messages)-1], nil)
	if err != nil || !strings.HasPrefix(fakes.Text(rows[0].IDs), fakes.Text(served)) ||
		!strings.Contains(fakes.Text(served), "#W1") {
		t.Errorf("trained behind %q, served behind %q", fakes.Text(rows[0].IDs), fakes.Text(served))
	}
	if !reflect.DeepEqual(got.Answers(), []string{"Which?", "Shall I?", "Done."}) || got.Answer() != "Done." {
		t.Errorf("said %q, answered %q", got.Answers(), got.Answer())
	}
}
