package programs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// aside is what may stand beside a time and says none: of colons those alone that are behind no digit.
const aside = `(?:[^:]|[^:\d]:)`

// twelve matches a time of day in 24 or in 12 hours, and what may stand behind it. Where the hours of both are written
// alike, the other half of the day is another time.
func twelve(value, behind string) string {
	var h, m int
	_, _ = fmt.Sscanf(value, "%d:%d", &h, &m) // made by clock
	half, not := "a", "p"
	if h >= 12 {
		half, not = not, half
	}
	minutes := fmt.Sprintf(":%02d", m)
	if m == 0 {
		minutes = "(?::00)?"
	}
	other := fmt.Sprintf(`\b0?%d%s ?%s\.?m\b\.?`, (h+11)%12+1, minutes, half)
	if h == 12 && m == 0 {
		other += "|noon"
	}
	if h == 0 && m == 0 {
		other += "|midnight"
	}
	plain, apart := fmt.Sprintf(`\b0?%d:%02d\b`, h, m), ""
	if h > 0 && h <= 12 {
		apart = fmt.Sprintf(`(?:[^\w\s:]|\s+(?:[^\w\s:]|[^\W\d%s]|%s[^.m]))`, not, not)
	}
	return fmt.Sprintf(`(?:%s(?:\s*|%s%s)|(?:%s)%s)`, plain, apart, behind, other, behind)
}

// timeCheck wants a time of day and no other one.
func timeCheck(values []string) string {
	text, last := `(?is)\A`+aside+`*?`, len(values)-1
	for _, v := range values[:last] {
		text += twelve(v, `(?:[^:\d]|[^:\d]:)*?`)
	}
	return text + twelve(values[last], aside+`*`) + `\z`
}

// spanCheck wants a length of time, as 5:30, 5 h 30 or 5 hours and 30 minutes, behind which no other one stands.
func spanCheck(value string) string {
	h, m, _ := strings.Cut(value, ":")
	minutes := strings.TrimPrefix(m, "0")
	text := `\b` + h + `:` + m + `\b|\b` + h + ` ?h(?:ours?|rs?)?\.?,? ?(?:and )?0?` + minutes +
		`(?: ?m(?:in(?:utes?)?)?)?\b`
	if m == "00" {
		text = `\b` + h + `(?::00\b| ?h(?:ours?|rs?)?\b)`
	}
	if h == "0" {
		text += `|\b` + minutes + ` ?min`
	}
	return `(?is)(?:` + text + `)` + aside + `*\z`
}

// fieldsCheck wants values in this order, in any letters, and no number beside them but the 0 that a "yes" leaves, and
// those of beside, each in a statement: "No, 09:00 in Seoul is 01:00 in Lagos". A list of them is none. A time may have
// words before it: "In Maputo it is 20:40".
func fieldsCheck(values, beside []string) string {
	if len(values) == 1 && values[0] == "Yes" {
		return `(?is)\A\W*\byes\b[^\d]{0,40}?(?:\b0\b)?[^\d]{0,60}\z`
	}
	more, between := fieldGaps(beside)
	text := `(?is)\A\W*`
	if strings.Contains(values[0], ":") {
		text = `(?is)\A` + between
	}
	for _, v := range values {
		switch _, err := strconv.ParseFloat(v, 64); {
		case err == nil && strings.Contains(v, "."):
			text += `\b` + regexp.QuoteMeta(v) + `0*\b` + between
		case err == nil:
			text += `\b` + v + `(?:\.0+)?\b` + between
		case len(values) > 1 && strings.Contains(v, ":"):
			text += twelve(v, between)
		case strings.Contains(v, ":"): // a length of time
			text += `\b0?` + strings.TrimPrefix(v, "0") + `\b` + between
		case v == "Yes" || v == "No": // and not both, as in "yes or no"
			text += whole(v) + `(?:[^\w/]*` + more + `|[^\w/]+(?:[^\W\do]|o[^\W\dr])` + between + `)`
		default:
			text += strings.ReplaceAll(whole(v), " = ", ` ?= ?`) + between
		}
	}
	return text + `\W*\z`
}

// fieldGaps match the numbers that may stand beside the values of an answer, each with a word behind it, and what may
// stand between two values: words, and such numbers with a word behind or before each.
func fieldGaps(numbers []string) (more, between string) {
	const (
		text = `[^\d]{0,60}?`
		word = text + `(?:[(=+*×÷]|\b(?:in|at|by|of|an?|per|is|are|was|has|makes?|leaves?|divided|times|for|from|to|` +
			`until|till|when|while|but|not|instead|rather|hours?|h|utc|there|here)\b|(?-i:\b[A-Z][a-z]{3,}))` + text
	)
	if len(numbers) == 0 {
		return "", text
	}
	var list []string
	for _, n := range numbers {
		if strings.Contains(n, ":") {
			list = append(list, `0?`+strings.TrimPrefix(n, "0"))
		} else {
			list = append(list, regexp.QuoteMeta(n)+`(?:\.0+)?`)
		}
	}
	one := `\b(?:` + strings.Join(list, "|") + `)\b`
	more = `(?:` + one + word + `)*`
	return more, `(?:` + text + more + `|(?:` + word + one + `)*` + text + `)`
}
