package host

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"hone/internal/console/sanitize"
)

// Still prints a heartbeat when nothing has been printed for a while: programs are compiled for minutes, and a step of
// a small machine takes as long. Its zero value works, from many goroutines.
type Still struct {
	mu    sync.Mutex
	doing []*doing // what began last is told of
	stage *doing   // of these, where the progress of a stage is
	stop  chan struct{}

	began, ended time.Time // when work began behind a pause, and when the last ended
}

type doing struct {
	what  string
	began time.Time
}

// longSilence is how long nothing is said before it is said that something still goes on.
const longSilence = 30 * time.Second

// pause is for how long nothing is done between two works that do not follow each other at once.
const pause = time.Second

// Working says what goes on until end is called: "compiling the program for prompts".
func (h *Host) Working(what string) (end func()) {
	if h.Still == nil || h.Quiet {
		return func() {}
	}
	s := h.Still
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.begin(h, what)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(d)
	}
}

// at says where the progress of a stage is, which goes on until the next is told of, or none ("").
func (s *Still) at(h *Host, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.stage
	if s.stage = nil; what != "" {
		s.stage = s.begin(h, what)
	}
	s.end(before)
}

// begin has what begins told of, which is held by s.mu.
func (s *Still) begin(h *Host, what string) *doing {
	d := &doing{what, time.Now()}
	if s.doing = append(s.doing, d); len(s.doing) == 1 {
		if time.Since(s.ended) > pause {
			s.began = d.began
		}
		s.stop = make(chan struct{})
		go s.watch(h, s.stop)
	}
	return d
}

// end takes out what is over, once.
func (s *Still) end(d *doing) {
	i := slices.Index(s.doing, d)
	if i < 0 {
		return
	}
	if s.doing = slices.Delete(s.doing, i, i+1); len(s.doing) == 0 {
		close(s.stop)
		s.ended = time.Now()
	}
}

// watch tells of what goes on until nothing does.
func (s *Still) watch(h *Host, stop <-chan struct{}) {
	for {
		wait := longSilence - s.silent(h)
		if wait <= 0 {
			s.say(h)
			wait = longSilence
		}
		select {
		case <-stop:
			return
		case <-time.After(wait):
		}
	}
}

// silent is how long nothing was said while there was something to say.
func (s *Still) silent(h *Host) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(h.Talk.Silent(), time.Since(s.began))
}

// say writes what began last, on a terminal where the progress is drawn.
func (s *Still) say(h *Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.doing) == 0 {
		return
	}
	d := s.doing[len(s.doing)-1]
	line := sanitize.Line(fmt.Sprintf("still %s, for %s", d.what, time.Since(d.began).Round(time.Second)))
	if h.redraws() {
		line += clearToEnd + "\r"
	} else {
		line += "\n"
	}
	fmt.Fprint(h.Talk.Raw(), line)
}

// redraws reports whether progress is one line that is drawn anew.
func (h *Host) redraws() bool { return !h.Plain && h.Talk.Terminal() != nil }
