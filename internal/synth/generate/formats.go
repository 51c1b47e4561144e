package generate

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"
)

// stated is how a parameter's description, or an example, says that its texts look: a way to make many of them. It is
// never the example itself alone, since a tool with one value teaches that value.
type stated struct {
	layout string         // of dates and times, as package time writes it; "" where the form is no time
	zone   *time.Location // of the example that the layout is from
	shapes []shape        // of other texts; one is taken each time
}

// state reads the form that a parameter's texts have, and the values that its description lists. Of a list that is said
// of its items.
func (p *param) state() {
	p.listed, p.stated = nil, nil
	if p.kind == "array" && p.items != nil {
		said := *p.items
		said.name, said.description = p.name, strings.TrimSpace(p.description+"\n"+p.items.description)
		said.examples = append(slices.Clone(p.examples), p.items.examples...)
		said.state()
		p.items.listed, p.items.stated = said.listed, said.stated
		return
	}
	if p.kind != "" && p.kind != "string" || p.format != "" || len(p.choices) > 0 || p.prose() {
		return
	}
	said := p.description
	if p.of("query", "search", "keyword", "term", "q", "name", "title", "path", "file", "filename", "url", "uri", "id",
		"sql", "code", "command", "expression") {
		said = inBrackets.ReplaceAllString(said, "") // "Search (title, author, tags)" says where, not what
	}
	if p.listed = listedValues(said); p.listed != nil {
		return
	}
	if p.stated = p.statedForm(); p.stated != nil && p.stated.layout != "" { // 'YYYY-MM-DD' in quotes is no date
		p.examples = slices.DeleteFunc(p.examples, func(raw json.RawMessage) bool {
			return statedLayout(textOf(raw)) != ""
		})
	}
}

// statedForm is the form that the description or the examples of a parameter state, nil where they state none, or where
// the name says that the text is a form itself.
func (p param) statedForm() *stated {
	if p.of("format", "pattern", "template", "layout", "regex", "regexp", "path", "file",
		"filename", "filepath", "directory", "folder", "url", "uri", "link", "query", "sql", "code", "expression") &&
		!cronWord.MatchString(p.description) {
		return nil
	}
	if layout := statedLayout(p.description); layout != "" {
		return &stated{layout: layout, zone: time.UTC}
	}
	if layout, zone := p.exampleLayout(); layout != "" {
		return &stated{layout: layout, zone: zone}
	}
	if isoForm.MatchString(p.description) {
		switch {
		case isoDate.MatchString(p.description) || p.of("date", "day", "birthday") && !p.of("time"):
			return &stated{layout: "2006-01-02", zone: time.UTC}
		case !isoOther.MatchString(p.description):
			return &stated{layout: "2006-01-02T15:04:05Z07:00", zone: time.UTC}
		}
	}
	var shapes []shape
	for _, text := range append(p.exampleTexts(), bareExamples(p.description)...) {
		if s, ok := shapeOf(text); ok {
			shapes = append(shapes, s)
		}
	}
	if len(shapes) == 0 {
		if s, ok := shapeInText(p); ok {
			shapes = append(shapes, s)
		}
	}
	if len(shapes) == 0 {
		return nil
	}
	return &stated{shapes: shapes}
}

// exampleLayout is the layout of a date or time among the examples; of a parameter that is a time, of any in its
// description.
func (p param) exampleLayout() (string, *time.Location) {
	texts := afterMarks(p.description)
	if p.of("date", "time", "datetime", "timestamp", "day", "deadline", "since", "until", "start", "end", "from", "to",
		"before", "after") {
		texts = append(texts, p.description)
	}
	for _, text := range append(texts, p.exampleTexts()...) {
		if layout, zone := layoutOf(text); layout != "" {
			return layout, zone
		}
	}
	return "", nil
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

// prose reports whether the parameter takes what people write: a sentence fits, and what it says of dates is no form of
// its own.
func (p param) prose() bool {
	return p.of("content", "text", "message", "body", "description", "note", "comment", "thought", "insight",
		"observation", "prompt", "summary", "memo", "remark", "contents", "details", "question")
}

// takesProse reports whether a tool takes nothing but what people write.
func (s *subject) takesProse() bool {
	return len(s.schema.fields) > 0 && !slices.ContainsFunc(s.schema.fields, func(p param) bool { return !p.prose() })
}

// make is a text of the form.
func (s *stated) make(r *rand.Rand) string {
	if s.layout == "" {
		return pick(r, s.shapes).make(r)
	}
	at := time.Date(1995+r.IntN(35), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 5*r.IntN(12), 5*r.IntN(12),
		100*r.IntN(10)*int(time.Millisecond), s.zone)
	return at.Format(s.layout)
}

// strict reports whether nothing but the form is taken, while the server answers it: of dates and times servers make
// something of nearly any text, and say nothing.
func (s *stated) strict() bool { return s != nil && s.layout != "" }

// fits reports whether a text has the form.
func (s *stated) fits(text string) bool {
	if s == nil {
		return true
	}
	if s.layout == "" {
		return slices.ContainsFunc(s.shapes, func(one shape) bool { return one.form.MatchString(text) })
	}
	at, err := time.Parse(s.layout, text)
	return err == nil && len(at.Format(s.layout)) == len(text) // the parser takes fractions that the form has not
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

// formTries is after how many refused calls with what the description says, and none that was answered, other texts are
// tried too.
const formTries = 3

// formCount is how calls ended with texts as the description says, and with others.
type formCount struct{ answered, refused, otherAnswered, otherRefused int }

// count notes whether a call with a text as the description says was answered, and with another: the description may be
// wrong, and other texts may do.
func (s *subject) count(c Call, answered bool) {
	for _, m := range argumentsOf(c) {
		at := slices.IndexFunc(s.schema.fields, func(p param) bool {
			return p.name == m.name && (p.stated != nil || p.listed != nil)
		})
		if at < 0 || m.raw[0] != '"' {
			continue
		}
		if s.formed == nil {
			s.formed = map[string]formCount{}
		}
		n := s.formed[m.name]
		p := s.schema.fields[at]
		said := p.stated != nil && p.stated.fits(textOf(m.raw)) ||
			slices.ContainsFunc(p.listed, func(o json.RawMessage) bool { return string(o) == string(m.raw) })
		n.add(said, answered)
		s.formed[m.name] = n
	}
}

func (n *formCount) add(said, answered bool) {
	switch {
	case said && answered:
		n.answered++
	case said:
		n.refused++
	case answered:
		n.otherAnswered++
	default:
		n.otherRefused++
	}
}

// doubts reports whether the server took no text as the description says.
func (s *subject) doubts(p param) bool {
	n := s.formed[p.name]
	return n.answered == 0 && n.refused >= formTries
}

// insists reports whether the server took texts as the description says, and no other.
func (s *subject) insists(p param) bool {
	n := s.formed[p.name]
	return n.answered > 0 && n.otherAnswered == 0 && n.otherRefused > 1
}

// carries reports whether a text that a server answered fits where a parameter of a chain takes it: prose takes any
// text; a zone, a number or an id takes one word, a name or a path no sentence, and what a form is stated of takes that
// form.
func (p param) carries(text string) bool {
	if p.prose() {
		return true
	}
	fields := strings.Fields(text)
	if p.hasForm() && !p.of("path", "file", "directory", "folder", "country", "city", "unit") && len(fields) > 1 &&
		p.stated == nil {
		return false
	}
	return !isSentence(text) && p.stated.fits(text)
}

// isSentence reports whether a text is one that people say.
func isSentence(text string) bool {
	text = strings.TrimSpace(text)
	return len(strings.Fields(text)) > 2 && (strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") ||
		strings.Contains(text, ". ") || sayingWord.MatchString(text))
}

var sayingWord = regexp.MustCompile(`(?i)\b(?:is|are|was|were|has|have|will|been)\b`)

// hasForm reports whether a value of a parameter is known by its form: a time zone is no other short text.
func (p param) hasForm() bool {
	return p.stated != nil || p.listed != nil ||
		p.of("timezone", "tz", "zone", "email", "mail", "url", "uri", "link", "href", "date", "datetime", "timestamp",
			"time", "day", "deadline", "color", "colour", "language", "lang", "locale", "currency", "country", "city",
			"unit", "number", "id", "path", "file", "directory", "folder", "regex", "pattern", "branch",
			"commit", "ref")
}
