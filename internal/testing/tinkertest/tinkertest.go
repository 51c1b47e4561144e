// Package tinkertest is a server of the Tinker API whose models are hone's own engine's: what a trainer behind the API
// learns can be held to what the engine learns by itself.
package tinkertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
)

// Alpha is that of a server's adapters.
const Alpha = 32

// Base is the base model's name at the server.
const Base = "base"

// Options say what a server does. Spec and Weights are of its base model, on Engine.
type Options struct {
	Engine  *engine.Engine
	Spec    model.Spec
	Weights []engine.Buffer
	// Scale is what the losses of a row of so many tokens are divided by, in a step of rows with all tokens together;
	// nil: 1, so that losses are summed.
	Scale    func(tokens, rows, all int) float64
	OwnBound float64 // the server's own bound of a gradient's norm; 0: none
	Context  int     // of completions; 0: 512 ids
}

// Server is one, until the test ends. What it kept outlives the sessions of its clients.
type Server struct {
	URL string
	// IgnoresBound has a step's gradient be as large as it is, whatever bound is asked for.
	IgnoresBound bool

	t       testing.TB
	o       Options
	http    *httptest.Server
	mu      sync.Mutex
	number  int // of what was named last
	models  map[string]*trained
	kept    map[string]train.State // by path
	each    func(path string) int  // nil: nobody is told
	futures map[string]*future
	holds   map[string]string // path by sampling session
	sampler *sample.Samplers
	lora    model.LoRA
	// Asked counts requests by path.
	Asked map[string]int
}

// trained is a model of a client.
type trained struct {
	*train.Trainer
	lora    model.LoRA
	rows    []batch.Sequence // whose gradients the next step takes; their advantages are slopes
	done    map[int]*future  // by sequence number
	started bool
}

// future is what a request began.
type future struct {
	proto []byte
	json  any
	polls int
}

// New starts a server.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Context == 0 {
		o.Context = 512
	}
	s := &Server{t: t, o: o, models: map[string]*trained{}, kept: map[string]train.State{},
		futures: map[string]*future{}, holds: map[string]string{}, Asked: map[string]int{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.http.Close()
		if s.sampler != nil {
			s.sampler.Close()
		}
	})
	s.URL = s.http.URL
	return s
}

// Tell has a function told of each request before it acts; nil: nobody is. A status other than 0 that it returns
// answers the request instead, and with 1000 more the request acts and its answer is lost.
func (s *Server) Tell(each func(path string) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each = each
}

// Models are how many adapters the server holds for its clients.
func (s *Server) Models() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.models)
}

// Kept is the state that was saved at a path.
func (s *Server) Kept(path string) train.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[path]
}

// Forget loses all sessions and models, as a server that is started anew does. What was saved is still there.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.models)
	clear(s.holds)
}

// refused is an answer that says no.
type refused struct {
	status int
	why    string
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked[name]++
	status := 0
	if s.each != nil {
		status = s.each(name)
	}
	if status > 0 && status < 1000 {
		http.Error(w, `{"detail": "asked to fail"}`, status)
		return
	}
	defer func() {
		switch x := recover().(type) {
		case nil:
		case refused:
			w.WriteHeader(x.status)
			_ = json.NewEncoder(w).Encode(map[string]any{"detail": x.why})
		default:
			panic(x)
		}
	}()
	if status >= 1000 {
		s.route(httptest.NewRecorder(), r, name, body)
		http.Error(w, "lost", status-1000)
		return
	}
	s.route(w, r, name, body)
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	var q asked
	if name != "forward_backward" && len(body) > 0 {
		s.must(json.Unmarshal(body, &q))
	}
	switch {
	case name == "get_server_capabilities":
		s.answer(w, map[string]any{"supported_models": []any{map[string]any{"model_name": Base}}})
	case name == "create_session":
		s.answer(w, map[string]any{"session_id": s.named("session")})
	case name == "session_heartbeat":
		s.answer(w, map[string]any{})
	case name == "create_sampling_session":
		if _, ok := s.kept[q.ModelPath]; !ok {
			panic(refused{404, "there is no " + q.ModelPath})
		}
		id := s.named("sampling")
		s.holds[id] = q.ModelPath
		s.answer(w, map[string]any{"sampling_session_id": id})
	case name == "retrieve_future":
		s.retrieve(w, q.Request)
	case strings.HasPrefix(name, "/download/"):
		parts := strings.Split(name, "/")
		s.download(w, "tinker://"+parts[len(parts)-4]+"/sampler_weights/"+parts[len(parts)-2])
	case strings.HasSuffix(name, "/archive"):
		http.Redirect(w, r, "/download"+r.URL.Path, http.StatusFound)
	case name == "forward_backward":
		if r.Header.Get("Content-Type") != "application/x-protobuf" {
			panic(refused{415, "no protobuf"})
		}
		p := decodePass(body)
		s.begin(w, p.model, p.seq, func(m *trained) *future { return s.pass(m, p) })
	default:
		s.act(w, name, q)
	}
}

// asked is the JSON of all requests together.
type asked struct {
	Request   string `json:"request_id"`
	Model     string `json:"model_id"`
	Seq       int    `json:"seq_id"`
	Path      string `json:"path"`
	ModelPath string `json:"model_path"`
	Optimizer bool   `json:"optimizer"`
	Base      string `json:"base_model"`
	LoRA      struct {
		Rank int    `json:"rank"`
		Seed uint64 `json:"seed"`
	} `json:"lora_config"`
	Adam struct {
		Rate    float64 `json:"learning_rate"`
		Beta1   float64 `json:"beta1"`
		Beta2   float64 `json:"beta2"`
		Epsilon float64 `json:"eps"`
		Decay   float64 `json:"weight_decay"`
		Bound   float64 `json:"grad_clip_norm"`
	} `json:"adam_params"`
	Session string `json:"sampling_session_id"`
	Prompt  struct {
		Chunks []struct {
			Tokens []int32 `json:"tokens"`
		} `json:"chunks"`
	} `json:"prompt"`
	Sampling struct {
		MaxTokens   int     `json:"max_tokens"`
		Seed        uint64  `json:"seed"`
		Temperature float64 `json:"temperature"`
		Stop        []int32 `json:"stop"`
	} `json:"sampling_params"`
}

// act begins what is no pass.
func (s *Server) act(w http.ResponseWriter, name string, q asked) {
	switch name {
	case "create_model":
		if q.Base != Base {
			panic(refused{404, "there is no model " + q.Base})
		}
		id, l := s.named("model"), model.LoRA{Rank: q.LoRA.Rank, Alpha: Alpha}
		s.models[id] = s.newModel(l, train.NewState(s.o.Spec, l, q.LoRA.Seed))
		s.told(w, &future{json: map[string]any{"model_id": id}})
	case "unload_model":
		delete(s.models, q.Model)
		s.told(w, &future{json: map[string]any{"model_id": q.Model}})
	case "load_weights":
		s.begin(w, q.Model, q.Seq, func(m *trained) *future { return s.load(m, q) })
	case "save_weights", "save_weights_for_sampler":
		s.begin(w, q.Model, q.Seq, func(m *trained) *future {
			kind := map[bool]string{true: "weights", false: "sampler_weights"}[name == "save_weights"]
			at := "tinker://" + q.Model + "/" + kind + "/" + q.Path
			if _, ok := s.kept[at]; ok {
				panic(refused{409, at + " is there already"})
			}
			state, err := m.State()
			s.must(err)
			s.kept[at], s.lora = state, m.lora
			return &future{json: map[string]any{"path": at}}
		})
	case "optim_step":
		s.begin(w, q.Model, q.Seq, func(m *trained) *future { return s.step(m, q) })
	case "asample":
		s.told(w, s.sample(q))
	default:
		panic(refused{404, name})
	}
}

func (s *Server) newModel(l model.LoRA, state train.State) *trained {
	t, err := train.New(s.o.Engine, s.o.Spec, s.o.Weights, state, train.Options{LoRA: l, RowMultiple: 16})
	s.must(err)
	return &trained{Trainer: t, lora: l, done: map[int]*future{}}
}

// begin does what a request asks of a model, unless one of its number was done: then what came of that is told.
func (s *Server) begin(w http.ResponseWriter, id string, seq int, do func(*trained) *future) {
	m := s.models[id]
	if m == nil {
		panic(refused{404, "there is no model " + id})
	}
	if m.done[seq] == nil {
		if seq != len(m.done)+1 {
			panic(refused{400, fmt.Sprintf("request %d of a model that had %d", seq, len(m.done))})
		}
		m.done[seq] = do(m)
		m.started = true
	}
	s.told(w, m.done[seq])
}

func (s *Server) load(m *trained, q asked) *future {
	if m.started {
		panic(refused{400, "load_weights is a model's first request"})
	}
	state, ok := s.kept[q.Path]
	if !ok {
		panic(refused{404, "there is no " + q.Path})
	}
	s.must(m.SetState(state))
	if !q.Optimizer {
		s.must(m.ResetOptimizer())
	}
	return &future{json: map[string]any{"type": "load_weights"}}
}

// pass computes rows, and keeps them for the next step unless it is forward only.
func (s *Server) pass(m *trained, p decodedPass) *future {
	var rows []batch.Sequence
	for _, r := range p.rows {
		ids := append(append([]int32{}, r.ids...), r.targets[len(r.targets)-1])
		trained := make([]bool, len(ids))
		for i := 1; i < len(ids); i++ {
			trained[i] = true
			if i < len(r.ids) && r.targets[i-1] != r.ids[i] {
				panic(refused{400, "the targets are not the next tokens"})
			}
		}
		rows = append(rows, batch.Sequence{IDs: ids, Trained: trained})
	}
	scores, err := m.Score(context.Background(), batch.Batch{Rows: rows}, 1)
	s.must(err)
	if !p.forwardOnly {
		if p.loss != "importance_sampling" {
			panic(refused{400, "no gradient of " + p.loss})
		}
		for i, r := range p.rows {
			rows[i].Advantages = slopesOf(scores[i][1:], r.inputs["logprobs"], r.inputs["advantages"])
		}
		m.rows = append(m.rows, rows...)
	}
	for i := range scores {
		scores[i] = scores[i][1:]
	}
	return &future{proto: encodePassed(scores)}
}

// step takes an optimiser step on the rows since the last.
func (s *Server) step(m *trained, q asked) *future {
	all := 0
	for _, r := range m.rows {
		all += len(r.IDs) - 1
	}
	b := batch.Batch{Normaliser: 1}
	for _, r := range m.rows {
		scale := 1.
		if s.o.Scale != nil {
			scale = s.o.Scale(len(r.IDs)-1, len(m.rows), all)
		}
		for i := range r.Advantages {
			r.Advantages[i] /= float32(scale)
		}
		r.Columns = map[batch.Column][]float32{batch.ColumnSlopes: r.Advantages}
		b.Rows = append(b.Rows, r)
	}
	m.rows = nil
	_, err := m.Gradient(context.Background(), b, batch.Objective{Loss: batch.LossPreference})
	s.must(err)
	bound := q.Adam.Bound
	if s.IgnoresBound {
		bound = 0
	}
	if s.o.OwnBound > 0 {
		bound = s.o.OwnBound
	}
	decay := func(beta float64) float64 { return max(beta, 1e-300) } // 0 is train's default
	norm, err := m.Apply(batch.Update{Rate: q.Adam.Rate, MaxGradNorm: bound, Adam: batch.Adam{
		Beta1: decay(q.Adam.Beta1), Beta2: decay(q.Adam.Beta2), Epsilon: q.Adam.Epsilon, WeightDecay: q.Adam.Decay}})
	s.must(err)
	return &future{json: map[string]any{"metrics": map[string]float64{"skyrl.ai/grad_norm": norm}}}
}

// sample completes a prompt.
func (s *Server) sample(q asked) *future {
	at, ok := s.holds[q.Session]
	if !ok {
		panic(refused{404, "there is no sampling session " + q.Session})
	}
	if s.sampler == nil {
		var err error
		s.sampler, err = sample.NewSamplers(s.o.Engine, s.o.Spec, s.o.Weights,
			sample.Options{LoRA: s.lora, Slots: 1, Context: s.o.Context})
		s.must(err)
	}
	adapter, err := s.o.Engine.Upload(s.kept[at].Adapter, len(s.kept[at].Adapter))
	s.must(err)
	defer engine.Free(adapter)
	s.must(s.sampler.SetAdapter(adapter, 0))
	c, err := s.sampler.Sample(context.Background(), policy.Request{Prompt: q.Prompt.Chunks[0].Tokens,
		Key: policy.Key{Seed: q.Sampling.Seed}, Sampling: policy.Sampling{Temperature: q.Sampling.Temperature,
			MaxTokens: q.Sampling.MaxTokens, StopIDs: q.Sampling.Stop}})
	s.must(err)
	return &future{proto: encodeSampled(c)}
}

// retrieve tells of a future: at first that it is not there yet, by one of the ways that servers have.
func (s *Server) retrieve(w http.ResponseWriter, id string) {
	f := s.futures[id]
	if f == nil {
		panic(refused{404, "there is no future " + id})
	}
	if f.polls++; f.polls == 1 {
		if s.number%2 == 0 {
			panic(refused{408, "not yet"})
		}
		s.answer(w, map[string]any{"type": "try_again", "request_id": id, "queue_state": "active"})
		return
	}
	if f.proto == nil {
		s.answer(w, f.json)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(f.proto)
}

// told answers a request with the future that it began.
func (s *Server) told(w http.ResponseWriter, f *future) {
	id := s.named("future")
	s.futures[id] = f
	s.answer(w, map[string]any{"request_id": id})
}

// download writes the archive of an adapter.
func (s *Server) download(w http.ResponseWriter, at string) {
	state, ok := s.kept[at]
	if !ok {
		panic(refused{404, "there is no " + at})
	}
	dir := s.t.TempDir()
	s.must(model.SavePEFT(dir, s.o.Spec, s.lora, 0, state.Adapter))
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		s.must(err)
		s.must(files.WriteHeader(&tar.Header{Name: path.Join(".", name), Mode: 0o644, Size: int64(len(text))}))
		_, err = files.Write(text)
		s.must(err)
	}
	s.must(files.Close())
	s.must(zipped.Close())
	_, _ = w.Write(out.Bytes())
}

func (s *Server) answer(w http.ResponseWriter, x any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(x)
}

func (s *Server) named(what string) string {
	s.number++
	return what + "-" + strconv.Itoa(s.number)
}

// must is for what goes wrong in the server itself.
func (s *Server) must(err error) {
	if err != nil {
		panic(refused{500, err.Error()})
	}
}
