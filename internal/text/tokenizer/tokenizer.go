// Package tokenizer turns text into token ids and back, exactly as the model's own tokenizer does.
//
// It is byte-level BPE as GPT-2 introduced it and SmolLM2 uses it: text is split into pieces (split.go), a piece is
// turned into one symbol per byte, and neighbouring symbols are merged in the order of the merge list (merge.go).
//
// Text that may come from anyone (message content, tool results) goes through EncodeOrdinary, which can never yield
// a special token; only a renderer's own template text may use Encode or ID.
package tokenizer

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/fault"
)

// Token types, numbered as in GGUF's tokenizer.ggml.token_type.
const (
	TypeNormal      int32 = 1
	TypeControl     int32 = 3 // special: <|im_start|>
	TypeUserDefined int32 = 4 // added to the vocabulary after training, matched whole in text
)

// Options is a vocabulary as a model file holds it (GGUF: tokenizer.ggml.tokens, merges, token_type and pre).
type Options struct {
	Tokens       []string // index is the id; ordinary tokens are in the byte alphabet ("Ġthe")
	Merges       []string // "left right", the most frequent first
	Types        []int32  // one per token; nil means that all are TypeNormal
	PreTokenizer string   // "smollm" or "gpt-2"; empty is "gpt-2"
}

// Tokenizer is immutable but for its cache, and safe for use by many goroutines.
type Tokenizer struct {
	tokens   []string
	bytes    []string // text of each token
	types    []int32
	ids      map[string]int32
	byteIDs  [256]int32 // id of the one-byte token, -1 where the vocabulary has none
	merges   map[pair]merge
	specials [256][]special // by first byte, the longest first
	digits   bool           // each number character is a piece of its own
	cache    pieceCache
}

type special struct {
	text string
	id   int32
}

// New builds a tokenizer. A vocabulary that contradicts itself or an unknown PreTokenizer is a *fault.Error.
func New(o Options) (*Tokenizer, error) {
	t := &Tokenizer{tokens: o.Tokens, types: o.Types, ids: make(map[string]int32, len(o.Tokens))}
	switch o.PreTokenizer {
	case "smollm":
		t.digits = true
	case "gpt-2", "":
	default:
		return nil, &fault.Error{
			Code: fault.CodeUsage, What: "cannot build the tokenizer",
			Why:  fmt.Sprintf("pre-tokenizer %q is not supported", o.PreTokenizer),
			Next: "use a model whose pre-tokenizer is smollm or gpt-2",
		}
	}
	if o.Types == nil {
		t.types = slices.Repeat([]int32{TypeNormal}, len(o.Tokens))
	}
	if len(t.types) != len(t.tokens) {
		return nil, badVocabulary("%d token types for %d tokens", len(t.types), len(t.tokens))
	}
	if err := t.addTokens(); err != nil {
		return nil, err
	}
	if err := t.addMerges(o.Merges); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tokenizer) addTokens() error {
	alphabet := byteAlphabet()
	byRune := make(map[rune]byte, len(alphabet))
	for b, r := range alphabet {
		byRune[r] = byte(b)
	}
	t.bytes = make([]string, len(t.tokens))
	for i, token := range t.tokens {
		if other, ok := t.ids[token]; ok {
			return badVocabulary("token %q has two ids, %d and %d", token, other, i)
		}
		t.ids[token] = int32(i)
		t.bytes[i] = tokenBytes(token, byRune)
		if t.IsSpecial(int32(i)) && token != "" {
			t.specials[token[0]] = append(t.specials[token[0]], special{token, int32(i)})
		}
	}
	for _, s := range t.specials {
		slices.SortFunc(s, func(a, b special) int { return len(b.text) - len(a.text) })
	}
	for b, r := range alphabet {
		t.byteIDs[b] = -1
		if id, ok := t.ids[string(r)]; ok {
			t.byteIDs[b] = id
		}
	}
	return nil
}

func (t *Tokenizer) addMerges(merges []string) error {
	t.merges = make(map[pair]merge, len(merges))
	for rank, line := range merges {
		left, right, ok := strings.Cut(line, " ")
		l, okLeft := t.ids[left]
		r, okRight := t.ids[right]
		id, okBoth := t.ids[left+right]
		if !ok || !okLeft || !okRight || !okBoth {
			return badVocabulary("merge %d, %q, does not join two tokens into a third", rank, line)
		}
		if _, again := t.merges[pair{l, r}]; !again {
			t.merges[pair{l, r}] = merge{rank: int32(rank), id: id}
		}
	}
	return nil
}

func badVocabulary(format string, args ...any) error {
	return &fault.Error{
		Code: fault.CodeUsage, What: "cannot build the tokenizer", Why: fmt.Sprintf(format, args...),
		Next: "fetch the model file again: its vocabulary is damaged",
	}
}

// Encode returns the ids of text, in which special and user-defined tokens are recognised (the leftmost, and of those
// the longest). It adds none of its own.
func (t *Tokenizer) Encode(text string) []int32 {
	var ids []int32
	start := 0
	for i := 0; i < len(text); {
		s, ok := t.specialAt(text[i:])
		if !ok {
			i++
			continue
		}
		ids = append(t.appendOrdinary(ids, text[start:i]), s.id)
		i += len(s.text)
		start = i
	}
	return t.appendOrdinary(ids, text[start:])
}

// EncodeOrdinary returns the ids of text in which nothing is special: "<|im_end|>" is encoded as the characters it is
// written with. A byte that the vocabulary has no token for yields nothing, as in Hugging Face's tokenizers.
func (t *Tokenizer) EncodeOrdinary(text string) []int32 { return t.appendOrdinary(nil, text) }

func (t *Tokenizer) appendOrdinary(ids []int32, text string) []int32 {
	split(text, t.digits, func(piece string) {
		ids = t.appendPiece(ids, piece)
	})
	return ids
}

func (t *Tokenizer) specialAt(text string) (special, bool) {
	for _, s := range t.specials[text[0]] {
		if strings.HasPrefix(text, s.text) {
			return s, true
		}
	}
	return special{}, false
}

// ID returns the id of a token as the vocabulary writes it ("<|im_end|>", "Ġthe").
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.ids[token]
	return id, ok
}

// Token returns a token as the vocabulary writes it; false for an id outside the vocabulary.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if !t.valid(id) {
		return "", false
	}
	return t.tokens[id], true
}

// NumTokens is the size of the vocabulary. A model's output layer may be wider.
func (t *Tokenizer) NumTokens() int { return len(t.tokens) }

// IsSpecial reports whether id is a token that ordinary text never yields.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return t.valid(id) && (t.types[id] == TypeControl || t.types[id] == TypeUserDefined)
}

func (t *Tokenizer) valid(id int32) bool { return id >= 0 && int(id) < len(t.tokens) }
