package tokenizer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"hone/internal/fault"
)

// Options is a vocabulary as a GGUF file holds it (tokenizer.ggml.*).
type Options struct {
	Model        string    // model: "gpt2" (byte-level BPE, the default), "llama" (SentencePiece's BPE) or "gemma4"
	Tokens       []string  // index is the id; gpt2's ordinary tokens are in the byte alphabet ("Ġthe")
	Merges       []string  // gpt2, gemma4: "left right", the most frequent first
	Scores       []float32 // llama: one per token; of two merges the one with the higher score comes first
	Types        []int32   // token_type, one per token; nil means that all are TypeNormal
	PreTokenizer string    // pre: how gpt2 splits text: "smollm", "llama-bpe", ...; empty is "gpt-2"

	BOS, EOS       int32 // used where they are to be added
	AddBOS, AddEOS bool  // what Wrap adds
	NoSpacePrefix  bool  // llama: add_space_prefix is false
}

// New builds a tokenizer from a GGUF's vocabulary. One that contradicts itself, or is of a kind that is not supported,
// is a *fault.Error.
func New(o Options) (*Tokenizer, error) {
	types := o.Types
	if types == nil {
		types = slices.Repeat([]int32{TypeNormal}, len(o.Tokens))
	}
	if len(types) != len(o.Tokens) {
		return nil, badVocabulary("%d token types for %d tokens", len(types), len(o.Tokens))
	}
	t := &Tokenizer{tokens: o.Tokens, ids: make(map[string]int32, len(o.Tokens))}
	var added []AddedToken
	for i, token := range o.Tokens {
		if other, ok := t.ids[token]; ok {
			return nil, badVocabulary("token %q has two ids, %d and %d", token, other, i)
		}
		t.ids[token] = int32(i)
		if special := types[i] == TypeControl || types[i] == TypeUnknown; token != "" &&
			(special || types[i] == TypeUserDefined) {
			added = append(added, AddedToken{ID: int32(i), Content: token, Special: special})
		}
	}
	t.setAddedTokens(added)
	if o.AddBOS && t.valid(o.BOS) {
		t.prefix = []int32{o.BOS}
	}
	if o.AddEOS && t.valid(o.EOS) {
		t.suffix = []int32{o.EOS}
	}
	var err error
	switch o.Model {
	case "gpt2", "":
		err = t.byteLevel(o)
	case "llama":
		err = t.sentencePiece(o, types)
	case "gemma4":
		err = t.gemma(o, types)
	default:
		err = supportError("the tokenizer model", o.Model, "gemma4, gpt2, llama")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// byteLevel makes a gpt2 vocabulary's model and splitters.
func (t *Tokenizer) byteLevel(o Options) error {
	pre, ok := preTokenizers()[o.PreTokenizer]
	if !ok {
		names := slices.Sorted(maps.Keys(preTokenizers()))
		return supportError("the pre-tokenizer", o.PreTokenizer, strings.Join(names[1:], ", "))
	}
	for _, expression := range pre.split {
		t.stages = append(t.stages, mustSplit(expression))
	}
	if pre.nfc {
		t.normalize = normalForm(norm.NFC)
	}
	_, merges, err := t.readMerges(o)
	if err != nil {
		return err
	}
	m := &bpe{merges: merges, unknown: -1, ignoreMerges: pre.ignoreMerges, barred: t.barred}
	m.useBytes(t.tokens)
	m.findReachable()
	t.model = m
	t.useByteDecoder()
	return nil
}

// readMerges reads the merges. No token has a space in it, so the first one parts the two.
func (t *Tokenizer) readMerges(o Options) ([][2]string, map[uint64]merge, error) {
	pairs := make([][2]string, len(o.Merges))
	for i, line := range o.Merges {
		left, right, found := strings.Cut(line, " ")
		if !found {
			return nil, nil, badVocabulary("merge %d, %q, is not two tokens with a space between", i, line)
		}
		pairs[i] = [2]string{left, right}
	}
	merges, err := mergesOf(pairs, t.ids, false)
	if err != nil {
		return nil, nil, badVocabulary("%v", err)
	}
	return pairs, merges, nil
}

// gemma makes a gemma4 vocabulary's model: characters and their bytes, joined by a list of merges.
func (t *Tokenizer) gemma(o Options, types []int32) error {
	pairs, merges, err := t.readMerges(o)
	if err != nil {
		return err
	}
	m := &bpe{ids: t.ids, merges: merges, unknown: int32(slices.Index(types, TypeUnknown)), fuse: true, fallback: true,
		barred: t.barred}
	m.useChars(t.tokens, pairs)
	m.bytes = byteTokens(t.ids)
	m.findReachable()
	t.model = m
	t.normalize = func(text string) string { return strings.ReplaceAll(text, " ", meta) }
	t.decoder = spaceDecoder()
	return nil
}

// spaceDecoder makes spaces of the visible ones, and text of bytes.
func spaceDecoder() []stageKind {
	spaces := func(text string) string { return strings.ReplaceAll(text, meta, " ") }
	return []stageKind{
		func() decodeStage { return mapper(spaces) },
		func() decodeStage { return &byteFallback{} },
	}
}

// sentencePiece makes a llama vocabulary's model: neighbours are joined while together they are a token, the one with
// the highest score first. Characters without a token take part too, and end as their bytes.
func (t *Tokenizer) sentencePiece(o Options, types []int32) error {
	if len(o.Scores) != len(o.Tokens) {
		return badVocabulary("%d scores for %d tokens", len(o.Scores), len(o.Tokens))
	}
	for id, score := range o.Scores {
		if score != score {
			return badVocabulary("the score of token %d, %q, is not a number", id, o.Tokens[id])
		}
	}
	m := &bpe{ids: t.ids, chars: map[rune]int32{}, unknown: -1, barred: t.barred, lone: int32(len(o.Tokens))}
	for id, kind := range types {
		if kind == TypeUnknown {
			m.unknown = int32(id)
		}
	}
	m.bytes, m.fallback = byteTokens(t.ids), true
	symbol := func(text string) (int32, bool) {
		if id, ok := t.ids[text]; ok {
			return id, true
		}
		r, size := utf8.DecodeRuneInString(text)
		if size != len(text) {
			return 0, false
		}
		id, ok := m.chars[r]
		if !ok {
			id = m.lone + int32(len(m.loneChars))
			m.chars[r] = id
			m.loneChars = append(m.loneChars, r)
		}
		return id, true
	}
	m.merges = map[uint64]merge{}
	var pairs [][2]string
	ranks := scoreRanks(o.Scores)
	for id, token := range o.Tokens {
		if size := utf8.RuneCountInString(token); size == 1 {
			r, _ := utf8.DecodeRuneInString(token)
			m.chars[r] = int32(id)
		}
		for i := range token {
			if i == 0 {
				continue
			}
			left, okLeft := symbol(token[:i])
			right, okRight := symbol(token[i:])
			if !okLeft || !okRight {
				continue
			}
			m.merges[pairKey(left, right)] = merge{rank: ranks[o.Scores[id]], id: int32(id)}
			pairs = append(pairs, [2]string{token[:i], token[i:]})
		}
	}
	m.cutBefore(pairs)
	m.findReachable()
	t.model = m
	t.normalize = func(text string) string {
		text = strings.ReplaceAll(text, " ", meta)
		if !o.NoSpacePrefix && text != "" {
			text = meta + text
		}
		return text
	}
	t.decoder = spaceDecoder()
	if !o.NoSpacePrefix {
		t.decoder = append(t.decoder, func() decodeStage { return &frontStrip{char: " ", left: 1} })
	}
	return nil
}

// scoreRanks numbers the scores from the highest down.
func scoreRanks(scores []float32) map[float32]int32 {
	sorted := slices.Clone(scores)
	slices.SortFunc(sorted, func(a, b float32) int { return cmp.Compare(b, a) })
	ranks := make(map[float32]int32, len(sorted))
	for _, s := range slices.Compact(sorted) {
		ranks[s] = int32(len(ranks))
	}
	return ranks
}

func badVocabulary(format string, args ...any) error {
	return &fault.Error{
		Code: fault.CodeUsage, What: "cannot build the tokenizer", Why: fmt.Sprintf(format, args...),
		Next: "fetch the model file again: its vocabulary is damaged",
	}
}

func supportError(what, name, supported string) error {
	return &fault.Error{
		Code: fault.CodeUsage, What: "cannot build the tokenizer", Why: fmt.Sprintf("%s %q is not supported",
			what, name),
		Next: "use a model for which it is one of " + supported,
	}
}
