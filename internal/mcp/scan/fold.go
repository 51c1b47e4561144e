package scan

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text as a model may read it, whatever it was dressed as: compatibility forms resolved, hidden characters
// dropped, look-alikes made Latin, white space made single. shown and key have one rune for each place; key is in
// lower case and without accents, for search.
type folded struct {
	shown, key []rune
	// changed says of a text in another reading which of its runes that one changed; nil: all of them.
	changed []bool
}

// fold prepares a text for search.
func fold(text string) folded {
	var f folded
	space := true // the last rune is white space, or there is none
	for _, r := range norm.NFKC.String(text) {
		switch {
		case r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029:
			if space && len(f.shown) > 0 {
				f.shown[len(f.shown)-1], f.key[len(f.key)-1] = '\n', '\n' // the end of a line ends a sentence
				continue
			}
			space, r = true, '\n'
		case unicode.IsSpace(r):
			if space {
				continue
			}
			space, r = true, ' '
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector) || unicode.IsControl(r) || isAccent(r):
			continue
		default:
			space = false
		}
		f.shown, f.key = append(f.shown, r), append(f.key, searchRune(r))
	}
	f.latinise()
	return f
}

// isAccent reports marks that readers leave out: those of Latin, Greek, Cyrillic, Arabic and Hebrew. In the scripts of
// India and of South-East Asia marks are vowels.
func isAccent(r rune) bool {
	return unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Inherited, unicode.Arabic, unicode.Hebrew) || r == 0x0640
}

// spellings are letters that are written for one another.
var spellings = map[rune]rune{
	'’': '\'', '‘': '\'', '´': '\'', '`': '`', 'ı': 'i', 'đ': 'd', 'ł': 'l', 'ø': 'o', 'œ': 'o',
	'أ': 'ا', 'إ': 'ا', 'آ': 'ا', 'ى': 'ي', 'ی': 'ي', 'ک': 'ك', 'ة': 'ه', 'ؤ': 'و', 'ئ': 'ي', 'ہ': 'ه',
	'ھ': 'ه', 'ё': 'е',
}

// searchRune is the rune that stands for r in a key.
func searchRune(r rune) rune {
	r = unicode.ToLower(r)
	if r > 0x7f && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) {
		var base [utf8.UTFMax]byte
		r, _ = utf8.DecodeRune(norm.NFD.AppendString(base[:0], string(r)))
	}
	if s, ok := spellings[r]; ok {
		return s
	}
	return r
}

// lookAlikes are letters that are drawn as Latin ones (the most common of UTS 39's confusables).
var lookAlikes = lookAlikeTable(
	"аaеeоoрpсcуyхxіiѕsјjԁdһhոnցgɡgАAВBЕEКKМMНHОOРPСCТTХXІIЅSЈJοoνvιiαaρpΑAΒBΕEΙIΟOΚKΜMΝNΡPΤTΧXΥYΖZᴀaᴇeӏlｌl",
)

func lookAlikeTable(pairs string) map[rune]rune {
	table, runes := map[rune]rune{}, []rune(pairs)
	for i := 0; i+1 < len(runes); i += 2 {
		table[runes[i]] = runes[i+1]
	}
	return table
}

// latinise reads look-alikes as Latin letters in words that hold Latin letters too, and in words of look-alikes alone
// where the text is in Latin letters. A word in Russian or Greek stays what it is.
func (f folded) latinise() {
	latin, letters := 0, 0
	for _, r := range f.shown {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	for start := 0; start < len(f.shown); start++ {
		end := start
		has, foreign, alike := 0, 0, 0
		for ; end < len(f.shown) && unicode.IsLetter(f.shown[end]); end++ {
			if unicode.Is(unicode.Latin, f.shown[end]) {
				has++
			} else if foreign++; lookAlikes[f.shown[end]] != 0 {
				alike++
			}
		}
		if foreign > 0 && (has > 0 || alike == foreign && 2*latin > letters) {
			for i := start; i < end; i++ {
				if l := lookAlikes[f.shown[i]]; l != 0 {
					f.shown[i], f.key[i] = l, unicode.ToLower(l)
				}
			}
		}
		start = end
	}
}

func (f folded) String() string { return string(f.shown) }

// place gives the bytes of shown that hold the runes from start to end.
func (f folded) place(start, end int) (text string, from, to int) {
	text = f.String()
	from = len(string(f.shown[:start]))
	return text, from, from + len(string(f.shown[start:end]))
}

// mapRunes is the text with each rune of its key replaced; a text that nothing is replaced in is the zero value.
func (f folded) mapRunes(to func(word []rune, r rune) rune) folded {
	out := folded{shown: slices.Clone(f.key), key: slices.Clone(f.key), changed: make([]bool, len(f.key))}
	for start := 0; start < len(out.key); start++ {
		end := start
		for end < len(out.key) && out.key[end] != ' ' && out.key[end] != '\n' {
			end++
		}
		for i := start; i < end; i++ {
			r := to(f.key[start:end], f.key[i])
			out.changed[i] = r != f.key[i]
			out.key[i], out.shown[i] = r, r
		}
		start = end
	}
	if !slices.Contains(out.changed, true) {
		return folded{}
	}
	return out
}

// part is a text from one rune to another.
func (f folded) part(start, end int) folded {
	out := folded{shown: f.shown[start:end], key: f.key[start:end]}
	if f.changed != nil {
		out.changed = f.changed[start:end]
	}
	return out
}

// isChanged reports whether its reading changed a letter of the text.
func (f folded) isChanged() bool { return f.changed == nil || slices.Contains(f.changed, true) }

// disguises are other readings of a text, which a model is able to undo: rot13, digits for letters, spaced or turned
// round.
func (f folded) disguises() map[string]folded {
	out := map[string]folded{}
	keep := func(name string, g folded) {
		if len(g.key) > 0 {
			out[name] = g
		}
	}
	keep("rot13", f.mapRunes(func(_ []rune, r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+13)%26
		}
		return r
	}))
	keep("digits for letters", f.mapRunes(func(word []rune, r rune) rune {
		if i := strings.IndexRune(leet, r); i >= 0 && isLeet(word) {
			return rune("oieastas"[i])
		}
		return r
	}))
	turned := folded{shown: slices.Clone(f.shown), key: slices.Clone(f.key)}
	slices.Reverse(turned.shown)
	slices.Reverse(turned.key)
	keep("letters turned round", turned)
	keep("spaced letters", f.withoutGaps())
	return out
}

// leet are the runes that stand for the letters o, i, e, a, s, t, a and s.
const leet = "013457@$"

// isLeet reports whether a word is one that has letters of its own, half as many as digits at least: "1n57ruc710n5" has
// five beside seven. A time, as 2024-12-10T00:54:01, has one, and is read as no word.
func isLeet(word []rune) bool {
	letters, others := 0, 0
	for _, r := range word {
		switch {
		case r >= 'a' && r <= 'z': // hours and minutes have characters behind them in Japanese
			letters++
		case unicode.IsDigit(r) || strings.ContainsRune(leet, r):
			others++
		}
	}
	return 2*letters >= others
}

// withoutGaps is the text with runs of single letters, each apart from the next, joined to words. Where two spaces were
// between words, fold made them one; so words are told apart by the lexicon alone, which closed helps by joining
// all: the search for it leaves out word ends.
func (f folded) withoutGaps() folded {
	var out folded
	joined := 0
	single := func(i int) bool {
		return i < len(f.key) && unicode.IsLetter(f.key[i]) && (i == 0 || !unicode.IsLetter(f.key[i-1])) &&
			(i+1 == len(f.key) || !unicode.IsLetter(f.key[i+1]))
	}
	for i := 0; i < len(f.key); i++ {
		if !unicode.IsLetter(f.key[i]) && i > 0 && single(i-1) && single(i+1) {
			joined++
			continue
		}
		out.key, out.shown = append(out.key, f.key[i]), append(out.shown, f.shown[i])
		out.changed = append(out.changed, single(i))
	}
	if joined < 8 {
		return folded{}
	}
	return out
}
