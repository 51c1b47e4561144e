package mcp

import (
	"context"
	"sync"
	"time"
)

// longestWait is how many time-outs a call may take whose server reports progress. The specification has a client reset
// the clock at a report, and always enforce a maximum (2025-11-25, basic/lifecycle, timeouts).
const longestWait = 10

// patience is a context that ends after a time-out, unless more is called meanwhile.
type patience struct {
	context.Context
	cancel context.CancelFunc
	each   time.Duration
	last   time.Time // when it ends whatever is reported

	mu    sync.Mutex
	timer *time.Timer
	first time.Time // the deadline of what is written, which no progress puts off
	heard int       // reports
}

func patient(ctx context.Context, each time.Duration) *patience {
	p := &patience{each: each, last: time.Now().Add(longestWait * each), first: time.Now().Add(each)}
	p.Context, p.cancel = context.WithCancel(ctx)
	p.timer = time.AfterFunc(each, p.cancel)
	return p
}

// Deadline implements context.Context.
func (p *patience) Deadline() (time.Time, bool) {
	if deadline, ok := p.Context.Deadline(); ok && deadline.Before(p.first) {
		return deadline, true
	}
	return p.first, true
}

// more puts the end off, for the server is at work.
func (p *patience) more() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard++
	if p.timer.Stop() { // else it has ended
		p.timer.Reset(min(p.each, max(0, time.Until(p.last))))
	}
}

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel()
}

// waitText says how long the call was waited for.
func (p *patience) waitText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.heard == 0:
		return "no answer within " + p.each.String()
	case !time.Now().Before(p.last):
		return "no answer within " + (longestWait * p.each).String() + ", though it reported progress"
	}
	return "no answer within " + p.each.String() + " of its last report of progress"
}
