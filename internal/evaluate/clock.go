package evaluate

import (
	"context"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/policy"
)

// clock tells where the time of an evaluation goes. A moment in which any model works is the model's; else, in which any tool works, the
// tools'; all other is orchestration: hone's own work while nobody else does anything.
type clock struct {
	mu                  sync.Mutex
	since               time.Time
	running             bool
	models, tools       int // at work
	model, tool, itself time.Duration
}

// to books the time since the last change, then makes one.
func (c *clock) to(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.running {
		spent := now.Sub(c.since)
		switch {
		case c.models > 0:
			c.model += spent
		case c.tools > 0:
			c.tool += spent
		default:
			c.itself += spent
		}
	}
	c.since = now
	change()
}

func (c *clock) run()        { c.to(func() { c.running = true }) }
func (c *clock) pause()      { c.to(func() { c.running = false }) }
func (c *clock) speak(n int) { c.to(func() { c.models += n }) }
func (c *clock) work(n int)  { c.to(func() { c.tools += n }) }

// parts are the seconds of each.
func (c *clock) parts() []eval.Part {
	c.to(func() {})
	return []eval.Part{{Name: "models", Seconds: c.model.Seconds()}, {Name: "tools", Seconds: c.tool.Seconds()},
		{Name: "orchestration", Seconds: c.itself.Seconds(), Orchestration: true}}
}

// watch books what the tools of an environment take, and the users.
func (c *clock) watch(o *environment.Options) {
	o.Tools = timedTools{o.Tools, c}
	if o.User != nil {
		o.User = timedUser{o.User, c}
	}
}

// timedUser books what a simulated user takes to speak: it is a model.
type timedUser struct {
	environment.User
	clock *clock
}

// Begin implements environment.User.
func (u timedUser) Begin(s scenario.Scenario, t *trajectory.Trajectory) environment.Partner {
	return timedPartner{u.User.Begin(s, t), u.clock}
}

type timedPartner struct {
	environment.Partner
	clock *clock
}

// Say implements environment.Partner.
func (p timedPartner) Say(ctx context.Context, messages []chat.Message) (environment.Words, error) {
	p.clock.speak(1)
	defer p.clock.speak(-1)
	return p.Partner.Say(ctx, messages)
}

// timedSampler books sampling.
type timedSampler struct {
	policy.Sampler
	clock *clock
}

// Sample implements policy.Sampler.
func (s timedSampler) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	s.clock.speak(1)
	defer s.clock.speak(-1)
	return s.Sampler.Sample(ctx, r)
}

// timedTools books what servers take, to start and to end too.
type timedTools struct {
	environment.Tools
	clock *clock
}

// Open implements environment.Tools.
func (t timedTools) Open(ctx context.Context, episode string, templates ...environment.Template) (environment.Session, error) {
	t.clock.work(1)
	defer t.clock.work(-1)
	s, err := t.Tools.Open(ctx, episode, templates...)
	if err != nil {
		return s, err
	}
	timed := timedSession{s, t.clock}
	if o, ok := s.(environment.Offering); ok {
		return timedOffering{timed, o}, nil
	}
	return timed, nil
}

type timedSession struct {
	environment.Session
	clock *clock
}

// Call implements environment.Session.
func (s timedSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	s.clock.work(1)
	defer s.clock.work(-1)
	return s.Session.Call(ctx, calls)
}

// Probe implements environment.Session.
func (s timedSession) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	s.clock.work(1)
	defer s.clock.work(-1)
	return s.Session.Probe(ctx, call)
}

// Close implements environment.Session.
func (s timedSession) Close() error {
	s.clock.work(1)
	defer s.clock.work(-1)
	return s.Session.Close()
}

// timedOffering is a timedSession whose tools become more.
type timedOffering struct {
	timedSession
	of environment.Offering
}

// Offered implements environment.Offering.
func (s timedOffering) Offered() []chat.Tool { return s.of.Offered() }
