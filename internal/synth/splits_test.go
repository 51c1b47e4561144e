package synth

import (
	"encoding/json"
	"testing"

	"hone/internal/episode/scenario"
)

// A scenario in the place of another leaves no call and no wording on both sides of a split.
func TestApart(t *testing.T) {
	of := func(split, task, arguments string) scenario.Scenario {
		return scenario.Scenario{Split: split, Task: task,
			Gold: []scenario.Gold{{Name: "add", Arguments: json.RawMessage(arguments)}}}
	}
	others := []scenario.Scenario{
		of(scenario.Train, "Please tell me how much two and forty come to when they are put together",
			`{"a":2,"b":40}`),
		of(scenario.Test, "What is 3 plus 5?", `{"a":3,"b":5}`),
	}
	for _, tc := range []struct {
		name string
		s    scenario.Scenario
		want bool
	}{
		{"another call", of(scenario.Test, "Sum of 9 and 1", `{"a":9,"b":1}`), true},
		{"a training task's call", of(scenario.Test, "Sum of 2 and 40", `{"b":40,"a":2}`), false},
		{"a call of its own split", of(scenario.Test, "Sum of 3 and 5", `{"a":3,"b":5}`), true},
		{"a training task's words", of(scenario.Test, "Please tell me how much two and forty come to when they are put together!", `{"a":7,"b":7}`), false},
		{"a test task's call", of(scenario.Train, "Sum of 3 and 5", `{"a":3,"b":5}`), false},
		{"no call", scenario.Scenario{Split: scenario.Test, Task: "Good morning!"}, true},
	} {
		if got := Apart(tc.s, others); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
