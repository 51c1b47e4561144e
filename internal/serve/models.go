package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/fault"
)

// Model is one model served under a name.
type Model struct {
	ID      string
	Sampler policy.Sampler
	Adapter int // of a sampler that holds several
	// Root is where the model came from; Parent is the base model's name, of an adapter.
	Root, Parent string
	MaxContext   int // tokens of prompt and completion; 0: not told
	Renderer     rollout.Renderer
	// NewDecoder starts the decoding of a completion, Read the reading of its text, given the prompt and the tools that
	// it may call: where none were offered, what looks like a call is text.
	NewDecoder func() Decoder
	Read       func(prompt []int32, tools []chat.Tool) Reader
	// Encode turns text into ids, in which special tokens are recognised; Decode turns ids into text. A character cut
	// in half may give anything.
	Encode    func(text string) []int32
	Decode    func(ids []int32) string
	Failed    func() bool                           // the sampler answers nothing more; nil: that is not known
	Token     func(id int32) (text string, ok bool) // as the vocabulary writes it; nil: token strings are not told
	VocabSize int                                   // bound of the ids that may be banned; 0: not checked here
	Shape     *Shape                                // nil: completions cannot be held to a form
}

// Adapters loads and unloads adapters at run time.
type Adapters interface {
	// Load makes a folder a model of a name. Its error is a *fault.Error where the folder is to blame.
	Load(ctx context.Context, name, dir string) (Model, error)
	// Unload takes back the place of a model that Load made, and that nobody asks any more.
	Unload(Model)
}

// served is a model that requests are asked of. What it is never changes; loaded anew under a name it is another one,
// so that an answer is of one policy version from its first token to its last.
type served struct {
	Model
	slots    *slots
	grammars *grammars

	users  int // requests under way
	gone   bool
	loaded bool // by Adapters
}

// models are those served, by name.
type models struct {
	loader   Adapters
	maxQueue int

	mu      sync.Mutex
	list    []*served
	slots   map[policy.Sampler]*slots // models of one sampler share its slots
	loading map[string]bool

	draining bool
}

// drain turns away who waits, and who comes.
func (all *models) drain() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.draining = true
	for _, s := range all.slots {
		s.drain()
	}
}

func newModels(o Options) (*models, error) {
	all := &models{loader: o.Adapters, maxQueue: max(0, o.MaxQueue), slots: map[policy.Sampler]*slots{},
		loading: map[string]bool{}}
	for _, m := range o.Models {
		if m.ID == "" || m.Sampler == nil || m.Renderer == nil || m.NewDecoder == nil || m.Read == nil ||
			m.Encode == nil || m.Decode == nil || m.Sampler.NumSlots() < 1 || all.find(m.ID) != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot serve a model", Where: m.ID,
				Why: "each needs a name of its own, a sampler with a slot, a renderer, and what reads its tokens"}
		}
		all.add(m, false)
	}
	if len(all.list) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "nothing to serve", Why: "no model is given"}
	}
	return all, nil
}

func (all *models) add(m Model, loaded bool) { all.list = append(all.list, all.serve(m, loaded)) }

func (all *models) serve(m Model, loaded bool) *served {
	shared := all.slots[m.Sampler]
	if shared == nil {
		shared = newSlots(m.Sampler.NumSlots(), all.maxQueue)
		all.slots[m.Sampler] = shared
	}
	return &served{Model: m, slots: shared, grammars: &grammars{}, loaded: loaded}
}

func (all *models) find(name string) *served {
	for _, m := range all.list {
		if m.ID == name {
			return m
		}
	}
	return nil
}

// take finds a model by name, and keeps it until leave; with one model only, no name means that one.
func (all *models) take(name string) (*served, *apiError) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if name == "" && len(all.list) == 1 {
		name = all.list[0].ID
	}
	if m := all.find(name); m != nil {
		m.users++
		return m, nil
	}
	var there []string
	for _, m := range all.list {
		there = append(there, strconv.Quote(m.ID))
	}
	return nil, &apiError{http.StatusNotFound, "invalid_request_error", "model", "model_not_found",
		fmt.Sprintf("no model %q here; there are %s", name, strings.Join(there, ", "))}
}

// leave gives back what take took.
func (all *models) leave(m *served) {
	all.mu.Lock()
	m.users--
	last := m.gone && m.users == 0
	all.mu.Unlock()
	if last {
		all.loader.Unload(m.Model)
	}
}

// remove takes a model off the list, once. Requests of it go on to their end.
func (all *models) remove(m *served) {
	all.mu.Lock()
	last := false
	if i := slices.Index(all.list, m); i >= 0 {
		all.list = slices.Delete(all.list, i, i+1)
		m.gone, last = true, m.users == 0
	}
	all.mu.Unlock()
	if last {
		all.loader.Unload(m.Model)
	}
}

// put serves a model that was loaded, in the place of old if that is not nil and still there: the name is never without
// one.
func (all *models) put(m Model, old *served) {
	all.mu.Lock()
	last := false
	if i := slices.Index(all.list, old); i >= 0 {
		all.list[i] = all.serve(m, true)
		old.gone, last = true, old.users == 0
	} else {
		all.add(m, true)
	}
	delete(all.loading, m.ID)
	all.mu.Unlock()
	if last {
		all.loader.Unload(old.Model)
	}
}

// snapshot is the list as it is now.
func (all *models) snapshot() []*served {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Clone(all.list)
}

// modelCard is a model as OpenAI tells of it.
type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root,omitempty"` // this and the next two are vLLM's
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len,omitempty"`
}

func (s *Server) card(m *served) modelCard {
	x := modelCard{ID: m.ID, Object: "model", Created: s.created, OwnedBy: "hone", Root: cmp.Or(m.Root, m.ID),
		MaxModelLen: m.MaxContext}
	if m.Parent != "" {
		x.Parent = &m.Parent
	}
	return x
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	data := []modelCard{}
	for _, m := range s.models.snapshot() {
		data = append(data, s.card(m))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// getModel is of one model; a name may have slashes.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request) {
	m, refused := s.models.take(r.PathValue("id"))
	if refused != nil {
		refuse(w, refused)
		return
	}
	defer s.models.leave(m)
	writeJSON(w, http.StatusOK, s.card(m))
}

// noLoading is the refusal where adapters come and go with the server alone.
func noLoading() *apiError {
	return &apiError{http.StatusForbidden, "invalid_request_error", "", "not_enabled",
		"adapters are not loaded here: start hone serve with --max-adapters"}
}

// loadAdapter is vLLM's /v1/load_lora_adapter.
func (s *Server) loadAdapter(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Name    string `json:"lora_name"`
		Path    string `json:"lora_path"`
		InPlace bool   `json:"load_inplace"`
	}
	aside, refused := readBody(w, r, &q, "base_model_name", "is_3d_lora_weight")
	if refused != nil {
		refuse(w, refused)
		return
	}
	s.tellOmissions(w, r, aside)
	refused = noLoading()
	if s.models.loader != nil {
		refused = s.models.load(r.Context(), q.Name, q.Path, q.InPlace)
	}
	if refused != nil {
		s.o.Logger.Warn("an adapter was not loaded", "name", q.Name, "path", q.Path, "why", refused.Message)
		refuse(w, refused)
		return
	}
	s.o.Logger.Info("an adapter was loaded", "name", q.Name, "path", q.Path)
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", q.Name)
}

func (all *models) load(ctx context.Context, name, path string, inPlace bool) *apiError {
	if name == "" || path == "" {
		return invalid("lora_name",
			"lora_name and lora_path are needed: a name to serve the adapter under, and its folder")
	}
	all.mu.Lock()
	old := all.find(name)
	var refused *apiError
	switch {
	case all.loading[name]:
		refused = &apiError{http.StatusConflict, "invalid_request_error", "lora_name", "loading",
			fmt.Sprintf("%q is being loaded", name)}
	case old != nil && !(inPlace && old.loaded):
		refused = invalid("lora_name", fmt.Sprintf("a model %q is served already; an adapter that was loaded is "+
			"replaced with load_inplace: true", name))
	default:
		all.loading[name] = true
	}
	all.mu.Unlock()
	if refused != nil {
		return refused
	}
	m, err := all.loader.Load(ctx, name, path)
	if err == nil {
		all.put(m, old)
		return nil
	}
	all.mu.Lock()
	delete(all.loading, name)
	all.mu.Unlock()
	return loadRefusal(err)
}

func loadRefusal(err error) *apiError {
	var wrong *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Code == fault.CodeExhausted:
		return &apiError{http.StatusTooManyRequests, "rate_limit_error", "", "no_place", wrong.Error()}
	case errors.As(err, &wrong):
		return invalid("lora_path", wrong.Error())
	}
	return &apiError{http.StatusInternalServerError, "server_error", "", "server_error",
		"the adapter could not be loaded; the server's log says why"}
}

// unloadAdapter is vLLM's /v1/unload_lora_adapter.
func (s *Server) unloadAdapter(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Name string `json:"lora_name"`
	}
	aside, refused := readBody(w, r, &q, "lora_int_id")
	if refused != nil {
		refuse(w, refused)
		return
	}
	s.tellOmissions(w, r, aside)
	if s.models.loader == nil {
		refuse(w, noLoading())
		return
	}
	m, refused := s.models.take(q.Name)
	if refused != nil {
		refuse(w, refused)
		return
	}
	defer s.models.leave(m)
	if !m.loaded {
		refuse(w, invalid("lora_name", fmt.Sprintf("%q was not loaded at run time, and stays", q.Name)))
		return
	}
	s.models.remove(m)
	s.o.Logger.Info("an adapter was unloaded", "name", q.Name)
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' removed successfully.", q.Name)
}
