package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hone/internal/chat/schema"
	"hone/internal/episode/environment"
)

// Pool opens sessions on the servers of a catalog, as isolated as each server's Isolation says. It implements
// environment.Tools and may be used from many goroutines.
type Pool struct {
	options Options
	servers []*poolServer

	// Admit says why a tool that a server lists in the midst of an episode, and that nobody has looked at, is not to be
	// offered; "" where it may be. Without it none is. It is to be set before the first episode.
	Admit func(server string, t Tool) (why string)

	mu    sync.Mutex
	tools *toolTable // replaced, never changed: an episode keeps the one it began with

	life    context.Context // of the fillers
	stop    context.CancelFunc
	fillers sync.WaitGroup
}

// toolTable is the tools as episodes see them.
type toolTable struct {
	bound map[string]*boundTool // by model name
	gone  map[string]bool       // tools of the catalog that their server no longer has
	names []string              // of all tools, sorted, for the text of an unknown one
}

// poolServer is one server of a pool.
type poolServer struct {
	opener  *opener
	timeout time.Duration
	tools   []Tool        // of the catalog
	warm    chan *session // unbuffered: each filler stands ready to hand over one
	opened  chan struct{} // holds one where an episode found none ready and opened a session
	turn    chan struct{} // holds one while an episode has its turn (takesTurns)

	toldChanged atomic.Bool // what changed in a session of one episode was told

	mu     sync.Mutex
	shared *session
	idle   []*session // isolation reset: used, and free for the next episode
	closed bool
}

// NewPool makes a pool of the servers that have tools in catalog. Nothing is connected yet except the warm processes,
// which start in the background. A server that config lacks is a *fault.Error. ctx bounds the pool's life.
func NewPool(ctx context.Context, config Config, catalog *Catalog, options Options) (*Pool, error) {
	p := &Pool{options: options.withDefaults(), tools: &toolTable{bound: map[string]*boundTool{}}}
	for i, from := range catalog.Servers {
		s, ok := config.Servers[from.Name]
		if !ok {
			return nil, unknown("server", from.Name, keysInOrder(config.Servers))
		}
		one, err := newPoolServer(from, s, config.Base, p.options)
		if err != nil {
			return nil, wrongly("an MCP server is configured wrongly", "server "+from.Name, err,
				"correct its entry in the MCP configuration; hone doctor then tries it")
		}
		for _, t := range from.Tools {
			p.tools.bound[t.ModelName] = bind(t, i)
		}
		p.servers = append(p.servers, one)
	}
	p.tools.names = keysInOrder(p.tools.bound)
	ctx, p.stop = context.WithCancel(ctx)
	p.life = ctx
	for _, s := range p.servers {
		if p.warms(s) {
			for range p.options.Warm {
				p.fillers.Go(func() { s.fill(ctx) })
			}
		}
	}
	return p, nil
}

func newPoolServer(from ServerTools, s Server, base map[string]string, o Options) (*poolServer, error) {
	if s.Reset != nil && s.Reset.From != "" { // a link of the user's: later it could be one of the server's
		if to, err := filepath.EvalSymlinks(s.Reset.To); err == nil {
			r := *s.Reset
			r.To, s.Reset = to, &r
		}
	}
	l, err := newOpener(from.Name, s, base, o)
	if err != nil {
		return nil, err
	}
	l.era = from.Era
	if s.URL != "" && from.Transport != "" {
		l.via = from.Transport
	}
	one := &poolServer{opener: l, timeout: o.Timeout, tools: from.Tools, warm: make(chan *session),
		opened: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	if s.Timeout > 0 {
		one.timeout = time.Duration(s.Timeout)
	}
	for _, t := range from.Tools {
		if s.URL != "" && strings.Contains(string(t.InputSchema), `"x-mcp-header"`) {
			l.listed = true
		}
	}
	return one, nil
}

// Keep has n sessions kept ready from now on of each server that keeps any, where Options.Warm says fewer: for who
// opens many at once.
func (p *Pool) Keep(n int) {
	for _, s := range p.servers {
		if p.warms(s) {
			for range n - p.options.Warm {
				p.fillers.Go(func() { s.fill(p.life) })
			}
		}
	}
	p.options.Warm = max(n, p.options.Warm)
}

// warms reports whether sessions of a server can be ready before an episode asks.
func (p *Pool) warms(s *poolServer) bool {
	return p.options.Warm > 0 && s.opener.server.Isolation != Shared && s.opener.server.URL == "" &&
		!s.opener.showsDir()
}

// fill keeps one process ready until ctx ends. After a failure, and where a process ended before it was used, it waits
// until an episode has opened one itself: a server that does not start is not started in a circle.
func (s *poolServer) fill(ctx context.Context) {
	for {
		ready, err := s.opener.openFrom(ctx, start{})
		if err == nil {
			select {
			case s.warm <- ready:
				continue
			case <-ready.gone:
			case <-ctx.Done():
			}
			ready.close()
		}
		select {
		case <-s.opened:
		case <-ctx.Done():
			return
		}
	}
}

// fresh returns a session nobody has used, a warm one if there is one that began as this one is to.
func (s *poolServer) fresh(ctx context.Context, from start) (*session, error) {
	if from.template == "" {
		select {
		case ready := <-s.warm:
			if !ready.dead() {
				return ready, nil
			}
			ready.close()
		default:
		}
	}
	if !s.opener.showsDir() {
		from.episode = ""
	}
	own, err := s.opener.openFrom(ctx, from)
	if err == nil {
		select {
		case s.opened <- struct{}{}:
		default:
		}
	}
	return own, err
}

// common returns the session all episodes share, a new one if the last has died.
func (s *poolServer) common(ctx context.Context) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("server %s: the pool is closed", s.opener.name)
	}
	if s.shared != nil && s.shared.dead() {
		s.shared.close()
		s.shared = nil
	}
	if s.shared == nil {
		opened, err := s.opener.openFrom(ctx, start{})
		if err != nil {
			return nil, err
		}
		s.shared = opened
	}
	return s.shared, nil
}

// Open gives one episode its sessions. The error, a *Failure inside, says which server failed, and what it wrote to
// stderr.
func (p *Pool) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	folders, err := p.templates(templates)
	if err != nil {
		return nil, fmt.Errorf("episode %s: %w", episode, err)
	}
	e := &Episode{pool: p, id: episode, own: make([]*session, len(p.servers)), heard: make([]hearing, len(p.servers)),
		looked: make([]int, len(p.servers))}
	for _, s := range p.servers { // always in this order, or two episodes could wait for each other
		if s.takesTurns() {
			if err := s.takeTurn(ctx); err != nil {
				e.Close()
				return nil, fmt.Errorf("episode %s: %w", episode, err)
			}
			e.turns = append(e.turns, s)
		}
	}
	errs := make([]error, len(p.servers))
	var wg sync.WaitGroup
	for i, s := range p.servers {
		wg.Go(func() {
			var got *session
			switch s.opener.server.Isolation {
			case Shared:
				got, errs[i] = s.common(ctx)
			case PerReset:
				got, errs[i] = s.borrow(ctx)
				e.own[i] = got
			default:
				got, errs[i] = s.fresh(ctx, start{episode: episode, template: folders[s.opener.name]})
				e.own[i] = got
			}
			e.hear(i, got)
			if errs[i] == nil && s.opener.meter.takeChange() {
				errs[i] = p.reread(ctx, i, got)
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		e.Close()
		return nil, fmt.Errorf("episode %s: %w", episode, errs[i])
	}
	p.mu.Lock()
	e.tools = p.tools
	p.mu.Unlock()
	return e, nil
}

// Stats returns what is known of each server, in catalog order.
func (p *Pool) Stats() []Stats {
	var all []Stats
	for _, s := range p.servers {
		all = append(all, s.opener.meter.read())
	}
	return all
}

// Close ends the warm, the idle and the shared sessions. Episodes still open keep theirs until they are closed.
func (p *Pool) Close() error {
	p.stop()
	p.fillers.Wait()
	for _, s := range p.servers {
		s.mu.Lock()
		s.closed = true
		ended := s.idle
		if s.shared != nil {
			ended = append(ended, s.shared)
		}
		s.shared, s.idle = nil, nil
		s.mu.Unlock()
		for _, session := range ended {
			session.close()
		}
	}
	return nil
}

// Defaults returns the defaults that a tool's inputSchema states for its top-level properties, by model name, for
// grading; nil for an unknown tool.
func (c *Catalog) Defaults() func(tool string) map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	for _, t := range c.Tools() {
		text, err := schema.Defaults(t.InputSchema, "{}")
		if err != nil {
			continue
		}
		defaults := map[string]json.RawMessage{}
		if json.Unmarshal([]byte(text), &defaults) == nil {
			all[t.Name] = defaults
		}
	}
	return func(tool string) map[string]json.RawMessage { return all[tool] }
}
