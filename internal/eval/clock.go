package eval

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

// clock tells where the time of an evaluation goes. What models, tools and users take is added up over the episodes,
// many of which run at once; what is left of an episode's time, from the opening of its servers to their end, is
// orchestration: hone's own work and waiting.
type clock struct {
	mu                          sync.Mutex
	model, tool, user, episodes time.Duration // sums
	open                        int           // episodes under way
	running                     bool
	since                       time.Time // the last change of the two
	wall, idle                  time.Duration
}

// book adds the time until the function that it returns is called to a sum.
func (c *clock) book(sum *time.Duration) func() {
	began := time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		*sum += time.Since(began)
	}
}

// to books the time since the last change, then makes one.
func (c *clock) to(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if spent := now.Sub(c.since); c.running {
		if c.wall += spent; c.open == 0 {
			c.idle += spent
		}
	}
	c.since = now
	change()
}

func (c *clock) run()   { c.to(func() { c.running = true }) }
func (c *clock) pause() { c.to(func() { c.running = false }) }

// episode begins one, which ends when the function that it returns is called.
func (c *clock) episode() func() {
	c.to(func() { c.open++ })
	end := c.book(&c.episodes)
	return func() { end(); c.to(func() { c.open-- }) }
}

// parts are the seconds of each, added up over the episodes.
func (c *clock) parts() []stats.Part {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := max(0, c.episodes-c.model-c.tool-c.user)
	return []stats.Part{
		{Name: stats.ModelsPart, Seconds: c.model.Seconds()}, {Name: "tools", Seconds: c.tool.Seconds()},
		{Name: "users", Seconds: c.user.Seconds()},
		{Name: "orchestration", Seconds: own.Seconds(), Orchestration: true},
	}
}

// summary is how long it took by the clock on the wall, and how long of that no episode ran.
func (c *clock) summary() string {
	c.to(func() {})
	return fmt.Sprintf("%s, %s of it before, between and after episodes",
		c.wall.Round(time.Millisecond), c.idle.Round(time.Millisecond))
}

// watch books what the tools of an environment take, and the users.
func (c *clock) watch(o *environment.Options) {
	o.Tools = timedTools{o.Tools, c}
	if o.User != nil {
		o.User = timedUser{o.User, c}
	}
}

// timedUser books what a simulated user takes to speak.
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
	defer p.clock.book(&p.clock.user)()
	return p.Partner.Say(ctx, messages)
}

// timedSampler books sampling.
type timedSampler struct {
	policy.Sampler
	clock *clock
}

// Sample implements policy.Sampler.
func (s timedSampler) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	defer s.clock.book(&s.clock.model)()
	return s.Sampler.Sample(ctx, r)
}

// timedTools books what servers take, to start and to end too.
type timedTools struct {
	environment.Tools
	clock *clock
}

// Open implements environment.Tools.
func (t timedTools) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	end := t.clock.episode()
	defer t.clock.book(&t.clock.tool)()
	s, err := t.Tools.Open(ctx, episode, templates...)
	if err != nil {
		end()
		return s, err
	}
	timed := timedSession{s, t.clock, end}
	if o, ok := s.(environment.Offering); ok {
		return timedOffering{timed, o}, nil
	}
	return timed, nil
}

type timedSession struct {
	environment.Session
	clock *clock
	end   func() // of the episode
}

// Call implements environment.Session.
func (s timedSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	defer s.clock.book(&s.clock.tool)()
	return s.Session.Call(ctx, calls)
}

// Probe implements environment.Session.
func (s timedSession) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	defer s.clock.book(&s.clock.tool)()
	return s.Session.Probe(ctx, call)
}

// Close implements environment.Session.
func (s timedSession) Close() error {
	defer s.end()
	defer s.clock.book(&s.clock.tool)()
	return s.Session.Close()
}

// timedOffering is a timedSession whose tools become more.
type timedOffering struct {
	timedSession
	of environment.Offering
}

// CallableTools implements environment.Offering.
func (s timedOffering) CallableTools() []chat.Tool { return s.of.CallableTools() }
