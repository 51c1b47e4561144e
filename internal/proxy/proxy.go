// Package proxy stands in front of a server of OpenAI's chat completions, the upstream, and answers the same protocol.
//
// What it is sent goes on as it was sent, byte for byte, and so does what the upstream says; a stream goes on event by
// event. A Mode may step in: it answers before the upstream is asked, instead of it, or changes what it said. What is
// not seen through is never changed: parameters nobody here knows, other choices, messages with images.
//
// An upstream may stall, break off, lie about a length, or answer with a page in HTML: the client gets an error of the
// API's form, or where its stream has begun an error in the stream. The upstream's key and the clients' are two things,
// and neither side sees the other's.
package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"hone/internal/fault"
	"hone/internal/run/metrics"
	"hone/internal/serve"
)

// Options of a Proxy. Only Upstream is required.
type Options struct {
	Upstream Upstream
	Mode     Mode          // nil: all goes through
	Keys     []string      // keys that clients may send; required to serve on anything but loopback
	Grace    time.Duration // given to requests in flight on shutdown; 0: 30 s
	Patience time.Duration // how long a client may take none of its answer; 0: 30 s
	Most     int           // requests under way at once, more are turned away with 429; 0: 256
	Logger   *slog.Logger  // nil: discarded; one line for each exchange and each decision, at level Info
	// Cost is what so many tokens of the upstream cost, in US dollars; nil where it is not known.
	Cost func(promptTokens, completionTokens int) float64
}

// Mode is what a proxy does with chat completions beside passing them on.
type Mode interface {
	// Name is told with each decision.
	Name() string
	// Metrics are what the mode counts beside the proxy's own: names, and what they are.
	Metrics() map[string]string
	// Answer answers one request, by x.Pass, or by x.Tell of what x.Ask, x.Follow or NewAnswer gave. It says what it
	// decided with x.Decide before it does so. An error is told to the client, as it is where it is a *serve.Refusal.
	// ctx ends when the client is gone.
	Answer(ctx context.Context, x *Exchange) error
}

// Proxy answers requests. Make one with New.
type Proxy struct {
	o     Options
	meter *metrics.Meter
	turns chan struct{}
}

// New checks the options. It sends nothing.
func New(o Options) (*Proxy, error) {
	if err := o.Upstream.check(); err != nil {
		return nil, err
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Most == 0 {
		o.Most = 256
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	help := metricsHelp()
	if o.Mode != nil {
		for name, text := range o.Mode.Metrics() {
			help[name] = text
		}
	}
	return &Proxy{o: o, meter: metrics.NewMeter(help), turns: make(chan struct{}, o.Most)}, nil
}

func (p *Proxy) front() serve.Front {
	return serve.Front{Keys: p.o.Keys, Grace: p.o.Grace, Logger: p.o.Logger}
}

// Serve answers on the listener until ctx is cancelled, then lets requests in flight finish for Options.Grace, and cuts
// off the rest. It closes the listener.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	return p.front().Serve(ctx, l, p.Handler())
}

// Handler answers all routes.
func (p *Proxy) Handler() http.Handler { return p.front().Handler(p.routes()) }

func (p *Proxy) routes() []serve.Route {
	return []serve.Route{
		{Method: "GET", Path: "/health", Open: true, Handle: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status":"ok"}`+"\n")
		}},
		{Method: "GET", Path: "/metrics", Handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			p.meter.Write(w)
		}},
		{Method: "GET", Path: "/v1/models", Handle: p.passing("/models")},
		{Method: "POST", Path: "/v1/completions", Handle: p.passing("/completions")},
		{Method: "POST", Path: "/v1/embeddings", Handle: p.passing("/embeddings")},
		{Method: "POST", Path: "/v1/chat/completions", Handle: p.chat},
	}
}

// maxBody is the most bytes of a request: an image or two in base64 beside a conversation.
const maxBody = 32 << 20

// begin makes an exchange of a request.
func (p *Proxy) begin(w http.ResponseWriter, r *http.Request, path string) (*Exchange, *serve.Refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return nil, &serve.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error",
			Code: "request_too_large", Message: fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	}
	if err != nil {
		return nil, &serve.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value",
			Message: "the body did not arrive whole"}
	}
	key := sha256.Sum256([]byte(r.Header.Get("Authorization") + "\n" + r.Header.Get("X-Api-Key")))
	x := &Exchange{ID: w.Header().Get(serve.RequestID), Client: hex.EncodeToString(key[:8]), Body: body,
		proxy: p, w: w, method: r.Method, path: path, began: time.Now(), stream: serve.NewStream(w, p.o.Patience)}
	if r.Method == http.MethodGet {
		return x, nil
	}
	return x, x.read()
}

// passing passes requests of a route on.
func (p *Proxy) passing(path string) http.HandlerFunc {
	return p.answering(path, func(ctx context.Context, x *Exchange) error { return x.Pass(ctx, x.Body) })
}

func (p *Proxy) chat(w http.ResponseWriter, r *http.Request) {
	answer := func(ctx context.Context, x *Exchange) error { return x.Pass(ctx, x.Body) }
	if p.o.Mode != nil {
		answer = p.o.Mode.Answer
	}
	p.answering("/chat/completions", answer)(w, r)
}

func (p *Proxy) answering(path string, answer func(context.Context, *Exchange) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.turns <- struct{}{}:
			defer func() { <-p.turns }()
		default:
			p.refuse(w, &serve.Refusal{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "queue_full",
				Message: fmt.Sprintf("%d requests are under way, and no more are taken", p.o.Most)})
			return
		}
		x, refused := p.begin(w, r, path)
		if refused != nil {
			p.refuse(w, refused)
			return
		}
		err := answer(r.Context(), x)
		cut := serve.CutOff(r.Context())
		gone := r.Context().Err() != nil && cut == nil || errors.Is(err, errGone)
		if err != nil && !gone && cut != nil {
			err = cut
		}
		if err != nil && !gone {
			x.fail(err)
		}
		// of the connection, which others use after this
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		x.end(err, gone)
	}
}

func (p *Proxy) refuse(w http.ResponseWriter, e *serve.Refusal) {
	p.meter.Add(refusedRequests, metrics.Labels("code", e.Code), 1)
	serve.Refuse(w, e)
}

// badUpstream is the usual refusal where the upstream is to blame.
func badUpstream(code, message string) *serve.Refusal {
	return &serve.Refusal{Status: http.StatusBadGateway, Type: "upstream_error", Code: code, Message: message}
}

// badURL is the error of an upstream's URL that cannot be used.
func badURL() error {
	// The URL itself is not shown: what makes it wrong may be a password inside it.
	return &fault.Error{Code: fault.CodeUsage, What: "cannot use the upstream's URL",
		Why:  "it must be http(s)://host[:port]/path, without a user name or a query",
		Next: "give it up to and including the version: http://127.0.0.1:8000/v1"}
}
