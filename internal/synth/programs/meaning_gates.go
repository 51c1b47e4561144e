package programs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Reasons for which a wording is no wording of a meaning.
const (
	LacksValue  = "the wording leaves out a value"
	LacksThing  = "the wording leaves out a property or a condition"
	LacksSense  = "the wording does not say what is wanted"
	OtherSense  = "the wording means something else"
	SaysAnswer  = "the answer or a hidden id is in the wording"
	SaysOther   = "the wording names something that is not meant"
	SaysNumber  = "the wording says a number that is not meant"
	WrongBounds = "the wording turns a condition around"
)

// Fault says why a text is no wording of the meaning; "" where it can be one.
func (m Meaning) Fault(text string) string {
	said, wants := tokens(text), tokens(m.Wants)
	lower := strings.ToLower(text)
	for _, v := range m.Hidden { // a text that is not there as letters is not said; a number may be written otherwise
		letters := strings.IndexFunc(v, unicode.IsDigit) < 0
		if (!letters || strings.Contains(lower, strings.ToLower(v))) && said.has(tokens(v)) {
			return SaysAnswer
		}
	}
	for _, name := range m.Others {
		if strings.Contains(text, name) && said.hasExactly(tokens(name)) {
			return SaysOther
		}
	}
	if said.number(wants) {
		return SaysNumber
	}
	for _, v := range m.Values {
		if !said.hasValue(tokens(v)) {
			return LacksValue
		}
	}
	for i := 1; i < len(m.Order); i++ {
		if said.exactly(tokens(m.Order[i-1])) >= said.exactly(tokens(m.Order[i])) {
			return OtherSense
		}
	}
	for _, thing := range m.Things {
		if why := said.thing(tokens(thing)); why != "" {
			return why
		}
	}
	for _, mark := range m.Marks {
		if !said.any(mark) {
			return LacksSense
		}
	}
	for _, never := range m.Never {
		if t := tokens(never); said.hasStems(t) && !wants.hasStems(t) {
			return OtherSense
		}
	}
	if !m.Act && !strings.Contains(text, "?") && !said.any(asking()) &&
		said.any([]string{"is", "are", "was", "has", "have"}) {
		return LacksSense // a statement
	}
	return ""
}

// asking are words by which something is asked for without a mark.
func asking() []string {
	return strings.Split("what|which|who|whose|when|where|how|tell|show|give|list|find|look up|need|know|check|name|"+
		"count|get|pull up|see|want|figure out|work out|add up|please|pick|single out|let me|hear|"+
		"wonder|wondering|curious|ask|asks|asking|calculate|fetch|read", "|")
}

// token is one word or number of a text.
type token struct {
	word  string // in small letters; of a number its digits in one form
	plain string // as it was written
	stem  string
	digit bool // it was written in digits
}

type spoken []token

var (
	isoDate = regexp.MustCompile(`\b(\d{4})-(\d{2})(?:-(\d{2}))?\b`)
	parts   = regexp.MustCompile(`\p{L}+(?:['’]\p{L}+)?|\d+(?:,\d{3})*(?:\.\d+)?|[#<+=%]|->`)
)

// tokens are the words and numbers of a text. Days are read as "3 July 2024" in whatever form they stand; numbers up to
// twelve in words are numbers.
func tokens(text string) (list spoken) {
	text = isoDate.ReplaceAllStringFunc(text, func(d string) string {
		for _, layout := range [][2]string{{time.DateOnly, "2 January 2006"}, {"2006-01", "January 2006"}} {
			if day, err := time.Parse(layout[0], d); err == nil {
				return day.Format(layout[1])
			}
		}
		return d
	})
	for _, part := range parts.FindAllString(text, -1) {
		t := token{plain: part, word: strings.ToLower(strings.ReplaceAll(part, "’", "'"))}
		if n, err := strconv.ParseFloat(strings.ReplaceAll(part, ",", ""), 64); err == nil {
			t.word, t.digit = strconv.FormatFloat(n, 'f', -1, 64), true
		}
		if at := slices.Index(small(), t.word); at >= 0 {
			t.word = strconv.Itoa(at)
		}
		if whole, ok := strings.CutSuffix(t.word, "n't"); ok {
			list = append(list, token{whole, whole, stem(whole), false})
			t = token{word: "not", plain: "not"}
		}
		if whole, ok := strings.CutSuffix(t.word, "'s"); ok {
			t.word, t.plain = whole, strings.TrimRight(t.plain[:len(t.plain)-1], "'’")
		}
		for _, month := range months() {
			if len(t.word) >= 3 && t.word != "may" && strings.HasPrefix(strings.ToLower(month), t.word) ||
				t.word == "sept" && month == "September" {
				t.word = strings.ToLower(month)
			}
		}
		if ordinals := []string{"st", "nd", "rd", "th"}; len(list) > 0 && list[len(list)-1].digit &&
			slices.Contains(ordinals, t.word) {
			continue
		}
		t.stem = stem(t.word)
		list = append(list, t)
	}
	return list
}

// small are the numbers that people write in words.
func small() []string {
	return strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")
}

// stem is a word without the endings of its forms, as far as a rule has them: one for "delete", "deleted", "deleting".
func stem(word string) string {
	for _, endings := range [][2]string{{"s", "ies"}, {"ed", "ied"}, {"ing", ""}} {
		if whole, ok := strings.CutSuffix(word, endings[1]); ok && endings[1] != "" && len(whole) > 1 {
			word = whole + "y"
		} else if whole, ok := strings.CutSuffix(word, endings[0]); ok && len(whole) > 1 &&
			(endings[0] != "s" || !strings.HasSuffix(whole, "s")) {
			word = whole
		}
	}
	if whole, ok := strings.CutSuffix(word, "e"); ok && len(whole) > 2 {
		word = whole
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] {
		word = word[:n-1]
	}
	return word
}

// at is where a text has some tokens one after the other, as same says of two; -1 where it has not.
func (s spoken) at(of spoken, same func(a, b token) bool) int {
	for i := 0; i+len(of) <= len(s); i++ {
		if slices.EqualFunc(s[i:i+len(of)], of, same) {
			return i
		}
	}
	return -1
}

func (s spoken) has(of spoken) bool {
	return s.at(of, func(a, b token) bool { return a.word == b.word }) >= 0
}

func (s spoken) hasStems(of spoken) bool {
	return s.at(of, func(a, b token) bool { return a.stem == b.stem }) >= 0
}

// hasExactly is has where capitals count that the value has.
func (s spoken) hasExactly(of spoken) bool { return s.exactly(of) >= 0 }

// exactly is where a value stands first.
func (s spoken) exactly(of spoken) int {
	return s.at(of, func(a, b token) bool {
		return a.word == b.word && (b.digit || strings.ToLower(b.plain) == b.plain || a.plain == b.plain)
	})
}

// hasValue reports whether a value is said: a day in any order, anything else as it is.
func (s spoken) hasValue(of spoken) bool {
	if s.hasExactly(of) {
		return true
	}
	return of.isDay() && !slices.ContainsFunc(of, func(t token) bool {
		return !slices.Contains([]string{"the", "of"}, t.word) && !s.has(spoken{t})
	})
}

// isDay reports whether a value is a day or a month in words.
func (s spoken) isDay() bool {
	month, year := false, false
	for _, t := range s {
		month = month || slices.ContainsFunc(months(), func(m string) bool { return strings.ToLower(m) == t.word })
		year = year || t.digit && len(t.word) == 4
	}
	return month && year
}

func (s spoken) any(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w != "" && s.hasStems(tokens(w)) })
}

// number reports whether a text says a number in digits that another does not say.
func (s spoken) number(other spoken) bool {
	return slices.ContainsFunc(s, func(t token) bool { return t.digit && !other.has(spoken{t}) })
}

// grammar are the words that a condition may be said without.
func grammar() []string {
	return strings.Fields("the a an of in on at by for from to with and or also that who which whose whom where is " +
		"are was were be been has have had does do did as than it its their any all there belongs belong recorded " +
		"most least yes no not without member entry item record thing what when how " +
		"above over more greater below under less after before since")
}

// thing says why a text does not say a property, a noun or a condition; "" where it does. Names, numbers and days of it
// must all be there, half of its other words or words like them, its direction, and its no.
func (s spoken) thing(of spoken) string {
	f := meanings().Families
	for _, pair := range [][2][]string{{strings.Split(f["over"], "|"), strings.Split(f["below"], "|")}} {
		up, down := of.any(pair[0]), of.any(pair[1])
		if up && !down && !s.any(pair[0]) || down && !up && !s.any(pair[1]) {
			return WrongBounds
		}
	}
	if none := strings.Split(f["none"], "|"); of.any(none) && !s.any(none) {
		return WrongBounds
	}
	content, found := 0, 0
	for _, t := range of {
		name := t.plain != strings.ToLower(t.plain) && t.plain != "I" && t.word != of[0].word
		switch {
		case t.digit || name:
			if !s.has(spoken{t}) {
				return LacksValue
			}
		case slices.Contains(grammar(), t.word):
		default:
			content++
			if s.hasStems(spoken{t}) || s.any(like(t)) {
				found++
			}
		}
	}
	if 2*found < content || len(of) <= 2 && found < content {
		return LacksThing
	}
	return ""
}

// like are the words that may stand for one.
func like(t token) (words []string) {
	for _, group := range meanings().Alike {
		if all := tokens(group); all.hasStems(spoken{t}) {
			words = append(words, strings.Fields(group)...)
		}
	}
	return words
}
