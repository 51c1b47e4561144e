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
}

func (b *budget) spent() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

func (b *budget) reserve(tokens int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && b.used.Total()+b.reserved+tokens > b.limit {
		return fmt.Errorf("%d of %d tokens are used, %d reserved by calls in flight, and this one may need %d",
			b.used.Total(), b.limit, b.reserved, tokens)
	}
	b.reserved += tokens
	return nil
}

// settle ends a reservation. An answer without usage counts as all that was reserved for it.
func (b *budget) settle(reserved, used Usage, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= reserved.Total()
	if !answered {
		return
	}
	if used.Total() <= 0 {
		used = reserved
	}
	b.used.PromptTokens += used.PromptTokens
	b.used.CompletionTokens += used.CompletionTokens
}
