package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/episode/trajectory"
)

// takesTurns reports whether one episode at a time may have the server, for there is one state for all sessions: behind
// a URL, or in a place that is not the episode's own.
func (s *poolServer) takesTurns() bool {
	server := s.opener.server
	return server.Isolation == PerReset &&
		(server.URL != "" || server.Reset.From != "" && !strings.Contains(server.Reset.To, EpisodeDir))
}

// OneAtATime names the servers that one episode at a time may have.
func (p *Pool) OneAtATime() (names []string) {
	for _, s := range p.servers {
		if s.takesTurns() {
			names = append(names, s.opener.name)
		}
	}
	return names
}

// takeTurn waits for the episode before.
func (s *poolServer) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &Failure{Server: s.opener.name, Phase: PhaseReset, Outcome: trajectory.InfrastructureError,
			Err: fmt.Errorf("waiting for the episode before: %w", ctx.Err())}
	}
}

// borrow returns a session for one episode alone, made as new: an idle one if there is one.
func (s *poolServer) borrow(ctx context.Context) (*session, error) {
	used := s.popIdle()
	if used != nil {
		if s.reset(ctx, used) == nil {
			return used, nil
		}
		used.close() // a fresh one may still do
	}
	opened, err := s.fresh(ctx, start{})
	if err != nil {
		return nil, err
	}
	if err := s.reset(ctx, opened); err != nil {
		opened.close()
		return nil, opened.failureUnder(ctx, PhaseReset, err)
	}
	return opened, nil
}

func (s *poolServer) popIdle() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := len(s.idle); n > 0; n = len(s.idle) {
		last := s.idle[n-1]
		s.idle = s.idle[:n-1]
		if !last.dead() {
			return last
		}
		last.close()
	}
	return nil
}

// giveBack ends an episode's use of a session. One in which a call was left unfinished is not used again: the call may
// still change something.
func (s *poolServer) giveBack(used *session) {
	s.mu.Lock()
	keep := !s.closed && !used.dead() && !used.unfinished.Load()
	if keep {
		s.idle = append(s.idle, used)
	}
	s.mu.Unlock()
	if !keep {
		used.close()
	}
}

func (s *poolServer) reset(ctx context.Context, used *session) error {
	s.opener.meter.count(func(stats *Stats) { stats.Resets++ })
	r := s.opener.server.Reset
	if r.From != "" {
		return restoreFor(r, used.dir)
	}
	args := string(r.Arguments)
	if args == "" {
		args = "{}"
	}
	result, _ := used.call(ctx, &boundTool{name: r.Tool}, args, s.timeout, &s.opener.o)
	if result.Status != trajectory.CallOK {
		return errors.New("the tool " + r.Tool + ": " + result.Text)
	}
	return nil
}

// restoreFor copies From over To. The root is what the server cannot replace: the folder around the episode's own,
// which also holds its home, or of a fixed place the folder that it is in.
func restoreFor(r *Reset, dir string) error {
	to := strings.ReplaceAll(r.To, EpisodeDir, dir)
	base := filepath.Dir(to)
	if to != r.To {
		base = filepath.Dir(dir)
	}
	name, err := filepath.Rel(base, to)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	return restore(r.From, root, name)
}
