package job

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"hone/internal/hub"
)

// A card counts a run's steps, not what was validated between them, and ends with what the last step came to, whether
// that is better or worse.
func TestCardOfMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	rows := `{"stage":"grpo","step":0,"loss":0.1,"reward":0.8,"step_time":60,"step_tokens":100,"judge/cost":0.25}
{"stage":"validation","step":1,"loss":7,"reward":0.9,"step_time":500,"step_tokens":900,"judge/cost":9}
{"stage":"grpo","step":1,"loss":3.5,"reward":0.0125,"step_time":30,"step_tokens":50}
{"stage":"validation","step":2,"loss":8,"reward":0.7,"step_time":500}
`
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	s, m := hub.CardStage{Verb: "train"}, hub.Card{}
	if err := readMetrics(path, &s, &m); err != nil {
		t.Fatal(err)
	}
	if want := []hub.CardFact{{Name: "loss of the last step", Value: "3.5"},
		{Name: "reward of the last step", Value: "0.0125"}}; s.Steps != 2 || !reflect.DeepEqual(s.Last, want) {
		t.Errorf("%d steps, %v, want %v", s.Steps, s.Last, want)
	}
	if want := []hub.CardFact{{Name: "hone train", Value: "1m30s of steps, 150 tokens trained"},
		{Name: "judge of hone train", Value: "0.2500 dollars"}}; !reflect.DeepEqual(m.Costs, want) {
		t.Errorf("%v, want %v", m.Costs, want)
	}
}
