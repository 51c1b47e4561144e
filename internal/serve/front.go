package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"hone/internal/fault"
)

// Route is one of what a server answers. All else is refused.
type Route struct {
	Method, Path string
	Open         bool // to anyone who can reach the server
	Handle       http.HandlerFunc
}

// Front is what stands before the routes of a server: the names of requests, keys, whom it answers, limits, and the end
// in order.
type Front struct {
	Keys     []string // keys that clients may send; required to serve on anything but loopback
	Grace    time.Duration
	Patience time.Duration // how long a client may take none of what is written; 0: 30 s
	Drain    func()        // is called when the end begins; nil: nothing
	Logger   *slog.Logger
}

// Handler answers the routes, and refuses all else.
func (f Front) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		h := http.Handler(r.Handle)
		if !r.Open {
			h = f.withKey(r.Handle)
		}
		mux.Handle(r.Method+" "+r.Path, f.withRequestID(h))
	}
	mux.Handle("/", f.withRequestID(f.withKey(func(w http.ResponseWriter, r *http.Request) {
		refuseAt(w, r, &apiError{http.StatusNotFound, "invalid_request_error", "", "not_found",
			"no route " + r.Method + " " + r.URL.Path})
	})))
	return mux
}

// RequestID is the header that names a request, in the answer and in the log.
const RequestID = "X-Request-Id"

// patient is a writer whose client has so long to take what is written. Without it one who reads nothing holds its
// request, and so its adapter, for ever.
type patient struct {
	http.ResponseWriter
	patience time.Duration
}

// Write implements io.Writer.
func (p patient) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (p patient) Flush() {
	p.extend()
	_ = http.NewResponseController(p.ResponseWriter).Flush()
}

// Unwrap is http.ResponseController's.
func (p patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p patient) extend() {
	// a writer without deadlines is a test's
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.patience))
}

// withRequestID gives a request a name: the client's own where it sends one that can be written, else a new one.
func (f Front) withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(RequestID)
		if strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:") != "" || id == "" ||
			len(id) > 128 {
			id = newID("req")
		}
		w.Header().Set(RequestID, id)
		next.ServeHTTP(patient{w, cmp.Or(f.Patience, 30*time.Second)}, r)
	})
}

// refuseAt answers with an error in the form of the protocol that the path belongs to.
func refuseAt(w http.ResponseWriter, r *http.Request, e *apiError) {
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		refuseAs(w, e, messagesDialect{}.failure(e))
		return
	}
	refuse(w, e)
}

// withKey lets through who has a key. Without keys only loopback is served, and then the request must also be
// meant for it: a web page elsewhere can make a browser send requests here, by a name it has pointed at 127.0.0.1.
func (f Front) withKey(next http.HandlerFunc) http.Handler {
	var keys [][sha256.Size]byte // equal lengths, so that the comparison tells nothing of the keys'
	for _, key := range f.Keys {
		keys = append(keys, sha256.Sum256([]byte(key)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case keys == nil && !(loopback(r.Host) && localOrigin(r.Header.Get("Origin"))):
			refuseAt(w, r, &apiError{http.StatusForbidden, "invalid_request_error", "", "forbidden",
				"only requests from this machine to localhost are answered"})
		case keys != nil && keyIndex(keys, r) == 0:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuseAt(w, r, &apiError{http.StatusUnauthorized, "invalid_request_error", "", "invalid_api_key",
				"missing or wrong API key"})
		default:
			next(w, r.WithContext(context.WithValue(r.Context(), ownerKey{}, keyIndex(keys, r))))
		}
	})
}

// ownerKey is under which a request's context has the number of its key.
type ownerKey struct{}

// ownerOf is which key a request came with, counted from 1; 0 where there are none.
func ownerOf(ctx context.Context) int {
	owner, _ := ctx.Value(ownerKey{}).(int)
	return owner
}

// keyIndex is which of the keys a request has, counted from 1, as OpenAI's clients send it, or as Anthropic's do; 0 is
// none.
func keyIndex(keys [][sha256.Size]byte, r *http.Request) int {
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		if key = r.Header.Get("X-Api-Key"); key == "" {
			return 0
		}
	}
	got, found := sha256.Sum256([]byte(key)), 0
	for i, want := range keys { // all of them, so that the time tells nothing
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(got[:], want[:]), i+1, found)
	}
	return found
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

// readTimeout is how long a request may take to arrive, body included: 4 MB on a line of 1 Mbit/s. Slow bodies must not
// hold connections for long.
const readTimeout = 30 * time.Second

// lastWords is how long requests that are cut off have to end their work, such as a task's servers, and to tell their
// clients why.
const lastWords = 5 * time.Second

// Serve answers on the listener until ctx is cancelled, then lets requests in flight finish for Grace, and
// cuts off the rest, whose clients are told. It closes the listener. An orderly end is no error.
func (f Front) Serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	if slices.Contains(f.Keys, "") {
		return errors.Join(l.Close(), errors.New("a key is empty"))
	}
	if len(f.Keys) == 0 && !loopback(l.Addr().String()) {
		return errors.Join(l.Close(), &fault.Error{
			Code:  fault.CodeUsage,
			What:  "will not serve without a key",
			Where: l.Addr().String(),
			Why:   "the address can be reached from other machines",
			Next:  "set a key, or listen on 127.0.0.1",
		})
	}
	base, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	h := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       readTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(f.Logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return &fault.Error{Code: fault.CodeError, What: "the server stopped", Where: l.Addr().String(), Err: err}
	case <-ctx.Done():
	}
	if f.Drain != nil {
		f.Drain()
	}
	err := shutDown(h, f.Grace)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Logger.Warn("requests that are still under way are cut off", "after", f.Grace)
		cut(errCutOff) // ends their sampling
		err = shutDown(h, lastWords)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func shutDown(h *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return h.Shutdown(ctx)
}

var errCutOff = &apiError{http.StatusServiceUnavailable, "server_error", "", "shutting_down",
	"the server has shut down before the answer was whole"}

// CutOff is what a client is told whose request was cut off by the server's end; nil where a request's context is not
// over, or its client is gone.
func CutOff(ctx context.Context) *Refusal {
	if ctx.Err() != nil && context.Cause(ctx) == error(errCutOff) {
		return errCutOff
	}
	return nil
}

// isGone reports whether a request's client has hung up.
func isGone(ctx context.Context) bool { return ctx.Err() != nil && CutOff(ctx) == nil }

// Refusal is why a request is refused, in the words of OpenAI's errors. Refuse answers with it.
type Refusal = apiError

// Refuse answers with an error in OpenAI's form.
func Refuse(w http.ResponseWriter, e *Refusal) { refuse(w, e) }

// ErrorBody is an error in OpenAI's form, for a stream that has begun.
func ErrorBody(e *Refusal) any { return e.body() }

// Stream sends server-sent events to a client. One that takes none for as long as there is patience is gone.
type Stream struct{ events events }

// NewStream begins nothing yet: headers may still be set.
func NewStream(w http.ResponseWriter, patience time.Duration) *Stream {
	return &Stream{events{w: patient{w, patience}}}
}

// HasBegun reports whether something was sent.
func (s *Stream) HasBegun() bool { return s.events.begun }

// Send sends the lines of one event as they are, without the empty line behind them. It reports whether the client is
// still there.
func (s *Stream) Send(lines string) bool {
	if !s.events.begun {
		s.events.begin()
	}
	s.events.line(lines)
	return !s.events.gone
}
