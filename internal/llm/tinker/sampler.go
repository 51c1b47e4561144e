package tinker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hone/internal/episode/policy"
	"hone/internal/fault"
)

// Sampler implements policy.Sampler by the server's completions. It samples from what Hold named last.
type Sampler struct {
	client     *Client
	room       int // ids of a prompt and its completion, at most
	vocabulary int

	// holds is locked by each completion for reading, by a change of the policy for writing: it waits for them.
	holds   sync.RWMutex
	session string
	version int
	number  atomic.Int64 // of completions in the session
}

// NewSampler samples completions of room ids at most together with their prompts, all below vocabulary.
func NewSampler(c *Client, room, vocabulary int) *Sampler {
	return &Sampler{client: c, room: room, vocabulary: vocabulary}
}

// Hold makes it sample from the weights that were published at a path. version is how many optimiser steps they have
// seen. It returns when no completion of those before is under way.
func (s *Sampler) Hold(ctx context.Context, path string, version int) error {
	var told struct {
		ID string `json:"sampling_session_id"`
	}
	err := s.client.tell(ctx, "create_sampling_session", object{"session_id": s.client.session,
		"sampling_session_seq_id": s.client.samples.Add(1) - 1, "model_path": path,
		"type": "create_sampling_session"}, &told)
	if err == nil && told.ID == "" {
		err = s.client.refusal("begins no sampling", errors.New("the answer names no sampling_session_id"))
	}
	if err != nil {
		return err
	}
	s.holds.Lock()
	defer s.holds.Unlock()
	s.session, s.version = told.ID, version
	s.number.Store(0)
	return nil
}

// NumSlots implements policy.Sampler.
func (s *Sampler) NumSlots() int { return s.client.o.Slots }

// Sample implements policy.Sampler. A failure of the server is an error: an episode that it ends is no doing of the
// policy. Constraints, stop texts and min-p are not the API's.
func (s *Sampler) Sample(ctx context.Context, r policy.Request) (c policy.Completion, err error) {
	switch {
	case r.Constraint != nil:
		return c, errors.New("a trainer behind the Tinker API holds completions to no form")
	case len(r.Stop) > 0:
		return c, errors.New("a trainer behind the Tinker API stops at token ids alone")
	case r.MinP > 0:
		return c, &fault.Error{Code: fault.CodeUsage, What: "the Tinker API knows no min-p", Where: "eval.min_p",
			Next: "set eval.min_p: 0"}
	}
	room := min(r.MaxTokens, s.room-len(r.Prompt))
	if room <= 0 {
		return c, &policy.ContextError{NumPrompt: len(r.Prompt), MaxContext: s.room}
	}
	s.holds.RLock()
	defer s.holds.RUnlock()
	text, err := json.Marshal(s.request(r, room))
	if err != nil {
		return c, err
	}
	a, err := s.client.begin(ctx, "asample", jsonType, text)
	if err != nil {
		return c, err
	}
	all, err := decodeSampled(a.body)
	if err == nil && (!strings.HasPrefix(a.kind, protoType) || len(all) != 1) {
		err = fmt.Errorf("it is %q, with %d completions", a.kind, len(all))
	}
	if err == nil {
		err = s.sound(all[0], r, room)
	}
	if err != nil {
		return c, s.client.refusal("answered with a completion that cannot train", err)
	}
	c = policy.Completion{IDs: all[0].ids, SamplerLogprobs: all[0].logprobs, FinishReason: policy.FinishLength,
		PolicyVersion: s.version}
	if all[0].stopped {
		c.FinishReason = policy.FinishStop
	}
	if r.Each != nil {
		for i, id := range c.IDs {
			r.Each(policy.Token{ID: id, Logprob: c.SamplerLogprobs[i], PolicyVersion: c.PolicyVersion})
		}
	}
	return c, nil
}

// request is a SampleRequest.
func (s *Sampler) request(r policy.Request, room int) object {
	params := object{"max_tokens": room, "seed": seedOf(r.Key), "temperature": r.Temperature, "top_k": -1, "top_p": 1.0}
	if r.Temperature > 0 && r.TopK > 0 {
		params["top_k"] = r.TopK
	}
	if r.Temperature > 0 && r.TopP > 0 {
		params["top_p"] = r.TopP
	}
	if len(r.StopIDs) > 0 {
		params["stop"] = r.StopIDs
	}
	return object{"type": "sample", "sampling_session_id": s.session, "seq_id": s.number.Add(1), "num_samples": 1,
		"prompt": object{"chunks": []object{{"type": "encoded_text", "tokens": r.Prompt}}}, "sampling_params": params}
}

// seedOf is a stream's, of 31 bits: splitmix64 of both numbers.
func seedOf(k policy.Key) uint64 {
	x := k.Seed
	for _, c := range []uint64{k.Stream, 1} {
		x += c*0xD1342543DE82EF95 + 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		x ^= x >> 31
	}
	return x >> 33
}

// sound refuses a completion that must not be trained on.
func (s *Sampler) sound(c sampled, r policy.Request, room int) error {
	switch {
	case len(c.ids) == 0:
		return errors.New("the completion is empty")
	case len(c.ids) != len(c.logprobs):
		return fmt.Errorf("%d token ids with %d logprobs", len(c.ids), len(c.logprobs))
	case len(c.ids) > room:
		return fmt.Errorf("%d tokens where %d were asked for", len(c.ids), room)
	case c.stopped && !slices.Contains(r.StopIDs, c.ids[len(c.ids)-1]):
		return fmt.Errorf("the completion was stopped, and its last id %d is none that stops it", c.ids[len(c.ids)-1])
	}
	for i, id := range c.ids {
		if id < 0 || int(id) >= s.vocabulary {
			return fmt.Errorf("token %d is the id %d of a vocabulary of %d", i, id, s.vocabulary)
		}
		if p := float64(c.logprobs[i]); math.IsNaN(p) || math.IsInf(p, 0) || p > 1e-3 {
			return fmt.Errorf("token %d has the logprob %g", i, p)
		}
	}
	return nil
}
