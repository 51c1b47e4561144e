package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/fault"
)

// Remote implements Sampler by asking a server: vLLM, SGLang or hone serve. Prompts go out as token ids, and token ids
// with their logprobs come back, so what is trained on is what was sampled. The policy that it samples from is the base
// model, or an adapter that SetFolder had the server load.
type Remote struct {
	o    RemoteOptions
	ctx  context.Context // of Open: what the sampler asks on its own account ends with it
	http *http.Client
	api  api
	base string // the base model's name
	gone sync.Once

	// holds is locked by each completion for reading, by a change of the policy for writing: it waits for them.
	holds   sync.RWMutex
	model   string // the name that completions are asked of
	version int
}

// api is what the servers say differently.
type api interface {
	path() string // of completions
	body(r Request, model, base string, maxTokens int) any
	// read reads an answer. Its error says what is wrong with it.
	read(answer []byte, r Request, model string) (Completion, error)
	// promptBody asks for the logprobs of the prompt too, which given reads; it returns none where none are told.
	promptBody(r Request, model, base string) any
	promptLogprobs(answer []byte, ids []int32, model string) ([]float32, error)
	// loading are the routes that load an adapter and unload it.
	loading() (load, unload string)
	models() string // the route that lists models
	advice() string // how to start a server that returns ids
}

// card is a model as a server lists it.
type card struct {
	ID          string  `json:"id"`
	Parent      *string `json:"parent"` // of an adapter
	MaxModelLen int     `json:"max_model_len"`
}

// OpenRemote looks for the base model at a server and asks it for a token. A server that returns no token ids, no
// logprobs, or those of another temperature is refused: nothing could be trained on what it samples. What the sampler
// asks later ends with ctx too.
func OpenRemote(ctx context.Context, o RemoteOptions) (*Remote, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Remote{
		o:   o,
		ctx: ctx,
		api: vllm{},
		http: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirected POST loses its body, and may carry the key elsewhere
		}},
	}
	if o.API == SGLang {
		s.api = sglang{}
	}
	cards, err := s.cards(ctx)
	if err != nil {
		return nil, s.requestError("the sampler does not list its models", err)
	}
	if err := s.choose(cards); err != nil {
		return nil, err
	}
	return s, s.check(ctx)
}

func (s *Remote) cards(ctx context.Context) (cards []card, err error) {
	err = s.ask(ctx, s.api.models(), nil, func(answer []byte) error {
		var told struct {
			Data []card `json:"data"`
		}
		if err := json.Unmarshal(answer, &told); err != nil {
			return fmt.Errorf("it is no list of models: %w", err)
		}
		cards = told.Data
		return nil
	})
	return cards, err
}

// choose takes the base model.
func (s *Remote) choose(cards []card) error {
	var names []string
	var found []card
	for _, c := range cards {
		if names = append(names, c.ID); c.ID == s.o.Model || s.o.Model == "" && c.Parent == nil {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return &fault.Error{Code: fault.CodeUsage, What: "the sampler's base model is not clear", Where: s.o.URL,
			Why: fmt.Sprintf("it serves %q, and sampler.model is %q",
				names, s.o.Model), Next: "set sampler.model to the base model's name there"}
	}
	s.base, s.model = found[0].ID, found[0].ID
	if n := found[0].MaxModelLen; n > 0 && (s.o.MaxContext == 0 || n < s.o.MaxContext) {
		s.o.MaxContext = n
	}
	return nil
}

// check samples a token or two to see that training is possible on what comes back.
func (s *Remote) check(ctx context.Context) error {
	r := Request{Prompt: []int32{0, 1},
		Sampling: Sampling{Temperature: s.o.Temperature, MaxTokens: 1, TopLogprobs: 2}}
	c, err := s.sample(ctx, r)
	if err != nil {
		f := s.requestError("the sampler's completions cannot train", err)
		if x, ok := errors.AsType[*fault.Error](f); ok {
			if _, lacks := errors.AsType[lackError](err); lacks {
				x.Code, x.Next = fault.CodeUsage, s.api.advice()
			}
		}
		return f
	}
	t := s.o.Temperature
	if t == 0 || t == 1 {
		return nil
	}
	if r.Temperature = 1; len(c.TopLogprobs) != 1 || len(c.TopLogprobs[0]) < 2 {
		return nil // it tells of no other token; the probe of the run compares the logprobs themselves
	}
	plain, err := s.sample(ctx, r)
	if err != nil || len(plain.TopLogprobs) != 1 || len(plain.TopLogprobs[0]) < 2 {
		return err
	}
	// The two likeliest are the same at each temperature, and t times as far apart.
	apart, of1 := gap(c.TopLogprobs[0]), gap(plain.TopLogprobs[0])
	if math.Abs(apart*t-of1) <= math.Abs(apart-of1) {
		return nil
	}
	return &fault.Error{
		Code:  fault.CodeUsage,
		What:  "the sampler tells logprobs of another temperature than it samples at",
		Where: s.o.URL,
		Why:   fmt.Sprintf("at %g the two likeliest tokens are %.4f apart, at 1 they are %.4f", t, apart, of1),
		Next:  "start vLLM with --logprobs-mode processed_logprobs, or set rollout.temperature: 1",
	}
}

// gap is how far the first two are apart.
func gap(top []TokenLogprob) float64 {
	return math.Abs(float64(top[0].Logprob) - float64(top[1].Logprob))
}

// NumSlots implements Sampler.
func (s *Remote) NumSlots() int { return s.o.Slots }

// MaxContext is how many ids a prompt and its completion have at most; 0 where nobody says.
func (s *Remote) MaxContext() int { return s.o.MaxContext }

// SetLimits lowers MaxContext, and says how many ids the vocabulary has. It comes before the first completion.
func (s *Remote) SetLimits(maxContext, vocabulary int) {
	if s.o.VocabSize = vocabulary; s.o.MaxContext == 0 || maxContext < s.o.MaxContext {
		s.o.MaxContext = maxContext
	}
}

// Base is the base model's name at the server.
func (s *Remote) Base() string { return s.base }

// Sample implements Sampler. A failure of the server is an error: an episode that it ends is no doing of the
// policy. Constraints are not offered.
func (s *Remote) Sample(ctx context.Context, r Request) (Completion, error) {
	if r.Constraint != nil {
		return Completion{}, errors.New("a remote sampler holds completions to no form")
	}
	s.holds.RLock()
	defer s.holds.RUnlock()
	c, err := s.sample(ctx, r)
	if _, full := errors.AsType[*ContextError](err); full || ctx.Err() != nil {
		return c, err
	}
	if err != nil {
		s.mourn(ctx, err)
		return c, s.requestError("the sampler failed", err)
	}
	if r.Each != nil {
		for i, id := range c.IDs {
			r.Each(Token{ID: id, Logprob: c.SamplerLogprobs[i], PolicyVersion: c.PolicyVersion})
		}
	}
	return c, nil
}

func (s *Remote) sample(ctx context.Context, r Request) (c Completion, err error) {
	room := r.MaxTokens
	if s.o.MaxContext > 0 {
		room = min(room, s.o.MaxContext-len(r.Prompt))
	}
	if room <= 0 {
		return c, &ContextError{NumPrompt: len(r.Prompt), MaxContext: s.o.MaxContext}
	}
	err = s.ask(ctx, s.api.path(), s.api.body(r, s.model, s.base, room), func(answer []byte) (err error) {
		if c, err = s.api.read(answer, r, s.model); err == nil {
			err = s.sound(c, r, room)
		}
		return err
	})
	c.PolicyVersion = s.version
	return c, err
}

// sound refuses a completion that must not be trained on.
func (s *Remote) sound(c Completion, r Request, room int) error {
	switch {
	case len(c.IDs) == 0:
		return errors.New("the completion is empty")
	case len(c.IDs) != len(c.SamplerLogprobs):
		return refusedError{fmt.Errorf("%d token ids with %d logprobs", len(c.IDs), len(c.SamplerLogprobs))}
	case len(c.IDs) > room:
		return refusedError{fmt.Errorf("%d tokens where %d were asked for", len(c.IDs), room)}
	case c.StopText != "" && !slices.Contains(r.Stop, c.StopText):
		// SGLang tells so of a NaN, and swaps the last id for one that stops
		return refusedError{fmt.Errorf("the completion was stopped by %q, which it was not asked to stop at",
			c.StopText)}
	case c.FinishReason == FinishStop && c.StopText == "" && !slices.Contains(r.StopIDs, c.IDs[len(c.IDs)-1]):
		return refusedError{fmt.Errorf("the completion was stopped, and its last id %d is none that stops it",
			c.IDs[len(c.IDs)-1])}
	}
	for i, id := range c.IDs {
		if id < 0 || s.o.VocabSize > 0 && int(id) >= s.o.VocabSize {
			return refusedError{fmt.Errorf("token %d is the id %d of a vocabulary of %d", i, id, s.o.VocabSize)}
		}
		if p := float64(c.SamplerLogprobs[i]); math.IsNaN(p) || math.IsInf(p, 0) || p > 1e-3 {
			return fmt.Errorf("token %d has the logprob %g", i, p)
		}
	}
	return nil
}

// mourn tells that the server is gone, where it does not even list its models.
func (s *Remote) mourn(ctx context.Context, why error) {
	if s.o.Gone == nil || !again(why) {
		return
	}
	if _, err := s.cards(ctx); err != nil && again(err) && ctx.Err() == nil {
		s.gone.Do(func() { s.o.Gone(s.requestError("the sampler is gone", why)) })
	}
}

// SetFolder makes the sampler sample from base + the adapter in a folder, which the server loads under a name that it
// has not had; "": from the base alone. version is how many optimiser steps the adapter has seen. The adapter before it
// is unloaded. It returns when no completion of the version before is under way.
func (s *Remote) SetFolder(name, folder string, version int) error {
	load, _ := s.api.loading()
	if name != "" {
		if err := s.ask(s.ctx, load, map[string]string{"lora_name": name, "lora_path": folder},
			s.checkLoad); err != nil && !s.tookIt(name, err) {
			f := s.requestError("the sampler did not load the adapter", err)
			if x, ok := errors.AsType[*fault.Error](f); ok && x.Code == fault.CodeError {
				x.Why = folder
				x.Next = "vLLM needs --enable-lora, --max-lora-rank of lora.rank or more, " +
					"and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True; hone serve --max-adapters 2; SGLang --enable-lora, " +
					"--max-lora-rank and --lora-target-modules. It reads the folder itself: " +
					"see sampler.adapters_there"
			}
			return f
		}
	}
	s.holds.Lock()
	before := s.model
	s.model, s.version = name, version
	if name == "" {
		s.model = s.base
	}
	s.holds.Unlock()
	if before == s.base || before == s.model {
		return nil
	}
	return s.Unload(before)
}

// tookIt reports whether the server lists an adapter that it did not say it loaded: its answer was lost, and at the
// next attempt the name was taken. A first answer that refuses is believed.
func (s *Remote) tookIt(name string, why error) bool {
	if _, later := errors.AsType[laterError](why); !later && !again(why) {
		return false
	}
	there, err := s.Serves(name)
	return err == nil && there
}

// unloadTime is how long a server is asked to forget an adapter.
const unloadTime = 20 * time.Second

// Unload has the server forget an adapter. One that it does not know is none to forget.
func (s *Remote) Unload(name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), unloadTime) // a run that is stopped unloads too
	defer cancel()
	_, unload := s.api.loading()
	err := s.ask(ctx, unload, map[string]string{"lora_name": name}, s.checkLoad)
	if refused, ok := errors.AsType[*statusError](err); ok &&
		(refused.status == http.StatusNotFound || refused.status == http.StatusBadRequest) {
		return nil
	}
	if err != nil {
		return s.requestError("the sampler did not unload an adapter", err)
	}
	return nil
}

// checkLoad reads the answer to loading: SGLang says {"success": false} too.
func (s *Remote) checkLoad(answer []byte) error {
	var told struct {
		Success *bool `json:"success"`
	}
	if json.Unmarshal(answer, &told) == nil && told.Success != nil && !*told.Success {
		return refusedError{&statusError{http.StatusBadRequest, s.messageOf(answer)}}
	}
	return nil
}

// Serves reports whether the server lists an adapter under a name.
func (s *Remote) Serves(name string) (bool, error) {
	cards, err := s.cards(s.ctx)
	if err != nil {
		return false, s.requestError("the sampler does not list its models", err)
	}
	return slices.ContainsFunc(cards, func(c card) bool { return c.ID == name }), nil
}

// lackError is an answer without what training needs.
type lackError struct{ what []string }

func (e lackError) Error() string { return "the answer has no " + strings.Join(e.what, " and no ") }
