package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/policy"
)

// result is one completion: what was asked, and, once sampled, what came.
type result struct {
	id      string
	created int64
	model   *served
	prompt  []int32
	policy.Completion
	message  chat.Message
	numCalls int // told of in a stream so far
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	q, refused := decode(w, r)
	if refused != nil {
		refuse(w, refused)
		return
	}
	m, refused := s.model(q.Model)
	if refused != nil {
		refuse(w, refused)
		return
	}
	start := time.Now()
	res := &result{id: newID("chatcmpl"), created: start.Unix(), model: m}
	if err := s.answer(r.Context(), w, res, &q); err != nil {
		if r.Context().Err() != nil {
			return // nobody is there to be told
		}
		refused = s.refusal(res, err)
		if refused.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		refuse(w, refused)
		return
	}
	s.o.Logger.Info("completion", "id", res.id, "model", m.ID, "prompt_tokens", len(res.prompt),
		"completion_tokens", len(res.IDs), "policy_version", res.PolicyVersion, "seconds", time.Since(start).Seconds())
}

// answer samples and writes a completion, as a stream where that is asked for. Where it fails, nothing was written.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r *result, q *request) (err error) {
	if refused := r.model.check(q); refused != nil {
		return refused
	}
	if err := s.shorten(ctx, q.Messages); err != nil {
		return err
	}
	if r.prompt, err = r.model.Renderer.Prompt(q.Messages, q.shownTools()); err != nil {
		return invalid("messages", "the conversation cannot be rendered: "+err.Error())
	}
	if q.Stream {
		return s.stream(ctx, w, r, q)
	}
	if r.Completion, err = s.sample(ctx, r, q, nil); err != nil {
		return err
	}
	text := r.reading(q)
	for _, id := range r.IDs {
		text.next(id)
	}
	text.close(&r.Completion)
	r.message = text.message
	writeJSON(w, http.StatusOK, r.whole(q))
	return nil
}

// shorten puts in place of tools' results what the model is shown of them, as it was in training.
func (s *Server) shorten(ctx context.Context, messages []chat.Message) (err error) {
	if s.o.Shorten == nil {
		return nil
	}
	calls := map[string]chat.ToolCall{}
	for i := range messages {
		m := &messages[i]
		for _, c := range m.ToolCalls {
			calls[c.ID] = c
		}
		if m.Role != chat.ToolRole {
			continue
		}
		call, known := calls[m.ToolCallID]
		if !known {
			call = chat.ToolCall{Name: m.Name}
		}
		if m.Content, err = s.o.Shorten(ctx, call, m.Content); err != nil {
			return err
		}
	}
	return nil
}

// refusal is what the client is told of an error; what is the server's own fault is in the log.
func (s *Server) refusal(r *result, err error) *apiError {
	refused := asRefusal(err)
	if refused.Status >= 500 {
		s.o.Logger.Error("a completion failed", "model", r.model.ID, "error", err)
	}
	return refused
}

// model finds a model by name; with one model only, no name means that one.
func (s *Server) model(name string) (*served, *apiError) {
	if name == "" && len(s.o.Models) == 1 {
		name = s.o.Models[0].ID
	}
	if m := s.models[name]; m != nil {
		return m, nil
	}
	var there []string
	for _, m := range s.o.Models {
		there = append(there, strconv.Quote(m.ID))
	}
	return nil, &apiError{http.StatusNotFound, "invalid_request_error", "model", "model_not_found", fmt.Sprintf("no model %q here; there are %s", name, strings.Join(there, ", "))}
}

// sample samples in a slot of its own; each, where not nil, is told of the tokens as they are drawn.
func (s *Server) sample(ctx context.Context, r *result, q *request, each func(policy.Token)) (c policy.Completion, err error) {
	m := r.model
	slot, err := m.slots.acquire(ctx, r.prompt)
	if err != nil {
		return c, err
	}
	held := r.prompt
	defer func() { m.slots.release(slot, held) }()
	key := policy.Key{Seed: rand.Uint64()}
	if q.Seed != nil {
		key.Seed = uint64(*q.Seed)
	}
	c, err = m.Sampler.Sample(ctx, policy.Request{Prompt: r.prompt, Slot: slot, Key: key, Constraint: q.banned(),
		Sampling: q.sampling(s.o.MaxTokens, m.Renderer.StopIDs()), Each: each})
	if err != nil {
		held = nil // what the slot holds now is not known
		return c, err
	}
	held = append(r.prompt[:len(r.prompt):len(r.prompt)], c.IDs...)
	return c, nil
}

// reading reads the completion back. Of a malformed call the text is in the content: the client sees it as it is.
func (r *result) reading(q *request) *reading {
	return &reading{decoder: r.model.NewDecoder(), reader: r.model.Read(r.prompt), ends: r.model.Renderer.StopIDs(), stops: q.Stop,
		first: nextCall(q.Messages), message: chat.Message{Role: chat.Assistant}}
}

// nextCall numbers calls through a conversation from 0, as an episode of training does: some templates write the numbers, so
// they are in what the model is trained on. One that a conversation has is not given again.
func nextCall(messages []chat.Message) int {
	next := 0
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			if n, err := strconv.Atoi(strings.TrimPrefix(call.ID, "call_")); err == nil && n < 1<<30 {
				next = max(next, n+1)
			}
		}
	}
	return next
}

// check refuses what this model cannot be asked.
func (m *served) check(q *request) *apiError {
	for key := range q.LogitBias {
		if id, err := strconv.Atoi(key); err == nil && m.VocabSize > 0 && id >= m.VocabSize {
			return invalid("logit_bias", fmt.Sprintf("there is no token %d: the vocabulary has %d", id, m.VocabSize))
		}
	}
	return nil
}

func asRefusal(err error) *apiError {
	var refused *apiError
	var long *policy.ContextError
	var none *policy.ConstraintError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &long):
		return &apiError{http.StatusBadRequest, "invalid_request_error", "messages", "context_length_exceeded",
			fmt.Sprintf("the prompt has %d tokens and the context holds %d", long.NumPrompt, long.MaxContext)}
	case errors.As(err, &none):
		return invalid("logit_bias", "logit_bias bans every token")
	case errors.Is(err, errBusy):
		return &apiError{http.StatusTooManyRequests, "rate_limit_error", "", "queue_full", err.Error()}
	}
	// The cause is in the log: it may name paths and addresses that are no client's business.
	return &apiError{http.StatusInternalServerError, "server_error", "", "server_error", "sampling failed; the server's log says why"}
}
