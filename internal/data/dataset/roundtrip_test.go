package dataset

import (
	"path/filepath"
	"reflect"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// failed is a trace whose checks failed, with reasoning, a message that a mask leaves out, a call that broke its
// schema, and what it took.
func failed() Row {
	cost := 0.25
	r := Row{
		ID:         "failed",
		ScenarioID: "s",
		Scenario:   "hash",
		Split:      "train",
		Outcome:    trajectory.OK,
		Opening:    1,
		Tools:      []chat.Tool{{Name: "weather", InputSchema: []byte(`{"type":"object"}`)}},
		Terms: []trajectory.Term{
			{Name: "checks", Weight: 1, Why: "checks[0] (call)"},
			{Name: "calls", Score: 0.5, Weight: 0.1},
		},
		Usage: &trajectory.Usage{PromptTokens: 7, CompletionTokens: 2, Cost: &cost},
		Messages: []chat.Message{
			{Role: chat.User, Content: "Rain?"}, {Role: chat.Assistant, Content: "BAD", NoLoss: true}, {Role: chat.User,
				Content: "Look it up."},
			{Role: chat.Assistant, Content: "<think>as it was</think>", ReasoningContent: "I look.",
				ToolCalls: []chat.ToolCall{{ID: "a", Name: "weather", Arguments: "{broken"}}},
			{Role: chat.ToolRole, ToolCallID: "a", Name: "weather", Content: "no"}, {Role: chat.Assistant,
				Content: "WRONG", ReasoningContent: "Dry."},
		},
	}
	r.Results = []Result{{Status: trajectory.CallToolError, Error: "why"}}
	r.Results[0].Call.ID = "a"
	return r
}

// No form makes a demonstration of what failed, nor teaches what a mask left out: a trace is read back from each as
// what it was.
func TestNoFormLosesTheOutcomeOrTheMask(t *testing.T) {
	passed := failed()
	passed.ID, passed.Messages = "passed", append([]chat.Message{}, passed.Messages...)
	passed.Terms = []trajectory.Term{{Name: "checks", Weight: 1, Score: 1}}
	passed.Messages[5].Content = "right"
	for _, f := range forms() {
		path := filepath.Join(t.TempDir(), "train.jsonl")
		given := []Row{passed, failed()}
		if f.name == "trl" { // which has no mask: package data cuts rows for it
			given = append(Runs(passed), Runs(failed())...)
		}
		if _, err := writeRows(t, SinkOptions{Form: f.name, Out: path}, given); err != nil {
			t.Fatal(err)
		}
		if f.name == "pairs" {
			pairs, _, err := LoadPairs([]string{path})
			if err != nil || len(pairs) != 1 {
				t.Fatalf("%v %v", pairs, err)
			}
			for i, r := range []Row{pairs[0].Chosen, pairs[0].Rejected} {
				if !reflect.DeepEqual(r.Messages, given[i].Messages) {
					t.Errorf("pairs:\n got  %+v\n want %+v", r.Messages, given[i].Messages)
				}
			}
			continue
		}
		rows, report, err := Load([]string{path}, Options{})
		if err != nil || len(rows) != len(given) {
			t.Fatalf("%s: %d rows, %+v, %v", f.name, len(rows), report, err)
		}
		for _, r := range rows {
			want := given[0]
			if r.ID == given[1].ID {
				want = given[1]
			}
			if r.WhyNoDemonstration() != want.WhyNoDemonstration() || r.ScenarioID != want.ScenarioID ||
				r.Scenario != want.Scenario || !reflect.DeepEqual(r.Terms, want.Terms) || !reflect.DeepEqual(r.Results,
				want.Results) ||
				!reflect.DeepEqual(r.Usage, want.Usage) {
				t.Errorf("%s:\n got  %+v\n want %+v", f.name, r, want)
			}
			for i := range r.Messages {
				if r.Trains(i) != want.Trains(i) {
					t.Errorf("%s: message %d is learnt: %v, want %v", f.name, i, r.Trains(i), want.Trains(i))
				}
				if r.Messages[i].NoLoss = want.Messages[i].NoLoss; !reflect.DeepEqual(r.Messages[i], want.Messages[i]) {
					t.Errorf("%s:\n got  %+v\n want %+v", f.name, r.Messages[i], want.Messages[i])
				}
			}
		}
	}
}
