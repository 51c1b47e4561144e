package llm

import (
	"fmt"
	"sync"
)

// Budget stops calls before they are sent: one reserves its worst case before it is sent, and settles what it used
// afterwards, so calls in flight together cannot overspend together. Several clients may share one.
type Budget struct {
	tokens int     // 0: no limit
	usd    float64 // 0: no limit

	mu             sync.Mutex
	used, reserved sum
}

// sum is what calls use: tokens, and US dollars where what they cost is known.
type sum struct {
	Usage
	usd float64
}

// NewBudget returns one of so many tokens, prompt and completion, and US dollars; 0 is no limit.
func NewBudget(tokens int, usd float64) *Budget { return &Budget{tokens: tokens, usd: usd} }

func (s *sum) add(o sum, sign int) {
	s.PromptTokens += sign * o.PromptTokens
	s.CompletionTokens += sign * o.CompletionTokens
	s.usd += float64(sign) * o.usd
}

// Usage is what has been used, in tokens and in US dollars.
func (b *Budget) Usage() (Usage, float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used.Usage, b.used.usd
}

func (b *Budget) reserve(s sum) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.usd > 0 && b.used.usd+b.reserved.usd+s.usd > b.usd {
		return fmt.Errorf("$%.4f of $%.4f are used, $%.4f reserved by calls in flight, and this one may cost $%.4f",
			b.used.usd, b.usd, b.reserved.usd, s.usd)
	}
	if b.tokens > 0 && b.used.Total()+b.reserved.Total()+s.Total() > b.tokens {
		return fmt.Errorf("%d of %d tokens are used, %d reserved by calls in flight, and this one may need %d",
			b.used.Total(), b.tokens, b.reserved.Total(), s.Total())
	}
	b.reserved.add(s, 1)
	return nil
}

// settle ends a reservation. An answer without usage counts as all that was reserved for it.
func (b *Budget) settle(reserved, used sum, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved.add(reserved, -1)
	if !answered {
		return
	}
	if used.Total() <= 0 {
		used = reserved
	}
	b.used.add(used, 1)
}
