package known

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token or a value is.
type kind int

const (
	word     kind = iota
	number        // in digits, or spelt
	code          // letters and digits, or digits that are no number: "a37f", "1.2.3"
	calendar      // the name of a day or a month, or another word for a time
	moment        // a date, or a time of day
)

const (
	// shortAnswer is up to how many words an answer is its values alone.
	shortAnswer = 3
	// longRun is from how many letters a word is a sentence of a script without spaces.
	longRun = 9
	// stem is how many letters two forms of a word have in common at least.
	stem = 4
	// mostScanned bounds the bytes that are searched for parts of words, about a second's work, so that the time is
	// linear in the text. Behind it every word is taken for known.
	mostScanned = 4 << 30
)

// token is a word of a text: whether it stands in quotes, begins with a capital, begins a sentence or a line, or is of
// a script without spaces.
type token struct {
	kind                                   kind
	text                                   string
	suffix                                 string // right behind a number: "kg", "th", "k"
	from, to                               int    // bytes of the text, the suffix included
	spelt                                  string // the number that words spell
	quoted, name, begins, opens, spaceless bool
}

func (t *token) lower() string { return strings.ToLower(t.text) }

// split goes over the tokens of a text. Words that spell a number are one.
func split(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		begins, opens, quoted := true, true, false
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				next, _ := utf8.DecodeRuneInString(text[i+size:])
				switch {
				case r == '\n', strings.ContainsRune(".!?:*#", r) && (i+size == len(text) || unicode.IsSpace(next)):
					begins, opens = true, opens || r == '\n'
				case strings.ContainsRune("\"`“”«»", r):
					quoted = !quoted
				}
				i += size
				continue
			}
			t := tokenAt(text, i)
			t.quoted, t.begins, t.opens = quoted, begins, opens
			i, begins, opens = t.to, false, false
			if !yield(t) {
				return
			}
		}
	}
}

// tokenAt is the token that begins at a letter or a digit.
func tokenAt(text string, from int) token {
	r, _ := utf8.DecodeRuneInString(text[from:])
	if unicode.IsDigit(r) {
		return numberAt(text, from)
	}
	to, digits := from, false
	for to < len(text) {
		r, size := utf8.DecodeRuneInString(text[to:])
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
		case unicode.IsDigit(r), r == '.' && digits && digitAt(text, to-1) && digitAt(text, to+1):
			digits = true
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		to += size
	}
	t := token{kind: word, text: text[from:to], from: from, to: to, name: unicode.IsUpper(r), spaceless: isSpaceless(r)}
	if digits {
		t.kind = code
	} else if n, end := speltAt(text, from); end > 0 {
		t.kind, t.spelt, t.text, t.to = number, n, text[from:end], end
	}
	return t
}

// numberAt is the number, or the code, that begins at a digit.
func numberAt(text string, from int) token {
	to := from
	for to < len(text) {
		r, size := utf8.DecodeRuneInString(text[to:])
		if !unicode.IsDigit(r) && !(strings.ContainsRune(".,", r) && digitAt(text, to+size)) &&
			!(strings.ContainsRune("_'’\u202f\u00a0", r) && threeDigitsAt(text, to+size)) {
			break
		}
		to += size
	}
	end, mixed := to, false
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if unicode.IsDigit(r) {
			if text[to:end] == "T" { // as in 2026-11-29T10:30
				end = to
				break
			}
			mixed = true
		} else if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			break
		}
		end += size
	}
	if mixed || strings.Count(text[from:to], ".") > 1 {
		return token{kind: code, text: text[from:end], from: from, to: end}
	}
	return token{kind: number, text: text[from:to], suffix: text[to:end], from: from, to: end}
}

func digitAt(text string, i int) bool {
	return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9'
}

func threeDigitsAt(text string, i int) bool {
	return digitAt(text, i) && digitAt(text, i+1) && digitAt(text, i+2) && !digitAt(text, i+3)
}

func isSpaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// words are those of texts: each in small letters, numbers by their value.
type words struct {
	all      map[string]bool
	text     strings.Builder
	scanned  int  // bytes of the text
	calendar bool // whether days or months are among them
}

func (w *words) add(text string) {
	for t := range split(text) {
		low := t.lower()
		w.put(low)
		w.calendar = w.calendar || reckoned[low]
		w.addReadings(text, &t)
	}
	for _, run := range digitRuns(text) {
		w.put(run)
	}
	w.text.WriteString(strings.ToLower(text))
	w.text.WriteByte('\n')
}

// addNumbers adds the numbers of a text alone.
func (w *words) addNumbers(text string) {
	for t := range split(text) {
		w.addReadings(text, &t)
	}
}

func (w *words) addReadings(text string, t *token) {
	if t.kind == number || t.kind == code {
		for _, reading := range readingsOf(text, t) {
			w.put(reading)
		}
	}
}

func (w *words) put(word string) {
	if w.all == nil {
		w.all = map[string]bool{}
	}
	w.all[word] = true
}

// holds reports whether a word is there in another form: a longer one, one of the endings of a shorter one, or within
// another word.
func (w *words) holds(word string) bool {
	runes := []rune(word)
	if len(runes) < stem && !isSpaceless(runes[0]) {
		return false
	}
	for end := len(runes) - 1; end >= max(stem, len(runes)-3); end-- { // "projects" where "project" is shown
		if w.all[string(runes[:end])] {
			return true
		}
	}
	w.scanned += w.text.Len()
	return w.scanned > mostScanned || strings.Contains(w.text.String(), word)
}

// wordSet is a set of words.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

var (
	reckoned = wordSet("monday tuesday wednesday thursday friday saturday sunday january february march april may " +
		"june july august september october november december mon tue wed thu fri sat sun jan feb mar apr " +
		"jun jul aug sep sept oct nov dec q1 q2 q3 q4 today tomorrow yesterday am pm utc")

	// sayNothing are words that say no value, or a judgement of what was shown.
	sayNothing = wordSet("a an the i you he she it we they me my your his her its our their this that these those " +
		"there here and or but not no yes nor so if of in on at to for from by with as is are was were be " +
		"been am has have had do does did done can could will would shall should may might must cannot " +
		"don t s m re ve ll didn doesn isn aren wasn couldn true false none null nothing ok okay sure " +
		"sorry unknown unable failed fail found finished complete completed success successful " +
		"successfully error invalid available unavailable exist exists know known all any some each " +
		"every only also just now already please thanks thank n/a na n both neither either more less " +
		"most least same different larger smaller greater higher lower equal first last before after " +
		"above below up down left right even odd positive negative neutral created updated deleted " +
		"removed added saved sent set moved renamed noted entered ticked changed written filled swapped marked " +
		"corrected replaced recorded what which who whom whose when where why how than " +
		"then too very ready correct incorrect wrong task answer result")
)
