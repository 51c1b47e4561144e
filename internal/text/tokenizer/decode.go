package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// alphabet maps each byte to the printable character that stands for it in a byte-level vocabulary.
type alphabet struct {
	chars [256]string
	bytes map[rune]byte
}

// newAlphabet is GPT-2's: printable Latin-1 stands for itself, the rest are 256 and up in order, so that a space is "Ġ"
// (U+0120).
func newAlphabet() alphabet {
	a := alphabet{bytes: make(map[rune]byte, 256)}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		a.chars[b], a.bytes[r] = string(r), byte(b)
	}
	return a
}

func (a alphabet) encode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteString(a.chars[text[i]])
	}
	return b.String()
}

// decode returns the bytes that a token stands for; false, and the token, where it has a character of no byte.
func (a alphabet) decode(token string) (string, bool) {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := a.bytes[r]
		if !ok {
			return token, false
		}
		text = append(text, b)
	}
	return string(text), true
}

// Decode returns the text of ids, special tokens as they are written. Bytes that are not UTF-8 become U+FFFD, one for
// each broken character; ids outside the vocabulary yield nothing.
func (t *Tokenizer) Decode(ids []int32) string {
	d := t.NewDecoder()
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(d.Next(id))
	}
	b.WriteString(d.Close())
	return b.String()
}

// DecodeOrdinary is Decode with special tokens left out.
func (t *Tokenizer) DecodeOrdinary(ids []int32) string {
	ordinary := make([]int32, 0, len(ids))
	for _, id := range ids {
		if !t.IsSpecial(id) {
			ordinary = append(ordinary, id)
		}
	}
	return t.Decode(ordinary)
}

// Decoder decodes ids one at a time. What the next ids could still change is held back: a character that is not whole,
// or a run of bytes that counts as text only if all of it is UTF-8.
type Decoder struct {
	t      *Tokenizer
	bytes  byteStream
	stages []decodeStage
	emit   []func(text string)
	out    strings.Builder
}

// NewDecoder starts a stream of ids.
func (t *Tokenizer) NewDecoder() *Decoder {
	d := &Decoder{t: t}
	if t.decoder == nil {
		return d
	}
	for _, kind := range t.decoder {
		d.stages = append(d.stages, kind())
	}
	d.emit = make([]func(string), len(d.stages)+1)
	d.emit[len(d.stages)] = func(text string) { d.out.WriteString(text) }
	for i, stage := range d.stages {
		d.emit[i] = func(text string) { stage.next(text, d.emit[i+1]) }
	}
	return d
}

// Next returns the text that id completes, which may be empty. What Next and Close return adds up to Decode.
func (d *Decoder) Next(id int32) string {
	if !d.t.valid(id) || d.t.tokens[id] == "" {
		return ""
	}
	text := d.t.texts[id]
	if d.stages != nil {
		d.emit[0](text)
		return d.take()
	}
	if len(d.bytes.held) == 0 && isASCII(text) {
		return text
	}
	d.bytes.next(text, func(text string) { d.out.WriteString(text) })
	return d.take()
}

// Close returns what was held back: U+FFFD where the stream ended inside a character.
func (d *Decoder) Close() string {
	for i, stage := range d.stages {
		stage.close(d.emit[i+1])
	}
	d.bytes.close(func(text string) { d.out.WriteString(text) })
	return d.take()
}

func (d *Decoder) take() string {
	text := d.out.String()
	d.out.Reset()
	return text
}

// byteStream turns bytes into text.
type byteStream struct{ held []byte }

func (s *byteStream) next(bytes string, emit func(string)) {
	s.held = append(s.held, bytes...)
	var b strings.Builder
	for len(s.held) > 0 && utf8.FullRune(s.held) {
		s.held = s.held[appendRune(&b, s.held):]
	}
	if b.Len() > 0 {
		emit(b.String())
	}
}

func (s *byteStream) close(emit func(string)) {
	var b strings.Builder
	for len(s.held) > 0 {
		s.held = s.held[appendRune(&b, s.held):]
	}
	if b.Len() > 0 {
		emit(b.String())
	}
}

// appendRune writes the first character of text and returns its length. As everywhere outside Go (WHATWG, Rust,
// Python), the longest start of a character that then breaks off is replaced as one.
func appendRune(b *strings.Builder, text []byte) int {
	if r, size := utf8.DecodeRune(text); r != utf8.RuneError || size > 1 {
		b.WriteRune(r)
		return size
	}
	b.WriteRune(utf8.RuneError)
	n := 1
	for n < len(text) && !utf8.FullRune(text[:n+1]) {
		n++
	}
	return n
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Bytes returns the bytes that a token stands for behind others: of a character cut in half, its half. It is false for
// an id outside of the vocabulary, and where a token writes nothing.
func (t *Tokenizer) Bytes(id int32) (string, bool) {
	if !t.valid(id) || t.tokens[id] == "" {
		return "", false
	}
	if t.decoder == nil {
		return t.texts[id], t.texts[id] != ""
	}
	if b, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(t.tokens[id], "<0x"), ">"), 16,
		8); err == nil && len(t.tokens[id]) == len("<0x00>") && !t.added[id] {
		return string([]byte{byte(b)}), true
	}
	anchor, known := t.ids["a"]
	if !known {
		return "", false
	}
	text, behind := strings.CutPrefix(t.Decode([]int32{anchor, id}), t.Decode([]int32{anchor}))
	return text, behind && text != ""
}
