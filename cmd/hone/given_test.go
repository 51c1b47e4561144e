package main

import (
	"os"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/text/render"
)

// firsts notes from which message on conversations are trained.
type firsts struct {
	render.Renderer
	from []int
}

func (f *firsts) Sequences(messages []chat.Message, first int, _ []chat.Tool) ([]render.Sequence, error) {
	f.from = append(f.from, first)
	return []render.Sequence{{IDs: []int32{1}, Trained: []bool{true}}}, nil
}

// A scenario that begins in the midst of a conversation goes all the way: the endpoint is asked with it, its checks look at what
// was done now, and sft learns nothing of what was given.
func TestCollectGoesOnWithAConversation(t *testing.T) {
	url, sold := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "boat"}`})
	workFolder(t, map[string]string{"hone.yaml": "rollout: {system: Be a shop.}\n", "talk.jsonl": `{"id": "talk", "messages": [{"role": "user", "content": "Buy a hat."}, ` +
		`{"role": "assistant", "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "buy", "arguments": "{\"name\": \"hat\"}"}}]}, ` +
		`{"role": "tool", "tool_call_id": "call_0", "content": "sold"}, {"role": "assistant", "content": "Sold."}, {"role": "user", "content": "And a boat."}], ` +
		`"checks": [{"type": "call", "name": "buy", "arguments": {"name": "boat"}}, {"type": "max_calls", "max": 1}]}` + "\n"})
	code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset", "talk.jsonl", "--split", "all", "--output-dir", "out", "--yes")
	if code != 0 || len(sold()) != 1 || sold()[0] != "boat" {
		t.Fatalf("exit code %d, sold %v: %s", code, sold(), said)
	}
	text, err := os.ReadFile("out/trajectories.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.Parse("out", text)
	if err != nil || len(rows) != 1 || rows[0].NotDemonstrated() != "" || len(rows[0].Messages) != 9 || rows[0].Messages[0].Content != "Be a shop." {
		t.Fatalf("%+v, %v", rows, err)
	}
	var f firsts
	if _, err := job.SequencesOf(toyApp(nil, nil).Host, &basemodel.Model{Renderer: &f}, "out", rows, 10); err != nil || len(f.from) != 1 || f.from[0] != 6 {
		t.Errorf("trained from %v, %v", f.from, err)
	}
}

// What prompts share is told from the conversations that scenarios begin with.
func TestOpeningsAreTheScenarios(t *testing.T) {
	l := &job.Episodes{World: environment.Options{System: "Be a shop."}}
	list := []scenario.Scenario{{Task: "a"}, {Messages: []chat.Message{{Role: chat.User, Content: "a"}, {Role: chat.Assistant, Content: "b"}, {Role: chat.User, Content: "c"}}}}
	if all := l.Openings(list); len(all) != 2 || len(all[0]) != 2 || len(all[1]) != 4 || all[1][0].Content != "Be a shop." || all[1][3].Content != "c" {
		t.Errorf("%+v", all)
	}
}
