package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/job/episodes"
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

// A scenario that begins in the midst of a conversation goes all the way: the endpoint is asked with it, its checks
// look at what was done now, and sft learns nothing of what was given.
func TestCollectGoesOnWithAConversation(t *testing.T) {
	url, sold := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "boat"}`})
	workFolder(t, map[string]string{
		"hone.yaml": "rollout: {system: Be a shop.}\n",
		"talk.jsonl": `{"id": "talk", "messages": [{"role": "user", "content": "Buy a hat."}, ` +
			`{"role": "assistant", "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "buy", "arguments": "{\"name\": \"hat\"}"}}]}, ` +
			`{"role": "tool", "tool_call_id": "call_0", "content": "sold"}, {"role": "assistant", "content": "Sold."}, {"role": "user", "content": "And a boat."}], ` +
			`"checks": [{"type": "call", "name": "buy", "arguments": {"name": "boat"}}, {"type": "max_calls", "max": 1}]}` + "\n",
	})
	code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
		"talk.jsonl", "--split", "all", "--output-dir", "out", "--yes")
	if code != 0 || len(sold()) != 1 || sold()[0] != "boat" {
		t.Fatalf("exit code %d, sold %v: %s", code, sold(), said)
	}
	rows, _, err := dataset.Load([]string{"out/trajectories.jsonl"}, dataset.Options{})
	if err != nil || len(rows) != 1 || rows[0].WhyNoDemonstration() != "" || len(rows[0].Messages) != 9 ||
		rows[0].Messages[0].Content != "Be a shop." {
		t.Fatalf("%+v, %v", rows, err)
	}
	var f firsts
	if _, err := job.SequencesOf(toyApp(nil, nil).Host, &basemodel.Model{Renderer: &f}, "out",
		rows, 10, false); err != nil || len(f.from) != 1 || f.from[0] != 6 {
		t.Errorf("trained from %v, %v", f.from, err)
	}
}

// What prompts share is told from the conversations that scenarios begin with.
func TestOpeningsAreTheScenarios(t *testing.T) {
	p := episodes.Plan{World: environment.Options{System: "Be a shop."}}
	list := []scenario.Scenario{
		{Task: "a"},
		{Messages: []chat.Message{{Role: chat.User, Content: "a"}, {Role: chat.Assistant, Content: "b"}, {Role: chat.User, Content: "c"}}},
	}
	if all := p.Openings(list); len(all) != 2 || len(all[0]) != 2 || len(all[1]) != 4 ||
		all[1][0].Content != "Be a shop." || all[1][3].Content != "c" {
		t.Errorf("%+v", all)
	}
}

// Two scenarios of one wording are asked for with seeds of their own, and get answers of their own. A run that the
// endpoint broke off goes on, and pays for no answer twice.
func TestCollectAsksOnceForEachTurn(t *testing.T) {
	url, _ := shop(t)
	asked, fails := map[uint64]int{}, uint64(0)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []chat.Message
			Seed     uint64
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if asked[q.Seed]++; len(asked) == 4 && fails == 0 {
			fails = q.Seed
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		reply := chat.Message{Role: chat.Assistant, Content: fmt.Sprint(q.Seed)}
		if q.Messages[len(q.Messages)-1].Role == chat.User {
			reply = chat.Message{Role: chat.Assistant,
				ToolCalls: []chat.ToolCall{{Name: "look", Arguments: `{"name": "hat"}`}}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{
			map[string]any{"message": reply, "finish_reason": "stop"},
		}})
	}))
	t.Cleanup(endpoint.Close)
	workFolder(t, map[string]string{
		"two.jsonl": `{"id": "a", "task": "Is there a hat?"}` + "\n" + `{"id": "b", "task": "Is there a hat?"}` + "\n",
	})
	for _, want := range []int{1, 0} {
		code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint.URL+"/v1", "--model", "m",
			"--dataset", "two.jsonl", "--split", "all", "--output-dir", "out", "--yes")
		if code != want {
			t.Fatalf("exit code %d: %s", code, said)
		}
	}
	kept := trajectoriesOf(t, "out")
	if len(kept) != 2 || kept[0].Answer() == kept[1].Answer() || kept[0].ID != "a" || kept[1].ID != "b" {
		t.Errorf("kept %+v", kept)
	}
	for seed, n := range asked {
		if want := map[bool]int{true: 2, false: 1}[seed == fails]; n != want {
			t.Errorf("the turn of seed %d was asked for %d times, want %d", seed, n, want)
		}
	}
	if len(asked) != 4 {
		t.Errorf("%d seeds of 4 turns", len(asked))
	}
}
