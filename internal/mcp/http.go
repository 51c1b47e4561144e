package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	sessionHeader = "Mcp-Session-Id"
	bodyKept      = 64 << 10 // bytes read of an answer that is none
	sseRetries    = 2        // reconnections to a stream that can be resumed
)

// httpTripper stands between the SDK and the network. It adds the configured headers, shows the session's wire every
// message, and mends answers the SDK would end the whole session for, so that only the call at hand fails.
type httpTripper struct {
	origin  string // scheme and host, which get the headers
	headers map[string]string
	base    http.RoundTripper
	wire    *wire
	oauth   bool // the SDK asks for a token on 401 and 403, so these must reach it
	events  bool // HTTP+SSE: answers come on the one long stream, not with the POST
}

func (h *httpTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) == h.origin { // a redirect must not carry a token elsewhere, nor in clear text
		req = req.Clone(req.Context())
		for key, value := range h.headers {
			req.Header.Set(key, value)
		}
	}
	m := messageOf(req)
	if h.wire.sending(req.Context(), m) {
		data, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	}
	x := exchangeOf(req.Context())
	if r, ok := m.(*jsonrpc.Request); ok && !r.IsCall() {
		x = nil // that the call was given up is told under its own context, and says nothing of how far the call came
	}
	if x != nil { // nothing is sent before there is a connection
		inSession := h.events || req.Header.Get(sessionHeader) != ""
		x.set(func(x *exchange) { x.sent, x.dialled, x.inSession = false, true, inSession })
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { x.set(func(x *exchange) { x.sent = true }) }}))
	}
	resp, err := h.base.RoundTrip(req)
	if err != nil {
		x.set(func(x *exchange) { x.miss("the connection failed: " + err.Error()) })
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return h.handleStatus(req, m, resp)
	}
	return h.mendBody(req, m, resp)
}

// messageOf reads the message a POST carries, nil where it carries none.
func messageOf(req *http.Request) jsonrpc.Message {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	m, _ := jsonrpc.DecodeMessage(data)
	return m
}

// handleStatus handles every status that is not a success.
func (h *httpTripper) handleStatus(req *http.Request, m jsonrpc.Message, resp *http.Response) (*http.Response, error) {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, bodyKept))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(data))
	why := fmt.Sprintf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if len(bytes.TrimSpace(data)) > 0 {
		why += ": " + h.wire.excerpt(data)
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		why += " to " + to.Redacted() + "; configure that URL if you trust it"
	}
	r, ok := m.(*jsonrpc.Request)
	if ok && r.IsCall() {
		h.wire.noteStatus(resp.StatusCode)
		exchangeOf(req.Context()).set(func(x *exchange) {
			x.status = resp.StatusCode
			x.miss(why)
		})
	}
	again := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	switch {
	case m == nil,
		h.oauth && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden),
		again && sameOrigin(resp, h.origin):
		return resp, nil
	case resp.StatusCode == http.StatusNotFound && req.Header.Get(sessionHeader) != "":
		return resp, nil // the session is gone, and the SDK has to know
	case !ok || !r.IsCall(): // a server that minds a notification can still answer calls
		return &http.Response{StatusCode: http.StatusAccepted, Request: req, Header: http.Header{},
			Body: http.NoBody}, nil
	}
	if answer, err := jsonrpc.DecodeMessage(data); err == nil && !h.events &&
		resp.StatusCode != http.StatusTooManyRequests {
		data = h.wire.receive(answer, data)
		if a, ok := answer.(*jsonrpc.Response); ok && a.ID == r.ID && a.Error != nil && resp.StatusCode >= 500 &&
			r.Method == "tools/call" {
			return answerWith(req, data), nil // of these the SDK would keep no word
		}
		return resp, nil // the protocol's own error, whose code the SDK acts upon
	}
	return h.instead(req, r.ID, why)
}

func sameOrigin(resp *http.Response, origin string) bool {
	to, err := resp.Location()
	return err == nil && originOf(to) == origin
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// mendBody makes the body of a successful answer one that the SDK can read.
func (h *httpTripper) mendBody(req *http.Request, m jsonrpc.Message, resp *http.Response) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	r, isRequest := m.(*jsonrpc.Request)
	call := isRequest && r.IsCall()
	if call {
		h.wire.noteStatus(0)
	}
	if id := req.Header.Get(sessionHeader); id != "" && resp.Header.Get(sessionHeader) != "" &&
		resp.Header.Get(sessionHeader) != id {
		resp.Header.Set(sessionHeader, id) // for another the SDK would end the connection
		exchangeOf(req.Context()).set(func(x *exchange) { x.renamed = true })
	}
	switch {
	case kind == "text/event-stream":
		e := newEventFilter(resp.Body, h.wire)
		if call {
			e.id, e.exchange = r.ID, exchangeOf(req.Context())
		}
		resp.Body = e
	case !call || h.events:
	case kind == "application/json":
		resp.Body = &jsonBody{body: resp.Body, wire: h.wire, id: r.ID, exchange: exchangeOf(req.Context())}
	default:
		data, _ := io.ReadAll(io.LimitReader(resp.Body, bodyKept))
		resp.Body.Close()
		why := fmt.Sprintf("HTTP %d with content type %q and %s", resp.StatusCode, kind, h.wire.excerpt(data))
		exchangeOf(req.Context()).set(func(x *exchange) { x.miss(why) })
		return h.instead(req, r.ID, why)
	}
	return resp, nil
}

// instead answers a call in the server's stead. Where answers come on another stream, an error has to do; its code
// tells the SDK to fail this call alone.
func (h *httpTripper) instead(req *http.Request, id jsonrpc.ID, why string) (*http.Response, error) {
	if h.events {
		return nil, &jsonrpc.Error{Code: codeRejected, Message: why}
	}
	return answerWith(req, errorMessage(id, why)), nil
}

func answerWith(req *http.Request, message []byte) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(message))}
}

// codeRejected marks, in the SDK, a request that its transport could not deliver.
const codeRejected = -32005

func errorMessage(id jsonrpc.ID, why string) []byte {
	data, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id,
		Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why}})
	if err != nil {
		panic(err) // of an id that was decoded and a string
	}
	return data
}

// jsonBody is an answer of one JSON message, read whole at the first Read.
type jsonBody struct {
	body     io.ReadCloser
	wire     *wire
	id       jsonrpc.ID
	exchange *exchange
	read     *bytes.Reader
}

func (b *jsonBody) Close() error { return b.body.Close() }

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.read == nil {
		b.read = bytes.NewReader(b.message())
	}
	return b.read.Read(p)
}

func (b *jsonBody) message() []byte {
	data, err := io.ReadAll(io.LimitReader(b.body, int64(b.wire.limit)+1))
	if len(data) > b.wire.limit {
		why := fmt.Sprintf("the answer is larger than %d bytes", b.wire.limit)
		b.exchange.set(func(x *exchange) { x.answered, x.unusable = true, why; x.fail(why) })
		return errorMessage(b.id, why)
	}
	parts := messagesIn(data)
	if len(parts) == 0 {
		parts = []json.RawMessage{data}
	}
	response := false
	for _, part := range parts { // of what else is in a batch, the wire has seen what matters
		m, own := b.wire.decode(part, err == nil)
		if r, ok := m.(*jsonrpc.Response); ok {
			if response = true; r.ID == b.id {
				return own
			}
		}
	}
	why := ""
	switch {
	case response:
		why = "the answer is to another request: " + b.wire.excerpt(data)
	case err != nil:
		why = fmt.Sprintf("the answer broke off after %d bytes: %v", len(data), err)
	case len(data) == 0:
		why = "the answer is empty"
	default:
		why = "the answer is no JSON-RPC response: " + b.wire.excerpt(data)
	}
	b.exchange.set(func(x *exchange) { x.miss(why) })
	return errorMessage(b.id, why)
}

// httpTransport returns the SDK's transport for a URL, and what closes its connections. asked says that the server may
// ask a person.
func httpTransport(s Server, via string, w *wire, oauth auth.OAuthHandler, asked bool) (mcp.Transport, func(), error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	tripper := http.RoundTripper(base)
	if l, ok := oauth.(*lockedOAuth); ok && l.bound != nil {
		tripper = dpopTripper{l.bound, base}
	}
	client := &http.Client{
		Transport: &httpTripper{origin: originOf(u), headers: s.Headers, base: tripper, wire: w, oauth: oauth != nil,
			events: via == viaSSE},
		CheckRedirect: func(req *http.Request, earlier []*http.Request) error {
			if originOf(req.URL) != originOf(u) || len(earlier) >= 5 {
				return fmt.Errorf("the server redirects to %s; configure that URL if you trust it", originOf(req.URL))
			}
			return nil
		},
	}
	if via == viaSSE {
		return boundedSSE{&mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: -1}},
			base.CloseIdleConnections, nil
	}
	// The standalone stream carries nothing a rollout needs but a server's questions, and its failure would end a
	// healthy session. The wire bounds events itself.
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: !asked,
		MaxRetries: sseRetries, MaxEventSize: -1, OAuthHandler: oauth}, base.CloseIdleConnections, nil
}

// boundedSSE opens the long stream under a context of its own: it must outlive the deadline of the connect, but not a
// connect that fails.
type boundedSSE struct{ *mcp.SSEClientTransport }

func (t boundedSSE) Connect(ctx context.Context) (mcp.Connection, error) {
	long, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	c, err := t.SSEClientTransport.Connect(long)
	if !stop() || err != nil {
		cancel()
		if err == nil {
			c.Close()
			err = ctx.Err()
		}
		return nil, err
	}
	return cancelledConn{c, cancel}, nil
}

// cancelledConn ends its stream's context when it is closed.
type cancelledConn struct {
	mcp.Connection
	cancel context.CancelFunc
}

func (c cancelledConn) Close() error {
	defer c.cancel()
	return c.Connection.Close()
}
