package mcp

import (
	"maps"
	"slices"
	"sync"
	"time"

	"hone/internal/episode/trajectory"
)

// Stats is what is known of one server from using it. Latencies are of the last samplesKept events.
type Stats struct {
	Server     string
	Era        string // the protocol version in use, "" before the first session
	Transport  string // stdio, http or sse
	Isolation  Isolation
	StrayLines int64  // what it sent that was no message
	Stray      string // the first of it, cut and escaped

	Sessions     int // opened
	OpenErrors   int
	OpenP50      time.Duration // until a session was ready, whether or not an episode waited for it
	OpenP95      time.Duration
	Calls        int // sent, repetitions included
	CallP50      time.Duration
	CallP95      time.Duration
	ToolErrors   int
	Timeouts     int
	Lost         int // calls without an answer, time-outs left out
	Repeated     int // calls that were made again
	Resets       int
	ListsChanged int

	Tools map[string]ToolStats // by the server's name of the tool; those that were called
}

// ToolStats is how a tool answered.
type ToolStats struct {
	Calls  int           // repetitions included; those that never reached the server are not
	Failed int           // of them: answered with an error, or not at all
	Took   time.Duration // all together
}

const samplesKept = 1024

// meter counts; it may be used from many goroutines.
type meter struct {
	mu      sync.Mutex
	stats   Stats
	opens   ring
	calls   ring
	changed bool // the server said so, and nobody has looked since
}

type ring struct {
	values []time.Duration
	next   int
}

func (r *ring) add(d time.Duration) {
	if len(r.values) < samplesKept {
		r.values = append(r.values, d)
		return
	}
	r.values[r.next%samplesKept] = d
	r.next++
}

// quantiles are by nearest rank, 0 without a sample.
func (r *ring) quantiles() (p50, p95 time.Duration) {
	if len(r.values) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(r.values))
	return sorted[(len(sorted)-1)*50/100], sorted[(len(sorted)*95+99)/100-1]
}

func (m *meter) count(change func(s *Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.stats)
}

func (m *meter) noteOpen(s *session, took time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.stats.OpenErrors++
		return
	}
	m.stats.Sessions++
	m.stats.Era, m.stats.Transport = s.era(), s.via
	m.opens.add(took)
}

func (m *meter) noteCall(tool string, r trajectory.ToolResult, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Outcome != trajectory.InfrastructureError {
		t := m.stats.Tools[tool]
		t.Calls, t.Took = t.Calls+1, t.Took+took
		if r.Status != trajectory.CallOK {
			t.Failed++
		}
		if m.stats.Tools == nil {
			m.stats.Tools = map[string]ToolStats{}
		}
		m.stats.Tools[tool] = t
	}
	m.stats.Calls++
	m.calls.add(took)
	switch r.Status {
	case trajectory.CallToolError:
		m.stats.ToolErrors++
	case trajectory.CallTimeout:
		m.stats.Timeouts++
	case trajectory.CallTransportError:
		m.stats.Lost++
	}
}

func (m *meter) noteMeasure(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls.add(took)
}

func (m *meter) stray(sample string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stats.StrayLines++; m.stats.Stray == "" {
		m.stats.Stray = sample
	}
}

func (m *meter) noteListChange() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.ListsChanged++
	m.changed = true
}

// takeChange reports whether the server said that its tools changed since it was last asked.
func (m *meter) takeChange() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.changed
	m.changed = false
	return changed
}

// noteChangeAtRest is for who asked and then could not look.
func (m *meter) noteChangeAtRest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = true
}

func (m *meter) read() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Tools = maps.Clone(s.Tools)
	s.OpenP50, s.OpenP95 = m.opens.quantiles()
	s.CallP50, s.CallP95 = m.calls.quantiles()
	return s
}
