package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/episode/rollout"
	"hone/internal/fault"
	"hone/internal/schema"
)

// Options are the limits of a pool; the zero value of each is its default.
type Options struct {
	Timeout        time.Duration // of one call; 60 s
	ConnectTimeout time.Duration // of one connect; 60 s, since npx and uvx may download first
	MaxResult      int           // bytes of one result that the model is shown; 8000
	Parallel       int           // calls of one turn that run at once; 8
	Warm           int           // ready processes kept per stdio server; 1, negative for none
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 60 * time.Second
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 60 * time.Second
	}
	if o.MaxResult <= 0 {
		o.MaxResult = 8000
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.Warm == 0 {
		o.Warm = 1
	}
	return o
}

// Pool opens sessions on the servers of a catalog, as isolated as each server's Isolation says. It implements
// rollout.Tools and may be used from many goroutines.
type Pool struct {
	options Options
	servers []*poolServer
	tools   map[string]*poolTool // by model name
	names   []string             // of all tools, sorted, for the text of an unknown one

	stop    context.CancelFunc
	fillers sync.WaitGroup
}

type poolTool struct {
	server int // index in Pool.servers
	name   string
	schema *schema.Schema
}

// poolServer is one server of a pool.
type poolServer struct {
	launcher launcher
	timeout  time.Duration
	warm     chan *session // unbuffered: each filler stands ready to hand over one

	mu     sync.Mutex
	shared *session
	closed bool
}

// NewPool makes a pool of the servers that have tools in catalog. Nothing is connected yet except the warm processes,
// which start in the background. A server that config lacks is a *fault.Error. ctx bounds the pool's life.
func NewPool(ctx context.Context, config Config, catalog *Catalog, options Options) (*Pool, error) {
	p := &Pool{options: options.withDefaults(), tools: map[string]*poolTool{}}
	for i, from := range catalog.Servers {
		s, ok := config.Servers[from.Name]
		if !ok {
			return nil, unknown("server", from.Name, sortedKeys(config.Servers))
		}
		s = s.withDefaults()
		if err := s.check(); err != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "an MCP server is configured wrongly", Where: from.Name, Err: err}
		}
		one := &poolServer{timeout: p.options.Timeout, warm: make(chan *session), launcher: launcher{name: from.Name,
			server: s, base: config.Base, limit: p.options.ConnectTimeout, probe: probeLimit, era: from.Era}}
		if s.Timeout > 0 {
			one.timeout = time.Duration(s.Timeout)
		}
		for _, t := range from.Tools {
			p.tools[t.ModelName] = &poolTool{server: i, name: t.Name, schema: schema.Compile(t.InputSchema)}
			if s.URL != "" && strings.Contains(string(t.InputSchema), `"x-mcp-header"`) {
				one.launcher.listed = true
			}
		}
		p.servers = append(p.servers, one)
	}
	p.names = sortedKeys(p.tools)
	ctx, p.stop = context.WithCancel(ctx)
	for _, s := range p.servers {
		if s.launcher.server.Isolation == Shared || s.launcher.server.URL != "" {
			continue
		}
		for range p.options.Warm {
			p.fillers.Go(func() { s.fill(ctx) })
		}
	}
	return p, nil
}

// fill keeps one process ready until ctx ends. It stops at the first failure, which the next Open then meets itself.
func (s *poolServer) fill(ctx context.Context) {
	for {
		ready, err := s.launcher.open(ctx)
		if err != nil {
			return
		}
		select {
		case s.warm <- ready:
		case <-ready.gone:
			ready.close()
			return
		case <-ctx.Done():
			ready.close()
			return
		}
	}
}

// fresh returns a session nobody has used, a warm one if there is one.
func (s *poolServer) fresh(ctx context.Context) (*session, error) {
	select {
	case ready := <-s.warm:
		if !ready.dead() {
			return ready, nil
		}
		ready.close()
	default:
	}
	return s.launcher.open(ctx)
}

// common returns the session all episodes share, a new one if the last has died.
func (s *poolServer) common(ctx context.Context) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("server %s: the pool is closed", s.launcher.name)
	}
	if s.shared != nil && s.shared.dead() {
		s.shared.close()
		s.shared = nil
	}
	if s.shared == nil {
		opened, err := s.launcher.open(ctx)
		if err != nil {
			return nil, err
		}
		s.shared = opened
	}
	return s.shared, nil
}

// Open gives one episode its sessions. The error says which server failed, and what it wrote to stderr.
func (p *Pool) Open(ctx context.Context, episode string) (rollout.Session, error) {
	e := &Episode{pool: p, id: episode, own: make([]*session, len(p.servers))}
	errs := make([]error, len(p.servers))
	var wg sync.WaitGroup
	for i, s := range p.servers {
		wg.Go(func() {
			if s.launcher.server.Isolation == Shared {
				_, errs[i] = s.common(ctx)
			} else {
				e.own[i], errs[i] = s.fresh(ctx)
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		e.Close()
		return nil, fmt.Errorf("episode %s: %w", episode, errs[i])
	}
	return e, nil
}

// Close ends the warm and the shared sessions. Episodes still open keep theirs until they are closed.
func (p *Pool) Close() error {
	p.stop()
	p.fillers.Wait()
	for _, s := range p.servers {
		s.mu.Lock()
		s.closed = true
		if s.shared != nil {
			s.shared.close()
			s.shared = nil
		}
		s.mu.Unlock()
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
