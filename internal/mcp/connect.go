package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

const (
	modernEra = "2026-07-28" // stateless, opened by server/discover
	legacyEra = "2025-11-25" // opened by initialize; servers negotiate down from it
)

// Transports of a session.
const (
	viaStdio = "stdio"
	viaHTTP  = "http" // streamable HTTP
	viaSSE   = "sse"  // HTTP+SSE, of 2024-11-05
)

// opener opens sessions on one server.
type opener struct {
	name    string
	server  Server
	base    map[string]string
	o       Options
	meter   *meter
	oauth   auth.OAuthHandler // shared by all sessions, nil without one
	refusal refusal
	listed  bool // list the tools first: the SDK copies some arguments into headers from its own list

	mu    sync.Mutex
	era   string          // the negotiated protocol version where it is known, else ""
	via   string          // the transport, where it is known
	taken map[string]bool // folders of Options.Folder that sessions have
}

func newOpener(name string, s Server, base map[string]string, o Options) (*opener, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return nil, err
	}
	l := &opener{name: name, server: s, base: base, o: o, via: s.transport(), meter: &meter{}, taken: map[string]bool{}}
	l.meter.stats.Server, l.meter.stats.Isolation = name, s.Isolation
	if l.via == viaHTTP {
		l.via = "" // hosts that read "http" in their files also fall back to HTTP+SSE
	}
	var err error
	if l.refusal, err = s.Refusal.compile(); err != nil {
		return nil, err
	}
	l.oauth, err = oauthHandler(s, o)
	return l, err
}

// session is one open session, and what it owns: the process and the episode's folder, or the HTTP connections.
type session struct {
	server  string
	client  *mcp.ClientSession
	wire    *wire
	conn    *stdioConn // nil on HTTP
	via     string
	dir     string // the episode's folder, "" without one
	gone    chan struct{}
	redact  *strings.Replacer
	refusal refusal
	hide    func(json.RawMessage) json.RawMessage // secrets in what the server sent; nil where it has none

	expired    atomic.Bool  // the server, over HTTP, does not know it any more
	unfinished atomic.Bool  // a call was given up that the server may still be working on
	tokens     atomic.Int64 // of progress
	watchers   sync.Map     // token to func(*mcp.ProgressNotificationParams)

	release []func() // in reverse order
	closing sync.Once
}

// start says how a session begins.
type start struct {
	episode  string // which it is for, "" for any
	template string // folder that its own is a copy of, "" for the server's
	host     string // host and port of its pod, "" without one
}

// openFrom connects. Which era and transport a server speaks is found out once and then known.
func (l *opener) openFrom(ctx context.Context, from start) (*session, error) {
	began := time.Now()
	open := l.openSession
	if l.server.Pod != nil {
		open = l.openInPod
	}
	s, err := open(ctx, from)
	l.meter.noteOpen(s, time.Since(began), err)
	return s, err
}

func (l *opener) openSession(ctx context.Context, from start) (*session, error) {
	l.mu.Lock()
	era, via := l.era, l.via
	l.mu.Unlock()
	if era != "" && via != "" {
		return l.try(ctx, l.o.ConnectTimeout, via, era, from)
	}
	s, err := l.probe(ctx, via, from)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.era, l.via = s.era(), s.via
	return s, nil
}

// legacyLimit is how long the old way is tried after the new one failed. A server that was silent has used its time:
// what is left of ConnectTimeout is for a command that is still being downloaded, which no URL is.
func (l *opener) legacyLimit(via string, err error) time.Duration {
	probe := min(l.o.ProbeTimeout, l.o.ConnectTimeout)
	switch {
	case !silent(err):
		return l.o.ConnectTimeout
	case via == viaHTTP:
		return probe
	}
	return max(probe, l.o.ConnectTimeout-probe)
}

// probe finds out what a server speaks, the newest first.
func (l *opener) probe(ctx context.Context, via string, from start) (*session, error) {
	if via == viaSSE {
		return l.tryLegacy(ctx, viaSSE, from, nil)
	}
	first := via
	if first == "" {
		first = viaHTTP
	}
	s, err := l.try(ctx, min(l.o.ProbeTimeout, l.o.ConnectTimeout), first, modernEra, from)
	switch {
	case err == nil && (first == viaHTTP || s.era() >= modernEra):
		return s, nil
	case err == nil:
		s.close() // it has seen a method it does not know: only a fresh process is sure to be sound
	case ctx.Err() != nil || final(err):
		return nil, err
	}
	s, legacyErr := l.tryLegacy(ctx, first, from, err)
	if legacyErr == nil {
		return s, nil
	}
	if silent(err) && !silent(legacyErr) && ctx.Err() == nil { // it was slow to start, and does not know the old way
		if s, again := l.try(ctx, l.o.ConnectTimeout, first, modernEra, from); again == nil {
			return s, nil
		}
	}
	if err != nil {
		legacyErr = joinAttempt(legacyErr, "in the newest protocol", err)
	}
	if via != "" || ctx.Err() != nil || !maybeSSE(legacyErr) {
		return nil, legacyErr
	}
	s, sseErr := l.tryLegacy(ctx, viaSSE, from, nil)
	if sseErr != nil {
		return nil, joinAttempt(legacyErr, "as HTTP+SSE", sseErr)
	}
	return s, nil
}

// joinAttempt is err with what another way came to.
func joinAttempt(err error, how string, other error) error {
	var f, o *Failure
	if !errors.As(err, &f) || !errors.As(other, &o) || f.Err.Error() == o.Err.Error() {
		return err
	}
	same := sameButDigits(o.Said, f.Said)
	if same && strings.HasPrefix(f.Said, ended) { // it died of the same both times
		return err
	}
	both := *f
	both.Err = fmt.Errorf("%w; %s: %v", f.Err, how, o.Err)
	if o.Said != "" && !same {
		both.Err = fmt.Errorf("%w; %s", both.Err, o.Said)
	}
	return &both
}

// sameButDigits compares what a server said twice: times, ports and process ids differ.
func sameButDigits(a, b string) bool {
	zero := func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return r
	}
	return strings.Map(zero, a) == strings.Map(zero, b)
}

// final reports a failure that no other era mends.
func final(err error) bool {
	var f *Failure
	var refused refusedError
	var dial *net.OpError
	var wrong mistake
	return errors.As(err, &f) && f.Phase == PhaseStart || errors.As(err, &wrong) ||
		errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &refused) &&
		(refused.status == http.StatusUnauthorized || refused.status == http.StatusForbidden)
}

// maybeSSE reports the refusals after which the specification has a client try HTTP+SSE (2025-11-25, basic/transports,
// backwards compatibility).
func maybeSSE(err error) bool {
	var refused refusedError
	return errors.As(err, &refused) &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, refused.status)
}

// refusedError is a connect that HTTP refused.
type refusedError struct {
	status int
	error
}

func (r refusedError) Unwrap() error { return r.error }

func (l *opener) try(ctx context.Context, limit time.Duration, via, version string, from start) (*session, error) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	secrets := secretsOf(l.server)
	s := &session{server: l.name, wire: newWire(l.o.MaxFrame, l.meter), via: via, gone: make(chan struct{}),
		redact: redactor(inErrors(l.server, secrets)), refusal: l.refusal}
	if only := redactor(secrets); len(secrets) > 0 {
		s.hide = func(raw json.RawMessage) json.RawMessage { return hideIn(raw, only) }
	}
	s.wire.progress, s.wire.redact = s.progress, s.redact
	transport, err := l.start(s, from)
	if err != nil {
		s.close()
		return nil, &Failure{Server: l.name, Phase: PhaseStart, Outcome: trajectory.InfrastructureError, Err: err}
	}
	ctx, x := withExchange(ctx)
	s.client, err = l.connect(ctx, s, transport, version)
	phase := PhaseConnect
	if err == nil && l.listed {
		phase = PhaseList
		_, err = listTools(ctx, s)
	}
	if err == nil {
		go func() {
			s.client.Wait()
			close(s.gone)
		}()
		s.release = append(s.release, func() { <-s.gone })
		return s, nil
	}
	spoken, _ := s.wire.greeting()
	if how := s.wire.framingText(); how != "" {
		err = framingError(how)
	} else if spoken != "" && strings.Contains(err.Error(), "unsupported protocol version") {
		err = otherVersion(spoken)
	} else if ctx.Err() != nil && parent.Err() == nil {
		err = noAnswer(limit)
		if came := s.instead(s.wire.lastStray()); came != "" {
			err = said{err.Error() + came, err}
		}
	} else if failed := x.outcome().errors; len(failed) > 0 {
		var answered *jsonrpc.Error
		text := strings.Join(slices.Compact(failed), "; ")
		if !errors.As(err, &answered) { // the SDK refuses what was answered, or saw the connection end
			text = err.Error() + "; before it, " + text
		}
		err = said{text, err}
	}
	if status := s.wire.lastStatus(); status != 0 && ctx.Err() == nil {
		err = refusedError{status, err}
	}
	s.close() // first, so that stderr is complete
	return nil, s.failureUnder(parent, phase, err)
}

// noAnswer is what a server gave within a limit.
type noAnswer time.Duration

func (limit noAnswer) Error() string { return fmt.Sprintf("no answer in %s", time.Duration(limit)) }

// silent reports whether err is that a server did not answer.
func silent(err error) bool {
	var limit noAnswer
	return errors.As(err, &limit)
}

func (l *opener) connect(
	ctx context.Context, s *session, transport mcp.Transport, version string,
) (*mcp.ClientSession, error) {
	// The SDK does not end a connect that hangs on a write, so the process is ended at the deadline.
	stop := context.AfterFunc(ctx, func() {
		if s.conn != nil {
			s.conn.p.close()
		}
	})
	defer stop()
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // advertise nothing but what is set below
		Logger:       slog.New(slog.DiscardHandler),
	}
	if s.via == viaStdio { // over HTTP a subscription would hold a connection open for each session
		o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {} // the wire has seen it
	}
	if elicit := l.o.Elicit; elicit != nil {
		o.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			schema, err := json.Marshal(r.Params.RequestedSchema)
			if err != nil {
				return nil, err
			}
			action, content, err := elicit(ctx, l.name, r.Params.Message, schema)
			return &mcp.ElicitResult{Action: action, Content: content}, err
		}
	}
	if version >= modernEra {
		version = "" // the SDK probes only where it is free to choose
	} else if version > legacyEra || version == "" {
		version = legacyEra
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "hone", Version: "1"}, o)
	return client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// start makes the transport, and everything under it that the session has to release.
func (l *opener) start(s *session, from start) (mcp.Transport, error) {
	if l.server.URL != "" {
		server := l.server
		if from.host != "" {
			server.URL = inPod(server.URL, from.host)
		}
		t, closeIdle, err := httpTransport(server, s.via, s.wire, l.oauth, l.o.Elicit != nil)
		if err == nil {
			s.release = append(s.release, closeIdle)
		}
		return t, err
	}
	env := maps.Clone(l.base)
	if env == nil {
		env = map[string]string{}
	}
	place, folder := func(text string) string { return text }, ""
	alone := l.server.Isolation == PerProcess || l.server.Isolation == PerReset
	if alone || l.usesDir() {
		root, work, err := l.makeDir(from)
		if root != "" {
			s.release = append(s.release, func() { l.removeDir(root) })
		}
		if err != nil {
			return nil, err
		}
		s.dir, folder = work, filepath.Dir(work)
		place = func(text string) string { return strings.ReplaceAll(text, EpisodeDir, work) }
		if alone {
			env["HOME"] = filepath.Join(root, "home")
		}
	}
	for key, value := range l.server.Env {
		env[key] = place(value)
	}
	argv := []string{place(l.server.Command)}
	for _, arg := range l.server.Args {
		argv = append(argv, place(arg))
	}
	var wrap func(*exec.Cmd) error
	if l.o.Wrap != nil {
		wrap = func(cmd *exec.Cmd) error { return l.o.Wrap(l.name, folder, cmd) }
	}
	p, err := startProcess(argv, env, place(l.server.Cwd), folder, l.o.MaxBytes, wrap)
	if err != nil {
		return nil, err
	}
	s.release = append(s.release, p.close)
	s.conn = newStdioConn(p, s.wire)
	return s.conn, nil
}
