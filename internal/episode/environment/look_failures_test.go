package environment_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// script is a program in a folder.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "score.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, programs []string, c scenario.Check) (*trajectory.Trajectory, *environment.Lost) {
	t.Helper()
	w, lost := environment.OpenWatch(t.Context(), begun(t), []scenario.Check{c}, programs)
	if lost != nil {
		t.Fatal(lost)
	}
	episode := &trajectory.Trajectory{ID: "e/1/2", Outcome: trajectory.OK}
	return episode, w.End(t.Context(), episode)
}

func TestCommand(t *testing.T) {
	t.Setenv("HONE_TEST_SECRET", "sesame")
	least := 0.5
	for _, test := range []struct {
		text string
		met  bool
	}{
		{`grep -q '"id":"e/1/2"' && echo 1`, true},
		{`echo 0.4`, false},
		{`echo " 0.5 "`, true},
		{`test -f "$HONE_EPISODE_DIR/out.json" && echo 1`, true},
		{`test -z "$HONE_TEST_SECRET" && echo 1`, true},
		{`test -f score.sh && echo 1`, true},
		{`echo 1; exec >&-; exit 0`, true},
	} {
		c := scenario.Check{Type: "command", Command: []string{script(t, test.text)}, AtLeast: &least}
		episode, lost := run(t, []string{"PATH=" + os.Getenv("PATH")}, c)
		if lost != nil {
			t.Errorf("%s: %+v", test.text, lost)
			continue
		}
		if why := reward.Unmet(c, episode, nil); (why == "") != test.met {
			t.Errorf("%s: %q, %+v", test.text, why, episode.Seen)
		}
	}
	// A program on PATH, by its name alone; its arguments are passed as they are.
	c := scenario.Check{Type: "command", Command: []string{"echo", "1"}}
	if episode, lost := run(t, []string{"PATH=" + os.Getenv("PATH")}, c); lost != nil ||
		reward.Unmet(c, episode, nil) != "" {
		t.Errorf("%+v, %+v", lost, episode.Seen)
	}
}

// A program that fails is the user's to mend: the episode is masked, and says why; it never earns nothing without a
// word.
func TestCommandFails(t *testing.T) {
	path := []string{"PATH=" + os.Getenv("PATH")}
	for _, test := range []struct {
		check scenario.Check
		env   []string
		want  string
	}{
		{scenario.Check{Command: []string{script(t, "echo no; echo sorry >&2; exit 3")}}, path, "exit status 3: sorry"},
		{scenario.Check{Command: []string{script(t, "kill -9 $$")}}, path, "killed"},
		{scenario.Check{Command: []string{script(t, "sleep 100 & sleep 100")}, Timeout: 0.2}, path, "did not end within 200ms"},
		{scenario.Check{Command: []string{script(t, "echo passed")}}, path, `"passed", which is no score`},
		{scenario.Check{Command: []string{script(t, "echo 1.5")}}, path, "no score of 0 to 1"},
		{scenario.Check{Command: []string{script(t, "echo NaN")}}, path, "no score of 0 to 1"},
		{scenario.Check{Command: []string{script(t, "")}}, path, "no score"},
		{scenario.Check{Command: []string{script(t, "yes 1")}, Timeout: 0.2}, path, "did not end"},
		{scenario.Check{Command: []string{"/no/such/program"}}, path, "no such file"},
		{scenario.Check{Command: []string{"no-such-program"}}, path, "is not on PATH"},
		{scenario.Check{Command: []string{"./score.sh"}}, path, "no folder"},
		{scenario.Check{Command: []string{script(t, "echo 1")}}, nil, "not allowed"},
	} {
		test.check.Type = "command"
		began := time.Now()
		episode, lost := run(t, test.env, test.check)
		if lost == nil || lost.Outcome != trajectory.InfrastructureError || lost.Outcome.Trainable() || lost.Again ||
			!strings.Contains(lost.Why, test.want) {
			t.Errorf("%v: %+v, %+v; want %q", test.check.Command, lost, episode.Seen, test.want)
		}
		if time.Since(began) > time.Minute {
			t.Errorf("%v held its pipes", test.check.Command)
		}
	}
}

// A call of a check that has no answer is the environment's failure, one that the rules keep back nobody's but ours;
// neither is the policy's, and both are also seen before the first turn.
func TestProbeWithoutAnswer(t *testing.T) {
	for _, test := range []struct {
		result  trajectory.ToolResult
		outcome trajectory.Outcome
		reason  trajectory.StopReason
		again   bool
	}{
		{trajectory.ToolResult{Status: trajectory.CallTransportError, Error: "gone"}, trajectory.EnvironmentError, trajectory.StopError, true},
		{trajectory.ToolResult{Status: trajectory.CallTimeout, Error: "gone"}, trajectory.EnvironmentError, trajectory.StopTimeout, true},
		{
			trajectory.ToolResult{Status: trajectory.CallTransportError, Error: "gone",
				Outcome: trajectory.InfrastructureError}, trajectory.InfrastructureError, trajectory.StopError, true,
		},
		{trajectory.ToolResult{Status: trajectory.CallDenied, Error: "gone"}, trajectory.InfrastructureError, trajectory.StopError, false},
		{trajectory.ToolResult{Status: trajectory.CallInvalid, Error: "gone"}, trajectory.InfrastructureError, trajectory.StopError, false},
	} {
		p := begun(t)
		p.answers["graph"] = test.result
		want := environment.Lost{Outcome: test.outcome, Reason: test.reason, Again: test.again}
		state := scenario.Check{Type: "state", Name: "graph", Refused: true}
		w, lost := environment.OpenWatch(t.Context(), p, []scenario.Check{state}, nil)
		if lost != nil {
			t.Fatal(lost)
		}
		lost = w.End(t.Context(), &trajectory.Trajectory{Outcome: trajectory.OK})
		_, before := environment.OpenWatch(t.Context(), p, []scenario.Check{{Type: "unchanged", Name: "graph"}}, nil)
		for _, got := range []*environment.Lost{lost, before} {
			if got == nil || !strings.Contains(got.Why, "gone") {
				t.Fatalf("%+v: %+v", test.result, got)
			}
			got.Why = ""
			if *got != want {
				t.Errorf("%+v: %+v, want %+v", test.result, *got, want)
			}
		}
	}
	p := begun(t)
	p.dir = ""
	w, _ := environment.OpenWatch(t.Context(), p, []scenario.Check{{Type: "file", Path: "x"}}, nil)
	if lost := w.End(t.Context(), &trajectory.Trajectory{Outcome: trajectory.OK}); lost == nil ||
		!strings.Contains(lost.Why, "no folder of its own") {
		t.Errorf("without a folder: %+v", lost)
	}
	// What did not end by the policy's doing is not looked at.
	if lost := w.End(t.Context(), &trajectory.Trajectory{Outcome: trajectory.EnvironmentError}); lost != nil {
		t.Errorf("%+v", lost)
	}
}

// A state can be looked at between two turns; an episode that has no such turn does not meet the check.
func TestAfterTurn(t *testing.T) {
	p := begun(t)
	checks := []scenario.Check{
		checkOf(t, `{"type":"state","name":"count","after_turn":1,"equals":"1"}`),
		checkOf(t, `{"type":"state","name":"count","after_turn":2,"equals":"2"}`),
		checkOf(t, `{"type":"state","name":"count","equals":"2"}`),
		checkOf(t, `{"type":"state","name":"count","after_turn":3,"equals":"2"}`),
	}
	w, _ := environment.OpenWatch(t.Context(), p, checks, nil)
	episode := &trajectory.Trajectory{Outcome: trajectory.OK}
	for turn := range 2 {
		episode.Turns = append(episode.Turns, trajectory.Turn{})
		p.answer("count", trajectory.CallOK, string(rune('1'+turn)))
		if turn == 0 {
			if lost := w.AfterTurn(t.Context(), episode); lost != nil {
				t.Fatal(lost)
			}
		}
	}
	if lost := w.End(t.Context(), episode); lost != nil {
		t.Fatal(lost)
	}
	failed := reward.FailedChecks(&scenario.Scenario{Checks: checks}, episode, nil)
	if len(failed) != 1 || failed[0] != "checks[3] (state): the episode had no turn 3" || len(episode.Seen) != 3 {
		t.Errorf("failed %q, saw %+v", failed, episode.Seen)
	}
	if unseen := reward.Unseen(&scenario.Scenario{Checks: checks}, episode); len(unseen) > 0 {
		t.Errorf("unseen %v", unseen)
	}
	// A record made before the scenario had the check is not scored; an honest zero would be a lie.
	late := &scenario.Scenario{Checks: append(checks, checkOf(t, `{"type":"state","name":"other","equals":"2"}`))}
	if reward.Unseen(late, episode)[0] != "checks[4] (state)" {
		t.Error("a check that saw nothing is not named")
	}
	give(reward.Scorer{}, late, episode)
	if episode.Terms != nil || episode.Reward != 0 {
		t.Errorf("scored %+v", episode.Terms)
	}
}

// give scores one trajectory as a group of its own.
func give(r reward.Scorer, s *scenario.Scenario, t *trajectory.Trajectory) {
	g := trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{t}}
	scores, err := r.Score(context.Background(), s, g)
	if err != nil {
		panic(err) // a rule does not fail
	}
	g.Take(scores)
}
