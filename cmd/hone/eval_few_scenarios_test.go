//go:build !race

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// --limit has all systems run the same few scenarios, and says so where the numbers stand; a run that is stopped goes
// on with these.
func TestEvalOfFewScenarios(t *testing.T) {
	a, env, run := evaluating(t, 30, "temperature: 0")
	flags := []string{"--compare", "local/fool,local/solver", "--limit", "7", "--output-dir"}
	says := "7 of the 30 scenarios of the split test, drawn by seed "
	if code, _, _, said := run(append(flags, "out", "--dry-run")...); code != 0 || !strings.Contains(said, says) {
		t.Errorf("a dry run: exit code %d, %s", code, said)
	}
	ctx, stop := context.WithCancel(t.Context())
	a.on = func(n int) {
		if n == 5 {
			stop()
		}
	}
	if code := toyApp(t.Output(), env).main(ctx, append(evalCommand, append(flags, "out")...)); code != 7 {
		t.Fatalf("stopped: exit code %d", code)
	}
	a.on = nil
	code, e, text, said := run("runs", "resume", "./out", "--json")
	if code != 0 || !strings.Contains(said, says) ||
		!strings.Contains(text, `"drawn_of":30`) && !strings.Contains(text, `"drawn_of": 30`) {
		t.Fatalf("exit code %d, %s\n%s", code, said, text)
	}
	for name, s := range e.Systems {
		if s.N != 7 || s.NumEpisodes != 7 {
			t.Errorf("%s: %d episodes of %d scenarios", name, s.NumEpisodes, s.N)
		}
	}
	if len(e.Deltas) != 1 || e.Deltas[0].Episode.N != 7 {
		t.Errorf("%+v: want one difference, of 7 pairs", e.Deltas)
	}
	of := map[string]int{}
	for name := range episodesIn(t, "out") {
		of[strings.Split(name, "/")[1]]++
	}
	if len(of) != 7 || of["t00"]+of["t01"]+of["t02"]+of["t03"]+of["t04"]+of["t05"]+of["t06"] == 14 {
		t.Errorf("ran %v: want 7 that are drawn, each of both systems", of)
	}
	if !strings.Contains(contents(t, "out/results.json"), says) {
		t.Error("the report does not say of how many scenarios it is")
	}
	if code, _, _, said := run("--compare", "local/solver", "--limit", "-2"); code != 2 ||
		!strings.Contains(said, "cannot draw -2 scenarios") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, _, text, said := run("--compare", "local/solver", "--limit", "30", "--dry-run"); code != 0 ||
		strings.Contains(fmt.Sprint(text, said), "drawn") {
		t.Errorf("all are drawn: exit code %d, %s", code, said)
	}
}
