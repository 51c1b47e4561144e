package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// PromptLogprobs returns the natural-log probabilities of ids but for the first, each behind those before it, at
// temperature 1, as the server computes a prompt under what the sampler holds: of as many ids as it has room for,
// beside a token that it must sample. None and no error: it tells none.
func (s *Remote) PromptLogprobs(ctx context.Context, ids []int32) (logprobs []float32, err error) {
	if s.o.MaxContext > 0 {
		ids = ids[:min(len(ids), s.o.MaxContext-1)]
	}
	if len(ids) < 2 {
		return nil, nil
	}
	s.holds.RLock()
	defer s.holds.RUnlock()
	err = s.ask(
		ctx, s.api.path(),
		s.api.promptBody(Request{Prompt: ids, Sampling: Sampling{Temperature: 1, MaxTokens: 1}}, s.model,
			s.base), func(answer []byte) error {
			if logprobs, err = s.api.promptLogprobs(answer, ids, s.model); err != nil {
				return refusedError{err}
			}
			return fit(logprobs)
		},
	)
	if refused, ok := errors.AsType[*statusError](err); ok && (refused.status == http.StatusBadRequest ||
		refused.status == http.StatusUnprocessableEntity || refused.status == http.StatusNotImplemented) {
		return nil, nil // it does not know what it is asked for
	}
	if err != nil && ctx.Err() == nil {
		s.mourn(ctx, err)
		err = s.requestError("the sampler does not tell the logprobs of a text", err)
	}
	if err != nil {
		return nil, err
	}
	return logprobs, nil
}

// fit refuses what is no logprob.
func fit(logprobs []float32) error {
	for i, x := range logprobs {
		if p := float64(x); math.IsNaN(p) || math.IsInf(p, 0) || p > 1e-3 {
			return refusedError{fmt.Errorf("token %d of a given text has the logprob %g", i+1, p)}
		}
	}
	return nil
}

// promptBody asks for one likely token beside each of the prompt: some versions take 0 for none at all.
func (v vllm) promptBody(r Request, model, base string) any {
	q, one := v.body(r, model, base, r.MaxTokens).(vllmRequest), 1
	q.PromptLogprobs = &one
	return q
}

// promptLogprobs reads {"prompt_logprobs": [null, {"4093": {"logprob": -0.75, ...}, ...}, ...]}, where each of the
// prompt's ids is among those of its place.
func (vllm) promptLogprobs(answer []byte, ids []int32, model string) (logprobs []float32, err error) {
	var told struct {
		Model   string `json:"model"`
		Choices []struct {
			Prompt []map[string]struct {
				Logprob *float32 `json:"logprob"`
			} `json:"prompt_logprobs"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return nil, fmt.Errorf("the answer is no completion: %w", err)
	}
	if len(told.Choices) != 1 || told.Choices[0].Prompt == nil {
		return nil, nil
	}
	prompt := told.Choices[0].Prompt
	switch {
	case told.Model != model:
		return nil, fmt.Errorf("the logprobs are of %q, and %q was asked for", told.Model, model)
	case len(prompt) != len(ids):
		return nil, fmt.Errorf("a prompt of %d ids has %d logprobs", len(ids), len(prompt))
	}
	for i, id := range ids[1:] {
		x, ok := prompt[i+1][strconv.Itoa(int(id))]
		if !ok || x.Logprob == nil {
			return nil, fmt.Errorf("the prompt's id %d has no logprob: it is not the same prompt", id)
		}
		logprobs = append(logprobs, *x.Logprob)
	}
	return logprobs, nil
}

// promptBody asks for the logprobs of the prompt from its beginning on.
func (g sglang) promptBody(r Request, model, base string) any {
	q, start := g.body(r, model, base, r.MaxTokens).(sglangRequest), 0
	q.LogprobStart = &start
	return q
}

// promptLogprobs reads {"meta_info": {"input_token_logprobs": [[null, 0, null], [-0.75, 4093, null], ...]}}.
func (sglang) promptLogprobs(answer []byte, ids []int32, _ string) (logprobs []float32, err error) {
	var told struct {
		Meta struct {
			Tokens []sglangToken `json:"input_token_logprobs"`
		} `json:"meta_info"`
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return nil, fmt.Errorf("the answer is no completion: %w", err)
	}
	if len(told.Meta.Tokens) == 0 {
		return nil, nil
	}
	if len(told.Meta.Tokens) != len(ids) {
		return nil, fmt.Errorf("a prompt of %d ids has %d logprobs", len(ids), len(told.Meta.Tokens))
	}
	for i, t := range told.Meta.Tokens {
		if t.id != ids[i] || i > 0 && t.logprob == nil {
			return nil, fmt.Errorf("the prompt's id %d has no logprob: it is not the same prompt", ids[i])
		}
		if i > 0 {
			logprobs = append(logprobs, *t.logprob)
		}
	}
	return logprobs, nil
}
