package rollout

import (
	"context"
	"slices"
	"sync"
	"time"
)

// idleAfter is how long an episode's tools work, or its session is opened, before its slot is another's meanwhile. What
// takes less is not worth to have the slot's cache change hands.
const idleAfter = 100 * time.Millisecond

// lane is a slot and the episodes that take turns in it: one speaks at a time, and where each of those that sit there
// has been at work with its tools for some time, the next begins.
type lane struct {
	speaking chan struct{} // holds a token while an episode speaks

	mutex   sync.Mutex
	taken   []bool      // seats
	away    int         // of the episodes that sit there, those that the slot does not wait for
	waiting []chan *sit // episodes that have not begun, in the order they were asked for
}

// sit is an episode's place in a lane. A nil one is of an episode that nothing is beside.
type sit struct {
	lane *lane
	seat int

	timer *time.Timer
	works int // counts its times of work, of which it is in the last one while it is odd
	away  bool
}

func newLane(seats int) *lane {
	return &lane{speaking: make(chan struct{}, 1), taken: make([]bool, max(1, seats))}
}

// ask asks for a seat, which is sent when it is given.
func (l *lane) ask() <-chan *sit {
	given := make(chan *sit, 1)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.waiting = append(l.waiting, given)
	l.fill()
	return given
}

// fill gives a seat to the next episode while those that sit are all away. The mutex is held.
func (l *lane) fill() {
	for len(l.waiting) > 0 {
		seat, sitting := slices.Index(l.taken, false), 0
		for _, taken := range l.taken {
			if taken {
				sitting++
			}
		}
		if seat < 0 || sitting > l.away {
			return
		}
		l.taken[seat] = true
		l.waiting[0] <- &sit{lane: l, seat: seat}
		l.waiting = l.waiting[1:]
	}
}

// work notes that the episode is at work: its session is opened or closed, or its tools or its user are asked.
func (s *sit) work() {
	if s == nil {
		return
	}
	l := s.lane
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if s.works%2 == 1 { // an attempt ends and the next begins
		return
	}
	s.works++
	now := s.works
	s.timer = time.AfterFunc(idleAfter, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if s.works == now {
			s.away = true
			l.away++
			l.fill()
		}
	})
}

// back ends a time of work. The mutex is held.
func (s *sit) back() {
	if s.works%2 == 0 {
		return
	}
	s.works++
	s.timer.Stop()
	if s.away {
		s.away = false
		s.lane.away--
	}
}

// speak waits until no other episode speaks in the slot. It is an error where ctx ends first.
func (s *sit) speak(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.lane.mutex.Lock()
	s.back()
	s.lane.mutex.Unlock()
	select {
	case s.lane.speaking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silent ends what speak began.
func (s *sit) silent() {
	if s != nil {
		<-s.lane.speaking
	}
}

// leave gives the seat back.
func (s *sit) leave() {
	l := s.lane
	l.mutex.Lock()
	defer l.mutex.Unlock()
	s.back()
	l.taken[s.seat] = false
	l.fill()
}
