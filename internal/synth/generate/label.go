package generate

import (
	"slices"
	"strings"
	"unicode"
)

// words are those of a name, lower case and singular: sourceTimezone and source_timezones are source, timezone.
func words(name string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, singular(strings.ToLower(string(word))))
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(runes[i-1]), unicode.IsUpper(r) && i+1 < len(runes) &&
			unicode.IsLower(runes[i+1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

func singular(word string) string {
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 4 && (strings.HasSuffix(word, "sses") || strings.HasSuffix(word, "xes") ||
		strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "shes")):
		return word[:len(word)-2]
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") &&
		!strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is"):
		return word[:len(word)-1]
	}
	return word
}

// wordsOfName is a name as people say it: source timezone.
func wordsOfName(name string) string {
	var out []string
	var word []rune
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]) {
			out = append(out, string(word))
			word = word[:0]
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word = append(word, unicode.ToLower(r))
		}
	}
	out = append(out, string(word))
	return strings.Join(slices.DeleteFunc(out, func(w string) bool { return w == "" }), " ")
}

// vague are words that many names share, whatever they name.
func vague(word string) bool {
	return slices.Contains([]string{"name", "id", "value", "type", "text", "result", "data", "content", "item", "input",
		"output", "key", "list", "info", "title", "status", "new", "string", "number"}, word)
}

// label says what a value is: the words of its own name, and those around it: of the object or the tool that it is of.
type label struct{ own, around []string }

// surely is a score from which a value is taken for what is asked for.
const surely = 4

// about is how well a value's label fits what is asked for: 0 where it does not.
func (l label) about(want label) int {
	score, own := 0, false
	bare := !slices.ContainsFunc(l.own, func(w string) bool { return !vague(w) }) // the name of a table, under "name"
	for _, w := range want.own {
		switch {
		case slices.Contains(l.own, w) && vague(w):
			score, own = score+1, true
		case slices.Contains(l.own, w), bare && slices.Contains(l.around, w) && !vague(w):
			score, own = score+surely, true
		case slices.Contains(l.around, w) && !vague(w):
			score += 2
		}
	}
	if !own { // another thing of the same
		return 0
	}
	for _, w := range l.own { // the difference of two times is no time
		if !vague(w) && !slices.Contains(want.own, w) && !slices.Contains(want.around, w) && score > 1 &&
			!(saysPath(w) && slices.ContainsFunc(want.own, saysPath)) {
			score--
		}
	}
	for _, w := range want.around {
		if !vague(w) && !slices.Contains(want.own, w) && (slices.Contains(l.own, w) || slices.Contains(l.around, w)) {
			score++
		}
	}
	return score
}

// saysPath reports whether a word says that something is named by where it lies: a file is its path.
func saysPath(word string) bool {
	return slices.Contains([]string{"path", "file", "filename", "filepath"}, word)
}

// nouns are a tool's name without its verb.
func nouns(tool string) []string {
	all := words(tool)
	return slices.DeleteFunc(all, func(w string) bool { return isVerb(w) || isVerb(w+"s") })
}
