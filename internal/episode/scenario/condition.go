package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/grade"
)

// numeral finds numbers as people write them: a sign counts only where it does not join two words or numbers, as in
// 2024-05 or x-1. Group 1 is the number.
var numeral = regexp.MustCompile(`(?:^|[^\w.-])(-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)`)

// plain is an answer without what people put around one: white space, quotes, and one final full stop, in or behind the
// quotes. So an enumeration of what the answer may be equals none of it. What would be empty is left as it is.
func plain(text string) string {
	const around = " \t\r\n\"'`\u00a0\u2018\u2019\u201c\u201d"
	text = strings.TrimSpace(text)
	bare := strings.Trim(strings.TrimSuffix(strings.Trim(text, around), "."), around)
	if bare == "" {
		return text
	}
	return bare
}

// conditions are the names of those that a check has.
func (c Check) conditions() []string {
	var names []string
	for _, one := range []struct {
		name  string
		given bool
	}{
		{"equals", c.Equals != nil}, {"number", c.Number != nil}, {"regex", c.Regex != nil}, {"contains",
			c.Contains != nil},
		{"any_of", c.AnyOf != nil}, {"one_of", c.OneOf != nil}, {"set", c.Set != nil}, {"matches", c.Matches != nil},
	} {
		if one.given {
			names = append(names, one.name)
		}
	}
	return names
}

// Condition is the name of the condition that the check has, "" for none.
func (c Check) Condition() string {
	if names := c.conditions(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// Answer reports whether a final answer meets an answer check. An empty answer, which is what an episode without a
// final message has, meets none.
func (c Check) Answer(text string) bool { return c.AnswerUnmet(text) == "" }

// AnswerUnmet says why a final answer does not meet an answer check, or "".
func (c Check) AnswerUnmet(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return "the answer is empty"
	}
	if c.Matches != nil {
		text = stripFence(text)
	}
	return c.unmet(text, plain)
}

// Unmet says why a text that was looked at does not meet the check's condition, or "" also where it has none.
func (c Check) Unmet(text string) string { return c.unmet(text, strings.TrimSpace) }

func (c Check) unmet(text string, alone func(string) string) string {
	met := true
	switch {
	case c.Equals != nil:
		met = alone(text) == alone(*c.Equals)
	case c.AnyOf != nil:
		met = slices.ContainsFunc(c.AnyOf, func(want string) bool { return alone(text) == alone(want) })
	case c.Contains != nil:
		met = strings.Contains(text, *c.Contains)
	case c.Regex != nil:
		matched, err := regexp.MatchString(*c.Regex, text)
		met = err == nil && matched
	case c.Number != nil:
		n, found := lastNumber(text)
		met = found && n.Near(*c.Number, c.Tolerance)
	case c.OneOf != nil:
		if n := optionIn(text, c.OneOf); n != 1 {
			return fmt.Sprintf("%s names %d of one_of, not 1", shortQuote(text), n)
		}
	case c.Set != nil:
		return unmetSet(text, c.Set)
	case c.Matches != nil:
		p, err := grade.NewPattern(string(c.Matches))
		if err != nil {
			return err.Error()
		}
		return p.Unmet(text)
	}
	if met {
		return ""
	}
	return fmt.Sprintf("%s does not meet %q", shortQuote(text), c.conditions()[0])
}

// shortQuote shows a text, short enough to stand in a sentence.
func shortQuote(text string) string {
	const most = 120
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return strconv.Quote(text)
}

// NumberOf is a check's number, of a float.
func NumberOf(f float64) *grade.Decimal {
	d := grade.DecimalOf(f)
	return &d
}

// NumberIn is a check's number, the last in a text with all its digits; nil where there is none.
func NumberIn(text string) *grade.Decimal {
	if d, found := lastNumber(text); found {
		return &d
	}
	return nil
}

func lastNumber(text string) (grade.Decimal, bool) {
	found := numeral.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "", false
	}
	n, err := grade.ParseDecimal(strings.ReplaceAll(found[len(found)-1][1], ",", ""))
	return n, err == nil
}

// stripFence is what stands in a Markdown fence, where the text is one.
func stripFence(text string) string {
	inner, opened := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	_, body, lines := strings.Cut(inner, "\n") // the first line names the language
	if !opened || !closed || !lines {
		return text
	}
	return strings.TrimSpace(body)
}

// optionIn counts the options that a text names as whole words. One that stands within a longer one, as York in New
// York, is not named there.
func optionIn(text string, options []string) int {
	n := 0
	for _, option := range longestFirst(options) {
		found := false
		for from := 0; from < len(text); {
			i := strings.Index(text[from:], option)
			if i < 0 {
				break
			}
			i += from
			end := i + len(option)
			if isWord(text, i, end) {
				found = true
				text = text[:i] + strings.Repeat("\x00", len(option)) + text[end:]
			}
			from = i + 1
		}
		if found {
			n++
		}
	}
	return n
}

func longestFirst(options []string) []string {
	sorted := slices.Clone(options)
	slices.SortStableFunc(sorted, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(sorted)
}

// isWord reports whether what stands at text[i:end] is not a part of a longer word or number.
func isWord(text string, i, end int) bool {
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	first, _ := utf8.DecodeRuneInString(text[i:])
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	after, size := utf8.DecodeRuneInString(text[end:])
	if letter(first) && letter(before) || letter(last) && letter(after) {
		return false
	}
	// Neither 1.5 nor x-1 names 1; a full stop behind a number, where no digit follows, is the sentence's.
	next, _ := utf8.DecodeRuneInString(text[end+size:])
	return !(unicode.IsDigit(last) && after == '.' && unicode.IsDigit(next)) &&
		!(unicode.IsDigit(first) && (before == '-' || before == '.'))
}
