package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"hone/internal/episode/environment"
)

// sessions are those of an agent's clients on the tools' servers, each apart from the others.
type sessions struct {
	agent *Agent

	mu     sync.Mutex
	open   map[*openSession]bool
	named  map[sessionKey]*openSession
	closed bool
}

// sessionKey is whose session it is, and its name: keys see no sessions of each other.
type sessionKey struct {
	owner int
	name  string
}

type openSession struct {
	environment.Session
	key  sessionKey
	busy bool
	idle *time.Timer // closes it
}

func newSessions(g *Agent) *sessions {
	return &sessions{agent: g, open: map[*openSession]bool{}, named: map[sessionKey]*openSession{}}
}

// take finds a session, or opens one. It is the caller's alone until give.
func (k *sessions) take(ctx context.Context, key sessionKey) (*openSession, error) {
	k.mu.Lock()
	x := k.named[key]
	switch {
	case k.closed:
		k.mu.Unlock()
		return nil, errDraining
	case x != nil && x.busy:
		k.mu.Unlock()
		return nil, &apiError{http.StatusConflict, "invalid_request_error", sessionHeader, "session_busy",
			"a task of this session is under way"}
	case x != nil:
		x.busy = true
		x.idle.Stop()
		k.mu.Unlock()
		return x, nil
	case len(k.open) >= k.agent.MaxSessions:
		k.mu.Unlock()
		return nil, &apiError{http.StatusTooManyRequests, "rate_limit_error", "", "no_session",
			"as many sessions are open as this server has"}
	}
	x = &openSession{key: key, busy: true}
	k.open[x] = true
	if key.name != "" {
		k.named[key] = x
	}
	k.mu.Unlock()
	var err error
	if x.Session, err = k.agent.Tools.Open(ctx, newID("session")); err != nil {
		k.forget(x)
		return nil, errors.Join(errors.New("the tools' servers cannot be opened"), err)
	}
	return x, nil
}

// give gives back what take took: a session with a name waits for its next task, another one ends.
func (k *sessions) give(x *openSession) {
	k.mu.Lock()
	keep := x.key.name != "" && !k.closed
	if keep {
		x.busy = false
		x.idle = time.AfterFunc(k.agent.Idle, func() { k.expire(x) })
	}
	k.mu.Unlock()
	if !keep {
		k.forget(x)
		_ = x.Close() // the task has its answer, whatever the servers say to that
	}
}

func (k *sessions) expire(x *openSession) {
	k.mu.Lock()
	busy := x.busy || !k.open[x] // taken, or closed, just now
	x.busy = x.busy || !busy
	k.mu.Unlock()
	if !busy {
		k.forget(x)
		_ = x.Close()
	}
}

func (k *sessions) forget(x *openSession) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, x)
	if k.named[x.key] == x {
		delete(k.named, x.key)
	}
}

// close ends the sessions that wait; those of tasks under way end with them.
func (k *sessions) close() {
	k.mu.Lock()
	k.closed = true
	var waiting []*openSession
	for x := range k.open {
		if !x.busy && x.idle.Stop() {
			x.busy = true
			waiting = append(waiting, x)
		}
	}
	k.mu.Unlock()
	for _, x := range waiting {
		k.forget(x)
		_ = x.Close()
	}
}
