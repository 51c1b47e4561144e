package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// model turns a piece of text into tokens. Where the piece is ordinary, special and added tokens are none of them: a
// vocabulary may well hold "</s>" as a token like any other.
type model interface {
	appendPiece(ids []int32, piece string, ordinary bool) []int32
}

type merge struct {
	rank int32 // lower is merged first
	id   int32 // the token the pair becomes
}

// pairKey is a pair of neighbours as a map's key.
func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

// bpe merges neighbouring symbols in the order of a merge list: bytes, or characters with single bytes as a fall-back.
type bpe struct {
	ids    map[string]int32 // by text; for whole pieces (ignore_merges)
	merges map[uint64]merge

	byBytes  bool
	bytes    [256]int32     // byBytes: the token of each byte; else its fall-back "<0x0A>"; -1 where there is none
	chars    map[rune]int32 // else: the symbol of each character
	fallback bool           // bytes may stand in for a character without a symbol
	unknown  int32          // for a character without either, -1 for nothing
	fuse     bool           // one unknown for a run of them

	ignoreMerges bool  // a piece that is a token is not merged
	lone         int32 // symbols from here on are characters without a token, which merges still go by
	loneChars    []rune
	joining      *set   // characters that some merge joins with a "▁" behind them; nil: do not cut there at all
	barred       []bool // tokens that ordinary text must not yield
	reachable    bool   // a barred token can come out of merging

	caches [2]pieceCache // for trusted and for ordinary text
}

const meta = "▁" // SentencePiece's visible space, U+2581

// appendPiece appends the ids of one piece.
func (b *bpe) appendPiece(ids []int32, piece string, ordinary bool) []int32 {
	ordinary = ordinary && b.reachable
	if b.joining == nil {
		return b.appendPart(ids, piece, ordinary)
	}
	// Merging the parts before and after such a "▁" on their own comes to the same, and words repeat where whole texts
	// do not.
	start := 0
	for i := 1; i < len(piece); i++ {
		if piece[i] == meta[0] && strings.HasPrefix(piece[i:], meta) && !b.joining.before(piece, i) {
			ids = b.appendPart(ids, piece[start:i], ordinary)
			start = i
		}
	}
	return b.appendPart(ids, piece[start:], ordinary)
}

func (b *bpe) appendPart(ids []int32, piece string, ordinary bool) []int32 {
	if b.ignoreMerges {
		if id, ok := b.ids[piece]; ok && !(ordinary && b.barred[id]) {
			return append(ids, id)
		}
	}
	if b.byBytes && len(piece) == 1 && !ordinary {
		if id := b.bytes[piece[0]]; id >= 0 {
			return append(ids, id)
		}
		return ids
	}
	cache := &b.caches[0]
	if ordinary {
		cache = &b.caches[1]
	}
	if known, ok := cache.get(piece); ok {
		return append(ids, known...)
	}
	start := len(ids)
	ids = b.appendMerged(ids, piece, ordinary)
	cache.put(piece, ids[start:])
	return ids
}

// symbol is a node of the linked list that a piece is while it is merged; prev and next are indices, -1 at the ends.
type symbol struct {
	id         int32
	prev, next int32
}

const merged = -1 // id of a symbol that its left neighbour has taken in

// symbols is the piece before merging. A byte without a token is left out, so that its neighbours can join: Hugging
// Face's order.
func (b *bpe) symbols(piece string, ordinary bool) []symbol {
	out := make([]symbol, 0, len(piece))
	add := func(id int32) {
		if id >= 0 {
			n := int32(len(out))
			out = append(out, symbol{id: id, prev: n - 1, next: n + 1})
		}
	}
	if b.byBytes {
		for i := range len(piece) {
			if id := b.bytes[piece[i]]; id >= 0 && !(ordinary && b.barred[id]) {
				add(id)
			}
		}
	} else {
		b.characters(piece, ordinary, add)
	}
	if len(out) > 0 {
		out[len(out)-1].next = -1
	}
	return out
}

// characters adds the symbols of a piece's characters. An unknown waits for the next known character before it is
// added, even over bytes that stand in for others: the vendor's order.
func (b *bpe) characters(piece string, ordinary bool, add func(int32)) {
	unknown := int32(-1)
	for i, size := 0, 0; i < len(piece); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(piece[i:])
		id, ok := b.chars[r]
		if ok && (r != utf8.RuneError || size == 3) && !(ordinary && int(id) < len(b.barred) && b.barred[id]) {
			add(unknown)
			unknown = -1
			add(id)
			continue
		}
		if b.fallback && b.inVocabulary(piece[i:i+size]) {
			for j := range size {
				add(b.bytes[piece[i+j]])
			}
			continue
		}
		if unknown >= 0 && !b.fuse {
			add(unknown)
		}
		unknown = b.unknown
	}
	add(unknown)
}

func (b *bpe) inVocabulary(char string) bool {
	for i := range len(char) {
		if b.bytes[char[i]] < 0 {
			return false
		}
	}
	return true
}

// appendMerged merges one piece. A queue of candidates makes it O(n log n) in the length of the piece, which matters
// for text without spaces (base64, CJK).
func (b *bpe) appendMerged(ids []int32, piece string, ordinary bool) []int32 {
	symbols := b.symbols(piece, ordinary)
	if len(symbols) == 0 {
		return ids
	}
	queue := make(queue, 0, len(symbols))
	for i := range symbols {
		b.enqueue(&queue, symbols, ordinary, int32(i))
	}
	for len(queue) > 0 {
		c := queue.pop()
		left := &symbols[c.at]
		if left.id == merged || left.next < 0 {
			continue
		}
		right := &symbols[left.next]
		// The neighbours may have changed since c was queued; then another candidate stands for the new pair.
		if m, ok := b.merges[pairKey(left.id, right.id)]; !ok || m.id != c.id {
			continue
		}
		left.id, right.id = c.id, merged
		left.next = right.next
		if left.next >= 0 {
			symbols[left.next].prev = c.at
		}
		b.enqueue(&queue, symbols, ordinary, left.prev)
		b.enqueue(&queue, symbols, ordinary, c.at)
	}
	for i := int32(0); i >= 0; i = symbols[i].next {
		ids = b.appendSymbol(ids, symbols[i].id)
	}
	return ids
}

// appendSymbol appends a symbol's token: of a character without one, those of its bytes.
func (b *bpe) appendSymbol(ids []int32, id int32) []int32 {
	if b.lone == 0 || id < b.lone {
		return append(ids, id)
	}
	for _, c := range []byte(string(b.loneChars[id-b.lone])) {
		if b.bytes[c] >= 0 {
			ids = append(ids, b.bytes[c])
		} else if b.unknown >= 0 {
			ids = append(ids, b.unknown)
		}
	}
	return ids
}

// enqueue queues the merge of symbol at with its right neighbour, if there is one.
func (b *bpe) enqueue(q *queue, symbols []symbol, ordinary bool, at int32) {
	if at < 0 || symbols[at].next < 0 {
		return
	}
	if m, ok := b.merges[pairKey(symbols[at].id, symbols[symbols[at].next].id)]; ok && !(ordinary && b.barred[m.id]) {
		q.push(candidate{m, at})
	}
}
