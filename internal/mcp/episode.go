package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/episode/trajectory"
)

// Episode is one episode's view of the servers. It implements environment.Session.
type Episode struct {
	pool  *Pool
	id    string
	own   []*session    // by server; nil where the server is shared
	heard []hearing     // by server
	turns []*poolServer // that no other episode has now
	tools *toolTable

	looked []int // by server: how often it had said that its tools changed when newcomers were last looked for

	closing sync.Once
}

// hearing is a session, and how much it had written to stderr when the episode got it.
type hearing struct {
	session *session
	from    int64
}

// hear begins to listen to a server.
func (e *Episode) hear(i int, s *session) {
	if s == nil || s.conn == nil {
		return
	}
	e.heard[i].session = s
	if isolation := e.pool.servers[i].opener.server.Isolation; isolation == Shared || isolation == PerReset {
		e.heard[i].from = s.conn.p.stderr.numWritten()
	}
}

// tell tells what a server wrote to stderr.
func (e *Episode) tell(i int) {
	h := e.heard[i]
	if e.pool.options.Stderr != nil && h.session != nil {
		e.pool.options.Stderr(e.id, e.pool.servers[i].opener.name,
			h.session.redact.Replace(h.session.conn.p.stderr.since(h.from)))
	}
}

// Call runs the calls of one turn at the same time, Options.Parallel of them at once, and returns results in call
// order.
func (e *Episode) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := make([]trajectory.ToolResult, len(calls))
	one := func(i int) { results[i] = e.callInTime(ctx, calls[i], &e.pool.options) }
	defer func() {
		if told := e.offerNewcomers(ctx); told != "" && len(calls) > 0 {
			results[len(calls)-1].Text += told
		}
	}()
	if len(calls) == 1 {
		one(0)
		return results
	}
	slots := make(chan struct{}, e.pool.options.Parallel)
	var wg sync.WaitGroup
	for i := range calls {
		slots <- struct{}{}
		wg.Go(func() {
			one(i)
			<-slots
		})
	}
	wg.Wait()
	return results
}

// Probe makes a call whose text is cut only where it is too long for the record.
func (e *Episode) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	o := e.pool.options
	o.MaxResult = max(o.MaxResult, o.MaxRecord)
	return e.callInTime(ctx, call, &o)
}

func (e *Episode) callInTime(ctx context.Context, call chat.ToolCall, o *Options) trajectory.ToolResult {
	began := time.Now()
	r := e.call(ctx, call, o)
	r.Call, r.Seconds = call, time.Since(began).Seconds()
	return r
}

func (e *Episode) call(ctx context.Context, call chat.ToolCall, o *Options) trajectory.ToolResult {
	tool, ok := e.tools.bound[call.Name]
	if !ok {
		if one, is := e.newcomers(ctx, nil)[call.Name]; is && one.why == "" {
			return o.failedResult(trajectory.CallInvalid,
				fmt.Sprintf("the tool %q has just come up; call it in the next turn", call.Name))
		} else if is {
			return o.failedResult(
				trajectory.CallInvalid, fmt.Sprintf("the tool %q came up after this conversation began, "+
					"and is not offered: %s; the tools are: %s", call.Name, one.why, e.tools.some()),
			)
		}
		return o.failedResult(trajectory.CallInvalid,
			fmt.Sprintf("unknown tool %q; the tools are: %s", call.Name, e.tools.some()))
	}
	if e.tools.gone[call.Name] {
		return o.failedResult(trajectory.CallInvalid, fmt.Sprintf("the server no longer has the tool %q", call.Name))
	}
	if verdict, why := tool.input.Validate(call.Arguments); verdict == schema.Invalid {
		return o.failedResult(trajectory.CallInvalid,
			fmt.Sprintf("invalid arguments for %s: %s", call.Name, joinReasons(why)))
	}
	server := e.pool.servers[tool.server]
	for attempt := 0; ; attempt++ {
		s := e.own[tool.server]
		if s == nil {
			var err error
			if s, err = server.common(ctx); err != nil {
				return o.lostResult(trajectory.CallTransportError, OutcomeOf(err), err.Error())
			}
		}
		began := time.Now()
		r, again := s.call(ctx, tool, call.Arguments, server.timeout, o)
		server.opener.meter.noteCall(tool.name, r, time.Since(began))
		// An own session that died took the episode's state with it: another one would answer from a different world.
		if !again || attempt >= o.Retries || e.own[tool.server] != nil && s.dead() || !pause(ctx, attempt) {
			return r
		}
		server.opener.meter.count(func(stats *Stats) { stats.Repeated++ })
	}
}

// pause waits before a call is made again, longer each time, and reports whether ctx let it.
func pause(ctx context.Context, attempt int) bool {
	timer := time.NewTimer(50 * time.Millisecond << attempt)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// some lists tools for a model that asked for one that is not there, few enough to be read.
func (t *toolTable) some() string {
	const most = 40
	if len(t.names) <= most {
		return strings.Join(t.names, ", ")
	}
	return strings.Join(t.names[:most], ", ") + ", ..."
}

func joinReasons(reasons []schema.Reason) string {
	var texts []string
	for _, r := range reasons {
		texts = append(texts, r.String())
	}
	return strings.Join(texts, "; ")
}

// Close ends the episode's own sessions and removes its folders; those that are reset go back to the pool. It returns
// when they are gone.
func (e *Episode) Close() error {
	e.closing.Do(func() {
		var wg sync.WaitGroup
		for i := range e.own { // before others use them
			if e.own[i] == nil || e.pool.servers[i].opener.server.Isolation == PerReset {
				e.tell(i)
			}
		}
		for i, s := range e.own {
			switch {
			case s == nil:
			case e.pool.servers[i].opener.server.Isolation == PerReset:
				wg.Go(func() { e.pool.servers[i].giveBack(s) })
			default:
				wg.Go(func() {
					e.pool.servers[i].tellChanges(s, e.pool.options.Changed)
					s.close()
					e.tell(i)
				})
			}
		}
		wg.Wait()
		for _, s := range e.turns {
			<-s.turn
		}
	})
	return nil
}
