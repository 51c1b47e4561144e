package job

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
)

// The evaluation that follows a training is of a split that has scenarios.
func TestTheNextEvaluationHasScenarios(t *testing.T) {
	for splits, want := range map[string]string{"train validation test": "validation", "train test": "test", "train validation": "validation", "train": "train"} {
		j := &Job{Env: Env{Host: &host.Host{}}, Path: t.TempDir(), Config: config.Default()}
		var said bytes.Buffer
		j.Host.Talk = sanitize.New(&said)
		var rows []string
		for _, split := range strings.Fields(splits) {
			rows = append(rows, `{"id": "`+split+`", "task": "Go.", "split": "`+split+`", "checks": [{"type": "answer", "equals": "x"}]}`)
		}
		if err := os.WriteFile(filepath.Join(j.Path, ScenariosFile), []byte("["+strings.Join(rows, ",")+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
		if flag := j.heldOutSplit(); flag != " --split "+want {
			t.Errorf("of %s: %q", splits, flag)
		}
		list, err := scenario.Load(j.measuredOn())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OfSplit(list, strings.TrimPrefix(j.heldOutSplit(), " --split "), j.measuredOn()); err != nil {
			t.Errorf("of %s: %v", splits, err)
		}
	}
}

// Without --dataset the configuration's file is read; where there is none, the error names the flag. A file that was named is another matter.
func TestNoDataset(t *testing.T) {
	t.Chdir(t.TempDir())
	c := config.Default()
	_, err := Dataset("", c)
	if text := err.Error(); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(text, "--dataset FILE") || !strings.Contains(text, c.Scenarios.File) {
		t.Errorf("%v", err)
	}
	if got, err := Dataset("none.json", c); got != "none.json" || err != nil { // whoever reads it says so
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(c.Scenarios.File, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Dataset("", c); got != c.Scenarios.File || err != nil {
		t.Errorf("%q, %v", got, err)
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
		tr := &trajectory.Trajectory{Outcome: x.outcome, Messages: []chat.Message{{Role: chat.User, Content: "Add."}, {Role: chat.Assistant, Content: "5"}}}
		if got := new(Episodes).howEnded(s, tr); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
