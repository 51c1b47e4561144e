package reward_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/userprogram"
)

// working is a term whose program is a worker in sh: what it reads is in the file given, and $id is the input's.
func working(t *testing.T, does string) *reward.Program {
	t.Helper()
	name := filepath.Join(t.TempDir(), "judge.sh")
	text := "#!/bin/sh\nwhile read -r line; do\nprintf '%s\\n' \"$line\" >> given\nid=${line#*:}; id=${id%%,*}\n" +
		does + "\ndone\n"
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	p := userprogram.Program{Command: []string{name}, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	term, err := reward.NewProgram(p, 4)
	if err != nil {
		t.Fatal(err)
	}
	term.Worker = userprogram.NewWorker(p)
	t.Cleanup(term.Close)
	return term
}

// A worker scores group after group as a program does that is run for each.
func TestWorkerScoresGroups(t *testing.T) {
	term := working(t, `echo "{\"id\": $id, \"scores\": [0.25, 0.$id]}"`)
	for _, second := range []float64{0.1, 0.2, 0.3} {
		got, err := reward.Scorer{Program: term}.Score(t.Context(), hashScenario(), three())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range map[int]float64{0: 0.25, 2: second} {
			if last := got[i].Terms[len(got[i].Terms)-1]; last != (trajectory.Term{Name: "program", Score: want,
				Weight: 4}) {
				t.Errorf("%d: %+v", i, last)
			}
		}
	}
	given, err := os.ReadFile(filepath.Join(filepath.Dir(term.Program.Command[0]), "given"))
	lines := strings.Split(strings.TrimSpace(string(given)), "\n")
	if err != nil ||
		len(lines) != 3 || !strings.HasPrefix(lines[1], `{"id":2,"scenario":{"id":"x","task":"Hash hi."`) ||
		strings.Count(lines[1], `"outcome":"ok"`) != 2 {
		t.Errorf("%v: it read %s", err, given)
	}
}

// What is no score of each episode is an error, also where the worker says so itself; the next group is scored.
func TestWorkerFailures(t *testing.T) {
	for answer, want := range map[string]string{
		`\"scores\": [1]`:       "no list of 2 numbers",
		`\"scores\": [1, 2]`:    "number 1 is no score of 0 to 1",
		`\"scores\": [1, null]`: "number 1 is no score of 0 to 1",
		`\"scores\": \"good\"`:  "no list of 2 numbers",
		`\"score\": [1, 1]`:     "no list of 2 numbers",
		`\"error\": \"the price list is gone\", \"scores\": [1, 1]`: "says: the price list is gone",
	} {
		term := working(t, `if [ "$id" = 1 ]; then echo "{\"id\": $id, `+answer+
			`}"; else echo "{\"id\": $id, \"scores\": [1, 0]}"; fi`)
		_, err := reward.Scorer{Program: term}.Score(t.Context(), hashScenario(), three())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(),
			"the reward term program of scenario x: the program "+term.Program.Command[0]) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
		if _, err := (reward.Scorer{Program: term}).Score(t.Context(), hashScenario(), three()); err != nil {
			t.Errorf("after %s: %v", answer, err)
		}
	}
}
