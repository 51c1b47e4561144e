package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// buildModel makes the model of a vocabulary that readModel has read.
func (b *builder) buildModel(t *Tokenizer, p part, v vocabulary) {
	unknown := int32(-1)
	if v.UnkToken != nil {
		id, ok := t.ids[*v.UnkToken]
		if !ok {
			b.fail(p, "its unk_token %q is not in the vocabulary", *v.UnkToken)
		}
		unknown = id
	}
	if b.err != nil {
		return
	}
	switch v.Type {
	case "Unigram":
		u := newUnigram(v.tokens, v.scores)
		u.unknown, u.fallback, u.bytes, u.barred = int32(*v.UnkID), v.ByteFallback, byteTokens(v.ids), t.barred
		t.model = u
		return
	}
	m := &bpe{ids: v.ids, unknown: unknown, fuse: v.FuseUnk, ignoreMerges: v.IgnoreMerges, barred: t.barred}
	merges, err := mergesOf(v.merges, v.ids, true)
	if err != nil {
		b.fail(part{path: "model.merges"}, "%w", err)
		return
	}
	m.merges = merges
	if n := len(t.stages); n > 0 && !v.ByteFallback && onlyLast(t.stages) {
		m.useBytes(v.tokens)
		m.findReachable()
		if unknown < 0 || m.complete() {
			t.stages = t.stages[:n-1]
			t.model = m
			return
		}
		m = &bpe{ids: v.ids, merges: merges, unknown: unknown, fuse: v.FuseUnk, ignoreMerges: v.IgnoreMerges,
			barred: t.barred}
	}
	m.useChars(v.tokens, v.merges)
	m.fallback, m.bytes = v.ByteFallback, byteTokens(v.ids)
	m.findReachable()
	t.model = m
}

// onlyLast reports whether the last stage maps to the byte alphabet and no other does.
func onlyLast(stages []splitter) bool {
	for i, s := range stages {
		if _, ok := s.(byteMapper); ok != (i == len(stages)-1) {
			return false
		}
	}
	return true
}

// mergesOf turns a merge list into a table. Of a pair that is there twice, the last rank counts in a tokenizer.json and
// the first in a GGUF: as each file's own program has it.
func mergesOf(list [][2]string, ids map[string]int32, lastWins bool) (map[uint64]merge, error) {
	merges := make(map[uint64]merge, len(list))
	for rank, pair := range list {
		left, okLeft := ids[pair[0]]
		right, okRight := ids[pair[1]]
		id, okBoth := ids[pair[0]+pair[1]]
		if !okLeft || !okRight || !okBoth {
			return nil, fmt.Errorf("merge %d, %q and %q, does not join two tokens into a third", rank, pair[0], pair[1])
		}
		key := pairKey(left, right)
		if _, again := merges[key]; lastWins || !again {
			merges[key] = merge{rank: int32(rank), id: id}
		}
	}
	return merges, nil
}

// byteTokens are the tokens of single bytes, "<0x00>" to "<0xFF>"; -1 where there is none.
func byteTokens(ids map[string]int32) [256]int32 {
	var out [256]int32
	for b := range out {
		out[b] = -1
		if id, ok := ids[fmt.Sprintf("<0x%02X>", b)]; ok {
			out[b] = id
		}
	}
	return out
}

// useBytes lets the model work on bytes: tokens are written in the byte alphabet.
func (m *bpe) useBytes(tokens []string) {
	m.byBytes = true
	a := newAlphabet()
	ids := make(map[string]int32, len(tokens))
	for i := range m.bytes {
		m.bytes[i] = -1
	}
	for id, token := range tokens {
		text, ok := a.decode(token)
		if !ok || token == "" {
			continue
		}
		ids[text] = int32(id)
		if len(text) == 1 {
			m.bytes[text[0]] = int32(id)
		}
	}
	m.ids = ids
}

// findReachable looks whether text without an added token can yield a barred one all the same.
func (m *bpe) findReachable() {
	isBarred := func(id int32) bool { return id >= 0 && int(id) < len(m.barred) && m.barred[id] }
	for _, merge := range m.merges {
		m.reachable = m.reachable || isBarred(merge.id)
	}
	for _, id := range m.chars {
		m.reachable = m.reachable || isBarred(id)
	}
	for _, id := range m.bytes {
		m.reachable = m.reachable || m.byBytes && isBarred(id)
	}
	for _, id := range m.ids {
		m.reachable = m.reachable || m.ignoreMerges && isBarred(id)
	}
}

// complete reports whether every byte that UTF-8 uses has a token.
func (m *bpe) complete() bool {
	for b, id := range m.bytes {
		if used := b != 0xC0 && b != 0xC1 && b < 0xF5; used && id < 0 {
			return false
		}
	}
	return true
}

// useChars lets the model work on characters.
func (m *bpe) useChars(tokens []string, merges [][2]string) {
	m.chars = map[rune]int32{}
	for id, token := range tokens {
		if r, size := utf8.DecodeRuneInString(token); size > 0 && size == len(token) {
			m.chars[r] = int32(id)
		}
	}
	r, _ := utf8.DecodeRuneInString(meta)
	if _, ok := m.chars[r]; ok && !m.ignoreMerges {
		m.cutBefore(merges)
	}
}

// cutBefore finds the characters that a merge joins with a "▁" behind them.
func (m *bpe) cutBefore(merges [][2]string) {
	var joining spans
	for _, pair := range merges {
		if strings.HasPrefix(pair[1], meta) {
			r, _ := utf8.DecodeLastRuneInString(pair[0])
			joining = append(joining, span{r, r})
		}
	}
	m.joining = newSet(spans(nil).union(joining...))
}
