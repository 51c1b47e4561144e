package reward_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/userprogram"
	"hone/internal/fault"
)

// judge writes a program of a user's that does this in sh, with the group in the file given.
func judge(t *testing.T, does string) userprogram.Program {
	t.Helper()
	name := filepath.Join(t.TempDir(), "judge.sh")
	if err := os.WriteFile(name, []byte("#!/bin/sh\ncat > given.json\n"+does+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return userprogram.Program{Command: []string{name}, Environ: []string{"PATH=" + os.Getenv("PATH")}}
}

// three episodes of one scenario, of which the second says nothing of the policy.
func three() trajectory.Group {
	return trajectory.Group{ScenarioID: "x", Trajectories: []*trajectory.Trajectory{
		episode{calls: many(1, right), answer: "d8932aac"}.trajectory(), {Outcome: trajectory.EnvironmentError},
		episode{answer: "no"}.trajectory()}}
}

// A program sees the whole group with its scenario, but for episodes that are not scored, and its scores are a term,
// which extra calls take nothing of.
func TestProgramScoresAGroup(t *testing.T) {
	p := judge(t, "echo '[0.25, 1]'")
	term, err := reward.NewProgram(p, 4)
	if err != nil {
		t.Fatal(err)
	}
	without, err := reward.Scorer{}.Score(t.Context(), hashScenario(), three())
	if err != nil {
		t.Fatal(err)
	}
	r := reward.Scorer{Program: term}
	with, err := r.Score(t.Context(), hashScenario(), three())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]float64{0: 0.25, 2: 1} {
		last := with[i].Terms[len(with[i].Terms)-1]
		if last != (trajectory.Term{Name: "program", Score: want, Weight: 4}) ||
			with[i].Reward != without[i].Reward+4*want {
			t.Errorf("%d: %+v, earned %v, %v without", i, last, with[i].Reward, without[i].Reward)
		}
	}
	if with[1].Terms != nil || with[1].Reward != 0 {
		t.Errorf("an episode that is not the policy's doing earned %+v", with[1])
	}
	given, err := os.ReadFile(filepath.Join(filepath.Dir(p.Command[0]), "given.json"))
	if err != nil || !strings.HasPrefix(string(given), `{"scenario":{"id":"x","task":"Hash hi."`) ||
		strings.Count(string(given), `"outcome":"ok"`) != 2 {
		t.Errorf("%v: it read %s", err, given)
	}
	if most := r.Max(hashScenario()); most != (reward.Scorer{}).Max(hashScenario())+4 {
		t.Errorf("at most %v", most)
	}
}

// What is no score of each episode is an error that names the term, the scenario and the program: nothing is guessed.
func TestProgramFailures(t *testing.T) {
	for does, want := range map[string]string{
		"echo '[1]'": "no list of 2 numbers", "echo '[1, 2]'": "number 1 is no score",
		"echo '[-1, 1]'": "number 0 is no score", "echo '[1, null]'": "number 1 is no score",
		"echo broken; echo why >&2": `"broken", which is no list of 2 numbers; stderr: why`,
		"echo no money >&2; exit 3": "exit status 3: no money", "echo '[1, null, 1]'": "no list",
		"echo '[NaN, 1]'": "no list", "kill -9 $$": "signal: killed", "true": `writes ""`,
	} {
		p := judge(t, does)
		term, err := reward.NewProgram(p, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = reward.Scorer{Program: term}.Score(t.Context(), hashScenario(), three())
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "the reward term program of scenario x: the program "+p.Command[0]) {
			t.Errorf("%s: %v, want %q", does, err, want)
		}
	}
	if _, err := reward.NewProgram(userprogram.Program{Command: []string{"no-such-judge"},
		Environ: []string{"PATH=/nowhere"}}, 1); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A stop ends a program, and whoever waits for one; so does its time.
func TestProgramEndsWithTheRun(t *testing.T) {
	hangs := judge(t, "touch begun; sleep 1000")
	term, err := reward.NewProgram(hangs, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := make(chan error)
	for range 6 { // two more than run at once
		go func() {
			_, err := reward.Scorer{Program: term}.Score(ctx, hashScenario(), three())
			errs <- err
		}()
	}
	for begun := filepath.Join(filepath.Dir(hangs.Command[0]), "begun"); ; {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	for range 6 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	hangs.Timeout = 10 * time.Millisecond
	if term, err = reward.NewProgram(hangs, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := (reward.Scorer{Program: term}).Score(t.Context(), hashScenario(), three()); err == nil ||
		!strings.Contains(err.Error(), "did not end within 10ms") {
		t.Error(err)
	}
}
