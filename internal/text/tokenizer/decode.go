package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// byteAlphabet maps each byte to the printable character that stands for it in a byte-level vocabulary: printable
// Latin-1 stands for itself, the rest are 256 and up in order, so that a space is "Ġ" (U+0120).
func byteAlphabet() [256]rune {
	var alphabet [256]rune
	next := rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			alphabet[b] = b
			continue
		}
		alphabet[b] = next
		next++
	}
	return alphabet
}

// tokenBytes is the text of a token. One with a character outside the byte alphabet is its own text.
func tokenBytes(token string, byRune map[rune]byte) string {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := byRune[r]
		if !ok {
			return token
		}
		text = append(text, b)
	}
	return string(text)
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

// Decoder decodes ids one at a time. A character may span several tokens: its bytes are held back until it is whole.
type Decoder struct {
	t    *Tokenizer
	held []byte
}

// NewDecoder starts a stream of ids.
func (t *Tokenizer) NewDecoder() *Decoder { return &Decoder{t: t} }

// Next returns the text that id completes, which may be empty. What Next and Close return adds up to Decode.
func (d *Decoder) Next(id int32) string {
	if !d.t.valid(id) {
		return ""
	}
	text := d.t.bytes[id]
	if len(d.held) == 0 && isASCII(text) {
		return text
	}
	d.held = append(d.held, text...)
	var b strings.Builder
	for len(d.held) > 0 && utf8.FullRune(d.held) {
		d.held = d.held[appendRune(&b, d.held):]
	}
	return b.String()
}

// Close returns U+FFFD where the stream ended inside a character.
func (d *Decoder) Close() string {
	var b strings.Builder
	for len(d.held) > 0 {
		d.held = d.held[appendRune(&b, d.held):]
	}
	return b.String()
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
