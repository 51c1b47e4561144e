// Package serve answers OpenAI's chat-completions protocol from a policy.Sampler and a renderer.
//
// A request with "stream" is told of text as its tokens are drawn. Held back is what may still become a stop text, a tag or a
// call: a call is told of when it has ended, as only then it is known to be one. So a stream adds up to the answer that is not
// streamed.
//
// Everything not listed is refused: routes, knobs that would change the answer and that it does not have, requests
// without the key where there is one, and a server without a key on anything but loopback.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/fault"
	"hone/internal/policy"
)

const maxBody = 8 << 20 // bytes

// Model is one model served under a name.
type Model struct {
	ID       string
	Sampler  policy.Sampler
	Renderer rollout.Renderer
	// NewDecoder starts the decoding of a completion, Read the reading of its text, given the prompt.
	NewDecoder func() Decoder
	Read       func(prompt []int32) Reader
	// Decode turns ids into text, for logprobs; a character cut in half may give anything.
	Decode    func(ids []int32) string
	VocabSize int // bound of the ids that may be banned; 0: not checked here
}

// Options of a Server. Only Models is required.
type Options struct {
	Models    []Model
	Key       string        // bearer key; required to serve on anything but loopback
	MaxTokens int           // of a completion whose request does not say; 0: 1024
	MaxQueue  int           // requests waiting for a slot, per model; 0: 64, negative: none
	Grace     time.Duration // given to requests in flight on shutdown; 0: 30 s
	Logger    *slog.Logger  // nil: discarded
	// Shorten says what the model is shown of a tool's result that a client sends; nil: all of it.
	Shorten func(ctx context.Context, call chat.ToolCall, text string) (string, error)
}

// Server answers requests. Make one with New.
type Server struct {
	o       Options
	models  map[string]*served
	created int64 // Unix seconds
}

type served struct {
	Model
	slots *slots
}

// New checks the options.
func New(o Options) (*Server, error) {
	if o.MaxTokens == 0 {
		o.MaxTokens = 1024
	}
	if o.MaxQueue == 0 {
		o.MaxQueue = 64
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, models: map[string]*served{}, created: time.Now().Unix()}
	for _, m := range o.Models {
		if m.ID == "" || m.Sampler == nil || m.Renderer == nil || m.NewDecoder == nil || m.Read == nil || m.Decode == nil || m.Sampler.NumSlots() < 1 || s.models[m.ID] != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot serve a model", Where: m.ID,
				Why: "each needs a name of its own, a sampler with a slot, a renderer, and what reads its tokens"}
		}
		s.models[m.ID] = &served{m, newSlots(m.Sampler.NumSlots(), max(0, o.MaxQueue))}
	}
	if len(s.models) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "nothing to serve", Why: "no model is given"}
	}
	return s, nil
}

// readTimeout is how long a request may take to arrive, body included: 4 MB on a line of 1 Mbit/s. Slow bodies must not
// hold connections for long.
const readTimeout = 30 * time.Second

// Serve answers on the listener until ctx is cancelled, then lets requests in flight finish for Options.Grace, and
// cuts off the rest. It closes the listener. An orderly end is no error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.o.Key == "" && !loopback(l.Addr().String()) {
		return errors.Join(l.Close(), &fault.Error{Code: fault.CodeUsage, What: "will not serve without a key", Where: l.Addr().String(),
			Why: "the address can be reached from other machines", Next: "set a key, or listen on 127.0.0.1"})
	}
	h := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       readTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return &fault.Error{Code: fault.CodeError, What: "the server stopped", Where: l.Addr().String(), Err: err}
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), s.o.Grace)
	defer cancel()
	err := h.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close() // cancels the requests' contexts, and so their sampling
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Handler answers all routes, for tests and for mounting under a server of the caller's.
func (s *Server) Handler() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	routes.Handle("GET /v1/models", s.guarded(s.listModels))
	routes.Handle("POST /v1/chat/completions", s.guarded(s.chat))
	routes.Handle("/", s.guarded(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &apiError{http.StatusNotFound, "invalid_request_error", "", "not_found", "no route " + r.Method + " " + r.URL.Path})
	}))
	return routes
}

// guarded lets through who has the key. Without a key only loopback is served, and then the request must also be
// meant for it: a web page elsewhere can make a browser send requests here, by a name it has pointed at 127.0.0.1.
func (s *Server) guarded(next http.HandlerFunc) http.Handler {
	want := sha256.Sum256([]byte(s.o.Key)) // equal lengths, so that the comparison tells nothing of the key's
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", newID("req"))
		if s.o.Key == "" {
			if !loopback(r.Host) || !localOrigin(r.Header.Get("Origin")) {
				refuse(w, &apiError{http.StatusForbidden, "invalid_request_error", "", "forbidden", "only requests from this machine to localhost are answered"})
				return
			}
			next(w, r)
			return
		}
		key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(key))
		if !bearer || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, &apiError{http.StatusUnauthorized, "invalid_request_error", "", "invalid_api_key", "missing or wrong API key"})
			return
		}
		next(w, r)
	})
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := []model{}
	for _, m := range s.o.Models {
		data = append(data, model{m.ID, "model", s.created, "hone"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopback(u.Host)
}

// apiError is OpenAI's error: {"error": {"message", "type", "param", "code"}}.
type apiError struct {
	Status  int    `json:"-"`
	Type    string `json:"type"`
	Param   string `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string { return e.Message }

// invalid is the usual refusal: status 400, naming the parameter.
func invalid(param, message string) *apiError {
	return &apiError{http.StatusBadRequest, "invalid_request_error", param, "invalid_value", message}
}

func refuse(w http.ResponseWriter, e *apiError) { writeJSON(w, e.Status, e.body()) }

func (e *apiError) body() any {
	body := struct {
		apiError
		Param *string `json:"param"` // null where no parameter is to blame
	}{apiError: *e}
	if e.Param != "" {
		body.Param = &e.Param
	}
	return map[string]any{"error": body}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only where the client is gone
}

func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
