package render

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// shelf answers every call.
type shelf struct{}

func (shelf) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return shelf{}, nil
}
func (shelf) Close() error      { return nil }
func (shelf) Dir(string) string { return "" }
func (s shelf) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{call})[0]
}
func (shelf) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	return []trajectory.ToolResult{{Call: calls[0], Status: trajectory.CallOK, Text: "49f6"}}
}

// lines is a sampler whose completions are written already; it keeps what it was prompted with.
type lines struct {
	completions, prompts [][]int32
}

func (*lines) NumSlots() int { return 1 }

func (l *lines) Sample(_ context.Context, r policy.Request) (policy.Completion, error) {
	ids := l.completions[len(l.prompts)]
	l.prompts = append(l.prompts, r.Prompt)
	return policy.Completion{IDs: ids, SamplerLogprobs: make([]float32, len(ids)), FinishReason: policy.FinishStop}, nil
}

// A conversation with a user is trained as it is served, id for id: each completion stands behind the prompt that
// serving shows of what was said before it, also where a template drops reasoning when the user speaks again and a row
// begins anew. Only the policy's own words are trained, in an episode as in a demonstration.
func TestConversationsAreTrainedAsServed(t *testing.T) {
	call := chat.ToolCall{ID: "call_0", Name: "hash", Arguments: `{"text": "W1"}`}
	says := []string{"Cancel it.", "The one of May.", "Yes, please."}
	said := []chat.Message{
		{Role: chat.Assistant, ReasoningContent: "Hm.", Content: "Which one?"}, {Role: chat.Assistant,
			ReasoningContent: "So.", ToolCalls: []chat.ToolCall{call}},
		{Role: chat.Assistant, ReasoningContent: "Well.", Content: "Shall I?"}, {Role: chat.Assistant,
			ReasoningContent: "Good.", Content: "Done."},
	}
	all := map[string]Renderer{"chatml": newChatML(t, Options{System: "S"})}
	for _, path := range append(ownTemplates(), own("channels")) {
		all[filepath.Base(path)] = newVendor(t, path, nil)
	}
	anew := 0
	for name, r := range all {
		l := &lines{}
		for _, m := range said {
			if name == "chatml" {
				m.ReasoningContent = "" // it has no place for it
			}
			ids, err := r.Completion(m)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			l.completions = append(l.completions, ids)
		}
		run := rollout.New(rollout.Options{Policy: rollout.Sampled{Sampler: l, Renderer: r}, MaxTokens: 1000,
			Environment: environment.New(environment.Options{Tools: shelf{}, ToolList: twoTools,
				User: environment.Players{}})})
		got, err := run.Episode(t.Context(), scenario.Scenario{ID: "x", User: &scenario.User{Says: says}}, 0, 0, 0)
		if err != nil || got.Outcome != trajectory.OK || len(got.Turns) != 4 || got.User.Turns != 3 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		tok := vocabularyOf(r).Tokenizer
		turn := 0
		for at, m := range got.Messages {
			if m.Role != chat.Assistant {
				continue
			}
			served, err := r.Prompt(got.Messages[:at], twoTools)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(l.prompts[turn], served) {
				t.Errorf("%s, turn %d\nprompted %q\nserved   %q",
					name, turn, tok.Decode(l.prompts[turn]), tok.Decode(served))
			}
			turn++
		}
		rows := got.Rows()
		anew += len(rows) - 1
		demonstrated, err := r.Sequences(got.Messages, got.Opening, twoTools)
		if err != nil || len(demonstrated) != len(rows) {
			t.Fatalf("%s: %d rows of the episode, %d of the demonstration, %v", name, len(rows), len(demonstrated), err)
		}
		for i, row := range rows {
			if !slices.Equal(row.IDs, demonstrated[i].IDs) || !slices.Equal(row.Sampled, demonstrated[i].Trained) {
				t.Errorf("%s, row %d\nepisode       %q\ndemonstration %q",
					name, i, tok.Decode(row.IDs), tok.Decode(demonstrated[i].IDs))
			}
			var trained []int32
			for k, id := range row.IDs {
				if row.Sampled[k] {
					trained = append(trained, id)
				}
			}
			for _, text := range says {
				if strings.Contains(tok.Decode(trained), text) {
					t.Errorf("%s: the user's words are trained: %q", name, tok.Decode(trained))
				}
			}
		}
	}
	if anew == 0 {
		t.Error("no template rewrote what was said before a new turn of the user")
	}
}
