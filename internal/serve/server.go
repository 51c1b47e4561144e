// Package serve answers the protocols of model servers from a policy.Sampler and a renderer: OpenAI's chat completions,
// completions and responses, Anthropic's messages, and vLLM's routes beside them.
//
// Each protocol is a dialect, one file, which translates a request into a request and an answer back. All are answered
// by generate. A stream is told of text as its tokens are drawn. Held back is what may still become a stop text, a tag
// or a call: a call is told of when it has ended, as only then it is known to be one. So a stream adds up to the answer
// that is not streamed.
//
// Everything not listed is refused: routes, knobs that would change the answer and that it does not have, requests
// without the key where there is one, and a server without a key on anything but loopback.
package serve

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"hone/internal/chat"
	"hone/internal/run/metrics"
)

// Options of a Server. Only Models is required.
type Options struct {
	Models    []Model
	Adapters  Adapters      // nil: none are loaded at run time
	Keys      []string      // keys that clients may send; required to serve on anything but loopback
	MaxTokens int           // of a completion whose request does not say; 0: 1024
	MaxQueue  int           // requests waiting for a slot, per sampler; 0: 64, negative: none
	Grace     time.Duration // given to requests in flight on shutdown; 0: 30 s
	Patience  time.Duration // how long a client may take none of its stream; 0: 30 s
	Logger    *slog.Logger  // nil: discarded
	Agent     *Agent        // nil: calls are the clients' affair
	// Shorten says what the model is shown of a tool's result that a client sends; nil: all of it.
	Shorten func(ctx context.Context, call chat.ToolCall, text string) (string, error)
}

// Server answers requests. Make one with New.
type Server struct {
	o         Options
	models    *models
	metrics   *metrics.Meter
	aside     namedAside
	responses *responses
	created   int64 // Unix seconds
	draining  atomic.Bool
	sessions  *sessions // nil: the server is no agent
}

// settle fills in what is left to the usual.
func (o *Options) settle() {
	if o.MaxTokens == 0 {
		o.MaxTokens = 1024
	}
	if o.MaxQueue == 0 {
		o.MaxQueue = 64
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// New checks the options.
func New(o Options) (*Server, error) {
	o.settle()
	all, err := newModels(o)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, models: all, metrics: metrics.NewMeter(help()), responses: newResponses(),
		created: time.Now().Unix()}
	if o.Agent != nil {
		s.sessions = newSessions(o.Agent)
	}
	return s, nil
}

// Close ends the sessions of an agent's clients. Serve does it by itself.
func (s *Server) Close() {
	if s.sessions != nil {
		s.sessions.close()
	}
}

// drain turns away the requests that wait for a slot and those that still come, with 503: another server may answer
// them. Those that are sampled go on.
func (s *Server) drain() {
	s.draining.Store(true)
	s.models.drain()
}

// Serve answers on the listener until ctx is cancelled, then lets requests in flight finish for Options.Grace, and
// cuts off the rest. It closes the listener. An orderly end is no error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	return s.front().Serve(ctx, l, s.Handler())
}
