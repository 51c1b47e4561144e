package view

import (
	"os"
	"path/filepath"
	"testing"

	"hone/internal/episode/scenario"
)

// What a person decides about tasks is kept beside them, can be taken back, and leaves a file of the others in their
// words; the tasks themselves stay as they are.
func TestReview(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.json")
	check(t, scenario.Save(file, []scenario.Scenario{
		{ID: "a", Task: "First?", Split: scenario.Train},
		{ID: "b", Task: "Second?", Split: scenario.Test},
		{ID: "c", Task: "Third?", Split: scenario.Train},
	}))
	before, err := os.ReadFile(file)
	check(t, err)
	for _, step := range []struct {
		d    Decision
		want Reviewed
		bad  bool
		left []string // what is asked then, in order
	}{
		{Decision{Task: "a", Do: "accept"}, Reviewed{Status: "accepted", Steps: 1}, false, []string{"First?", "Second?", "Third?"}},
		{Decision{Task: "b", Do: "reject", Why: "unclear"}, Reviewed{Status: "rejected", Why: "unclear", Steps: 1}, false, []string{"First?", "Third?"}},
		{Decision{Task: "c", Do: "edit", Text: "The third?"},
			Reviewed{Status: "undecided", Edited: "The third?", Steps: 1}, false, []string{"First?", "The third?"}},
		{Decision{Task: "c", Do: "accept"}, Reviewed{Status: "accepted", Edited: "The third?", Steps: 2}, false, []string{"First?", "The third?"}},
		{Decision{Task: "b", Do: "undo"}, Reviewed{Status: "undecided"}, false, []string{"First?", "Second?", "The third?"}},
		{Decision{Task: "b", Do: "undo"}, Reviewed{}, true, nil},
		{Decision{Task: "c", Do: "edit", Text: " "}, Reviewed{}, true, nil},
		{Decision{Task: "d", Do: "accept"}, Reviewed{}, true, nil},
		{Decision{Task: "a", Do: "delete"}, Reviewed{}, true, nil},
	} {
		r, err := openReview(file) // as after a restart
		check(t, err)
		got, err := r.decide(step.d)
		if got != step.want || (err != nil) != step.bad {
			t.Fatalf("%+v: %+v, %v", step.d, got, err)
		}
		if step.bad {
			continue
		}
		left, err := scenario.LoadRows(r.left())
		check(t, err)
		var asked []string
		for _, s := range left {
			asked = append(asked, s.Task)
		}
		if len(asked) != len(step.left) {
			t.Fatalf("%+v leaves %q", step.d, asked)
		}
		for i := range asked {
			if asked[i] != step.left[i] {
				t.Errorf("%+v leaves %q, want %q", step.d, asked, step.left)
			}
		}
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the tasks were changed: %v", err)
	}
}
