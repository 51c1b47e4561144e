// Package tokenizer turns text into token ids and back, exactly as the model's own tokenizer does.
//
// A tokenizer is read from a tokenizer.json (Load) or from the vocabulary in a GGUF file (New). Text passes through
// four stages, each exactly that of Hugging Face's tokenizers: added tokens are taken out (added_tokens.go), the rest
// is normalised (normalize.go), cut into pieces (pretokenize.go, regex.go), and each piece becomes tokens by byte-pair
// merges (bpe.go) or by scores (unigram.go).
//
// Text that may come from anyone (message content, tool results) goes through EncodeOrdinary, or as an ordinary Part
// through EncodeParts: it can never yield a special token. Only a renderer's own template text may use Encode or ID.
package tokenizer

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token types, numbered as in GGUF's tokenizer.ggml.token_type.
const (
	TypeNormal      int32 = 1
	TypeUnknown     int32 = 2
	TypeControl     int32 = 3 // special: <|im_start|>
	TypeUserDefined int32 = 4 // added to the vocabulary after training, matched whole in text
	TypeUnused      int32 = 5
	TypeByte        int32 = 6 // <0x0A>
)

// Tokenizer is immutable but for its cache, and safe for use by many goroutines.
type Tokenizer struct {
	tokens  []string // index is the id, "" where there is none
	ids     map[string]int32
	texts   []string // of each token, as the decoder takes it
	special []bool   // by id: controls the model
	added   []bool   // by id: found in text before all else, never made of ordinary text
	barred  []bool   // by id: what the model must not make of ordinary text

	raw, normalized                 *addedTokens
	ordinaryRaw, ordinaryNormalized *addedTokens // those that text from anyone may yield
	normalize                       normalizer   // nil: text stays as it is
	rewrite                         normalizer   // the table of rewrites in normalize, nil without one
	stages                          []splitter
	model                           model
	prefix, suffix                  []int32
	decoder                         []stageKind // nil: bytes are the text
}

// Part is a stretch of a text. In an ordinary one nothing is special; the others are a renderer's own.
type Part struct {
	Text     string
	Ordinary bool
}

// Encode returns the ids of text, in which special and other added tokens are recognised. It adds none of its own; Wrap
// does that.
func (t *Tokenizer) Encode(text string) []int32 { return t.EncodeParts(Part{Text: text}) }

// EncodeOrdinary returns the ids of text in which nothing is special: "<|im_end|>" is encoded as the characters it is
// written with. A byte that the vocabulary has no token for yields nothing, as in Hugging Face's tokenizers.
func (t *Tokenizer) EncodeOrdinary(text string) []int32 {
	return t.EncodeParts(Part{Text: text, Ordinary: true})
}

// EncodeParts returns the ids of one text that parts add up to. It is encoded as a whole, so that tokens may reach over
// the seams as the vendor's do, but an added token is recognised only where it lies outside the ordinary parts.
func (t *Tokenizer) EncodeParts(parts ...Part) []int32 {
	if len(parts) == 1 {
		return t.encode(parts[0].Text, mask{whole: true, ordinary: parts[0].Ordinary})
	}
	var text strings.Builder
	var m mask
	for _, p := range parts {
		if p.Ordinary && p.Text != "" {
			m.spans = append(m.spans, [2]int{text.Len(), text.Len() + len(p.Text)})
		}
		text.WriteString(p.Text)
	}
	return t.encode(text.String(), m)
}

// mask says which part of a text is ordinary: the whole, or spans in order.
type mask struct {
	whole, ordinary bool
	spans           [][2]int
	at              int // where the text begins in the one that the spans are of
}

// touches reports whether text from start to end is ordinary in part.
func (m mask) touches(start, end int) bool {
	if m.whole {
		return m.ordinary
	}
	behind := m.behind(start)
	return len(behind) > 0 && behind[0][0]-m.at < end
}

// behind are the spans that end behind a place of the text. There may be as many as a message has bytes.
func (m mask) behind(place int) [][2]int {
	return m.spans[sort.Search(len(m.spans), func(i int) bool { return m.spans[i][1]-m.at > place }):]
}

// any reports whether some of the text is ordinary.
func (m mask) any() bool { return m.ordinary || len(m.spans) > 0 }

// from is m for the text that begins at start.
func (m mask) from(start int) mask {
	m.at += start
	return m
}

func (t *Tokenizer) encode(text string, m mask) []int32 {
	raw := t.raw
	if m.whole && m.ordinary {
		raw = t.ordinaryRaw
	}
	ids := make([]int32, 0, len(text)/4+1)
	raw.cut(text, m.allows, func(f found) {
		if f.id >= 0 {
			ids = append(ids, f.id)
			return
		}
		ids = t.appendSection(ids, text[f.start:f.end], f.start == 0, m.from(f.start))
	})
	return ids
}

// allows is the question that addedTokens.cut asks.
func (m mask) allows(token *AddedToken, start, end int) bool {
	return token.harmless() || !m.touches(start, end)
}

// appendSection encodes what lies between added tokens. first says that it begins the text.
func (t *Tokenizer) appendSection(ids []int32, text string, first bool, m mask) []int32 {
	normal := text
	if t.normalize != nil {
		normal = t.normalize(text)
		if normal != text {
			if len(m.spans) > 0 && t.normalized != nil {
				return t.appendSeams(ids, text, first, m)
			}
			first = first && t.keepsFront(text, normal)
		}
	}
	added := t.normalized
	if m.whole && m.ordinary {
		added = t.ordinaryNormalized
	}
	added.cut(normal, m.allows, func(f found) {
		if f.id >= 0 {
			ids = append(ids, f.id)
			return
		}
		ids = t.appendPieces(ids, 0, normal[f.start:f.end], first && f.start == 0, m.any())
	})
	return ids
}

// keepsFront reports whether a text's first character is still there after normalising. If not, the vendor holds that
// the text no longer begins the input; but it does not notice what a table of rewrites drops.
func (t *Tokenizer) keepsFront(text, normal string) bool {
	if t.rewrite != nil {
		text = t.rewrite(text)
	}
	r, _ := utf8.DecodeRuneInString(text)
	if !unicode.IsSpace(r) && !unicode.IsControl(r) && !unicode.IsMark(r) {
		return true
	}
	n, _ := utf8.DecodeRuneInString(normal)
	return n == r || unicode.IsSpace(n) || strings.HasPrefix(normal, meta)
}

// appendSeams encodes a section part by part, because after normalising it is no longer known which text is ordinary.
func (t *Tokenizer) appendSeams(ids []int32, text string, first bool, m mask) []int32 {
	start := 0
	add := func(end int, ordinary bool) {
		if end > start {
			ids = t.appendSection(ids, text[start:end], first && start == 0, mask{whole: true, ordinary: ordinary})
			start = end
		}
	}
	for _, s := range m.behind(0) {
		if s[0]-m.at >= len(text) {
			break
		}
		add(s[0]-m.at, false)
		add(min(s[1]-m.at, len(text)), true)
	}
	add(len(text), false)
	return ids
}

func (t *Tokenizer) appendPieces(ids []int32, stage int, text string, first, ordinary bool) []int32 {
	if stage == len(t.stages) {
		return t.model.appendPiece(ids, text, ordinary)
	}
	t.stages[stage].split(text, first, func(piece string, first bool) {
		ids = t.appendPieces(ids, stage+1, piece, first, ordinary)
	})
	return ids
}

// Wrap returns ids with the tokens around them that the tokenizer adds to a whole text, such as a BOS.
func (t *Tokenizer) Wrap(ids []int32) []int32 {
	out := make([]int32, 0, len(t.prefix)+len(ids)+len(t.suffix))
	return append(append(append(out, t.prefix...), ids...), t.suffix...)
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

// NumTokens is the size of the vocabulary: the highest id and one. A model's output layer may be wider.
func (t *Tokenizer) NumTokens() int { return len(t.tokens) }

// IsSpecial reports whether id is a token that controls the model. Ordinary text never yields it, and DecodeOrdinary
// leaves it out.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.valid(id) && t.special[id] }

// IsAdded reports whether id is a token that Encode finds whole in text before anything else: the special ones, and
// others such as Qwen's <tool_call>. Ordinary text never yields it, unless it is but white space.
func (t *Tokenizer) IsAdded(id int32) bool { return t.valid(id) && t.added[id] }

func (t *Tokenizer) valid(id int32) bool { return id >= 0 && int(id) < len(t.tokens) }

// setAddedTokens takes the added tokens, whose ids are in the vocabulary.
func (t *Tokenizer) setAddedTokens(added []AddedToken) {
	t.texts = append([]string(nil), t.tokens...)
	t.special, t.added, t.barred = make([]bool, len(t.tokens)), make([]bool, len(t.tokens)), make([]bool, len(t.tokens))
	normal := func(a AddedToken) string {
		if t.normalize == nil {
			return a.Content
		}
		return t.normalize(a.Content)
	}
	content := func(a AddedToken) string { return a.Content }
	specials := map[string]bool{}
	var raw, normalized, ordinaryRaw, ordinaryNormalized []AddedToken
	for _, a := range added {
		t.added[a.ID] = true
		specials[a.Content] = specials[a.Content] || a.Special
		list, ordinary := &raw, &ordinaryRaw
		if a.Normalized {
			list, ordinary = &normalized, &ordinaryNormalized
			t.texts[a.ID] = normal(a)
		}
		*list = append(*list, a)
		if a.harmless() {
			*ordinary = append(*ordinary, a)
		}
	}
	for id, text := range t.texts {
		t.special[id] = specials[text] && t.added[id] // by the text to be decoded: the vendor's rule
	}
	for _, a := range added {
		// An added character is left to the model: without it, text with that character could not be written.
		t.barred[a.ID] = t.special[a.ID] || !a.harmless() && utf8.RuneCountInString(a.Content) > 1
	}
	word := newSet(wordRust())
	t.raw, t.normalized = newAddedTokens(raw, content, word), newAddedTokens(normalized, normal, word)
	t.ordinaryRaw = newAddedTokens(ordinaryRaw, content, word)
	t.ordinaryNormalized = newAddedTokens(ordinaryNormalized, normal, word)
}
