package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/run/metrics"
)

// table are the sessions of all dialects.
type table struct {
	o        Options
	metrics  *metrics.Meter
	life     context.Context // of all sessions
	stop     context.CancelCauseFunc
	slots    chan struct{} // holds one for each episode whose servers there are
	draining chan struct{} // closed when no session may begin
	under    sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session
	rollouts map[string]int // by scenario: episodes that were begun
	closing  bool
	broken   error // why a record could not be kept
}

var (
	errFull = errors.New("as many sessions are open as this server has; hone env serve --max-sessions " +
		"sets how many")
	errDraining = errors.New("the server shuts down")
	errGone     = errors.New("the client closed the session")
	errIdle     = errors.New("the session was idle for too long")
)

func newTable(o Options, m *metrics.Meter) *table {
	x := &table{o: o, metrics: m, slots: make(chan struct{}, o.MaxSessions), draining: make(chan struct{}),
		sessions: map[string]*session{}, rollouts: map[string]int{}}
	x.life, x.stop = context.WithCancelCause(context.Background())
	return x
}

// begin gives a scenario a session, once one of the slots is free. Its servers open in the background.
func (x *table) begin(ctx context.Context, s *scenario.Scenario) (*session, error) {
	messages, tools, err := x.o.Environment.Shows(*s)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := x.takeSlot(ctx); err != nil {
		return nil, err
	}
	x.metrics.Observe(waitTime, "", time.Since(began))
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closing {
		<-x.slots
		return nil, errDraining
	}
	n := x.rollouts[s.ID]
	x.rollouts[s.ID]++
	e := newSession(x, s, n, messages, tools)
	x.sessions[e.id] = e
	x.under.Go(e.run)
	return e, nil
}

func (x *table) takeSlot(ctx context.Context) error {
	wait := time.NewTimer(x.o.Wait)
	defer wait.Stop()
	select {
	case x.slots <- struct{}{}:
		return nil
	case <-x.draining:
		return errDraining
	case <-wait.C:
		return errFull
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find is a session by its id, nil where there is none.
func (x *table) find(id string) *session {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sessions[id]
}

func (x *table) forget(e *session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.sessions, e.id)
}

// active is the number of episodes under way.
func (x *table) active() int { return len(x.slots) }

// keep keeps the record of an episode that says something: one in which the policy did something, or that failed.
func (x *table) keep(t *trajectory.Trajectory, score trajectory.Score) {
	if len(t.Turns) == 0 && t.StopReason == trajectory.StopCancelled {
		return
	}
	if err := x.o.Records.Keep(t, score); err != nil {
		x.o.Logger.Error("the record of an episode could not be kept", "episode", t.ID, "error", err)
		x.mu.Lock()
		x.broken = errors.Join(x.broken, fmt.Errorf("keeping the record of %s: %w", t.ID, err))
		x.mu.Unlock()
	}
}

// lossError says why records are lost, nil where none is.
func (x *table) lossError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.broken
}

// drain lets no session begin, waits so long for those under way, and ends the rest.
func (x *table) drain(grace time.Duration) {
	x.mu.Lock()
	if !x.closing {
		x.closing = true
		close(x.draining)
	}
	x.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		x.under.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-time.After(grace):
	}
	x.stop(errDraining)
	<-ended
}

// newID names a session. Who knows it may use it, so it cannot be guessed.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
