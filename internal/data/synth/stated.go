package synth

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stated is how a parameter's description says that its texts look. A server takes no other form, and some answer another one
// without an error.
type stated struct {
	layout string         // of dates and times, as package time writes it; "" where the form is no time
	zone   *time.Location // of the example that the layout is from
	shapes []string       // examples with digits, which others replace
}

// state reads the form that a parameter's texts have. Of a list that is said of the list.
func (p *param) state() {
	if p.stated = p.statedForm(); p.stated != nil && p.stated.layout != "" { // 'YYYY-MM-DD' in quotes is no date
		p.examples = slices.DeleteFunc(p.examples, func(raw json.RawMessage) bool { return statedLayout(textOf(raw)) != "" })
	}
	if p.items != nil && p.items.stated == nil {
		said := *p.items
		said.description, said.examples = p.description, p.examples
		p.items.stated = said.statedForm()
	}
}

// statedForm is the form that the description or the examples of a parameter state, nil where they state none, or where the name
// says that the text is prose or a form itself.
func (p param) statedForm() *stated {
	if p.kind != "" && p.kind != "string" || p.format != "" || p.of("format", "pattern", "template", "layout") || p.prose() {
		return nil
	}
	if layout := statedLayout(p.description); layout != "" {
		return &stated{layout: layout, zone: time.UTC}
	}
	texts := afterMarks(p.description)
	if p.of("date", "time", "datetime", "timestamp", "day", "deadline", "since", "until", "start", "end", "from", "to", "before", "after") {
		texts = append(texts, p.description)
	}
	for _, text := range append(texts, p.exampleTexts()...) {
		if layout, zone := layoutOf(text); layout != "" {
			return &stated{layout: layout, zone: zone}
		}
	}
	if isoForm.MatchString(p.description) {
		switch {
		case isoDate.MatchString(p.description) || p.of("date", "day", "birthday") && !p.of("time"):
			return &stated{layout: "2006-01-02", zone: time.UTC}
		case !isoOther.MatchString(p.description):
			return &stated{layout: "2006-01-02T15:04:05Z07:00", zone: time.UTC}
		}
	}
	if p.of("id", "path", "file", "filename", "filepath", "directory", "folder", "url", "uri", "link", "email", "query", "sql", "uuid", "hash") {
		return nil // others than those that are there help nobody
	}
	var shapes []string
	for _, text := range append(p.exampleTexts(), bareExamples(p.description)...) {
		if strings.ContainsAny(text, "0123456789") && !strings.Contains(text, "://") && !strings.Contains(text, "@") {
			shapes = append(shapes, text)
		}
	}
	if len(shapes) == 0 {
		return nil
	}
	return &stated{shapes: shapes}
}

func (p param) exampleTexts() (texts []string) {
	for _, raw := range p.examples {
		texts = append(texts, textOf(raw))
	}
	return texts
}

// of reports whether the parameter's name has one of some words.
func (p param) of(any ...string) bool {
	return slices.ContainsFunc(words(p.name), func(w string) bool { return slices.Contains(any, w) })
}

// prose reports whether the parameter takes what people write: a sentence fits, and what it says of dates is no form of its own.
func (p param) prose() bool {
	return p.of("content", "text", "message", "body", "description", "note", "comment", "thought", "insight", "observation", "prompt", "summary", "memo", "remark", "contents", "details", "question")
}

// make is a text of the form.
func (s *stated) make(r *rand.Rand) string {
	if s.layout == "" {
		return reshape(r, pick(r, s.shapes))
	}
	at := time.Date(1995+r.IntN(35), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 5*r.IntN(12), 5*r.IntN(12), 100*r.IntN(10)*int(time.Millisecond), s.zone)
	return at.Format(s.layout)
}

// fits reports whether a text has the form. Only of dates and times there is a way to tell.
func (s *stated) fits(text string) bool {
	if s == nil || s.layout == "" {
		return true
	}
	at, err := time.Parse(s.layout, text)
	return err == nil && len(at.Format(s.layout)) == len(text) // the parser takes fractions that the form has not
}

var digitRun = regexp.MustCompile(`\d+`)

// reshape is an example at times, as it may be one of few values that there are, and else one with other digits: no number longer or
// higher than the example's, as parts of an address or a version have bounds. Of one digit all are taken but 0.
func reshape(r *rand.Rand, example string) string {
	if r.IntN(2) == 0 {
		return example
	}
	return digitRun.ReplaceAllStringFunc(example, func(run string) string {
		n, err := strconv.Atoi(run)
		switch {
		case err != nil || n == 0:
			return run
		case len(run) == 1:
			return strconv.Itoa(1 + r.IntN(9))
		case run[0] == '0':
			text := strconv.Itoa(1 + r.IntN(n))
			return strings.Repeat("0", len(run)-len(text)) + text
		}
		low := 1
		for range len(run) - 1 {
			low *= 10
		}
		return strconv.Itoa(low + r.IntN(n-low+1))
	})
}

var (
	// letterForm is a form in letters, as YYYY-MM-DD HH:mm:ss.SSS, and percentForm one as %Y-%m-%d.
	letterForm  = regexp.MustCompile(`\b(?:(?:[Yy]{4}|[Yy]{2}|[Mm]{2}|[Dd]{2})(?:[-/.]?(?:[Yy]{4}|[Yy]{2}|[Mm]{2}|[Dd]{2}))+)?(?:'?T'?|[ _])?(?:(?:HH|hh|h|H)[:.]?[Mm]{2}(?:[:.]?[Ss]{2}(?:[.,][Ss]{1,9})?)?)?(?:'?Z'?|(?: ?(?:A|a|AM/PM))\b)?`)
	percentForm = regexp.MustCompile(`%[YmdHMSyBbIpf](?:[-/.:, T]{0,2}%[YmdHMSyBbIpf])+Z?`)
	letterPart  = regexp.MustCompile(`[Yy]+|[Mm]{2}|[Dd]{2}|HH|hh|h|H|[Ss]+| ?(?:AM/PM|A|a)$|'|.`)

	isoForm  = regexp.MustCompile(`(?i)\bISO[- ]?(?:8601(?:-1)?|date|datetime|format|string|timestamp)|\bRFC[- ]?3339`)
	isoDate  = regexp.MustCompile(`(?i)\bISO(?:[- ]?8601(?:-1)?)?[- ](?:formatted )?dates?\b(?:[^- /T]|[- /](?:[^t]|$)|$)`)
	isoOther = regexp.MustCompile(`(?i)\bdurations?\b|\bweeks?\b|\bintervals?\b|\bperiods?\b`)
)

// statedLayout is the layout of the first form in letters or percent signs in a description, "" where there is none.
func statedLayout(description string) string {
	if found := percentForm.FindString(description); found != "" {
		return strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%y", "06", "%B", "January", "%b", "Jan", "%I", "03", "%p", "PM", "%f", "000000").Replace(found)
	}
	for _, found := range letterForm.FindAllString(description, -1) {
		low := strings.ToLower(found)
		if strings.Contains(low, "yy") && (strings.Contains(low, "mm") || strings.Contains(low, "dd")) || strings.Contains(low, "h:mm") || strings.Contains(low, "hhmm") || strings.Contains(low, "h.mm") {
			if layout := layoutOfLetters(strings.TrimSpace(found)); layout != "" {
				return layout
			}
		}
	}
	return ""
}

// layoutOfLetters has a form in letters as a layout. MM is the month until an hour was read, in either case, as is written of both.
func layoutOfLetters(form string) string {
	half := strings.HasSuffix(form, "AM/PM") || strings.Contains(form, "h") && strings.HasSuffix(strings.ToLower(form), "a")
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
		case strings.Trim(low, "s") == "" && strings.HasSuffix(out.String(), ".") && strings.Contains(out.String(), "05"):
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
		"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02 15:04:05.000", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006/01/02 15:04:05", "2006/01/02 15:04", "20060102T150405Z",
		"01/02/2006 15:04:05", "02/01/2006 15:04:05", "02.01.2006 15:04:05", "02.01.2006 15:04",
		"2006-01-02", "2006/01/02", "2006.01.02", "01/02/2006", "02/01/2006", "02.01.2006", "02-01-2006", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
		"15:04:05", "3:04 PM", "03:04 PM", "15:04", "2006-01",
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
		forms = append(forms, exampleForm{layout, regexp.MustCompile(`(?:^|[^\w:./-])(` + inLayout.ReplaceAllStringFunc(layout, digits) + `)(?:$|[^\w:/-])`)})
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

// afterMarks are what stands behind each "e.g." and the like.
func afterMarks(description string) (texts []string) {
	for _, m := range exampleMark.FindAllStringSubmatch(description, -1) {
		texts = append(texts, m[2])
	}
	return texts
}

// bareExample is one word, with no quotes, that alone is the example: what follows it says that it ends there.
var bareExample = regexp.MustCompile(`^\(?([^\s,;()'"\x60]*[\w%])(?:[,;)]|\.?$|\.\s| or | and )`)

func bareExamples(description string) (texts []string) {
	for _, text := range afterMarks(description) {
		if m := bareExample.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			texts = append(texts, m[1])
		}
	}
	return texts
}

// noSense is what a program puts where it has no value: the date or the number could not be made of what it was given.
var noSense = regexp.MustCompile(`\bInvalid [Dd]ate(?:[Tt]ime)?\b|\bNaN\b|\bundefined\b`)

// mostNoSense is up to which length, in bytes, such a word speaks of the answer: in a long text it may be what the text is about, or
// the gap in a table.
const mostNoSense = 400

// senseless is the word by which an answer shows that the server could do nothing with some calls, "" where it has none or a call
// says it itself.
func senseless(text string, calls ...Call) string {
	if len(text) > mostNoSense {
		return ""
	}
	for _, found := range noSense.FindAllString(text, -1) {
		if !slices.ContainsFunc(calls, func(c Call) bool { return strings.Contains(string(c.Arguments), found) }) {
			return found
		}
	}
	return ""
}

// misunderstood remembers the word by which an answer showed that a call was not understood, and the pattern for "refusal" of it.
func (s *subject) misunderstood(found string) {
	s.senseless = orFirst(s.senseless, found)
	s.unmarked = orFirst(s.unmarked, asJSONText(`\b`+regexp.QuoteMeta(found)+`\b`))
}

// carries reports whether a text that a server answered fits where a parameter of a chain takes it: prose takes any text; a zone, a
// name, a path or a unit takes no sentence, and what a form is stated of takes that form.
func (p param) carries(text string) bool {
	return p.prose() || !isSentence(text) && p.stated.fits(text)
}

// isSentence reports whether a text is one that people say.
func isSentence(text string) bool {
	text = strings.TrimSpace(text)
	return len(strings.Fields(text)) > 2 && (strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.Contains(text, ". "))
}

// formed reports whether a value of a parameter is known by its form: a time zone is no other short text.
func (p param) formed() bool {
	return p.stated != nil && p.stated.layout != "" || p.of("timezone", "tz", "zone", "email", "mail", "url", "uri", "link", "href", "date", "datetime", "timestamp", "time", "day", "deadline", "color", "colour", "language", "lang", "locale",
		"currency", "country", "city", "unit", "number", "id", "path", "file", "directory", "folder", "regex", "pattern", "branch", "commit", "ref")
}
