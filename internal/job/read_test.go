package job

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/data/curate"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/run"
	"hone/internal/testing/hosttest"
)

// An episode is found by its name, its scenario's id, or a beginning of either that no other has.
func TestFindEpisode(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &Job{Env: Env{Host: hosttest.Quiet(t)}, Verb: "collect", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"collect/pick-a1b2", "collect/pick-a1", "collect/pick-a1#2", "collect/walk-77", "grpo/walk-88/0/0", "grpo/walk-88/0/1", "grpo/run/of/walk-99/0/0", "grpo/run-1/3/0"} {
		text, err := json.Marshal(&trajectory.Trajectory{ID: name, Outcome: trajectory.OK})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: name, Stage: strings.Split(name, "/")[0], JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	for id, want := range map[string]string{"collect/walk-77": "collect/walk-77", "walk-77": "collect/walk-77", "walk-7": "collect/walk-77", "collect/walk": "collect/walk-77", "walk-88/0/1": "grpo/walk-88/0/1",
		"run-1": "grpo/run-1/3/0", "run-1/3": "grpo/run-1/3/0", "walk-99": "grpo/run/of/walk-99/0/0", "pick-a1b": "collect/pick-a1b2", "pick-a1#2": "collect/pick-a1#2", "pick-a1": "collect/pick-a1",
		"walk-88": "2 episodes", "pick": "3 episodes", "walk-": "4 episodes", "77": "no episode", "k-77": "no episode", "%": "no episode", "": "no episode"} {
		e, err := FindEpisode("out", id)
		if err == nil && e.Trajectory.ID != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", id, e.Title, err, want)
		}
	}
}

// Errors that a scenario wants are told by its checks, of the same scenario alone.
func TestWantedRefusals(t *testing.T) {
	s := scenario.Scenario{ID: "s", Task: "Try.", Checks: []scenario.Check{{Type: scenario.CallCheck, Name: "f", Refused: true}, {Type: scenario.CallCheck, Name: "g"}}}
	wanted := wantedRefusals(map[string]*scenario.Scenario{"s": &s})
	for row, want := range map[*dataset.Row]string{{ScenarioID: "s", Scenario: s.Hash()}: "[f]", {ScenarioID: "s"}: "[f]", {ScenarioID: "s", Scenario: "another"}: "[]", {ScenarioID: "x"}: "[]", {}: "[]"} {
		if got := fmt.Sprint(wanted(row)); got != want {
			t.Errorf("%+v: %s, want %s", row, got, want)
		}
	}
}

// What is only tried is told of as such, and who made an operation where that is known.
func TestRedactionIsTold(t *testing.T) {
	for _, tried := range []bool{true, false} {
		var said strings.Builder
		(&Desk{}).TellRedacted(func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }, curate.Redaction{Traces: 1, Values: make([]curate.Redacted, 2)}, []string{"x"}, tried)
		if would := strings.Contains(said.String(), "would stand for 2 values of 1 trace") && strings.Contains(said.String(), "would not hold then: x"); would != tried || strings.Contains(said.String(), "stand now") == tried {
			t.Errorf("tried %v: %s", tried, said.String())
		}
	}
	for env, want := range map[string]string{"USER=ann LOGNAME=x": "ann", "LOGNAME=bo": "bo", "USERNAME=cy": "cy", "USER= LOGNAME=bo": "bo", "HOME=/": ""} {
		author := AuthorOf(func(name string) (string, bool) {
			for _, pair := range strings.Fields(env) {
				if value, is := strings.CutPrefix(pair, name+"="); is {
					return value, true
				}
			}
			return "", false
		})
		if author != want {
			t.Errorf("%s: %q", env, author)
		}
	}
	if a, b := fmt.Sprint(curate.Op{Seq: 3, Do: "reject", Author: "ann", Why: "dull"}), fmt.Sprint(curate.Op{Seq: 3, Do: "reject"}); a != "operation 3 by ann: reject dull" || b != "operation 3: reject" {
		t.Errorf("%q, %q", a, b)
	}
}
