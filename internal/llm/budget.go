package llm

import (
	"fmt"
	"sync"
)

// budget stops calls before they are sent: one reserves its worst case before it is sent, and settles what it used afterwards, so
// calls in flight together cannot overspend together.
type budget struct {
	mu       sync.Mutex
	limit    int // tokens; 0: none
	used     Usage
	reserved int

	limitUSD             float64 // US dollars; 0: none
	cost                 func(promptTokens, completionTokens int) float64
	usedUSD, reservedUSD float64
}

func (b *budget) price(u Usage) float64 {
	if b.cost == nil {
		return 0
	}
	return b.cost(u.PromptTokens, u.CompletionTokens)
}

func (b *budget) spent() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

func (b *budget) reserve(u Usage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens, usd := u.Total(), b.price(u)
	if b.limitUSD > 0 && b.usedUSD+b.reservedUSD+usd > b.limitUSD {
		return fmt.Errorf("$%.4f of $%.4f are used, $%.4f reserved by calls in flight, and this one may cost $%.4f", b.usedUSD, b.limitUSD, b.reservedUSD, usd)
	}
	if b.limit > 0 && b.used.Total()+b.reserved+tokens > b.limit {
		return fmt.Errorf("%d of %d tokens are used, %d reserved by calls in flight, and this one may need %d",
			b.used.Total(), b.limit, b.reserved, tokens)
	}
	b.reserved += tokens
	b.reservedUSD += usd
	return nil
}

// settle ends a reservation. An answer without usage counts as all that was reserved for it.
func (b *budget) settle(reserved, used Usage, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= reserved.Total()
	b.reservedUSD -= b.price(reserved)
	if !answered {
		return
	}
	if used.Total() <= 0 {
		used = reserved
	}
	b.used.PromptTokens += used.PromptTokens
	b.used.CompletionTokens += used.CompletionTokens
	b.usedUSD += b.price(used)
}
