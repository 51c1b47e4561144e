package tokenizer

import (
	"strings"
	"sync"
)

// candidate is a merge that was possible when it was queued.
type candidate struct {
	merge
	at int32 // index of the left symbol
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// queue is a binary heap. Not container/heap: its interface costs an allocation for each candidate.
type queue []candidate

func (q *queue) push(c candidate) {
	*q = append(*q, c)
	h := *q
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *queue) pop() candidate {
	h := *q
	top := h[0]
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	*q = h
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

const (
	maxCachedPieces = 1 << 15
	maxCachedLength = 64 // bytes; longer pieces hardly repeat
)

// pieceCache remembers the ids of pieces. When full it keeps what it has: text is Zipfian, the frequent come early.
type pieceCache struct {
	mu  sync.RWMutex
	ids map[string][]int32
}

func (c *pieceCache) get(piece string) ([]int32, bool) {
	if len(piece) > maxCachedLength {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.ids[piece]
	return ids, ok
}

func (c *pieceCache) put(piece string, ids []int32) {
	if len(piece) > maxCachedLength {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = make(map[string][]int32)
	}
	if len(c.ids) < maxCachedPieces {
		// Copies: piece is a part of a text that may be large, ids a part of the caller's slice.
		c.ids[strings.Clone(piece)] = append([]int32(nil), ids...)
	}
}
