// Package known tells whether an answer could be known from what was shown before it. A model that learns answers which
// follow from nothing learns to invent.
package known

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hone/internal/chat"
)

// Unknown returns the first value of an answer in a conversation that nothing before it says, and whether there is one.
// Answers are the messages of the assistant that call nothing, come behind a tool's result, and are to be judged.
func Unknown(messages []chat.Message, tools []chat.Tool, judged func(message int) bool) (value string, found bool) {
	var asked, shown strings.Builder
	for _, t := range tools {
		asked.WriteString(t.Name + "\n" + t.Description + "\n" + string(t.InputSchema) + "\n")
	}
	results := false
	for i, m := range messages {
		switch {
		case m.Role == chat.ToolRole:
			results = true
			shown.WriteString(m.Content + "\n")
		case m.Role != chat.Assistant:
			asked.WriteString(m.Content + "\n")
		default:
			if results && len(m.ToolCalls) == 0 && judged(i) {
				if value := Missing(asked.String(), shown.String(), m.Content); value != "" {
					return value, true
				}
			}
			shown.WriteString(m.Content + "\n")
		}
	}
	return "", false
}

// Missing returns the first value of an answer where none of its values, beyond those of what was asked, is in what was
// shown; else "". Values are the words of a short answer, and in a longer one numbers, names, and what stands in
// quotes. A number may come of others, or of a list, and counts where nothing of that kind was shown; so do days and
// months.
func Missing(asked, shown, answer string) string {
	values := valuesOf(answer)
	if len(values) == 0 || plainly(values, asked, shown) {
		return ""
	}
	given, seen := wordsOf(asked), wordsOf(shown)
	first := ""
	for _, v := range values {
		switch {
		case given.has(v.word):
			continue
		case seen.has(v.word), v.counts() && (given.numbers > 1 || seen.numbers > 0 || isList(shown)):
			return ""
		case first == "":
			first = v.text
		}
	}
	return first
}

// plainly reports whether a longer value stands in what was shown alone, as nearly all do: then no more is to be read.
func plainly(values []value, asked, shown string) bool {
	asked, shown = strings.ToLower(asked), strings.ToLower(shown)
	return slices.ContainsFunc(values, func(v value) bool {
		return len(v.word) >= stem && !strings.Contains(asked, v.word) && strings.Contains(shown, v.word)
	})
}

// value is a word of an answer that says something: as it stands there, and as it is compared.
type value struct{ text, word string }

// counts reports whether it is a number, a day or a month, which are reckoned from others.
func (v value) counts() bool {
	_, err := strconv.ParseFloat(v.word, 64)
	return err == nil || strings.Contains(reckoned, " "+v.word+" ")
}

const (
	// shortAnswer is up to how many words an answer is its values alone.
	shortAnswer = 3
	// longRun is from how many letters a word is a sentence of a script without spaces.
	longRun = 9
	// stem is how many letters two forms of a word have in common at least.
	stem = 4
)

// valuesOf are the values of an answer.
func valuesOf(answer string) (out []value) {
	all := split(answer)
	short := len(all) <= shortAnswer
	for _, w := range all {
		word := fold(w.text)
		number := strings.ContainsFunc(word, unicode.IsDigit)
		switch {
		case word == "0" || word == "1", strings.Contains(sayNothing, " "+word+" "):
			// a number that nothing shown comes to
		case number || strings.Contains(reckoned, " "+word+" ") || w.quoted || w.name && !w.begins ||
			short && w.letters < longRun && !w.spaceless || w.spaceless && short && w.letters < longRun:
			out = append(out, value{w.text, word})
		}
	}
	return out
}

// token is a word of a text: whether it stands in quotes, begins with a capital, begins a sentence, or is of a script
// without spaces.
type token struct {
	text                            string
	letters                         int
	quoted, name, begins, spaceless bool
}

func split(text string) (out []token) {
	text = joinThousands(text)
	begins, quoted := true, false
	for i, runes := 0, []rune(text); i < len(runes); {
		r := runes[i]
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			switch {
			case strings.ContainsRune(".!?:\n*#", r) && (i+1 == len(runes) || unicode.IsSpace(runes[i+1]) || r == '\n'):
				begins = true
			case strings.ContainsRune("\"`“”«»", r):
				quoted = !quoted
			}
			i++
			continue
		}
		from := i
		for i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]) || unicode.IsMark(runes[i]) ||
			runes[i] == '.' && i+1 < len(runes) && unicode.IsDigit(runes[i-1]) && unicode.IsDigit(runes[i+1])) {
			i++
		}
		out = append(out, token{
			text:      string(runes[from:i]),
			letters:   i - from,
			quoted:    quoted,
			name:      unicode.IsUpper(r),
			begins:    begins,
			spaceless: unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai),
		})
		begins = false
	}
	return out
}

// joinThousands is a text whose thousands are not set apart.
func joinThousands(text string) string {
	out := []rune{}
	runes := []rune(text)
	digit := func(i int) bool { return i >= 0 && i < len(runes) && unicode.IsDigit(runes[i]) }
	for i, r := range runes {
		if (r == ',' || r == '\u202f' || r == '\u00a0') && digit(i-1) && digit(i+1) && digit(i+2) && digit(i+3) &&
			!digit(i+4) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// fold is a word as it is compared: in small letters, a number by its value.
func fold(word string) string {
	word = strings.ToLower(word)
	if n, ok := numbers()[word]; ok {
		return n
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil && !strings.ContainsAny(word, "xpein") {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return word
}

// words are those of a text, and how many of them are numbers.
type words struct {
	all     map[string]bool
	stems   map[string]bool // beginnings of the longer ones
	text    string
	numbers int
}

func wordsOf(text string) words {
	w := words{all: map[string]bool{}, stems: map[string]bool{}, text: strings.ToLower(text)}
	for _, t := range split(text) {
		word := fold(t.text)
		if strings.ContainsFunc(word, unicode.IsDigit) {
			w.numbers++
		}
		w.all[word] = true
		for runes := []rune(word); len(runes) >= stem; runes = runes[:len(runes)-1] {
			w.stems[string(runes)] = true
		}
	}
	return w
}

// has reports whether a word is among them, in this form, a longer one, or within another word.
func (w words) has(word string) bool {
	runes := []rune(word)
	switch {
	case w.all[word] || w.stems[word]:
		return true
	case len(runes) < stem || strings.ContainsFunc(word, unicode.IsDigit):
		return unicode.In(runes[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) &&
			strings.Contains(w.text, word)
	}
	for end := len(runes) - 1; end >= max(stem, len(runes)-3); end-- { // "projects" where "project" is shown
		if w.all[string(runes[:end])] {
			return true
		}
	}
	return strings.Contains(w.text, word)
}

// isList reports whether a text holds more than one of something, of which a number may come.
func isList(text string) bool {
	text = strings.TrimSpace(text)
	return strings.ContainsAny(text, "[{,;|") || strings.Count(text, "\n") > 0
}

// numbers are those that are written in letters.
func numbers() map[string]string {
	out := map[string]string{}
	for i, word := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve " +
		"thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		out[word] = strconv.Itoa(i)
	}
	return out
}

const (
	reckoned = " monday tuesday wednesday thursday friday saturday sunday january february march april may june july " +
		"august september october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept " +
		"oct nov dec today tomorrow yesterday am pm utc "

	// sayNothing are words that say no value, or a judgement of what was shown.
	sayNothing = " a an the i you he she it we they me my your his her its our their this that these those there " +
		"here and or but not no yes nor so if of in on at to for from by with as is are was were be been am has have " +
		"had do does did done can could will would shall should may might must cannot don t s m re ve ll didn doesn " +
		"isn aren wasn couldn true false none null nothing ok okay sure sorry unknown unable failed fail found " +
		"finished complete completed success successful successfully error invalid available unavailable exist " +
		"exists know known all any some each every only also just now already please thanks thank n/a na n both " +
		"neither either more less most least same different larger smaller greater higher lower equal first last " +
		"before after above below up down left right even odd positive negative neutral created updated deleted " +
		"removed added saved sent set moved renamed what which who whom whose when where why how than then too very " +
		"ready correct incorrect wrong task answer result "
)
