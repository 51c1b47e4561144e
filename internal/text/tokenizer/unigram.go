package tokenizer

import (
	"math"
	"unicode/utf8"
)

// unigram picks the tokens whose scores add up to the most (SentencePiece's Unigram).
type unigram struct {
	find     *trie
	scores   []float64
	unknown  int32
	penalty  float64       // score of an unknown character
	bytes    [256]int32    // tokens of single bytes, -1 where there is none
	fallback bool          // bytes stand in for unknown text
	barred   []bool        // tokens that ordinary text must not yield
	caches   [2]pieceCache // for trusted and for ordinary text
}

// ending is the best way to reach a place in the text.
type ending struct {
	score float64
	start int32 // of the last token, -1 where the place is not reached
	id    int32
}

func (u *unigram) appendPiece(ids []int32, piece string, ordinary bool) []int32 {
	cache := &u.caches[0]
	if ordinary {
		cache = &u.caches[1]
	}
	if known, ok := cache.get(piece); ok {
		return append(ids, known...)
	}
	start := len(ids)
	ids = u.appendBest(ids, piece, ordinary)
	cache.put(piece, ids[start:])
	return ids
}

func (u *unigram) appendBest(ids []int32, piece string, ordinary bool) []int32 {
	best := make([]ending, len(piece)+1)
	for i := range best {
		best[i].start = -1
	}
	reach := func(start, end int, score float64, id int32) {
		if e := &best[end]; e.start < 0 || score > e.score {
			*e = ending{score, int32(start), id}
		}
	}
	for start := 0; start < len(piece); {
		_, size := utf8.DecodeRuneInString(piece[start:])
		known := false
		node := int32(0)
		for end := start; end < len(piece); {
			if node = u.find.step(node, piece[end]); node == 0 {
				break
			}
			end++
			if id := u.find.values[node]; id >= 0 && !(ordinary && u.barred[id]) {
				reach(start, end, best[start].score+u.scores[id], id)
				known = known || end == start+size
			}
		}
		if !known {
			reach(start, start+size, best[start].score+u.penalty, u.unknown)
		}
		start += size
	}
	var path []ending // from the end; start is where the token begins
	for end := len(piece); end > 0; end = int(best[end].start) {
		path = append(path, best[end])
	}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].id != u.unknown {
			ids = append(ids, path[i].id)
			continue
		}
		start := path[i].start
		for i > 0 && path[i-1].id == u.unknown {
			i--
		}
		end := int32(len(piece))
		if i > 0 {
			end = path[i-1].start
		}
		ids = u.appendUnknown(ids, piece[start:end], ordinary)
	}
	return ids
}

// appendUnknown appends a run of unknown characters: its bytes, or one token for all of it.
func (u *unigram) appendUnknown(ids []int32, text string, ordinary bool) []int32 {
	if id, n := u.find.longest(text); n == len(text) && !(ordinary && u.barred[id]) {
		return append(ids, id) // it is a token after all, only a bad one
	}
	if u.fallback {
		start := len(ids)
		for i := range len(text) {
			if u.bytes[text[i]] < 0 {
				ids = ids[:start]
				break
			}
			ids = append(ids, u.bytes[text[i]])
		}
		if len(ids) > start {
			return ids
		}
	}
	return append(ids, u.unknown)
}

// unknownPenalty is how much worse than the worst token an unknown character is.
const unknownPenalty = 10

func newUnigram(tokens []string, scores []float64) *unigram {
	u := &unigram{scores: scores, penalty: math.Inf(1)}
	ids := make(map[string]int32, len(tokens))
	for id, token := range tokens {
		u.penalty = min(u.penalty, scores[id])
		if token != "" {
			ids[token] = int32(id)
		}
	}
	u.penalty -= unknownPenalty
	u.find = newTrie(ids)
	return u
}
