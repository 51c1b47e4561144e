package scenario

import (
	"encoding/json"
	"testing"
)

// A scenario's hash is of what is asked and how it is judged, and of nothing else.
func TestHash(t *testing.T) {
	read := func(text string) Scenario {
		t.Helper()
		var s Scenario
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	const row = `{"id": "a", "task": "Add.", "split": "train", "gold": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 3}]}`
	s := read(row)
	for name, c := range map[string]struct {
		text string
		same bool
	}{
		"renamed, moved, tagged": {`{"id": "z", "tags": ["x"], "difficulty": "hard", "split": "test", "task": "Add.", "gold": [{"name": "add", "arguments": {"b": 2, "a": 1.0}}], "checks": [{"number": 3, "type": "answer"}]}`, true},
		"made by another":        {`{"provenance": {"by": "hone synth", "seed": 3}, "task": "Add.", "gold": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 3}]}`, true},
		"another task":           {`{"task": "Sum.", "gold": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 3}]}`, false},
		"another check":          {`{"task": "Add.", "gold": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 4}]}`, false},
		"another call":           {`{"task": "Add.", "gold": [{"name": "add", "arguments": {"a": 2, "b": 2}}], "checks": [{"type": "answer", "number": 3}]}`, false},
		"a setup":                {`{"task": "Add.", "setup": [{"name": "add", "arguments": {}}], "gold": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 3}]}`, false},
	} {
		other := read(c.text)
		if same := s.Hash() == other.Hash(); same != c.same || len(s.Hash()) != 64 {
			t.Errorf("%s: same %v", name, same)
		}
	}
}
