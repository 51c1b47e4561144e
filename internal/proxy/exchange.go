package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/run/metrics"
	"hone/internal/serve"
)

// Exchange is one request of a client, and what it is told.
type Exchange struct {
	ID      string  // of the request, in the header X-Request-Id of all it touches
	Client  string  // tells clients apart by the key they sent; never shown to anybody
	Body    []byte  // as the client sent it: JSON, an object
	Request Request // what is understood of it

	proxy        *Proxy
	w            http.ResponseWriter
	stream       *serve.Stream
	method, path string
	began        time.Time
	action       string // the last decision
	asks         int
	usage        Usage
	before       Usage        // of answers that the client is not told
	made         []serve.Step // calls that the client is to be told of
	said         *Answer      // the last of the upstream
	heard        func()       // see OnMessage
	atOnce       bool         // see TellAtOnce
	status       int          // that the client got; 0: none yet
}

// Request is the part of a chat completion's request that modes look at.
type Request struct {
	Model             string
	Messages          []chat.Message
	Tools             []chat.Tool
	ToolChoice        json.RawMessage // nil: not said
	ParallelToolCalls *bool
	Stream            bool
	IncludeUsage      bool // of the stream
	N                 int
	// Opaque says why messages or tools could not be read: images, custom tools. Then Messages or Tools are nil, and a
	// mode that needs them passes the request on.
	Opaque error
}

// read reads the request.
func (x *Exchange) read() *serve.Refusal {
	var q struct {
		Model         string          `json:"model"`
		Messages      json.RawMessage `json:"messages"`
		Tools         json.RawMessage `json:"tools"`
		ToolChoice    json.RawMessage `json:"tool_choice"`
		Parallel      *bool           `json:"parallel_tool_calls"`
		Stream        bool            `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		N *int `json:"n"`
	}
	err := json.Unmarshal(x.Body, &q)
	if err != nil || !strings.HasPrefix(strings.TrimLeft(string(x.Body[:min(len(x.Body), 64)]), " \t\r\n"), "{") {
		return &serve.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value",
			Message: "the body is not such a request: it is no JSON object, or a parameter has the wrong type"}
	}
	x.Request = Request{Model: q.Model, ToolChoice: q.ToolChoice, ParallelToolCalls: q.Parallel, Stream: q.Stream,
		IncludeUsage: q.StreamOptions.IncludeUsage, N: 1}
	if q.N != nil {
		x.Request.N = *q.N
	}
	if len(q.Messages) > 0 {
		x.Request.Opaque = json.Unmarshal(q.Messages, &x.Request.Messages)
	}
	if len(q.Tools) > 0 && x.Request.Opaque == nil {
		x.Request.Opaque = json.Unmarshal(q.Tools, &x.Request.Tools)
	}
	if x.Request.Opaque != nil {
		x.Request.Messages, x.Request.Tools = nil, nil
	}
	return nil
}

// DecisionHeader tells a client what a mode decided, and why: "initial-call=proposed; confidence 0.98". In a stream
// that has begun it is a comment: ": hone-decision ...".
const DecisionHeader = "X-Hone-Decision"

// Decide says what a mode decided: to the client in a header, in the log with args beside it (pairs, as slog has them),
// and in a counter by action, which is one of a few words.
func (x *Exchange) Decide(action, why string, args ...any) {
	mode := x.proxy.o.Mode.Name()
	x.action = action
	text := mode + "=" + action
	if why != "" {
		text += "; " + why
	}
	x.proxy.meter.Add(decisions, metrics.Labels("mode", mode, "action", action), 1)
	x.proxy.o.Logger.Info("decision",
		append([]any{"request", x.ID, "mode", mode, "action", action, "why", why}, args...)...)
	text = printable(text)
	if x.stream.HasBegun() {
		x.stream.Send(": hone-decision " + text)
		return
	}
	x.w.Header().Add(DecisionHeader, text)
}

// Warn says in the log what a person may want to change. args are pairs, as slog has them.
func (x *Exchange) Warn(what string, args ...any) {
	x.proxy.o.Logger.Warn(what, append([]any{"request", x.ID, "mode", x.proxy.o.Mode.Name()}, args...)...)
}

// printable is a text as a header may hold it.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), 512)]
}

// Count counts n more of one of the mode's metrics. pairs are labels and their values.
func (x *Exchange) Count(metric string, n float64, pairs ...string) {
	x.proxy.meter.Add(metric, metrics.Labels(pairs...), n)
}

// Observe counts a time in one of the mode's histograms.
func (x *Exchange) Observe(metric string, took time.Duration, pairs ...string) {
	x.proxy.meter.Observe(metric, metrics.Labels(pairs...), took)
}

// Since is how long ago the request came.
func (x *Exchange) Since() time.Duration { return time.Since(x.began) }

// LastAnswer is what the upstream said last; nil where it said nothing that could be read.
func (x *Exchange) LastAnswer() *Answer { return x.said }

// OnMessage has f called once, when Pass knows the whole message of the upstream, which Said returns then, and the
// client is not told of its end. What f remembers of it is there when the client goes on.
func (x *Exchange) OnMessage(f func()) { x.heard = f }

// hear calls it.
func (x *Exchange) hear(a *Answer) {
	if f := x.heard; f != nil {
		x.said, x.heard = a, nil
		f()
	}
}

// Cost is how often the upstream was asked, what that used, and what it cost in US dollars, 0 where that is not known.
func (x *Exchange) Cost() (asks int, used Usage, usd float64) {
	if cost := x.proxy.o.Cost; cost != nil {
		usd = cost(x.usage.PromptTokens, x.usage.CompletionTokens)
	}
	return x.asks, x.usage, usd
}

// ask sends a body to the upstream, and counts that.
func (x *Exchange) ask(ctx context.Context, body []byte) (*response, error) {
	x.asks++
	began := time.Now()
	r, err := x.proxy.o.Upstream.send(ctx, x.method, x.path, x.ID, body)
	code := "lost"
	if err == nil {
		code = http.StatusText(r.status)
		x.proxy.meter.Observe(upstreamHeadTime, "", time.Since(began))
	}
	x.proxy.meter.Add(upstreamRequests, metrics.Labels("status", code), 1)
	if err != nil {
		return nil, err
	}
	x.head(r)
	if r.status == http.StatusOK {
		return r, nil
	}
	defer r.close()
	text, err := r.whole()
	if err != nil {
		return nil, err
	}
	status, text, refused := r.refusal(text)
	if refused != nil {
		return nil, refused
	}
	return nil, &upstreamError{status, text}
}

// head passes headers on that a client may act on.
func (x *Exchange) head(r *response) {
	for name, values := range r.header {
		if lower := strings.ToLower(name); lower == "retry-after" || strings.HasPrefix(lower, "x-ratelimit-") {
			x.w.Header()[name] = values
		}
	}
	if id := r.header.Get(serve.RequestID); id != "" {
		x.w.Header().Set("X-Upstream-Request-Id", id)
	}
}

// upstreamError is an error in the upstream's own words.
type upstreamError struct {
	status int
	body   []byte
}

func (e *upstreamError) Error() string {
	return "the upstream answered: " + string(e.body[:min(len(e.body), 300)])
}

// fail tells the client of an error.
func (x *Exchange) fail(err error) {
	var theirs *upstreamError
	var refused *serve.Refusal
	switch {
	case errors.As(err, &theirs):
	case errors.As(err, &refused):
	case errors.Is(err, context.DeadlineExceeded):
		refused = &serve.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream_error", Code: "upstream_timeout",
			Message: "there was no answer in time"}
	default:
		refused = &serve.Refusal{Status: http.StatusInternalServerError, Type: "server_error", Code: "server_error",
			Message: "the proxy failed; its log says why"}
	}
	if theirs != nil {
		x.failAs(theirs.status, theirs.body)
		return
	}
	x.proxy.meter.Add(refusedRequests, metrics.Labels("code", refused.Code), 1)
	if x.stream.HasBegun() {
		text, _ := json.Marshal(serve.ErrorBody(refused))
		x.stream.Send("data: " + string(text))
		return
	}
	x.status = refused.Status
	serve.Refuse(x.w, refused)
}

func (x *Exchange) failAs(status int, body []byte) {
	if x.stream.HasBegun() {
		x.stream.Send("data: " + strings.ReplaceAll(string(body), "\n", " "))
		return
	}
	x.write(status, "application/json", body)
}

// write writes a whole answer, in parts, each of which the client must take in time.
func (x *Exchange) write(status int, contentType string, body []byte) {
	x.status = status
	x.w.Header().Set("Content-Type", contentType)
	if x.atOnce {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body))) // by which the client knows its end
	}
	c := http.NewResponseController(x.w)
	x.w.WriteHeader(status)
	const part = 64 << 10
	for len(body) > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(x.proxy.o.Patience)) // a writer without deadlines is a test's
		n := min(part, len(body))
		if _, err := x.w.Write(body[:n]); err != nil {
			return
		}
		body = body[n:]
	}
	if x.atOnce {
		_ = c.Flush() // a client that has left takes nothing
	}
}

// end counts the exchange, and writes its line of the log.
func (x *Exchange) end(err error, abandoned bool) {
	p, action := x.proxy, x.action
	if action == "" {
		action = "passed"
	}
	if abandoned {
		action = "abandoned"
	}
	p.meter.Add(requests, metrics.Labels("route", x.path, "action", action), 1)
	p.meter.Observe(requestTime, metrics.Labels("route", x.path), x.Since())
	args := []any{
		"request", x.ID, "route", x.path, "action", action, "upstream_requests", x.asks, "prompt_tokens",
		x.usage.PromptTokens, "completion_tokens", x.usage.CompletionTokens, "seconds", x.Since().Seconds(),
	}
	if p.o.Cost != nil {
		_, _, usd := x.Cost()
		p.meter.Add(upstreamUSD, "", usd)
		args = append(args, "usd", usd)
	}
	level := slog.LevelInfo
	if err != nil && !abandoned {
		level = slog.LevelWarn
		args = append(args, "error", err)
	}
	p.o.Logger.Log(context.Background(), level, "exchange", args...)
}

// note remembers what the upstream said, and counts what that used.
func (x *Exchange) note(a *Answer) {
	x.said = a
	u := a.Usage
	if u == nil {
		x.proxy.meter.Add(unknownUsage, "", 1)
		return
	}
	x.usage.PromptTokens += u.PromptTokens
	x.usage.CompletionTokens += u.CompletionTokens
	x.proxy.meter.Add(promptTokens, "", float64(u.PromptTokens))
	x.proxy.meter.Add(completionTokens, "", float64(u.CompletionTokens))
}
