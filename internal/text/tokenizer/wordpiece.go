package tokenizer

import "unicode/utf8"

// wordPiece takes the longest token that a piece begins with, then of what is left, which it looks for with a prefix
// ("##"). A piece that cannot be taken apart so is unknown as a whole (BERT's WordPiece).
type wordPiece struct {
	first, rest *trie // tokens, and those with the prefix, without it
	maxChars    int   // longer pieces are unknown
	unknown     int32
	barred      []bool // tokens that ordinary text must not yield
}

func (w *wordPiece) appendPiece(ids []int32, piece string, ordinary bool) []int32 {
	if utf8.RuneCountInString(piece) > w.maxChars {
		return append(ids, w.unknown)
	}
	start := len(ids)
	for find := w.first; piece != ""; find = w.rest {
		id, length := w.longest(find, piece, ordinary)
		if length == 0 {
			return append(ids[:start], w.unknown)
		}
		ids = append(ids, id)
		piece = piece[length:]
	}
	return ids
}

// longest is trie.longest without the tokens that may not come of ordinary text.
func (w *wordPiece) longest(find *trie, text string, ordinary bool) (id int32, length int) {
	node := int32(0)
	for i := range len(text) {
		if node = find.step(node, text[i]); node == 0 {
			break
		}
		if value := find.values[node]; value >= 0 && !(ordinary && w.barred[value]) {
			id, length = value, i+1
		}
	}
	return id, length
}

// wordLevel knows whole pieces only.
type wordLevel struct {
	ids     map[string]int32
	unknown int32
	barred  []bool
}

func (w *wordLevel) appendPiece(ids []int32, piece string, ordinary bool) []int32 {
	id, ok := w.ids[piece]
	if !ok || ordinary && w.barred[id] {
		id = w.unknown
	}
	return append(ids, id)
}
