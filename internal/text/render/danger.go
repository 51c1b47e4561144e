package render

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/text/tokenizer"
)

// danger knows the tokens that text from anyone must not yield: the added ones.
type danger struct {
	lengths  [256][]int      // in bytes, by first byte, the longest first
	special  map[string]bool // of each token, whether it controls the model
	prefixes map[string]bool // their beginnings
	suffixes map[string]bool // their ends, except mere words
	longest  int             // bytes
}

func newDanger(tok *tokenizer.Tokenizer) *danger {
	d := &danger{special: map[string]bool{}, prefixes: map[string]bool{}, suffixes: map[string]bool{}}
	for id := range int32(tok.NumTokens()) {
		token, _ := tok.Token(id)
		if token == "" || !tok.IsAdded(id) {
			continue
		}
		if lengths := &d.lengths[token[0]]; !slices.Contains(*lengths, len(token)) {
			*lengths = append(*lengths, len(token))
		}
		d.special[token] = tok.IsSpecial(id)
		d.longest = max(d.longest, len(token))
		for i := 1; i < len(token); i++ {
			d.prefixes[token[:i]] = true
		}
		for i := range token {
			if i > 0 && strings.ContainsFunc(token[i:], notWord) {
				d.suffixes[token[i:]] = true
			}
		}
	}
	for _, lengths := range d.lengths {
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
	}
	return d
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// at returns the longest token that begins at a byte of text; empty where none does. Vocabularies have thousands of
// tokens that begin with "<", but of few lengths.
func (d *danger) at(text string, i int) string {
	for _, n := range d.lengths[text[i]] {
		if n > len(text)-i {
			continue
		}
		if _, ok := d.special[text[i:i+n]]; ok {
			return text[i : i+n]
		}
	}
	return ""
}

// mark puts the sentinel in front of characters of text so that no dangerous token lies clear of them: in each one that
// the text holds, and in what the text could be the end or the beginning of once other text stands beside it.
func (d *danger) mark(text, sentinel string) string {
	if text == "" || d.longest == 0 {
		return text
	}
	at := map[int]bool{}
	for i := range len(text) {
		if token := d.at(text, i); token != "" {
			_, first := utf8.DecodeRuneInString(token)
			if first == len(token) {
				first = 0
			}
			at[i+first] = true // inside, so that a template that looks for the token does not find it either
		}
	}
	for n := 1; n < min(len(text)+1, d.longest); n++ {
		if d.suffixes[text[:n]] {
			at[0] = true
		}
		if d.prefixes[text[len(text)-n:]] {
			_, last := utf8.DecodeLastRuneInString(text)
			at[len(text)-last] = true
		}
	}
	if len(at) == 0 {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if at[i] {
			b.WriteString(sentinel)
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// firstSpecial and lastSpecial find a special token of the template in a text with sentinels; -1 where there is none.
func (d *danger) firstSpecial(text string) (start, end int) {
	for i := range len(text) {
		if token := d.at(text, i); d.special[token] {
			return i, i + len(token)
		}
	}
	return -1, -1
}

func (d *danger) lastSpecial(text string) (start, end int) {
	for i := len(text) - 1; i >= 0; i-- {
		if token := d.at(text, i); d.special[token] {
			return i, i + len(token)
		}
	}
	return -1, -1
}

// parts cuts a text with sentinels: the character behind each one is ordinary.
func parts(text, sentinel string) []tokenizer.Part {
	before, rest, found := strings.Cut(text, sentinel)
	all := []tokenizer.Part{{Text: before}}
	for found {
		rest = strings.TrimLeft(rest, sentinel) // a template may have taken out what stood between two
		_, first := utf8.DecodeRuneInString(rest)
		all = append(all, tokenizer.Part{Text: rest[:first], Ordinary: true})
		before, rest, found = strings.Cut(rest[first:], sentinel)
		all = append(all, tokenizer.Part{Text: before})
	}
	return all
}
