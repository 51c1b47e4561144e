package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/llm"
	"hone/internal/testing/fakes"
)

// said is what one policy says in an episode, whichever kind of policy it is.
type said struct {
	turns []chat.Message // one a turn; a turn more is a failure of the policy
	given int            // assistant messages of the opening, which somebody else said
	room  int            // bytes of content and arguments that a conversation may have before a turn; 0 is no limit
}

var errSpeechless = errors.New("there is nothing more to say")

// speakers are the kinds of policy that say it. ids says whether a kind knows token ids.
func (s said) speakers(t *testing.T) map[string]rollout.Policy {
	return map[string]rollout.Policy{"sampler": s.sampled(), "endpoint": s.endpoint(t), "script": scripted{s}}
}

// at is the turn that a conversation is at, and whether it leaves room for it.
func (s said) at(messages []chat.Message) (turn int, fits bool) {
	size := 0
	turn = -s.given
	for _, m := range messages {
		if m.Role == chat.Assistant {
			turn++
		}
		size += len(m.Content)
		for _, c := range m.ToolCalls {
			size += len(c.Arguments)
		}
	}
	return turn, s.room == 0 || size <= s.room
}

// cut is a message as far as maxTokens bytes of its content go.
func cut(m chat.Message, maxTokens int) (part chat.Message, whole bool) {
	if len(m.ToolCalls) > 0 || len(m.Content) < maxTokens {
		return m, true
	}
	m.Content = m.Content[:maxTokens]
	return m, false
}

// scripted is a policy that says its lines.
type scripted struct{ said }

func (scripted) NumSlots() int { return 1 }

func (s scripted) Speaker(a rollout.Attempt) rollout.Speaker { return scriptSpeaker{s.said, a} }

type scriptSpeaker struct {
	said
	a rollout.Attempt
}

func (s scriptSpeaker) Say(ctx context.Context, messages []chat.Message, _ []chat.Tool) (environment.Reply, error) {
	turn, fits := s.at(messages)
	switch {
	case ctx.Err() != nil:
		return environment.Reply{}, ctx.Err()
	case !fits:
		return environment.Reply{Stop: trajectory.StopContextOverflow}, nil
	case turn >= len(s.turns):
		return environment.Reply{}, errSpeechless
	}
	m, whole := cut(s.turns[turn], s.a.MaxTokens)
	r := environment.Reply{Turn: &trajectory.Turn{Content: m.Content, ReasoningContent: m.ReasoningContent,
		Calls: append([]chat.ToolCall(nil), m.ToolCalls...)}}
	if !whole {
		r.Stop = trajectory.StopMaxTokens
	}
	return r, nil
}

// endpoint is a real client of a server that says the lines.
func (s said) endpoint(t *testing.T) rollout.Policy {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages  []chat.Message
			MaxTokens int `json:"max_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		turn, fits := s.at(q.Messages)
		if !fits || turn >= len(s.turns) {
			w.WriteHeader(http.StatusBadRequest)
			code := "context_length_exceeded"
			if fits {
				code = errSpeechless.Error()
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "no", "code": code}})
			return
		}
		m, whole := cut(s.turns[turn], q.MaxTokens)
		finish := "stop"
		if !whole {
			finish = "length"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{
			map[string]any{"message": m, "finish_reason": finish},
		}})
	}))
	t.Cleanup(server.Close)
	client, err := llm.New(llm.Options{BaseURL: server.URL + "/v1", MaxRetries: -1,
		Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Policy{Client: client, Model: "m"}
}

// sampled writes the lines as tokens. Its prompt holds the whole conversation, so the turn is told by the openings in
// it.
func (s said) sampled() rollout.Policy {
	return rollout.Sampled{Renderer: fakes.Renderer{}, Sampler: drawn{s}}
}

type drawn struct{ said }

func (drawn) NumSlots() int { return 1 }

func (s drawn) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	if ctx.Err() != nil {
		return policy.Completion{}, ctx.Err()
	}
	turn := -1 - s.given
	for i, id := range r.Prompt { // "<assistant>" is written by nobody else here
		if rest := fakes.Text(r.Prompt[i:min(i+11, len(r.Prompt))]); id == '<' && rest == "<assistant>" {
			turn++
		}
	}
	said := len(r.Prompt) - 20 // the task and its frame
	if s.room > 0 && said > s.room {
		return policy.Completion{}, &policy.ContextError{NumPrompt: len(r.Prompt), MaxContext: s.room + 20}
	}
	if turn >= len(s.turns) {
		return policy.Completion{}, errSpeechless
	}
	ids, err := fakes.Renderer{}.Completion(s.turns[turn])
	if err != nil {
		return policy.Completion{}, err
	}
	c := policy.Completion{IDs: ids, FinishReason: policy.FinishStop, PolicyVersion: 3}
	if len(c.IDs) > r.MaxTokens {
		c.IDs, c.FinishReason = c.IDs[:r.MaxTokens], policy.FinishLength
	}
	c.SamplerLogprobs = make([]float32, len(c.IDs))
	return c, nil
}
