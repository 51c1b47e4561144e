package scan

import (
	_ "embed"
	"sort"
	"strings"
	"sync"
	"unicode"
)

//go:embed lexicon.txt
var lexiconText string

// hit is a form of the lexicon in a text; start and end are runes.
type hit struct {
	concept, language string
	start, end        int
}

// trie finds the forms of all languages at once.
type trie struct {
	next map[rune]*trie
	ends []formEnd
}

type formEnd struct {
	concept, language string
	open              bool // the word may go on
}

// lexicon reads lexicon.txt once.
var lexicon = sync.OnceValue(func() *trie {
	root, language := &trie{}, ""
	for line := range strings.Lines(lexiconText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			language = strings.Trim(line, "[]")
			continue
		}
		concept, forms, _ := strings.Cut(line, ": ")
		for form := range strings.SplitSeq(forms, " | ") {
			root.insert(form, concept, language)
		}
	}
	return root
})

func (t *trie) insert(form, concept, language string) {
	key := fold(form).key
	open := false
	switch last := key[len(key)-1]; {
	case last == '*':
		key, open = key[:len(key)-1], true
	case last == '$':
		key = key[:len(key)-1]
	default:
		open = joining(key[len(key)-1]) || unbroken(key[len(key)-1])
	}
	at := t
	for _, r := range key {
		if at.next == nil {
			at.next = map[rune]*trie{}
		}
		if at.next[r] == nil {
			at.next[r] = &trie{}
		}
		at = at.next[r]
	}
	at.ends = append(at.ends, formEnd{concept, language, open})
}

// unbroken reports scripts that write no spaces between words, or join words to what follows.
func unbroken(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar, unicode.Hangul)
}

// joining reports scripts whose words take endings that the lexicon does not list.
func joining(r rune) bool {
	return prefixing(r) || unicode.In(r, unicode.Devanagari, unicode.Bengali, unicode.Gujarati, unicode.Gurmukhi,
		unicode.Tamil, unicode.Telugu, unicode.Ethiopic)
}

// prefixing reports scripts that write "and", "the", "to" as the first letters of the word that follows.
func prefixing(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Hebrew) }

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// find returns all forms in a text. glued leaves out the ends of words.
func (t *trie) find(key []rune, glued bool) []hit {
	var out []hit
	run := 0 // letters of the word before this place
	for i, r := range key {
		starts := !inWord(r) || run == 0 || unbroken(r) || unbroken(key[i-1]) || prefixing(r) && run <= 3 || glued
		if starts {
			t.walk(key, i, i, glued, &out)
		}
		if inWord(r) {
			run++
		} else {
			run = 0
		}
	}
	return out
}

func (t *trie) walk(key []rune, from, at int, glued bool, out *[]hit) {
	for _, e := range t.ends {
		if at == len(key) || e.open || glued || !inWord(key[at]) || !inWord(key[at-1]) ||
			unbroken(key[at]) != unbroken(key[at-1]) {
			*out = append(*out, hit{e.concept, e.language, from, at})
		}
	}
	if rest := t.next['*']; rest != nil {
		end := at
		for end < len(key) && inWord(key[end]) {
			end++
		}
		rest.walk(key, from, end, glued, out)
	}
	if at == len(key) {
		return
	}
	r := key[at]
	if r == '\n' {
		r = ' '
	}
	if n := t.next[r]; n != nil {
		n.walk(key, from, at+1, glued, out)
	} else if glued && t.next[' '] != nil {
		t.next[' '].walk(key, from, at, glued, out)
	}
}

// languagesOf groups hits by language, with those that any language shares in each.
func languagesOf(hits []hit) map[string]map[string][]hit {
	out := map[string]map[string][]hit{}
	for _, h := range hits {
		if h.language != "any" && out[h.language] == nil {
			out[h.language] = map[string][]hit{}
		}
	}
	for language, concepts := range out {
		for _, h := range hits {
			if h.language == language || h.language == "any" {
				concepts[h.concept] = append(concepts[h.concept], h)
			}
		}
		for _, list := range concepts {
			sort.Slice(list, func(i, j int) bool { return list[i].start < list[j].start })
		}
	}
	return out
}
