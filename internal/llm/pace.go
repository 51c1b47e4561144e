package llm

import (
	"context"
	"math"
	"sync"
)

// pace bounds how many attempts are under way at once, by additive increase and multiplicative decrease, as TCP's
// congestion window (Chiu and Jain 1989): each answer adds 1/limit, so a round of answers one more at a time; an
// endpoint that is overloaded halves it. Towards a limit that was too much before it grows slowly. Waits between
// attempts hold no place.
type pace struct {
	mu       sync.Mutex
	most     int // 0: no bound
	limit    float64
	tooMuch  float64 // the last limit at which the endpoint was overloaded; 0: none yet
	underway int
	epoch    int // of the limit: attempts of before a halving do not halve it again
	waiting  []chan struct{}
}

// cautious is by how much slower the limit grows to what was too much before.
const cautious = 16

// startingPace is how many attempts are under way until it is known what an endpoint takes.
const startingPace = 4

func newPace(most int) *pace { return &pace{most: most, limit: float64(min(most, startingPace))} }

// begin waits for a place. The epoch is for end.
func (p *pace) begin(ctx context.Context) (epoch int, err error) {
	if p.most == 0 || ctx.Err() != nil {
		return 0, ctx.Err()
	}
	p.mu.Lock()
	if p.underway < int(p.limit) && len(p.waiting) == 0 {
		defer p.mu.Unlock()
		p.underway++
		return p.epoch, nil
	}
	turn := make(chan struct{})
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, w := range p.waiting {
			if w == turn {
				p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
				return p.epoch, ctx.Err()
			}
		}
		p.underway-- // the place came just now
		p.admit()
		return p.epoch, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch, nil
}

// end gives the place back. overloaded says that the endpoint turned the attempt away, or did not answer in time.
func (p *pace) end(epoch int, answered, overloaded bool) {
	if p.most == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underway--
	switch {
	case overloaded && epoch == p.epoch:
		p.tooMuch = max(2, math.Floor(p.limit))
		p.limit = max(1, p.limit/2)
		p.epoch++
	case answered:
		grown := p.limit + 1/p.limit
		if p.tooMuch > 0 && grown >= p.tooMuch-1 {
			grown = p.limit + 1/p.limit/cautious
		}
		p.limit = min(float64(p.most), grown)
	}
	p.admit()
}

// admit lets those in that there is a place for. The lock is held.
func (p *pace) admit() {
	for len(p.waiting) > 0 && p.underway < int(p.limit) {
		p.underway++
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
	}
}
