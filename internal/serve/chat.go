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

// result is one sampled completion, read back.
type result struct {
	id      string
	created int64
	model   *served
	prompt  []int32
	policy.Completion
	message chat.Message
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
	res, err := s.sample(r.Context(), m, &q)
	if err != nil {
		if r.Context().Err() != nil {
			return // nobody is there to be told
		}
		refused = asRefusal(err)
		if refused.Status >= 500 {
			s.o.Logger.Error("a completion failed", "model", m.ID, "error", err)
		}
		if refused.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		refuse(w, refused)
		return
	}
	s.o.Logger.Info("completion", "id", res.id, "model", m.ID, "prompt_tokens", len(res.prompt),
		"completion_tokens", len(res.IDs), "policy_version", res.PolicyVersion, "seconds", time.Since(start).Seconds())
	if q.Stream {
		writeStream(w, res, &q)
		return
	}
	writeJSON(w, http.StatusOK, res.whole(&q))
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

func (s *Server) sample(ctx context.Context, m *served, q *request) (*result, error) {
	if refused := m.check(q); refused != nil {
		return nil, refused
	}
	prompt, err := m.Renderer.Prompt(q.Messages, q.shownTools())
	if err != nil {
		return nil, invalid("messages", "the conversation cannot be rendered: "+err.Error())
	}
	slot, err := m.slots.acquire(ctx, prompt)
	if err != nil {
		return nil, err
	}
	held := prompt
	defer func() { m.slots.release(slot, held) }()
	key := policy.Key{Seed: rand.Uint64()}
	if q.Seed != nil {
		key.Seed = uint64(*q.Seed)
	}
	c, err := m.Sampler.Sample(ctx, policy.Request{Prompt: prompt, Slot: slot, Key: key, Constraint: q.banned(),
		Sampling: q.sampling(s.o.MaxTokens, m.Renderer.StopIDs())})
	if err != nil {
		held = nil // what the slot holds now is not known
		return nil, err
	}
	held = append(prompt[:len(prompt):len(prompt)], c.IDs...)
	res := &result{id: newID("chatcmpl"), created: time.Now().Unix(), model: m, prompt: prompt, Completion: c}
	shown := c.IDs
	if c.StopText != "" { // a stop text may begin and end inside of tokens
		shown = m.Encode(c.Text)
	}
	res.message, _ = m.Renderer.Parse(shown) // of a malformed call the text is in content: the client sees it as it is
	for i := range res.message.ToolCalls {   // the parser counts from 0 in each completion; a conversation has many
		res.message.ToolCalls[i].ID = fmt.Sprintf("call_%s_%d", res.id[len("chatcmpl-"):], i)
	}
	return res, nil
}

// check refuses what this model cannot be asked.
func (m *served) check(q *request) *apiError {
	if len(q.Stop) > 0 && m.Encode == nil {
		return &apiError{http.StatusBadRequest, "invalid_request_error", "stop", "unsupported_value", "stop: texts are not supported for this model: use stop_token_ids"}
	}
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
