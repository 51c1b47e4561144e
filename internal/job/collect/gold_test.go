package collect

import (
	"encoding/json"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
)

// The gold calls are made one a turn, with arguments on one line whatever the file's form is; then the answer is said:
// the gold one, what a check names, or the last result.
func TestGoldSpeaks(t *testing.T) {
	want := "42"
	call := []scenario.Gold{{Name: "add", Arguments: json.RawMessage("{\n  \"a\": 1.0,\n  \"b\": \"x y\"\n}")}}
	for answer, s := range map[string]scenario.Scenario{
		"gold": {ID: "s", Gold: call, GoldAnswer: "gold", Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: &want}}},
		want: {ID: "s", Gold: call, Checks: []scenario.Check{
			{Type: scenario.CallCheck, Name: "add"},
			{Type: scenario.AnswerCheck, Equals: &want},
		}},
		"result": {ID: "s", Gold: call},
	} {
		speaker := goldPolicy{"s": &s}.Speaker(rollout.Attempt{ScenarioID: "s"})
		messages := []chat.Message{{Role: chat.User, Content: "add"}}
		first, err := speaker.Say(t.Context(), messages, nil)
		if err != nil || len(first.Turn.Calls) != 1 || first.Turn.Calls[0].Arguments != `{"a":1.0,"b":"x y"}` ||
			first.Turn.Calls[0].Name != "add" {
			t.Fatalf("%v: %+v", err, first.Turn)
		}
		messages = append(messages, chat.Message{Role: chat.Assistant, ToolCalls: first.Turn.Calls},
			chat.Message{Role: chat.ToolRole, Content: " result\n"})
		if last, err := speaker.Say(t.Context(), messages, nil); err != nil || len(last.Turn.Calls) != 0 ||
			last.Turn.Content != answer {
			t.Errorf("%v: says %+v, want %q", err, last.Turn, answer)
		}
	}
}

// A slip is made before the gold call that comes next, and is not learnt; why a call is made, or an answer follows, is
// said as reasoning.
func TestGoldSlips(t *testing.T) {
	s := scenario.Scenario{
		ID: "s",
		Gold: []scenario.Gold{
			{Name: "tables", Arguments: json.RawMessage("{}")},
			{Name: "query", Arguments: json.RawMessage(`{"q":1}`), Reasoning: "a", Asks: "Now?", AsksReasoning: "b"},
		},
		GoldAnswer: "one", GoldReasoning: "1 a",
		Slips: []scenario.Slip{{Before: 1, Name: "query", Arguments: json.RawMessage(`{"q":0}`)},
			{Before: 2, Name: "tables", Arguments: json.RawMessage("{}")}}, // behind the last, before the answer
	}
	speaker := goldPolicy{"s": &s}.Speaker(rollout.Attempt{ScenarioID: "s"})
	said := ""
	for range goldTurns(&s) {
		reply, err := speaker.Say(t.Context(), []chat.Message{{Role: chat.User, Content: "how many?"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if thought := reply.Turn.ReasoningContent; thought != "" {
			said += "(" + thought + ")"
		}
		for _, c := range reply.Turn.Calls {
			said += c.Name + c.Arguments
		}
		if said += reply.Turn.Content; reply.Turn.NoLoss {
			said += "!"
		}
		said += " "
	}
	if want := `tables{} query{"q":0}! (b)Now? (a)query{"q":1} tables{}! (1 a)one `; said != want {
		t.Errorf("%s, want %s", said, want)
	}
}
