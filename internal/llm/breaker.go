package llm

import (
	"fmt"
	"sync"
	"time"
)

// breaker leaves an endpoint alone that fails call after call, so that who has another one turns to it at once (Nygard,
// Release It!, "Circuit Breaker"). After a while one call is let through: its end decides.
type breaker struct {
	mu       sync.Mutex
	most     int           // calls in a row that fail until it opens; 0: never
	rest     time.Duration // that it then stays open
	failed   int
	openTill time.Time
	trying   bool // the one call is under way
}

// allow is an error while the endpoint is left alone.
func (b *breaker) allow(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most == 0 || b.failed < b.most {
		return nil
	}
	if now.Before(b.openTill) || b.trying {
		return fmt.Errorf("%d calls in a row failed, so it is left alone for a while", b.failed)
	}
	b.trying = true
	return nil
}

// end notes how a call ended that was allowed. One that was given up from outside says nothing.
func (b *breaker) end(now time.Time, failed, givenUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch {
	case givenUp:
	case failed:
		b.failed++
		b.openTill = now.Add(b.rest)
	default:
		b.failed = 0
	}
}
