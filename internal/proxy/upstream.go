package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hone/internal/serve"
)

// Upstream is the server that requests go on to.
type Upstream struct {
	URL       string            // up to and including the version: "http://127.0.0.1:8000/v1"
	Key       string            // sent as a bearer token where not empty; clients' keys are never sent
	Model     string            // put in the place of the model that a client names; "": the client's
	Stall     time.Duration     // how long nothing may come, headers or bytes; 0: 2 minutes
	Deadline  time.Duration     // of one request, to its last byte; 0: 10 minutes
	Most      int64             // bytes of an answer, and of an event of a stream; 0: 64 MiB
	Transport http.RoundTripper // nil: http.DefaultTransport
}

func (u *Upstream) check() error {
	parsed, err := url.Parse(u.URL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil ||
		parsed.RawQuery != "" {
		return badURL()
	}
	u.URL = strings.TrimRight(u.URL, "/")
	if u.Stall == 0 {
		u.Stall = 2 * time.Minute
	}
	if u.Most == 0 {
		u.Most = 64 << 20
	}
	if u.Deadline == 0 {
		u.Deadline = 10 * time.Minute
	}
	return nil
}

var errStalled = errors.New("the upstream sent nothing for too long")

// response is an upstream's, on its way.
type response struct {
	status int
	header http.Header
	body   *watched
	most   int64 // bytes of it
	cancel context.CancelCauseFunc
}

func (r *response) close() { r.body.close(); r.cancel(nil) }

func (r *response) isStream() bool {
	return strings.HasPrefix(strings.TrimSpace(strings.ToLower(r.header.Get("Content-Type"))), "text/event-stream")
}

// send sends a request. Its error is a *serve.Refusal, or ctx's where that has ended.
func (u *Upstream) send(ctx context.Context, method, path, id string, body []byte) (*response, error) {
	if u.Model != "" && len(body) > 0 {
		name, _ := json.Marshal(u.Model) // a text
		var err error
		if body, err = With(body, "model", name); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(u.Deadline, func() { cancel(errStalled) })
	stop := func(cause error) { timer.Stop(); cancel(cause) }
	stalled := time.AfterFunc(u.Stall, func() { cancel(errStalled) })
	q, err := http.NewRequestWithContext(ctx, method, u.URL+path, bytes.NewReader(body))
	if err != nil {
		stop(nil)
		return nil, badUpstream("upstream_unreachable", "the upstream cannot be asked")
	}
	if len(body) > 0 {
		q.Header.Set("Content-Type", "application/json")
	}
	q.Header.Set("User-Agent", "hone")
	q.Header.Set(serve.RequestID, id)
	if u.Key != "" {
		q.Header.Set("Authorization", "Bearer "+u.Key)
	}
	client := http.Client{Transport: u.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirected POST loses its body, and may carry the key elsewhere
	}}
	r, err := client.Do(q)
	stalled.Stop()
	if err != nil {
		defer stop(nil)
		return nil, lostError(ctx, err)
	}
	return &response{r.StatusCode, r.Header, &watched{ctx: ctx, cancel: cancel, body: r.Body, stall: u.Stall},
		u.Most, stop}, nil
}

// watched reads a body, of which each part must come in time.
type watched struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	stall  time.Duration
}

func (w *watched) close() { _ = w.body.Close() }

// Read implements io.Reader. Its errors are io.EOF, a *serve.Refusal, or the client's leaving.
func (w *watched) Read(p []byte) (int, error) {
	timer := time.AfterFunc(w.stall, func() { w.cancel(errStalled) })
	defer timer.Stop()
	n, err := w.body.Read(p)
	if err != nil && err != io.EOF {
		err = lostError(w.ctx, err)
	}
	return n, err
}

// lostError says why an upstream was lost. The cause itself names addresses, which are no client's business: it stays
// in the log.
func lostError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStalled):
		return &serve.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream_error", Code: "upstream_timeout",
			Message: errStalled.Error()}
	case cause != nil:
		return cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badUpstream("upstream_cut", "the upstream broke off in the middle of its answer")
	}
	return &unreachable{badUpstream("upstream_unreachable", "the upstream cannot be reached, or broke the connection"),
		err}
}

// unreachable is a refusal with a cause for the log.
type unreachable struct {
	refusal *serve.Refusal
	cause   error
}

func (e *unreachable) Error() string   { return e.refusal.Message + ": " + e.cause.Error() }
func (e *unreachable) Unwrap() []error { return []error{e.refusal, e.cause} }

// whole reads an answer that is no stream.
func (r *response) whole() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.body, r.most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(body)) > r.most:
		return nil, badUpstream("upstream_too_long",
			fmt.Sprintf("the upstream's answer is longer than %d bytes", r.most))
	}
	return body, nil
}

// refusal is what a client is told of an answer that is not 200: the upstream's own error where it is one of the API's,
// with its status.
func (r *response) refusal(body []byte) (status int, text []byte, refused *serve.Refusal) {
	switch {
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		// its words may show a part of the key
		return 0, nil, badUpstream("upstream_unauthorized", "the upstream does not take the proxy's key")
	case r.status >= 400:
		if e, err := Get(body, "error"); err == nil && len(e) > 0 && string(e) != "null" {
			return r.status, body, nil
		}
	}
	status = http.StatusBadGateway
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		status = r.status // a client may try again
	}
	return 0, nil, &serve.Refusal{Status: status, Type: "upstream_error", Code: fmt.Sprintf("upstream_%d", r.status),
		Message: fmt.Sprintf("the upstream answered with status %d", r.status)}
}
