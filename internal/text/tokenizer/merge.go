package tokenizer

import (
	"strings"
	"sync"
)

type pair struct{ left, right int32 }

type merge struct {
	rank int32 // lower is merged first
	id   int32 // the token the pair becomes
}

// symbol is a node of the linked list that a piece is while it is merged; prev and next are indices, -1 at the ends.
type symbol struct {
	id         int32
	prev, next int32
}

const merged = -1 // id of a symbol that its left neighbour has taken in

// candidate is a merge that was possible when it was queued.
type candidate struct {
	merge
	at int32 // index of the left symbol
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// appendPiece appends the ids of one piece. A queue of candidates makes it O(n log n) in the length of the piece, which
// matters for text without spaces (base64, CJK).
func (t *Tokenizer) appendPiece(ids []int32, piece string) []int32 {
	if len(piece) == 1 {
		if id := t.byteIDs[piece[0]]; id >= 0 {
			return append(ids, id)
		}
		return ids
	}
	if known, ok := t.cache.get(piece); ok {
		return append(ids, known...)
	}
	start := len(ids)
	ids = t.appendMerged(ids, piece)
	t.cache.put(piece, ids[start:])
	return ids
}

func (t *Tokenizer) appendMerged(ids []int32, piece string) []int32 {
	symbols := make([]symbol, 0, len(piece))
	for i := range len(piece) {
		// A byte without a token is left out before merging, so that its neighbours can join: Hugging Face's order.
		if id := t.byteIDs[piece[i]]; id >= 0 {
			n := int32(len(symbols))
			symbols = append(symbols, symbol{id: id, prev: n - 1, next: n + 1})
		}
	}
	if len(symbols) == 0 {
		return ids
	}
	symbols[len(symbols)-1].next = -1

	queue := make(queue, 0, len(symbols))
	for i := range symbols {
		t.enqueue(&queue, symbols, int32(i))
	}
	for len(queue) > 0 {
		c := queue.pop()
		left := &symbols[c.at]
		if left.id == merged || left.next < 0 {
			continue
		}
		right := &symbols[left.next]
		// The neighbours may have changed since c was queued; then another candidate stands for the new pair.
		if m, ok := t.merges[pair{left.id, right.id}]; !ok || m.id != c.id {
			continue
		}
		left.id, right.id = c.id, merged
		left.next = right.next
		if left.next >= 0 {
			symbols[left.next].prev = c.at
		}
		t.enqueue(&queue, symbols, left.prev)
		t.enqueue(&queue, symbols, c.at)
	}
	for i := int32(0); i >= 0; i = symbols[i].next {
		ids = append(ids, symbols[i].id)
	}
	return ids
}

// enqueue queues the merge of symbol at with its right neighbour, if there is one.
func (t *Tokenizer) enqueue(q *queue, symbols []symbol, at int32) {
	if at < 0 || symbols[at].next < 0 {
		return
	}
	if m, ok := t.merges[pair{symbols[at].id, symbols[symbols[at].next].id}]; ok {
		q.push(candidate{m, at})
	}
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
