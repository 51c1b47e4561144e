package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hone/internal/episode/trajectory"
)

// borrow returns a session for one episode alone, made as new: an idle one if there is one. Over HTTP it waits for the
// episode that has it.
func (s *poolServer) borrow(ctx context.Context) (*session, error) {
	if s.launcher.server.URL != "" {
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, &Failure{Server: s.launcher.name, Phase: PhaseReset, Outcome: trajectory.InfrastructureError,
				Err: fmt.Errorf("waiting for the episode before: %w", ctx.Err())}
		}
	}
	taken, err := s.clean(ctx)
	if err != nil && s.launcher.server.URL != "" {
		<-s.turn
	}
	return taken, err
}

func (s *poolServer) clean(ctx context.Context) (*session, error) {
	used := s.popIdle()
	if used != nil {
		if s.reset(ctx, used) == nil {
			return used, nil
		}
		used.close() // a fresh one may still do
	}
	opened, err := s.fresh(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := s.reset(ctx, opened); err != nil {
		opened.close()
		return nil, opened.failure(PhaseReset, err)
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
	if s.launcher.server.URL != "" {
		<-s.turn
	}
}

func (s *poolServer) reset(ctx context.Context, used *session) error {
	s.launcher.meter.count(func(stats *Stats) { stats.Resets++ })
	r := s.launcher.server.Reset
	if r.From != "" {
		return restore(r.From, strings.ReplaceAll(r.To, EpisodeDir, used.dir))
	}
	args := string(r.Arguments)
	if args == "" {
		args = "{}"
	}
	result, _ := used.call(ctx, &boundTool{name: r.Tool}, args, s.timeout, &s.launcher.o)
	if result.Status != trajectory.CallOK {
		return errors.New("the tool " + r.Tool + ": " + result.Text)
	}
	return nil
}
