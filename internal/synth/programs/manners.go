package programs

import (
	"math/rand/v2"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hone/internal/synth/written"
)

// manners are what people say around a request, by what it is for and by split: a greeting or a reason before it, how
// the answer should read, a word behind it. Held-out tasks have manners of their own.
var manners = sync.OnceValue(func() (all map[string]map[string][]string) {
	written.Words("manners", &all)
	return all
})

// address puts a greeting before one request in sixteen, and a word of thanks behind another one.
func (p *Program) address(r *rand.Rand, split, text string) string {
	polite := r.IntN(16) // one in eight has something around it
	switch n := r.IntN(8); {
	case polite == 0:
		opening := pick(r, manners()["opening"][split])
		to := unicode.ToLower
		if strings.ContainsAny(opening[len(opening)-1:], ".!?") {
			to = unicode.ToUpper
		}
		text = opening + " " + p.begin(text, to)
	case n < 2:
		text = p.begin(text, unicode.ToLower)
	case n > 3: // else as the wording has it
		text = p.begin(text, unicode.ToUpper)
	}
	if polite == 1 {
		text = follow(text, pick(r, manners()["closing"][split]))
	}
	return text
}

// begin changes the first letter of a text, but not that of a name or a value.
func (p *Program) begin(text string, to func(rune) rune) string {
	for _, slot := range []string{"x", "y", "v", "old"} {
		if value := p.slots[slot]; value != "" && strings.HasPrefix(text, value) {
			return text
		}
	}
	if word, _, _ := strings.Cut(text, " "); strings.ContainsAny(strings.TrimRight(word, ".,:;?!"), "/.") {
		return text // a path has its own letters
	}
	return first(text, to)
}

// first changes the first letter of a text; "I" stays as it is.
func first(text string, to func(rune) rune) string {
	if strings.HasPrefix(text, "I ") || strings.HasPrefix(text, "I'") {
		return text
	}
	r, n := utf8.DecodeRuneInString(text)
	return string(to(r)) + text[n:]
}

// follow puts a sentence behind a text. Where the text has no last mark, the sentence goes on behind a comma.
func follow(text, sentence string) string {
	if ends(text) {
		return text + " " + sentence
	}
	return text + ", " + first(sentence, unicode.ToLower)
}

// ends reports whether a text has its last mark.
func ends(text string) bool { return strings.ContainsAny(text[len(text)-1:], ".?!:,") }

// mistype writes a wording as people type: at times in small letters, without apostrophes or the last mark, or with two
// letters in the wrong order. Its slots stay, so no name and no value is touched.
func mistype(r *rand.Rand, wording string) string {
	switch r.IntN(24) {
	case 0:
		return outside(wording, strings.ToLower)
	case 1:
		return outside(wording, func(text string) string {
			for _, ending := range []string{"t", "s", "re", "ve", "m", "d"} { // don't, what's, we're
				for _, mark := range []string{" ", ".", ",", "?"} {
					text = dropApostrophe(text, "'"+ending+mark)
				}
			}
			return text
		})
	case 2, 3:
		return strings.TrimRight(wording, ".?")
	case 4:
		return swap(r, wording)
	}
	return wording
}

// dropApostrophe is a text without the apostrophe of an ending that stands behind a letter.
func dropApostrophe(text, ending string) string {
	for from := 0; ; {
		i := strings.Index(text[from:], ending)
		if i < 0 {
			return text
		}
		if i += from; i > 0 && isLetter(text[i-1]) {
			text = text[:i] + text[i+1:]
		}
		from = i + 1
	}
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

// outside changes what of a wording is no slot.
func outside(wording string, change func(string) string) string {
	var b strings.Builder
	for wording != "" {
		text, rest, slot := strings.Cut(wording, "{")
		b.WriteString(change(text))
		if !slot {
			break
		}
		name, behind, _ := strings.Cut(rest, "}")
		b.WriteString("{" + name + "}")
		wording = behind
	}
	return b.String()
}

// swap puts two neighbouring letters within a long word of a wording in the wrong order.
func swap(r *rand.Rand, wording string) string {
	var places []int
	word, within := 0, false
	for i := range len(wording) {
		c := wording[i]
		within = c == '{' || within && c != '}'
		if word++; within || !isLetter(c) {
			word = 0
		}
		letters := i+3 < len(wording) && isLetter(wording[i+1]) && isLetter(wording[i+2]) && isLetter(wording[i+3])
		if word > 1 && letters && c != wording[i+1] { // neither the first letter nor the last two
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return wording
	}
	i := pick(r, places)
	return wording[:i] + wording[i+1:i+2] + wording[i:i+1] + wording[i+2:]
}
