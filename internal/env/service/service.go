// Package service lets the trainers of others run episodes: many sessions at once, each on servers of its own, in the
// environment that hone's own rollouts use. A session is told by its client what the policy calls and says, and tells
// what the tools answered and, when the episode is over, what it earned.
//
// There is one table of sessions. Each protocol is a dialect over it, one file: OpenEnv's, NeMo Gym's resources server,
// the Open Reward Standard. What holds of all of them:
//
//   - An episode that says nothing of the policy, since a server, this machine or a score failed, has no reward. It is
//     not 0.
//   - A session begins at once; its servers open meanwhile. A failure shows at its first call.
//   - A call that a client makes again, because it did not get the answer, is not made twice.
package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/run/metrics"
	"hone/internal/serve"
)

// Environment is where episodes take place, and what the policy is shown when one begins.
type Environment interface {
	environment.Environment
	Shows(s scenario.Scenario) ([]chat.Message, []chat.Tool, error)
}

// Records score episodes and keep them. They may be used from many goroutines.
type Records interface {
	// Score is what an episode that has ended earned. Its error says that this is not known.
	Score(ctx context.Context, s *scenario.Scenario, t *trajectory.Trajectory) (trajectory.Score, error)
	// Keep keeps the record of an episode with its score, when its servers are gone.
	Keep(t *trajectory.Trajectory, score trajectory.Score) error
}

// Options of a Server. Of the numbers 0 means the default in brackets.
type Options struct {
	Environment Environment
	Records     Records
	Scenarios   []scenario.Scenario // at least one
	Tools       []chat.Tool         // of all scenarios
	About       About
	MCP         func(of func(*http.Request) Callable) http.Handler // makes the MCP server of sessions

	Attempt     int           // which of the run's processes this is, from 1: episodes are named by it
	MaxSessions int           // episodes under way at once [64]
	Wait        time.Duration // for one of them to end, before a client is refused [50 s]
	Idle        time.Duration // without a step, after which a session is closed [30 min]
	Grace       time.Duration // given to episodes under way when the server ends [30 s]
	Retries     int           // of opening servers [2]
	Keys        []string      // that clients may send; required to serve on anything but loopback
	Logger      *slog.Logger  // nil: discarded
}

// About is what the server says of itself.
type About struct {
	Version         string
	MaxTurns        int      // calls and last words of an episode
	MaxToolCalls    int      // of an episode
	Catalog         string   // hash of the servers' tools
	ToolsByScenario bool     // scenarios are shown different tools, or more as they go on
	Unseen          []string // what of the configuration never acts here, and why
}

// Callable is a session as an MCP server sees it.
type Callable interface {
	Tools() []chat.Tool
	// CallTool makes a call. text is what the policy is shown; failed says that the tool reported an error, or that
	// there is no answer.
	CallTool(ctx context.Context, c chat.ToolCall) (text string, failed bool)
}

// Server answers the dialects. Make one with New.
type Server struct {
	o       Options
	tasks   *tasks
	table   *table
	metrics *metrics.Meter
	ending  atomic.Bool
	ors     ors
}

func (o *Options) settle() {
	for _, d := range []struct {
		field *time.Duration
		usual time.Duration
	}{{&o.Wait, 50 * time.Second}, {&o.Idle, 30 * time.Minute}, {&o.Grace, 30 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.usual
		}
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 64
	}
	if o.Retries == 0 {
		o.Retries = 2
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// New returns a server of some scenarios.
func New(o Options) (*Server, error) {
	if len(o.Scenarios) == 0 {
		return nil, errors.New("there is no scenario to serve")
	}
	o.settle()
	m := metrics.NewMeter(help())
	return &Server{o: o, tasks: newTasks(o.Scenarios), table: newTable(o, m), metrics: m,
		ors: ors{sessions: map[string]*orsSession{}}}, nil
}

// Serve answers on the listener until ctx is cancelled. Then no session begins; those under way may end within
// Options.Grace. It returns when all servers of sessions are gone and all records kept, and closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	f := s.front()
	f.Drain = func() {
		s.ending.Store(true)
		s.table.drain(s.o.Grace)
	}
	err := f.Serve(ctx, l, s.Handler())
	s.table.drain(0)
	return errors.Join(err, s.table.lossError())
}

func (s *Server) front() serve.Front {
	const last = 5 * time.Second // for answers that are being written
	return serve.Front{Keys: s.o.Keys, Grace: last, Logger: s.o.Logger}
}

// Handler answers all routes, for tests and for mounting under a server of the caller's.
func (s *Server) Handler() http.Handler { return s.front().Handler(s.routes()) }

func (s *Server) routes() []serve.Route {
	list := []serve.Route{
		{Method: "GET", Path: "/health", Open: true, Handle: s.health},
		{Method: "GET", Path: "/metrics", Handle: s.showMetrics},
	}
	list = append(list, s.taskRoutes()...)
	list = append(list, s.openEnvRoutes()...)
	list = append(list, s.nemoGymRoutes()...)
	return append(list, s.orsRoutes()...)
}

// health has the words of OpenEnv. A balancer takes away a server that is ending, or whose records are lost.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	switch {
	case s.ending.Load():
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "shutting down"})
	case s.table.lossError() != nil:
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "failed"})
	default:
		writeJSON(w, http.StatusOK, map[string]string{"status": "healthy"})
	}
}
