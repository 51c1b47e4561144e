package generate

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

var (
	// letterForm is a form in letters, as YYYY-MM-DD HH:mm:ss.SSS, and percentForm one as %Y-%m-%d.
	letterForm  = regexp.MustCompile(`\b(?:(?:[Yy]{4}|[Yy]{2}|[Mm]{2}|[Dd]{2})(?:[-/.]?(?:[Yy]{4}|[Yy]{2}|[Mm]{2}|[Dd]{2}))+)?(?:'?T'?|[ _])?(?:(?:HH|hh|h|H)[:.]?[Mm]{2}(?:[:.]?[Ss]{2}(?:[.,][Ss]{1,9})?)?)?(?:'?Z'?|(?: ?(?:A|a|AM/PM))\b)?`)
	percentForm = regexp.MustCompile(`%[YmdHMSyBbIpf](?:[-/.:, T]{0,2}%[YmdHMSyBbIpf])+Z?`)
	letterPart  = regexp.MustCompile(`[Yy]+|[Mm]{2}|[Dd]{2}|HH|hh|h|H|[Ss]+| ?(?:AM/PM|A|a)$|'|.`)

	isoForm = regexp.MustCompile(`(?i)\bISO[- ]?(?:8601(?:-1)?|date|datetime|format|string|timestamp)|\bRFC[- ]?3339`)
	isoDate = regexp.MustCompile(
		`(?i)\bISO(?:[- ]?8601(?:-1)?)?[- ](?:formatted )?dates?\b(?:[^- /T]|[- /](?:[^t]|$)|$)`,
	)
	isoOther = regexp.MustCompile(`(?i)\bdurations?\b|\bweeks?\b|\bintervals?\b|\bperiods?\b`)
)

// statedLayout is the layout of the first form in letters or percent signs in a description, "" where there is none.
func statedLayout(description string) string {
	if found := percentForm.FindString(description); found != "" {
		return strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%y", "06",
			"%B", "January", "%b", "Jan", "%I", "03", "%p", "PM", "%f", "000000").Replace(found)
	}
	for _, found := range letterForm.FindAllString(description, -1) {
		low := strings.ToLower(found)
		if strings.Contains(low, "yy") && (strings.Contains(low, "mm") || strings.Contains(low, "dd")) ||
			strings.Contains(low, "h:mm") || strings.Contains(low, "hhmm") || strings.Contains(low, "h.mm") {
			if layout := layoutOfLetters(strings.TrimSpace(found)); layout != "" {
				return layout
			}
		}
	}
	return ""
}

// layoutOfLetters has a form in letters as a layout. MM is the month until an hour was read, in either case, as is
// written of both.
func layoutOfLetters(form string) string {
	half := strings.HasSuffix(form, "AM/PM") ||
		strings.Contains(form, "h") && strings.HasSuffix(strings.ToLower(form), "a")
	if !half { // "YYYY-MM-DD a day"
		form = strings.TrimRight(form, " Aa")
	}
	parts, hours := letterPart.FindAllString(form, -1), false
	var out strings.Builder
	for _, part := range parts {
		switch low := strings.ToLower(strings.TrimSpace(part)); {
		case low == "yyyy":
			out.WriteString("2006")
		case low == "yy":
			out.WriteString("06")
		case low == "mm" && hours:
			out.WriteString("04")
		case low == "mm":
			out.WriteString("01")
		case low == "dd":
			out.WriteString("02")
		case low == "h" || low == "hh":
			hours = true
			switch {
			case !half:
				out.WriteString("15")
			case low == "h":
				out.WriteString("3")
			default:
				out.WriteString("03")
			}
		case strings.Trim(low, "s") == "" && strings.HasSuffix(out.String(), ".") &&
			strings.Contains(out.String(), "05"):
			out.WriteString(strings.Repeat("0", len(low)))
		case low == "ss":
			out.WriteString("05")
		case half && (low == "a" || low == "am/pm"):
			out.WriteString(strings.Replace(part, strings.TrimSpace(part), "PM", 1))
		case part == "'":
		case strings.ContainsAny(part, "YyDdSs"): // three letters and the like
			return ""
		default:
			out.WriteString(part)
		}
	}
	return out.String()
}

// exampleForm is a layout, and what finds a text of it.
type exampleForm struct {
	layout string
	find   *regexp.Regexp
}

// inLayout is what stands in a layout for what another time has.
var inLayout = regexp.MustCompile(`2006|Z07:00|000|January|Jan|PM|\d\d|\d|[.]`)

// exampleForms are forms of dates and times in examples: of two that begin at one place, the longer one first.
var exampleForms = sync.OnceValue(func() (forms []exampleForm) {
	for _, layout := range []string{
		"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04:05.000", "2006-01-02 15:04:05",
		"2006-01-02 15:04", "2006/01/02 15:04:05", "2006/01/02 15:04", "20060102T150405Z", "01/02/2006 15:04:05",
		"02/01/2006 15:04:05", "02.01.2006 15:04:05", "02.01.2006 15:04", "2006-01-02", "2006/01/02", "2006.01.02",
		"01/02/2006", "02/01/2006", "02.01.2006", "02-01-2006", "January 2, 2006", "Jan 2, 2006", "2 January 2006",
		"2 Jan 2006", "15:04:05", "3:04 PM", "03:04 PM", "15:04", "2006-01",
	} {
		digits := func(part string) string {
			switch part {
			case "2006":
				return `\d{4}`
			case "Z07:00":
				return `(?:Z|[+-]\d\d:\d\d)`
			case "000":
				return `\d{3}`
			case "January", "Jan":
				return `[A-Z][a-z]+`
			case "PM":
				return `[AP]M`
			case ".":
				return `\.`
			case "2", "3":
				return `\d{1,2}`
			}
			return `\d\d`
		}
		forms = append(forms, exampleForm{layout,
			regexp.MustCompile(`(?:^|[^\w:./-])(` + inLayout.ReplaceAllStringFunc(layout, digits) + `)(?:$|[^\w:/-])`)})
	}
	return forms
})

// layoutOf is the layout of the first date or time of a text, and its zone.
func layoutOf(text string) (best string, zone *time.Location) {
	first := len(text)
	for _, form := range exampleForms() {
		m := form.find.FindStringSubmatchIndex(text)
		if m == nil || m[2] >= first {
			continue
		}
		if at, err := time.Parse(form.layout, text[m[2]:m[3]]); err == nil {
			best, first, zone = form.layout, m[2], at.Location()
		}
	}
	return best, zone
}
